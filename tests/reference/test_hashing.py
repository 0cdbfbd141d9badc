"""The hashing embedder against the reference, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.harness import Reference

characters = st.one_of(
    st.sampled_from("aAbzZ09_' .ßİΣςé漢😀\u0301"), st.characters(exclude_categories=["Cs"])
)


def embed(payload):  # type: ignore[no-untyped-def]
    from poincare_memory import HashingEmbedder

    return [HashingEmbedder(*options).embed(payload["texts"]) for options in payload["options"]]


@given(
    texts=st.lists(st.text(characters, max_size=40), max_size=8),
    options=st.lists(
        st.tuples(
            st.integers(8, 300),
            st.tuples(st.integers(1, 4), st.integers(4, 9)),
            st.integers(0, 2**32 - 1),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_equal_bits(reference: Reference, texts: list[str], options: list[Any]) -> None:
    payload = {"texts": texts, "options": [(), *options]}
    for ours, theirs in zip(embed(payload), reference.call(embed, payload), strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


def test_equal_bits_of_long_and_many_texts(reference: Reference) -> None:
    rng = np.random.default_rng(1)
    words = ["Athlete", "hamstring", "été", "it's", "x_1", "400", "漢字", "…", "\U0001f600", "STRAßE"]
    texts = [" ".join(rng.choice(words, size)) for size in (1, 5, 50, 5000)]
    texts += [f"note {i}: user {i % 97} prefers option {i * 7919 % 100_003}" for i in range(500)]
    payload = {"texts": [*texts, "y" * 3000], "options": [(), (16, (1, 2), 9)]}
    for ours, theirs in zip(embed(payload), reference.call(embed, payload), strict=True):
        assert np.array_equal(ours, theirs)
