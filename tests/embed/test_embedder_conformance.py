"""What holds of every embedder, ours or wrapped: one test over all of them."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embed.local_server import running
from embed.tiny_models import WORDS, table, write_onnx, write_tokenizer
from optional import needs
from poincare_memory import HashingEmbedder, Memory
from poincare_memory.embed import (
    CachedEmbedder,
    CallableEmbedder,
    Embedder,
    LearnedEmbedder,
    Model2VecEmbedder,
    OnnxEmbedder,
    OpenAICompatibleEmbedder,
    SentenceTransformerEmbedder,
)
from poincare_memory.embed.embedding import check_embedder, embed_texts

TEXTS = ["green tea", "black tea", "coffee", "tax filing", "the tax", "a tea, a coffee; green ünï 漢字 " * 40]


class SentenceModel:
    """Stands for sentence_transformers.SentenceTransformer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_embedding_dimension(self) -> int:
        return 32

    def encode(self, texts: list[str], **options: Any) -> Any:
        return HashingEmbedder(32).embed(texts).astype(np.float32)


def sentence_transformer(folder: Path) -> Embedder:
    module = types.SimpleNamespace(SentenceTransformer=SentenceModel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sentence_transformers", module)
        return SentenceTransformerEmbedder("any")


def onnx(folder: Path) -> Embedder:
    needs("onnxruntime", "tokenizers")
    write_tokenizer(folder / "tokenizer.json")
    return OnnxEmbedder(write_onnx(folder / "model.onnx"), batch_size=4)


def model2vec(folder: Path) -> Embedder:
    needs("model2vec")
    from model2vec import StaticModel
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(write_tokenizer(folder / "tokenizer.json")))
    StaticModel(table(), tokenizer).save_pretrained(folder / "static")
    return Model2VecEmbedder(folder / "static")


MAKERS: dict[str, Callable[[Path], Embedder]] = {
    "hashing": lambda folder: HashingEmbedder(32),
    "callable": lambda folder: CallableEmbedder(HashingEmbedder(32).embed, 32),
    "learned": lambda folder: LearnedEmbedder(dict(zip(WORDS, table() / 10, strict=True))),
    "sentence_transformer": sentence_transformer,
    "onnx": onnx,
    "model2vec": model2vec,
    "cached": lambda folder: CachedEmbedder(HashingEmbedder(32), folder / "vectors.db", batch_size=2),
}


@pytest.fixture(scope="module", params=[*MAKERS, "openai", "cached openai"])
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    folder = tmp_path_factory.mktemp("embedder")
    if request.param in MAKERS:
        yield MAKERS[request.param](folder)
        return
    with running() as server:
        remote = OpenAICompatibleEmbedder("hashing", base_url=server.url, batch_size=2)
        cached = CachedEmbedder(remote, folder / "vectors.db")
        yield remote if request.param == "openai" else cached
        cached.close()


def test_it_is_an_embedder(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert check_embedder(embedder) is embedder
    assert type(embedder.dim) is int
    assert type(embedder).__name__ in repr(embedder)


def test_rows_are_finite_floats_one_a_text(embedder: Embedder) -> None:
    for texts in (TEXTS, tuple(TEXTS), iter(TEXTS), dict.fromkeys(TEXTS)):
        rows = embedder.embed(texts)  # type: ignore[arg-type]
        assert rows.shape == (len(TEXTS), embedder.dim)
        assert rows.dtype in (np.float32, np.float64)
        assert np.isfinite(rows).all()
    assert embedder.embed([]).shape == (0, embedder.dim)


def test_no_text_depends_on_the_others(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        embedder.embed(TEXTS[::-1] + TEXTS[:2])[-2:], together[:2], rtol=1e-5, atol=1e-6
    )


def test_what_it_returned_is_the_callers(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS[:2])
    before = rows.copy()
    rows[:] = 7
    assert np.array_equal(embedder.embed(TEXTS[:2]), before)


def test_one_string_and_what_is_no_text_are_refused(embedder: Embedder) -> None:
    for text in ("hello", b"hello"):
        with pytest.raises(TypeError, match=r"pass \[text\]"):
            embedder.embed(text)  # type: ignore[arg-type]
    for wrong in (None, 3, b"a", ["a"]):
        with pytest.raises(TypeError, match=r"texts\[1\]: expected a str"):
            embedder.embed(["a", wrong])  # type: ignore[list-item]


def test_texts_without_words_are_no_error(embedder: Embedder) -> None:
    rows = embedder.embed(["!", "\U0001f600", " ", "word " * 2000])
    assert np.isfinite(rows).all()


def test_from_many_threads_at_once(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS)
    results: list[Any] = [None] * 6

    def work(i: int) -> None:
        results[i] = embedder.embed(TEXTS)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows in results:
        np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)


def test_a_memory_finds_texts_by_it(embedder: Embedder) -> None:
    mem = Memory(embedder=embedder)
    mem.add_many({"text": text, "id": text} for text in TEXTS[:4])
    assert [mem.search(text, k=1)[0].id for text in TEXTS[:4]] == TEXTS[:4]
    assert np.array_equal(embed_texts(embedder, TEXTS), embedder.embed(TEXTS))
