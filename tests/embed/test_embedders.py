from __future__ import annotations

import pickle
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from poincare_memory.embed import CallableEmbedder, Embedder, HashingEmbedder, SentenceTransformerEmbedder
from poincare_memory.embed.embedding import check_embedder, embed_texts
from poincare_memory.embed.specs import embedder_from_spec, embedder_spec

# Hashing


def test_texts_without_tokens_embed_to_zero_and_others_to_unit_vectors() -> None:
    rows = HashingEmbedder().embed(["", "!!!", "\U0001f600", "'''", "word " * 20_000, "ÉTÉ 漢字"])
    assert rows.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [0, 0, 0, 1, 1, 1], rtol=1e-14)


def test_case_is_folded_and_seeds_differ() -> None:
    embedder = HashingEmbedder()
    assert np.array_equal(embedder.embed(["Calf STRAIN"]), embedder.embed(["calf strain"]))
    assert not np.array_equal(embedder.embed(["calf"]), HashingEmbedder(seed=1).embed(["calf"]))


def test_sequences_of_any_kind_but_not_one_string() -> None:
    embedder = HashingEmbedder(dim=8)
    expected = embedder.embed(["a", "b"])
    for texts in (("a", "b"), np.array(["a", "b"]), {"a": 1, "b": 2}, iter(["a", "b"])):
        assert np.array_equal(embedder.embed(texts), expected)  # type: ignore[arg-type]
    assert embedder.embed([]).shape == (0, 8)
    for text in ("hello", b"hello"):
        with pytest.raises(TypeError, match=r"pass \[text\]"):
            embedder.embed(text)  # type: ignore[arg-type]
    for wrong in (None, 3, b"a", ["a"]):
        with pytest.raises(TypeError, match=r"texts\[1\]: expected a str"):
            embedder.embed(["a", wrong])  # type: ignore[list-item]


def test_numpy_integers_become_plain_ones() -> None:
    integers: Any = (np.int64(16), [np.int32(2), np.uint8(3)], np.int64(3))
    embedder = HashingEmbedder(*integers)
    assert repr(embedder) == "HashingEmbedder(dim=16, ngram_range=(2, 3), seed=3)"
    assert embedder == HashingEmbedder(16, (2, 3), 3)
    assert type(embedder.dim) is type(embedder.seed) is type(embedder.ngram_range[0]) is int


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 7}, "dim must be at least 8"),
        ({"dim": -1}, "dim must be at least 8"),
        ({"dim": 2**31}, "dim must be at most"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 2**32}, r"seed must be below 2\*\*32"),
        ({"ngram_range": (0, 2)}, r"ngram_range\[0\] must be at least 1"),
        ({"ngram_range": (3, 2)}, "expected shortest ≤ longest"),
        ({"ngram_range": (1, 2, 3)}, "expected two integers"),
        ({"ngram_range": 3}, "expected two integers"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HashingEmbedder(**options)
    embedder = HashingEmbedder()
    for name, value in options.items():
        setattr(embedder, name, value)
    with pytest.raises(ValueError, match=message):
        embedder.embed(["a"])


@pytest.mark.parametrize(
    "options", [{"dim": 16.0}, {"dim": "16"}, {"seed": 1.0}, {"seed": True}, {"ngram_range": (2.0, 3)}]
)
def test_options_that_are_no_integers_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="expected an integer, got"):
        HashingEmbedder(**options)


def test_all_ngram_lengths_of_a_word_cost_no_more_than_its_length() -> None:
    done = threading.Event()

    def embed() -> None:
        HashingEmbedder(ngram_range=(1, 10**9)).embed(["a", "some words"])
        done.set()

    threading.Thread(target=embed, daemon=True).start()
    assert done.wait(10)


def test_fields_set_later_are_used() -> None:
    embedder = HashingEmbedder()
    embedder.dim = 32
    assert np.array_equal(embedder.embed(["a b"]), HashingEmbedder(32).embed(["a b"]))


def test_embedding_from_many_threads_at_once() -> None:
    embedder = HashingEmbedder()
    texts = [f"text {i} ünï" for i in range(500)]
    expected = embedder.embed(texts)
    results: list[Any] = [None] * 8

    def embed(i: int) -> None:
        results[i] = embedder.embed(texts, n_threads=1)

    threads = [threading.Thread(target=embed, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)


# Functions


class Tensor:
    """Stands for a tensor on another device, with a gradient."""

    def __init__(self, values: Any, ready: bool = False) -> None:
        self.values = values
        self.ready = ready

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def cpu(self) -> Tensor:
        return Tensor(self.values, ready=True)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        if not self.ready:
            raise TypeError("cannot convert a tensor of another device")
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize(
    "fn",
    [
        lambda texts: [[1.0, 2.0] for _ in texts],
        lambda texts: [[1, 2] for _ in texts],
        lambda texts: ([1.0, 2.0] for _ in texts),
        lambda texts: tuple(np.array([1.0, 2.0]) for _ in texts),
        lambda texts: np.array([[1, 2]] * len(texts)),
        lambda texts: np.array([[1, 2]] * len(texts), dtype=object),
        lambda texts: np.asfortranarray([[1.0, 2.0]] * len(texts)),
        lambda texts: np.array([[1, 2]] * len(texts), dtype=np.longdouble),
        lambda texts: np.array([[1.0, 2.0]] * len(texts), dtype=">f8"),
        lambda texts: Tensor([[1.0, 2.0]] * len(texts)),
        lambda texts: [Tensor([1.0, 2.0]) for _ in texts],
        lambda texts: np.array([[1, 2]] * len(texts), dtype=np.float32),
        lambda texts: np.array([[1, 2]] * len(texts), dtype=np.float16),
    ],
)
def test_what_a_function_may_return(fn: Callable[[Any], Any]) -> None:
    embedder = CallableEmbedder(fn, 2)
    for rows in (embedder.embed(["a", "b", "c"]), embed_texts(embedder, ["a", "b", "c"])):
        assert rows.tolist() == [[1.0, 2.0]] * 3
        assert rows.flags.c_contiguous
        assert rows.flags.owndata
        assert rows.dtype.isnative
        half = getattr(fn(["a"]), "dtype", None) in (np.float32, np.float16)
        assert rows.dtype == (np.float32 if half else np.float64)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda texts: np.ones((len(texts), 3)), r"returned shape \(2, 3\), expected \(2, 2\)"),
        (lambda texts: np.ones(2), r"returned shape \(2,\), expected \(2, 2\)"),
        (lambda texts: np.ones((1, 2)), r"returned shape \(1, 2\)"),
        (lambda texts: [], r"returned shape \(0,\)"),
        (lambda texts: [[1.0], [1.0, 2.0]], "no array of real numbers but list"),
        (lambda texts: None, "no array of real numbers but NoneType|returned shape"),
        (lambda texts: "ab", "no array of real numbers but str"),
        (lambda texts: [["a", "b"]] * 2, "no array of real numbers but list"),
        (lambda texts: np.ones((2, 2), dtype=complex), "no array of real numbers but ndarray"),
        (lambda texts: [object(), object()], "no array of real numbers but list"),
        (lambda texts: [[1.0, 2.0], [1.0, np.nan]], "returned nan at place 1 of the embedding of text 1"),
        (lambda texts: [[-np.inf, 2.0], [1.0, 1.0]], "returned -inf at place 0 of the embedding of text 0"),
    ],
)
def test_what_a_function_may_not_return(fn: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CallableEmbedder(fn, 2).embed(["a", "b"])

    class Own:
        dim = 2

        def embed(self, texts: Any) -> Any:
            return fn(texts)

    with pytest.raises(ValueError, match=f"^Own.embed .*({message})"):
        embed_texts(Own(), ["a", "b"])


def test_a_buffer_that_is_used_again_changes_nothing_kept() -> None:
    buffer = np.zeros((1, 2))

    def fn(texts: Any) -> Any:
        buffer[:] = len(texts[0])
        return buffer

    first = embed_texts(CallableEmbedder(fn, 2), ["a"])
    embed_texts(CallableEmbedder(fn, 2), ["abc"])
    assert first.tolist() == [[1.0, 1.0]]


def test_no_texts_ask_nobody() -> None:
    def fail(texts: Any) -> Any:
        raise AssertionError("called")

    embedder = CallableEmbedder(fail, 3)
    assert embedder.embed([]).shape == embed_texts(embedder, []).shape == (0, 3)


def test_how_a_function_is_wrapped() -> None:
    embedder = CallableEmbedder(len, np.int64(3))  # type: ignore[arg-type]
    assert embedder == CallableEmbedder(len, 3)
    assert type(embedder.dim) is int
    for dim in (0, -1):
        with pytest.raises(ValueError, match="dim must be at least 1"):
            CallableEmbedder(len, dim)
    for wrong in (2.5, None, True, "3"):
        with pytest.raises(TypeError, match="dim: expected an integer"):
            CallableEmbedder(len, wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fn: expected a function"):
        CallableEmbedder(3, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"pass \[text\]"):
        embedder.embed("one string")


# Any embedder


def test_embedders_are_recognised() -> None:
    for embedder in (HashingEmbedder(), CallableEmbedder(len, 3)):
        assert isinstance(embedder, Embedder)
        assert check_embedder(embedder) is embedder
    assert pickle.loads(pickle.dumps(HashingEmbedder(16))) == HashingEmbedder(16)


class WithoutDim:
    def embed(self, texts: Any) -> Any:
        return texts


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (lambda texts: texts, r"wrap it as CallableEmbedder\(fn, dim\)"),
        (HashingEmbedder, r"got the class HashingEmbedder: pass HashingEmbedder\(\.\.\.\)"),
        (
            "all-MiniLM-L6-v2",
            r"expected an object with dim and embed.*SentenceTransformerEmbedder.*Memory\.open",
        ),
        (384, "expected an object with dim and embed"),
        (WithoutDim(), "WithoutDim has embed.* but no dim"),
        (types.SimpleNamespace(dim=2.0, embed=len), "dim: expected an integer"),
        (types.SimpleNamespace(dim=None, embed=len), "dim: expected an integer"),
    ],
)
def test_what_is_no_embedder_is_a_clear_type_error(embedder: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check_embedder(embedder)


def test_an_embedder_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="dim must be at least 1"):
        check_embedder(types.SimpleNamespace(dim=0, embed=len))


# Sentence-Transformers


class Model:
    """Stands for sentence_transformers.SentenceTransformer."""

    length: int | None = 6

    def __init__(self, name: str, **options: Any) -> None:
        self.name, self.options = name, options
        self.asked: list[Any] = []

    def encode(self, texts: list[str], **options: Any) -> Any:
        self.asked.append((texts, options))
        return np.ones((len(texts), 6), np.float32)


class NewModel(Model):
    def get_embedding_dimension(self) -> int | None:
        return self.length

    def get_sentence_embedding_dimension(self) -> int | None:
        raise AssertionError("the old name is deprecated")


class OldModel(Model):
    def get_sentence_embedding_dimension(self) -> int | None:
        return self.length


@pytest.mark.parametrize("model", [NewModel, OldModel])
def test_sentence_transformers_of_both_generations(
    model: type[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.SimpleNamespace(SentenceTransformer=model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    embedder = SentenceTransformerEmbedder("any", device="cpu")
    assert embedder.dim == 6
    assert (embedder.model.name, embedder.model.options) == ("any", {"device": "cpu"})
    rows = embedder.embed(("a", "b"))
    assert rows.shape == (2, 6)
    assert rows.dtype == np.float32
    assert embedder.embed([]).shape == (0, 6)
    options = {"batch_size": 32, "normalize_embeddings": True, "show_progress_bar": False}
    assert embedder.model.asked == [(["a", "b"], options)]
    assert isinstance(embedder, Embedder)
    monkeypatch.setattr(model, "length", None)
    with pytest.raises(ValueError, match="does not say how long"):
        SentenceTransformerEmbedder("any")


def test_sentence_transformers_tell_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=NewModel)
    )
    told: list[tuple[int, int]] = []
    embedder = SentenceTransformerEmbedder(
        "any", batch_size=2, progress=lambda done, total: told.append((done, total))
    )
    assert embedder.embed([str(i) for i in range(37)]).shape == (37, 6)
    assert told == [(16, 37), (32, 37), (37, 37)]
    assert [options["batch_size"] for _, options in embedder.model.asked] == [2, 2, 2]
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        SentenceTransformerEmbedder("any", batch_size=0)


def test_without_sentence_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r'pip install "poincare-memory\[embed\]"'):
        SentenceTransformerEmbedder()


# Files


def test_only_the_hashing_embedder_itself_is_restored() -> None:
    class Reversed(HashingEmbedder):
        pass

    embedder = HashingEmbedder(16, (2, 4), 7)
    assert embedder_from_spec(embedder_spec(embedder)) == embedder
    lookalike = type("hashing", (), {"dim": np.int64(16), "embed": None})()
    for other in (Reversed(16), CallableEmbedder(len, 16), lookalike):
        spec = embedder_spec(other)
        assert set(spec) == {"type", "dim"}
        assert type(spec["dim"]) is int
        with pytest.raises(ValueError, match="pass embedder= to load it"):
            embedder_from_spec(spec)


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"type": 3},
        {"type": "hashing"},
        {"type": "hashing", "dim": "x", "ngram_range": [3, 5], "seed": 0},
        {"type": "hashing", "dim": 16, "ngram_range": [3], "seed": 0},
        {"type": "hashing", "dim": 16, "ngram_range": [3, 5], "seed": -1},
    ],
)
def test_damaged_specs_are_value_errors(spec: Any) -> None:
    with pytest.raises(ValueError, match="embedder"):
        embedder_from_spec(spec)
