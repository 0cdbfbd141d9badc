"""LangGraph's store: against `InMemoryStore` where that is right, and where it is not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optional import needs

needs("langgraph")

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from integrations.langgraph_oracle import WORDS, Oracle, comparable, embed, ops
from poincare_memory import HalfLife, Memory
from poincare_memory.integrations import langgraph as ours
from poincare_memory.integrations.langgraph import PoincareStore


@settings(max_examples=150)
@given(st.lists(st.lists(ops, max_size=5), max_size=8))
def test_batches_against_the_oracle(batches: list[list[Any]]) -> None:
    config: Any = {"dims": 64, "embed": embed, "fields": ["text", "more[*]"]}
    oracle, store = Oracle(index=config), PoincareStore(index=config)
    for batch in batches:
        whole = [op._replace(limit=1000) if isinstance(op, SearchOp) else GetOp(("-",), "-") for op in batch]
        expected = oracle.batch(whole), oracle.batch(batch)
        found = store.batch(whole), store.batch(batch)
        for op, *results in zip(batch, expected[1], expected[0], found[1], found[0], strict=True):
            assert comparable(op, *results[:2]) == comparable(op, *results[2:])


def filled(**options: Any) -> PoincareStore:
    store = PoincareStore(index={"fields": ["text"]}, **options)
    for i, word in enumerate(WORDS):
        store.put(("docs", "even" if i % 2 == 0 else "odd"), str(i), {"text": word, "i": i})
    store.put(("docs", "even"), "hidden", {"text": "green tea"}, index=False)
    return store


def test_pages_are_the_parts_of_the_whole() -> None:
    store = filled()
    for query in (None, "green tea"):
        whole = store.search(("docs",), query=query, limit=100)
        pages = [store.search(("docs",), query=query, limit=2, offset=start) for start in range(0, 8, 2)]
        assert [item.key for page in pages for item in page] == [item.key for item in whole]
        assert len({item.key for item in whole}) == 7
    assert whole[-1].key == "hidden"
    assert whole[-1].score is None
    assert whole[0].score == pytest.approx(1)


def test_the_first_write_stays_and_the_last_is_known() -> None:
    store = PoincareStore()
    store.put(("a",), "k", {"text": "tea"})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"text": "coffee"})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.created_at == first.created_at < second.updated_at
    assert store.search(("a",), query="coffee")[0].score == pytest.approx(
        store.search(("a",), query="coffee")[0].score
    )
    assert len(store.memory) == 2


def test_an_item_is_found_by_the_best_of_its_texts() -> None:
    store = PoincareStore(index={"fields": ["title", "notes[*]"]})
    store.put(("a",), "k", {"title": "green tea", "notes": ["tax filing", "calf strain"]})
    store.put(("a",), "other", {"title": "coffee"})
    for query in ("green tea", "tax filing", "calf strain"):
        found = store.search(("a",), query=query)
        assert [item.key for item in found] == ["k", "other"]
        assert found[0].score == pytest.approx(1)
    store.put(("a",), "k", {"title": "green tea", "notes": []})
    assert store.search(("a",), query="tax filing", limit=1)[0].score < 0.9  # type: ignore[operator]
    store.delete(("a",), "k")
    store.delete(("a",), "other")
    assert len(store.memory) == 0


def test_namespaces_are_branches_of_the_hierarchy() -> None:
    store = filled()
    mem = store.memory
    top = mem.roots()
    assert [mem.get(id).text for id in top] == ["docs"]
    assert [mem.get(id).text for id in mem.children(top[0])] == ["even", "odd"]
    assert mem.path('langgraph:["docs", "odd"]:1')[-2] == 'langgraph:["docs", "odd"]'


def test_other_memories_are_left_alone() -> None:
    mem = Memory()
    mem.add("green tea of ours", id="own", meta={"kind": "item"})
    store = PoincareStore(mem)
    store.put(("a",), "k", {"text": "green tea"})
    assert [item.key for item in store.search((), query="green tea of ours")] == ["k"]
    assert [item.key for item in store.search(())] == ["k"]
    assert store.list_namespaces() == [("a",)]
    store.delete(("a",), "k")
    assert mem.ids == ["own"]


def test_decay_counts_where_the_memory_says_so() -> None:
    now = [datetime(2026, 5, 1, tzinfo=timezone.utc)]
    mem = Memory(decay=HalfLife(hours=1), clock=lambda: now[0])
    store = PoincareStore(mem)
    store.put(("a",), "old", {"text": "green tea"})
    mem.get('langgraph:["a"]:old').t = datetime(2026, 4, 1, tzinfo=timezone.utc)
    store.put(("a",), "new", {"text": "green tea"})
    mem.get('langgraph:["a"]:new').t = now[0]
    assert [item.key for item in store.search(("a",), query="green tea")] == ["new", "old"]


@pytest.mark.parametrize(
    "op",
    [
        PutOp(("a.b",), "k", {"x": 1}),
        PutOp(("",), "k", {"x": 1}),
        PutOp(("a\x00",), "k", {"x": 1}),
        GetOp((3,), "k"),  # type: ignore[arg-type]
        SearchOp(("a", "b.c")),
        ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
    ],
)
def test_labels_are_checked_in_batches_too(op: Any) -> None:
    store = PoincareStore()
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("fine",), "k", {"x": 1}), op])
    assert len(store.memory) == 0


def test_a_batch_is_written_whole_or_not() -> None:
    store = filled()
    before = store.memory.ids
    bad = [
        PutOp(("docs",), "new", {"text": "fine"}),
        PutOp(("docs",), "bad", {"text": "x", "n": float("nan")}),
    ]
    with pytest.raises(ValueError, match=r"NaN|nan"):
        store.batch([PutOp(("docs", "even"), "0", None), *bad])
    assert store.memory.ids == before
    for ttl in (1e12, float("nan")):
        with pytest.raises(ValueError, match="ttl: expected minutes"):
            store.put(("docs",), "k", {"text": "tea"}, ttl=ttl)
    with pytest.raises(TypeError, match="expected a mapping or None"):
        store.batch([bad[0], PutOp(("docs",), "bad", 3)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"unknown operator '\$regex'"):
        store.search(("docs",), filter={"text": {"$regex": "a"}})


def test_missing_keys_and_words_are_no_error_in_comparisons() -> None:
    store = filled()
    assert store.search(("docs",), filter={"absent": {"$gt": 1}}) == []
    assert store.search(("docs",), filter={"text": {"$lt": 1}}) == []
    assert {item.key for item in store.search(("docs",), filter={"i": {"$gte": "4"}})} == {"4", "5"}


def test_time_to_live(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [datetime(2026, 5, 1, tzinfo=timezone.utc)]
    monkeypatch.setattr(ours, "now_utc", lambda: now[0])
    store = PoincareStore(ttl={"refresh_on_read": True, "default_ttl": None, "sweep_interval_minutes": 60})
    store._swept = now[0]
    store.put(("a",), "short", {"text": "tea", "more": "x"}, ttl=10)
    store.put(("a",), "long", {"text": "coffee"}, ttl=None)
    now[0] += timedelta(minutes=9)
    assert store.get(("a",), "short", refresh_ttl=False) is not None
    assert store.get(("a",), "short") is not None  # begins again
    now[0] += timedelta(minutes=9)
    assert [item.key for item in store.search(("a",), query="tea", refresh_ttl=False)] == ["short", "long"]
    now[0] += timedelta(minutes=2)
    assert store.get(("a",), "short") is None
    assert [item.key for item in store.search(("a",), query="tea")] == ["long"]
    assert [item.key for item in store.search(("a",))] == ["long"]
    store.put(("b",), "k", {"text": "x"}, ttl=1)
    now[0] += timedelta(minutes=2)
    assert store.list_namespaces() == [("a",)]
    assert store.sweep_ttl() == 2
    assert store.sweep_ttl() == 0
    store.put(("a",), "k", {"text": "x"}, ttl=1)
    now[0] += timedelta(minutes=61)
    store.put(("a",), "later", {"text": "x"})
    assert 'langgraph:["a"]:k' not in store.memory


def test_an_index_config_of_a_memory_that_is_given() -> None:
    with pytest.raises(ValueError, match="keeps its embedder"):
        PoincareStore(Memory(), index={"dims": 64, "embed": embed})


async def test_asynchronous_embeddings_alone_will_do() -> None:
    async def aembed(texts: Sequence[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embed(texts)

    store = PoincareStore(index={"dims": 64, "embed": aembed, "fields": ["text"]})
    labels = ("green tea", "tax filing")
    for label in labels:
        await store.aput(("users",), label, {"text": label})
    assert [item.key for item in await store.asearch(("users",), query="tax filing")] == list(labels[::-1])
    await store.adelete(("users",), "green tea")
    assert await store.aget(("users",), "green tea") is None
    assert await store.alist_namespaces() == [("users",)]


def test_threads_at_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as mem:
        store = PoincareStore(mem)
        errors: list[BaseException] = []

        def work(name: str) -> None:
            try:
                for i in range(15):
                    store.put(("users", name), str(i), {"text": f"note {i}"})
                    store.search(("users",), query="note", limit=3)
                    store.put(("users", "shared"), str(i), {"text": name})
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(f"u{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(store.search(("users",), limit=1000)) == 4 * 15 + 15


# --- an agent -----------------------------------------------------------------------------------------------------


class State(TypedDict):
    user: str
    said: str
    answer: str


def scripted_model(said: str, remembered: list[str]) -> str:
    """Stands for a language model: it says what it was reminded of."""
    return f"You said: {'; '.join(remembered)}" if said.endswith("?") else "Noted."


def agent(store: PoincareStore) -> Any:
    def recall(state: State, *, store: BaseStore) -> dict[str, str]:
        found = store.search(("users", state["user"]), query=state["said"], limit=1)
        return {"answer": scripted_model(state["said"], [item.value["text"] for item in found])}

    def remember(state: State, *, store: BaseStore) -> None:
        if not state["said"].endswith("?"):
            store.put(("users", state["user"]), state["said"], {"text": state["said"]})

    graph = StateGraph(State)
    graph.add_node("recall", recall)
    graph.add_node("remember", remember)
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "remember")
    graph.add_edge("remember", END)
    return graph.compile(store=store)


def test_an_agent_remembers_across_runs(tmp_path: Path) -> None:
    def run(*said: str, user: str = "ada") -> str:
        with Memory.open(tmp_path / "agent.db") as mem:
            graph = agent(PoincareStore(mem, index={"fields": ["text"]}))
            return [graph.invoke({"user": user, "said": one, "answer": ""})["answer"] for one in said][-1]

    assert run("I drink green tea", "My calf hurts", "I file my taxes in May") == "Noted."
    assert run("I drink coffee", user="ben") == "Noted."
    assert run("Which tea do I drink?") == "You said: I drink green tea"
    assert run("When do I file taxes?") == "You said: I file my taxes in May"
    assert run("Which tea do I drink?", user="ben") == "You said: I drink coffee"
    assert run("Anything?", user="nobody") == "You said: "


ODD = [
    "k\x1f1",
    "k",
    'a"b',
    "a:b",
    '["a"]',
    "langgraph:",
    "\x1f",
    "é😀",
    "a/b",
    " ",
    "0",
    "*",
    "\\",
    "text 1 of k",
    "a\nb",
]


def test_odd_labels_and_keys_stay_apart() -> None:
    """No two items, and no item and further text of another, are the same memory."""
    store = PoincareStore(index={"fields": ["a", "b"]})
    oracle: dict[tuple[tuple[str, ...], str], Any] = {}
    for depth in (1, 2):
        for label in ODD:
            for key in ODD:
                namespace = (label,) * depth
                value = {"a": f"tea {depth} {label} {key}", "b": f"coffee {label}", "n": len(oracle)}
                store.put(namespace, key, value)
                oracle[namespace, key] = value
    for (namespace, key), value in oracle.items():
        item = store.get(namespace, key)
        assert item is not None and item.value == value
    assert len(store.search((), limit=10_000)) == len(oracle)
    found = store.search((ODD[0],), query="coffee", limit=10_000)
    assert {(item.namespace, item.key) for item in found} == {
        (namespace, key) for namespace, key in oracle if namespace[:1] == (ODD[0],)
    }
    assert set(store.list_namespaces(limit=1000)) == {namespace for namespace, _ in oracle}
    for namespace, key in oracle:
        store.delete(namespace, key)
    assert len(store.memory) == 0


def test_values_that_json_cannot_write_are_named() -> None:
    store = PoincareStore()
    for value, said in (
        ({"x": [object()]}, r"value\['x'\]\[0\] is a object"),
        ({1: 2, "a": 3}, "has the key 1 of type int"),
    ):
        with pytest.raises(TypeError, match=said):
            store.put(("a",), "k", value)
    store.put(("a",), "n", {"n": np.int64(3)})
    item = store.get(("a",), "n")
    assert item is not None
    assert item.value == {"n": 3}
    assert len(store.search(())) == 1
