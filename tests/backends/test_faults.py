"""What may happen to a server and between writers: clear errors, nothing half written."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from optional import needs

needs("psycopg", "pgserver", "qdrant_client")

import psycopg

from backends.servers import postgresql
from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends import BackendError
from poincare_memory.backends.rows import Where

EMBEDDER = HashingEmbedder(dim=16)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgresql() as server:
        yield server.get_uri()


def connected(url: str, name: str, **options: Any) -> Any:
    return Memory.connect(url, name=name, embedder=EMBEDDER, **options)


def whole(mem: Any) -> None:
    """Paths, levels and depths are those of the parents."""
    rows = {row.id: row for row in mem._engine.fetch(Where())}
    for row in rows.values():
        above = [] if row.parent is None else rows[row.parent].path
        assert row.path == [*above, row.id]
        assert row.branch[:-1] == ([] if row.parent is None else rows[row.parent].branch)
        assert row.level == len(row.path) - 1
        assert row.radius == pytest.approx(1 + 0.5 * row.level)


def test_no_server(tmp_path: Any) -> None:
    with pytest.raises(BackendError, match="no connection to PostgreSQL"):
        connected("postgresql://127.0.0.1:1/x", "m")
    with pytest.raises(BackendError, match="Qdrant collection 'm'"):
        connected("qdrant://127.0.0.1:1", "m", timeout=1)
    with pytest.raises(ValueError, match="expected postgresql://"):
        connected("mysql://x", "m")
    with pytest.raises(ValueError, match="name: expected lower-case"):
        connected("postgresql://127.0.0.1:1/x", "a; DROP TABLE b")


@pytest.mark.parametrize("engine", ["postgresql", "qdrant"])
def test_edits_that_are_refused_change_nothing(engine: str, url: str) -> None:
    with connected(url if engine == "postgresql" else "qdrant:///:memory:", "refused") as mem:
        mem.add_many([{"text": "tea", "id": "tea"}, {"text": "sencha", "id": "sencha", "parent": "tea"}])
        before = [vars(record) for record in mem]
        for change, error in (
            (lambda: mem.add("x", id="tea"), ValueError),
            (lambda: mem.add("x", parent="nobody"), KeyError),
            (lambda: mem.add(" "), ValueError),
            (lambda: mem.add_many([{"text": "new"}, {"text": "x", "meta": {"n": float("nan")}}]), ValueError),
            (lambda: mem.add_many([{"text": "new", "id": "n"}, {"text": "x", "id": "n"}]), ValueError),
            (lambda: mem.update("nobody", text="x"), KeyError),
            (lambda: mem.update("tea", text=" "), ValueError),
            (lambda: mem.link("tea", "sencha"), ValueError),
            (lambda: mem.link("tea", "nobody"), KeyError),
            (lambda: mem.remove("tea"), ValueError),
            (lambda: mem.remove("nobody"), KeyError),
            (lambda: mem.search("x", mode="subtree"), ValueError),
            (lambda: mem.search("x", mode="subtree", root="nobody"), KeyError),
            (lambda: mem.search("x", lexical_coef=0.3), ValueError),
            (lambda: mem.search("x", filters={"n": {"$above": 1}}), ValueError),
            (lambda: mem.get("nobody"), KeyError),
        ):
            with pytest.raises(error):
                change()
        assert [vars(record) for record in mem] == before
        assert mem.add("again", id="tea", on_duplicate="ignore") == "tea"
        mem.search("tea", k=1)
        assert mem.get("tea").access_count == 1


def test_what_postgresql_cannot_hold_is_a_value_error(url: str) -> None:
    with connected(url, "nul") as mem:
        with pytest.raises(ValueError, match="PostgreSQL cannot hold this"):
            mem.add_many([{"text": "fine"}, {"text": "a\x00b"}])
        assert len(mem) == 0
        mem.add(
            "x", id="x", meta={"big": 10**30, "float": 1e16, "text": "a\x00b", "list": [1, 1.0, None, "é"]}
        )
        assert mem.get("x").meta == {
            "big": 10**30,
            "float": 1e16,
            "text": "a\x00b",
            "list": [1, 1.0, None, "é"],
        }
        assert type(mem.get("x").meta["float"]) is float


@pytest.mark.parametrize("engine", ["postgresql", "qdrant"])
def test_another_schema_or_embedder(engine: str, url: str, tmp_path: Any) -> None:
    at = url if engine == "postgresql" else f"qdrant://{tmp_path}"
    connected(at, "schema", inherit=0.5).close()
    with connected(at, "schema") as mem:
        assert mem._settings["inherit"] == 0.5
    for options, message in (({"inherit": 0.1}, "inherit: the memory was made with 0.5"),):
        with pytest.raises(ValueError, match=message):
            connected(at, "schema", **options)
    with pytest.raises(ValueError, match="dim: the memory was made with 16"):
        Memory.connect(at, name="schema", embedder=HashingEmbedder(dim=32))
    if engine == "postgresql":
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE schema_info SET value = jsonb_set(value, '{schema}', '99')")
        with pytest.raises(BackendError, match="has schema 99, this version of poincare-memory has 1"):
            connected(at, "schema")


def kill_others(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )


def test_a_connection_that_breaks(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(url, "broken") as mem:
        mem.add("tea", id="tea")
        kill_others(url)
        assert mem.get("tea").text == "tea"  # reads try once more
        kill_others(url)
        mem.add("coffee", id="coffee")  # nothing had begun
        real = mem._engine.save

        def breaking(rows: Any) -> None:
            real(rows)
            kill_others(url)

        monkeypatch.setattr(mem._engine, "save", breaking)
        with pytest.raises(BackendError, match="connection broke"):
            mem.add_many([{"text": "half"}, {"text": "written"}])
        monkeypatch.undo()
        assert mem.ids == ["tea", "coffee"]
        mem.add("again")
        assert len(mem) == 3


def test_a_server_that_is_slow(url: str) -> None:
    with connected(url, "slow", timeout=0.5) as mem:
        mem.add("tea", id="tea")
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM slow WHERE id = 'tea' FOR UPDATE")
            with pytest.raises(BackendError, match=r"longer than 0\.5 s"):
                mem.update("tea", text="coffee")
            assert mem.get("tea").text == "tea"
        mem.update("tea", text="coffee")
        assert mem.get("tea").text == "coffee"


def _write(url: str, name: str, number: int) -> None:
    with connected(url, name) as mem:
        for i in range(6):
            mem.add(
                f"note {i} of {number}", id=f"{number}-{i}", parent="left" if (i + number) % 2 else "right"
            )
            mem.link("left", ["right", None][(i + number) % 2])
            if i % 3 == 2:
                mem.remove(f"{number}-{i - 1}", cascade=True)


def test_two_writers_on_one_subtree(url: str) -> None:
    """Threads with connections of their own, and processes: all is whole at the end."""
    with connected(url, "writers") as mem:
        mem.add_many(
            [
                {"text": "top", "id": "top"},
                {"text": "left", "id": "left", "parent": "top"},
                {"text": "right", "id": "right", "parent": "top"},
            ]
        )
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                _write(url, "writers", number)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=_write, args=(url, "writers", number)) for number in (3, 4)]
        for worker in (*threads, *processes):
            worker.start()
        for worker in (*threads, *processes):
            worker.join(120)
        assert errors == []
        assert [process.exitcode for process in processes] == [0, 0]
        whole(mem)
        assert len(mem) == 3 + 5 * 4


def test_one_connection_in_many_threads(url: str) -> None:
    with connected(url, "threads") as mem:
        mem.add("top", id="top")
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for i in range(8):
                    mem.add(f"note {i}", parent="top")
                    mem.search(f"note {i}", k=3)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert errors == []
        assert len(mem) == 33
        whole(mem)
