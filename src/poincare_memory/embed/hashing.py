"""Words and character n-grams, hashed: an embedder without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import _kernels
from ..arguments import integer
from ..threads import resolve_threads
from .embedding import text_list
from .protocol import FloatArray

__all__ = ["HashingEmbedder"]

_LEAST_DIM = 8  # below, unrelated texts collide at every turn
_MOST_DIM = 2**31 - 1
_SEEDS = 2**32
_TEXTS_AT_ONCE = 2048


@dataclass
class HashingEmbedder:
    """Deterministic text embedder without dependencies: hashed words and character n-grams.

    It knows no meaning, only spelling: a stable, fast stand-in that makes the package usable offline and in
    tests. For meaning pass :class:`SentenceTransformerEmbedder` or a :class:`CallableEmbedder`.

    The algorithm is the same in every version and port. The text is lower-cased; its tokens are the matches
    of ``[\\w']+``; the features of a token are ``"w:" + token`` and ``"c:" + ngram`` for the n-grams of
    ``"#" + token + "#"`` (over characters, not bytes). Each feature is hashed by BLAKE2b (RFC 7693; digest of
    8 bytes, key = seed as 4 little-endian bytes): the first four bytes, a little-endian integer, modulo
    ``dim`` are its coordinate, and it adds +1 there if the fifth byte is odd, else −1. The sum is divided by
    its Euclidean norm. A text without tokens embeds to zero.

    Parameters
    ----------
    dim : int, default 256
        Length of an embedding, at least 8.
    ngram_range : (int, int), default (3, 5)
        Shortest and longest n-gram, in characters; 1 ≤ shortest ≤ longest. Any large number as the longest
        means all lengths.
    seed : int, default 0
        From 0 to 2**32 − 1. Other seeds give unrelated coordinates.

    Examples
    --------
    >>> embedder = HashingEmbedder(dim=64)
    >>> a, b, c = embedder.embed(["calf strain", "strained calf", "rate limit"])
    >>> bool(a @ b > a @ c)
    True
    """

    dim: int = 256
    ngram_range: tuple[int, int] = (3, 5)
    seed: int = 0

    def __post_init__(self) -> None:
        self.dim, self.ngram_range, self.seed = self._checked()

    def embed(self, texts: Sequence[str], *, n_threads: int | None = None) -> FloatArray:
        """Embeddings of ``texts``, float64 of shape (n, dim), each of norm 1 or zero.

        Parameters
        ----------
        texts : sequence of str
        n_threads : int, optional
            All processors by default; the result does not depend on it.

        Returns
        -------
        float64 array of shape (len(texts), dim)

        Raises
        ------
        TypeError
            If ``texts`` is one string, or not all of it is str.
        """
        dim, (shortest, longest), seed = self._checked()  # the fields may have been set since
        listed = text_list(texts)
        rows = np.empty((len(listed), dim))
        threads = resolve_threads(n_threads)
        for start in range(0, len(listed), _TEXTS_AT_ONCE):  # Ctrl-C is answered in between
            part = slice(start, start + _TEXTS_AT_ONCE)
            _kernels.hash_texts(listed[part], dim, shortest, longest, seed, rows[part], threads)
        return rows

    def _checked(self) -> tuple[int, tuple[int, int], int]:
        dim = integer("dim", self.dim, least=_LEAST_DIM)
        if dim > _MOST_DIM:
            raise ValueError(f"dim must be at most {_MOST_DIM}, got {dim}")
        seed = integer("seed", self.seed, least=0)
        if seed >= _SEEDS:
            raise ValueError(f"seed must be below 2**32, got {seed}")
        return dim, self._checked_lengths(), seed

    def _checked_lengths(self) -> tuple[int, int]:
        try:
            shortest, longest = self.ngram_range
        except (TypeError, ValueError):
            raise ValueError(
                f"ngram_range: expected two integers (shortest, longest), got {self.ngram_range!r:.80}"
            ) from None
        lengths = integer("ngram_range[0]", shortest, least=1), integer("ngram_range[1]", longest, least=1)
        if lengths[0] > lengths[1]:
            raise ValueError(f"ngram_range: expected shortest ≤ longest, got {lengths}")
        return lengths
