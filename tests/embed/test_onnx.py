from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embed.tiny_models import DIM, WORDS, table, write_onnx, write_tokenizer
from optional import needs
from poincare_memory.embed import OnnxEmbedder

needs("onnxruntime", "tokenizers")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path / "tokenizer.json")
    return write_onnx(tmp_path / "model.onnx")


def tokens(text: str) -> np.ndarray[Any, Any]:
    """Rows of the table that the model looks up."""
    words = ["[CLS]", *text.lower().split(), "[SEP]"]
    return table()[[WORDS.index(word if word in WORDS else "[UNK]") for word in words]].astype(np.float64)


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("mean", lambda rows: rows.mean(axis=0)),
        ("cls", lambda rows: rows[0]),
        ("last", lambda rows: rows[-1]),
    ],
)
def test_padding_is_not_pooled(model: Path, pooling: Any, pooled: Any) -> None:
    embedder = OnnxEmbedder(model, pooling=pooling, normalize=False)
    texts = ["tea", "Green TEA the coffee", "a what tax"]
    expected = np.stack([pooled(tokens(text)) for text in texts])
    np.testing.assert_allclose(embedder.embed(texts), expected, rtol=1e-6, atol=1e-6)
    unit = OnnxEmbedder(model, pooling=pooling).embed(texts)
    np.testing.assert_allclose(unit, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5)
    assert unit.dtype == np.float32


def test_models_ask_for_what_they_need(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "elsewhere.json")
    expected = OnnxEmbedder(write_onnx(tmp_path / "all.onnx"), tokenizer).embed(["green tea", "a"])
    for inputs in (("input_ids",), ("input_ids", "attention_mask")):
        embedder = OnnxEmbedder(write_onnx(tmp_path / "some.onnx", inputs), tokenizer)
        assert np.array_equal(embedder.embed(["green tea", "a"]), expected)
    with pytest.raises(ValueError, match="asks for position_ids; known are input_ids"):
        OnnxEmbedder(write_onnx(tmp_path / "more.onnx", ("input_ids", "position_ids")), tokenizer)


def test_a_model_that_pools_is_taken_at_its_word(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    embedder = OnnxEmbedder(write_onnx(tmp_path / "pooled.onnx", pooled=True), tokenizer, normalize=False)
    np.testing.assert_allclose(embedder.embed(["green tea"])[0], tokens("green tea").mean(axis=0), rtol=1e-6)


def test_long_texts_are_cut(model: Path) -> None:
    embedder = OnnxEmbedder(model, max_tokens=4, normalize=False)
    np.testing.assert_allclose(
        embedder.embed(["green tea coffee tax"])[0], tokens("green tea").mean(axis=0), rtol=1e-6
    )


def test_the_tokenizer_may_be_in_the_folder_above(model: Path) -> None:
    inner = model.parent / "onnx"
    inner.mkdir()
    embedder = OnnxEmbedder(write_onnx(inner / "model.onnx"), threads=1)
    assert embedder.dim == DIM
    assert repr(embedder) == "OnnxEmbedder('model.onnx', dim=6)"
    (model.parent / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no tokenizer.json in .*pass its path"):
        OnnxEmbedder(inner / "model.onnx")


def test_files_that_are_none(model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"{}")
    with pytest.raises(FileNotFoundError, match="model: there is no file"):
        OnnxEmbedder(tmp_path / "missing.onnx")
    with pytest.raises(ValueError, match="onnxruntime cannot use it as a model"):
        OnnxEmbedder(broken, model.parent / "tokenizer.json")
    with pytest.raises(ValueError, match="no tokenizer"):
        OnnxEmbedder(model, broken)
    with pytest.raises(ValueError, match="pooling: expected one of mean, cls, last, got 'max'"):
        OnnxEmbedder(model, pooling="max")  # type: ignore[arg-type]


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_its_packages_the_extra_is_named(
    model: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "poincare-memory\[onnx\]"'):
        OnnxEmbedder(model)
