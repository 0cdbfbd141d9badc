"""The door for embedders: what they are, what they are given, what they return."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._core import _kernels
from ..arguments import integer
from .protocol import Embedder, FloatArray

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

__all__ = ["as_embeddings", "check_embedder", "embed_listed", "embed_texts", "text_list"]


def text_list(texts: Iterable[str]) -> list[str]:
    """``texts`` as a new list of str.

    Raises
    ------
    TypeError
        If it is one string (whose characters would count as texts), or not all of it is str.

    Examples
    --------
    >>> text_list(("a", "b"))
    ['a', 'b']
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts: expected a sequence of str, got one {type(texts).__name__}: pass [text]")
    listed = list(texts)
    for i, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"texts[{i}]: expected a str, got {type(text).__name__} {text!r:.80}")
    return listed


def check_embedder(embedder: Any) -> Embedder:
    """``embedder`` itself, if it has a positive integer ``dim`` and a method ``embed``.

    Raises
    ------
    TypeError
        If it is not an embedder; for a bare function the message says how to wrap it.
    ValueError
        If its ``dim`` is below 1.
    """
    if isinstance(embedder, type):
        name = embedder.__name__
        raise TypeError(f"embedder: expected an object, got the class {name}: pass {name}(...)")
    if not callable(getattr(embedder, "embed", None)):
        if callable(embedder):
            raise TypeError(
                f"embedder: expected an object with dim and embed(texts), got the callable {embedder!r:.80}: "
                "wrap it as CallableEmbedder(fn, dim), dim being the length of its vectors"
            )
        advice = ""
        if isinstance(embedder, str):
            advice = ": a model has a class (SentenceTransformerEmbedder(name)), a file is opened by Memory.open(path)"
        raise TypeError(
            "embedder: expected an object with dim and embed(texts), "
            f"got {type(embedder).__name__} {embedder!r:.80}{advice}"
        )
    if not hasattr(embedder, "dim"):
        raise TypeError(
            f"embedder: {type(embedder).__name__} has embed(texts) but no dim, the length of its vectors"
        )
    integer(f"{type(embedder).__name__}.dim", embedder.dim, least=1)
    checked: Embedder = embedder
    return checked


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> FloatArray:
    """Embeddings of ``texts`` as an array of the caller's own.

    Returns
    -------
    ndarray of shape (n, dim), C-contiguous
        float32 if that is what the embedder computes in (or float16), float64 otherwise. A copy: an embedder
        may use its buffer again.

    Raises
    ------
    ValueError
        If the embedder does not return n rows of ``dim`` finite numbers.

    Examples
    --------
    >>> from poincare_memory import HashingEmbedder
    >>> embed_texts(HashingEmbedder(dim=64), ["one", "two"]).shape
    (2, 64)
    """
    return embed_listed(embedder, text_list(texts))


def embed_listed(embedder: Embedder, texts: list[str]) -> FloatArray:
    """As :func:`embed_texts`, of a list of str that is the embedder's to keep."""
    n, dim = len(texts), operator.index(embedder.dim)
    if not n:
        return np.empty((0, dim))
    returned = embedder.embed(texts)
    copied = _kernels.finite_copy(returned, n, dim)
    return as_embeddings(returned, n, dim, f"{type(embedder).__name__}.embed") if copied is None else copied


def as_embeddings(returned: Any, n: int, dim: int, source: str) -> FloatArray:
    """What ``source`` returned for ``n`` texts as a new array (n, dim), float32 or float64, all finite.

    Arrays, nested lists, generators and tensors that NumPy can read are welcome.
    """
    array = _numbers(returned, n, dim, source)
    if array.shape != (n, dim):
        raise ValueError(f"{source} returned shape {array.shape}, expected {(n, dim)}: one row a text")
    _check_finite(array, source)
    return array


def _check_finite(array: FloatArray, source: str) -> None:
    place = _kernels.first_not_finite(array)
    if place < 0:
        return
    row, column = divmod(place, array.shape[1])
    raise ValueError(
        f"{source} returned {array[row, column]} at place {column} of the embedding of text {row}; "
        "expected finite numbers"
    )


def _numbers(returned: Any, n: int, dim: int, source: str) -> FloatArray:
    if type(returned) is np.ndarray and (returned.dtype is _SINGLE or returned.dtype is _DOUBLE):
        return returned.copy()
    try:
        array = np.asarray(_on_host(returned))
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"numbers of type {array.dtype}")
        single = array.dtype.char in "fe"  # float32 or float16; comparing types takes microseconds
        return np.array(array, dtype=np.float32 if single else np.float64, order="C", copy=True)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{source} returned no array of real numbers but {type(returned).__name__} {returned!r:.80}; "
            f"expected an array of shape {(n, dim)}"
        ) from error


def _on_host(returned: Any) -> Any:
    """Generators as lists; tensors without gradient and in main memory, alone or in a list."""
    if hasattr(returned, "detach"):
        return returned.detach().cpu()
    if hasattr(returned, "__array__"):
        return returned
    if isinstance(returned, Iterable) and not isinstance(returned, (str, bytes)):
        return [_on_host(row) if hasattr(row, "detach") else row for row in returned]
    return returned
