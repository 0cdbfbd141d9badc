"""The hashing kernel against hashlib and re."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory._core import _kernels

# All of Unicode, lone surrogates included, with what tokens are made of in the majority.
characters = st.one_of(
    st.sampled_from("aAbzZ019_' .-#ßİıΣσςéàñ漢字ひカＡ½²٣😀𝔘\u0301\u200d\ufeff\x00\ud800"), st.characters()
)
texts = st.one_of(st.text(characters, max_size=30), st.text("abAB'_ é", max_size=200))


def oracle(documents: list[str], dim: int, shortest: int, longest: int, seed: int) -> np.ndarray[Any, Any]:
    rows = np.zeros((len(documents), dim))
    key = seed.to_bytes(4, "little")
    for row, document in zip(rows, documents, strict=True):
        for token in re.findall(r"[\w']+", document.lower()):
            padded = f"#{token}#"
            lengths = range(shortest, min(longest, len(padded)) + 1)
            ngrams = [padded[i : i + n] for n in lengths for i in range(len(padded) - n + 1)]
            for feature in ["w:" + token, *("c:" + ngram for ngram in ngrams)]:
                digest = hashlib.blake2b(feature.encode(), digest_size=8, key=key).digest()
                row[int.from_bytes(digest[:4], "little") % dim] += 1.0 if digest[4] & 1 else -1.0
        norm = np.linalg.norm(row)
        if norm > 0:
            row /= norm
    return rows


def hashed(
    documents: list[str], dim: int = 64, shortest: int = 3, longest: int = 5, seed: int = 0, threads: int = 1
) -> np.ndarray[Any, Any]:
    out = np.full((len(documents), dim), np.nan)
    _kernels.hash_texts(documents, dim, shortest, longest, seed, out, threads)
    return out


@given(lengths=st.lists(st.integers(11, 18), min_size=4, max_size=12), letter=st.sampled_from("aé漢"))
def test_features_of_one_message_word_more_or_less(lengths: list[int], letter: str) -> None:
    """Messages hash together, and faster where all of them fit two words of eight bytes."""
    document = " ".join(f"{letter}{'b' * (length - 3)}{i:02}" for i, length in enumerate(lengths))
    np.testing.assert_array_equal(hashed([document], longest=17), oracle([document], 64, 3, 17, 0))


@given(
    documents=st.lists(texts, max_size=6),
    dim=st.sampled_from([1, 7, 8, 64, 257]),
    shortest=st.integers(1, 4),
    more=st.sampled_from([0, 1, 2, 10**8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_bits_of_the_published_algorithm(
    documents: list[str], dim: int, shortest: int, more: int, seed: int
) -> None:
    options = (dim, shortest, shortest + more, seed)
    assert np.array_equal(hashed(documents, *options), oracle(documents, *options))


def test_every_code_point_is_a_token_character_or_not_as_in_re() -> None:
    every = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    stable = [
        c for c in every if c.lower() == c
    ]  # lower-casing is Python's own; here only the class of tokens
    step = 4096
    for begin in range(0, len(stable), step):
        document = " ".join(stable[begin : begin + step])
        token_count = len(re.findall(r"[\w']+", document))
        row = np.empty((1, 1))
        _kernels.hash_texts([document], 1, 10**6, 10**6, 0, row, 1)  # words only, all on one coordinate
        odd = sum(
            hashlib.blake2b(f"w:{token}".encode(), digest_size=8, key=bytes(4)).digest()[4] & 1
            for token in re.findall(r"[\w']+", document)
        )
        assert row[0, 0] == np.sign(2 * odd - token_count)


@pytest.mark.parametrize("length", [1, 14, 15, 16, 124, 125, 126, 127, 128, 255])
@pytest.mark.parametrize("character", ["x", "é", "漢", "𝔘"])
def test_features_around_the_sizes_of_blocks_and_cache_keys(length: int, character: str) -> None:
    documents = [character * length, f"{character * length} {character * length}"]
    options = (64, 1, length + 2, 5)
    assert np.array_equal(hashed(documents, *options), oracle(documents, *options))


def test_many_features_and_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    alphabet = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789'é漢 "))
    documents = ["".join(rng.choice(alphabet, 60)) for _ in range(2500)]
    together = hashed(documents)
    assert np.array_equal(together, hashed(documents, threads=2))
    assert np.array_equal(together[::50], np.vstack([hashed([document]) for document in documents[::50]]))
    assert np.array_equal(together[:40], oracle(documents[:40], 64, 3, 5, 0))


def test_normal_forms_are_told_apart() -> None:
    composed = unicodedata.normalize("NFC", "e\u0301clair")
    decomposed = unicodedata.normalize("NFD", composed)
    assert not np.array_equal(hashed([composed]), hashed([decomposed]))


def test_what_it_refuses() -> None:
    with pytest.raises(TypeError, match=r"texts\[1\]: expected a str, got bytes"):
        hashed(["a", b"b"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"out: expected shape \(1, 8\)"):
        _kernels.hash_texts(["a"], 8, 3, 5, 0, np.empty((2, 8)))
    assert hashed([]).shape == (0, 64)


LEVEL_DIGEST = """
import hashlib
import numpy as np
from poincare_memory._core import _kernels
documents = [f"note {i}: user {i % 97} asked about topic {i * 7919 % 1013} été 漢字{i}" for i in range(300)]
out = np.empty((len(documents), 64))
_kernels.hash_texts(documents, 64, 2, 9, 3, out)
print(hashlib.sha256(out.tobytes()).hexdigest())
"""


def test_every_simd_level_returns_the_same_bits() -> None:
    digests = set()
    for level in ("baseline", "avx2", "avx512"):  # one that the processor lacks runs as the best it has
        environment = {**os.environ, "POINCARE_MEMORY_SIMD": level}
        command = [sys.executable, "-c", LEVEL_DIGEST]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.add(ran.stdout)
    assert len(digests) == 1
