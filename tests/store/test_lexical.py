"""Words beside geometry: exact, in step with every write, deaf to syntax."""

from __future__ import annotations

import os
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import HalfLife, Memory
from poincare_memory.retrieval import lexical
from poincare_memory.retrieval.lexical import WordTable, query_words
from poincare_memory.store import ranking
from poincare_memory.store.words import StoreWords
from store.lexical_oracle import VOCABULARY, check, edits, texts, write


@given(edits, texts, st.sampled_from([0.3, -0.5, 4.0]))
@settings(max_examples=60, deadline=None)
def test_every_write_is_taken_in(steps: list[tuple[str, str, int]], query: str, coefficient: float) -> None:
    mem = Memory()
    write(mem, steps)
    check(mem, query, coefficient)
    check(mem, query, coefficient, filters={"g": 1})
    if mem.ids:
        check(mem, query, coefficient, mode="subtree", root=mem.ids[0])
        check(mem, query, coefficient, filters=lambda record: record.meta["g"] == 0)


def test_the_graph_answers_like_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 0)
    monkeypatch.setattr(ranking, "GRAPH_WORDS", 20)
    rng = np.random.default_rng(0)
    mem = Memory(decay=HalfLife(1000))
    mem.add_many(
        {
            "text": " ".join(rng.choice(VOCABULARY, 6)) + f" word{i % 700} word{rng.integers(0, 300)}",
            "meta": {"g": i % 2},
        }
        for i in range(3000)
    )
    mem.remove(mem.ids[5])
    mem.build_index("hnsw")
    through: list[bool] = []
    original = ranking.Ranking._through_graph

    def counted(self: Any, *arguments: Any) -> Any:
        hits = original(self, *arguments)
        through.append(hits is not None)
        return hits

    monkeypatch.setattr(ranking.Ranking, "_through_graph", counted)
    now = mem.get(mem.ids[-1]).t
    every: list[dict[str, Any]] = [{}, {"filters": {"g": 1}}]
    for query in ("word42", "tea word17", "green Lisbon", "word699 ran"):
        for options in every:
            both = [
                [
                    (hit.id, hit.score)
                    for hit in mem.search(
                        query, k=5, touch=False, lexical_coef=0.5, use_index=use_index, at_time=now, **options
                    )
                ]
                for use_index in (True, False)
            ]
            assert both[0] == both[1]
    assert any(through)


def test_a_rare_name_is_found_whatever_the_embedding_thinks() -> None:
    class Deaf:
        dim = 3

        def embed(self, texts: Any) -> Any:
            return np.array([[1.0, 0.0, 0.0] if "Zyx" not in text else [-1.0, 0.0, 0.0] for text in texts])

    mem = Memory(embedder=Deaf(), lexical_coef=5.0)
    mem.add_many({"text": f"filler {i}"} for i in range(50))
    wanted = mem.add("Met Zyxqv at the station")
    assert mem.search("who is zyxqv", k=1)[0].id == wanted
    assert mem.search("who is zyxqv", k=1, lexical_coef=0)[0].id != wanted
    assert mem.lexical_coef == 5.0
    mem.lexical_coef = 0.0
    assert mem.search("who is zyxqv", k=1)[0].id != wanted


HOSTILE = [
    '"', "'", "*", "tea*", "tea AND", "NOT tea", "NEAR(tea coffee)", "text:tea", "^tea", "{tea} : coffee", "(", "))",
    "tea OR", "--", "; DROP TABLE words", "\0tea\0", "!!!", "…", "🍵", "e\u0301", "\ud800tea", "a" * 100_000,
    "tea " * 5000, " ".join(map(str, range(3000))), "-tea", "tea + coffee", "%", "_", "\u200b",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_queries_are_words_and_nothing_else(query: str) -> None:
    table = WordTable()
    table.put([(0, "tea with milk"), (1, "coffee, near the station; and or not")])
    rows, scores = table.scores(query)
    assert (scores > 0).all()
    assert set(rows.tolist()) <= {0, 1}
    if "tea" in query and len(query) < 50:
        assert 0 in rows
    mem = Memory(lexical_coef=0.5)
    mem.add("tea")
    if "\ud800" not in query:
        assert len(mem.search(query)) == 1


def test_words_are_folded_and_stemmed() -> None:
    table = WordTable()
    table.put([(0, "Frau MÜLLER ran; he was running"), (1, "東京の緑茶"), (2, "snake_case names")])
    for query, row in (("muller", 0), ("run", 0), ("緑茶", 1), ("snake", 2), ("naming", 2), ("東", 1)):
        assert row in table.scores(query)[0]
    assert query_words("?!") == []
    table.drop([0, 0, 99])
    assert table.scores("run")[0].tolist() == []


def test_words_that_tell_nothing_apart_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table = WordTable()
    table.put(
        (i, f"the tea {'station' if i % 9 == 0 else ''} {'knee' * (i == 7)} word{i}") for i in range(200)
    )
    rows, scores = table.scores("the tea station near Knee")
    assert rows.tolist() == sorted({*range(0, 200, 9), 7})
    assert table.scores("the")[0].tolist() == table.scores("the tea unheard")[0].tolist() == list(range(200))
    assert table.scores("unheard of")[0].tolist() == []
    monkeypatch.setattr(WordTable, "_telling", lambda self, words: words)
    every, with_them = table.scores("the tea station near Knee")
    assert len(every) == 200
    assert with_them[rows] == pytest.approx(scores, rel=1e-5)
    assert with_them.max() == with_them[7]
    assert np.delete(with_them, rows).max() < 1e-5 * with_them.max()  # what is left out


def test_common_words_alone_are_not_looked_for_among_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "FEW_TEXTS", 50)
    table = WordTable()
    table.put((i, f"the tea word{i}") for i in range(50))
    assert len(table.scores("the")[0]) == 50
    table.put([(50, "the last")])
    for query in ("the", "the tea", "the unheard"):
        assert table.scores(query)[0].tolist() == []
    assert table.scores("the last")[0].tolist() == table.scores("last")[0].tolist() == [50]
    table.drop([0])
    assert len(table.scores("the")[0]) == 50


def test_without_fts5_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare:
        def execute(self, *_: Any) -> None:
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self) -> None:
            pass

    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: Bare())
    mem = Memory()
    mem.add("tea")
    assert mem.search("tea")
    with pytest.raises(ImportError, match="FTS5"):
        mem.search("tea", lexical_coef=0.1)


def test_copies_files_and_other_memories_of_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, lexical_coef=2.0) as mem, Memory.open(path) as other:
        assert mem.lexical_coef == 2.0
        mem.add("filler one")
        assert len(mem.search("zyx")) == 1
        other.add("Zyx", id="zyx")
        other.add("filler two", id="two")
        assert mem.search("zyx", k=1)[0].id == "zyx"
        other.update("two", text="Abc")
        other.remove("zyx")
        hits = mem.search("abc", explain=True)
        assert hits[0].id == "two"
        assert hits[0].terms is not None
        assert hits[0].terms["lexical"] == 2.0
    mem = Memory(lexical_coef=1.5)
    mem.add("tea", id="tea")
    mem.search("tea")
    copy = pickle.loads(pickle.dumps(mem))
    copy.add("knee", id="knee")
    assert copy.lexical_coef == 1.5
    assert copy.search("knee", k=1, explain=True)[0].terms["lexical"] == 1.5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_a_table_of_its_own() -> None:
    mem = Memory(lexical_coef=1.0)
    mem.add("tea", id="tea")
    mem.search("tea")
    child = os.fork()
    if child == 0:
        mem.add("knee", id="knee")
        os._exit(0 if mem.search("knee", k=1)[0].id == "knee" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert mem.search("tea", k=1)[0].id == "tea"


def test_words_of_rows_that_were_used_again() -> None:
    mem = Memory()
    words_of = StoreWords()
    columns = mem._store.columns
    mem.add("tea", id="a")
    assert words_of.scores(columns, "tea")[0].tolist() == [0]
    mem.remove("a")
    assert words_of.scores(columns, "tea")[0].tolist() == []
    mem.add("knee", id="b")
    mem.add("tea", id="c")
    assert words_of.scores(columns, "tea")[0].tolist() == [columns.row_of["c"]]
