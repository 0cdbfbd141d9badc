"""Lexical scores by hand, and writes to check them after."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory.retrieval.lexical import WordTable

VOCABULARY = "tea coffee green Lisbon tax knee Müller 緑茶 running ran".split()


def lexical_by_hand(mem: Memory, query: str, ids: list[str]) -> dict[str, float]:
    """Scores of a table made afresh, normalised by the best of `ids`."""
    table = WordTable()
    every = mem.ids
    table.put((i, mem.get(id).text) for i, id in enumerate(every))
    rows, scores = table.scores(query)
    found = {every[row]: score for row, score in zip(rows.tolist(), scores.tolist(), strict=True)}
    best = max((found[id] for id in ids if id in found), default=0.0)
    return {id: found.get(id, 0.0) / best if best > 0 else 0.0 for id in ids}


def check(mem: Memory, query: str, coefficient: float, **options: Any) -> None:
    plain = mem.search(query, k=10**6, touch=False, lexical_coef=0, **options)
    shares = lexical_by_hand(mem, query, [hit.id for hit in plain])
    expected = {hit.id: hit.score + coefficient * shares[hit.id] for hit in plain}
    for k in (3, 10**6):
        found = mem.search(query, k=k, touch=False, lexical_coef=coefficient, **options)
        assert [hit.score for hit in found] == pytest.approx(sorted(expected.values(), reverse=True)[:k])
        assert {hit.id: hit.score for hit in found} == pytest.approx(
            {hit.id: expected[hit.id] for hit in found}
        )


def write_and_fail(mem: Memory, target: str, text: str) -> None:
    with mem.transaction():
        mem.update(target, text=text)
        mem.remove(mem.ids[0], cascade=True)
        mem.add(text)
        mem.search(text, lexical_coef=1.0)
        raise RuntimeError


texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=5).map(" ".join)


edits = st.lists(
    st.tuples(
        st.sampled_from(["add", "update", "remove", "link", "undo", "search"]), texts, st.integers(0, 99)
    ),
    max_size=25,
)


def write(mem: Memory, steps: list[tuple[str, str, int]]) -> None:
    for kind, text, number in steps:
        ids = mem.ids
        target = ids[number % len(ids)] if ids else None
        if kind == "add" or target is None:
            mem.add(text, parent=target if number % 2 else None, meta={"g": number % 2})
        elif kind == "update":
            mem.update(target, text=text)
        elif kind == "remove":
            mem.remove(target, cascade=True)
        elif kind == "link":
            mem.link(target, None)
        elif kind == "undo":
            with pytest.raises(RuntimeError):
                write_and_fail(mem, target, text)
        else:
            mem.search(text, lexical_coef=1.0)
