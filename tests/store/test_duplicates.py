"""`on_duplicate`: ids returned are ids stored, whatever is there already."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Memory
from store.snapshots import everything
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NAMES = st.sampled_from([*"abcd", None])


def filled() -> Memory:
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    mem.add("alpha", id="a", meta={"n": 1}, t=NOW - timedelta(1), valid_until=NOW)
    mem.add("beta", id="b", parent="a")
    return mem


def test_error_is_the_default():
    mem = filled()
    before = everything(mem)
    for call in (
        lambda: mem.add("x", id="a"),
        lambda: mem.add_many([{"text": "x"}, {"text": "x", "id": "a"}]),
        lambda: mem.add("x", id="a", on_duplicate="error"),
    ):
        with pytest.raises(ValueError, match=r"duplicate id 'a'.*on_duplicate"):
            call()
    with pytest.raises(ValueError, match="on_duplicate must be one of"):
        mem.add("x", on_duplicate="replace")
    assert everything(mem) == before


def test_ignore_changes_nothing_and_embeds_nothing():
    mem = filled()
    before = everything(mem)

    class Refusing(CheapEmbedder):
        def embed(self, texts: Any) -> Any:
            raise AssertionError(texts)

    mem.embedder = Refusing()
    assert mem.add("other", id="a", meta={"x": 1}, parent="b", on_duplicate="ignore") == "a"
    assert mem.add_many([{"text": "x", "id": "b"}, {"text": "y", "id": "a"}], on_duplicate="ignore") == [
        "b",
        "a",
    ]
    assert everything(mem) == before


def test_update_takes_what_is_passed_and_keeps_the_rest():
    mem = filled()
    assert mem.add("gamma", id="a", on_duplicate="update") == "a"
    record = mem.get("a")
    assert (record.text, record.meta, record.t, record.valid_until) == (
        "gamma",
        {"n": 1},
        NOW - timedelta(1),
        NOW,
    )
    assert mem.search("gamma", k=1)[0].id == "a"
    mem.add("gamma", id="a", meta={}, t=NOW, valid_from=NOW - timedelta(3), on_duplicate="update")
    assert (record.meta, record.t, record.valid_from, record.valid_until) == (
        {},
        NOW,
        NOW - timedelta(3),
        NOW,
    )
    mem.add("delta", id="d")
    mem.add("beta", id="b", parent="d", on_duplicate="update")
    assert mem.ancestors("b") == ["d"]
    mem.add("beta", id="b", on_duplicate="update")
    assert mem.ancestors("b") == ["d"]


def test_a_batch_is_whole_or_nothing():
    mem = filled()
    before = everything(mem)
    items = [{"text": "new", "id": "n"}, {"text": "changed", "id": "b"}]
    for bad, error, message in (
        ({"text": "x", "id": "a", "parent": "b"}, ValueError, "under itself"),
        ({"text": "x", "id": "a", "valid_from": NOW + timedelta(1)}, ValueError, "valid_until lies before"),
        ({"text": " ", "id": "a"}, ValueError, "item 2: memory text"),
        ({"text": "x", "id": "a", "parent": "nobody"}, KeyError, "item 2: unknown parent"),
    ):
        with pytest.raises(error, match=message):
            mem.add_many([*items, bad], on_duplicate="update")
        assert everything(mem) == before
    with pytest.raises(KeyError, match=r"^\"unknown parent id 'nobody'\"$"):
        mem.add("x", id="a", parent="nobody", on_duplicate="update")


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["x", "y", "z"])), max_size=8),
    st.sampled_from(["ignore", "update"]),
)
def test_batches_do_what_single_adds_do(pairs: list[tuple[str | None, str]], choice: Any) -> None:
    one_by_one, at_once = filled(), filled()
    items: list[dict[str, Any]] = [{"text": text, "id": id} for id, text in pairs]
    singly = [one_by_one.add(**item, on_duplicate=choice) for item in items]
    ids = at_once.add_many(items, on_duplicate=choice)
    named = [(i, id) for i, (id, _) in enumerate(pairs) if id is not None]
    assert [(i, ids[i]) for i, _ in named] == [(i, singly[i]) for i, _ in named] == named
    assert set(ids) <= set(at_once.ids)
    assert [record.text for record in at_once] == [record.text for record in one_by_one]


def test_what_another_thread_does_while_texts_are_embedded():
    mem = filled()

    class Meddling(CheapEmbedder):
        calls = 0

        def embed(self, texts: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                mem.remove("b")
                mem.embedder = CheapEmbedder()
                mem.add("came first", id="c")
            return super().embed(texts)

    mem.embedder = Meddling()
    assert mem.add_many([{"text": "see", "id": "c"}, {"text": "beta", "id": "b"}], on_duplicate="ignore") == [
        "c",
        "b",
    ]
    assert {record.id: record.text for record in mem} == {"a": "alpha", "b": "beta", "c": "came first"}
