"""One file, several processes: real ones."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from poincare_memory.store import StoreClosedError, sql
from store.children import in_child
from store.snapshots import contents
from store.table_embedder import CheapEmbedder

TESTS = Path(__file__).parents[1]
NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

PRELUDE = """
import json, sys, time, random
sys.path.insert(0, sys.argv[1])
from poincare_memory import Memory
from store.table_embedder import CheapEmbedder
mem = Memory.open(sys.argv[2], embedder=CheapEmbedder(), busy_timeout=30)
"""


def spawn(code: str, path: Path, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + code, str(TESTS), str(path), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def output(process: subprocess.Popen[str]) -> Any:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out)


def opened(path: Path, **more: Any) -> Memory:
    return Memory.open(path, embedder=CheapEmbedder(), clock=lambda: NOW, **more)


WRITER = """
rng = random.Random(int(sys.argv[3]))
mine, end = {}, time.monotonic() + float(sys.argv[4])
while time.monotonic() < end:
    kind = rng.choice(("add", "add", "update", "remove", "link"))
    some = rng.choice(list(mine)) if mine else None
    if kind == "add" or some is None:
        id = f"{sys.argv[3]}-{len(mine)}-{rng.random()}"
        mem.add(f"text of {id}", id=id, parent="root")
        mine[id] = f"text of {id}"
    elif kind == "update":
        mine[some] = f"other {rng.random()}"
        mem.update(some, text=mine[some])
    elif kind == "link":
        mem.link(some, None if rng.random() < 0.5 else "root")
    else:
        mem.remove(some)
        del mine[some]
mem.close()
print(json.dumps(mine))
"""

READER = """
end, looks, errors = time.monotonic() + float(sys.argv[3]), 0, []
while time.monotonic() < end or looks <= 10:
    ids = mem.ids
    for hit in mem.search("text", k=5, touch=False):
        if not hit.text:
            errors.append(hit.id)
    if "root" not in ids or len(set(ids)) != len(ids):
        errors.append(len(ids))
    looks += 1
print(json.dumps([looks, errors]))
"""


@pytest.mark.parametrize("seconds", [2.0, pytest.param(10.0, marks=pytest.mark.long)])
def test_two_writers_and_three_readers_lose_nothing(tmp_path: Path, seconds: float) -> None:
    path = tmp_path / "m.db"
    here = opened(path, busy_timeout=30)
    here.add("root", id="root")
    writers = [spawn(WRITER, path, number, seconds) for number in range(2)]
    readers = [spawn(READER, path, seconds) for _ in range(3)]
    want = {"root": "root"}
    for writer in writers:
        mine = output(writer)
        assert mine
        want.update(mine)
    for looks, errors in map(output, readers):
        assert looks > 10
        assert errors == []
    assert {id: here.get(id).text for id in here.ids} == want
    with opened(path) as again:
        assert contents(again) == contents(here)
        assert np.allclose(again.points, here.points, rtol=0, atol=1e-15)
    here.close()


def test_what_another_process_wrote_is_there_at_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    mem = opened(path)
    mem.add("root", id="root")
    mem.build_index("hnsw")
    other = spawn("for line in sys.stdin:\n    exec(line)\n    print('done', flush=True)\n", path)

    def there(line: str) -> None:
        assert other.stdin is not None and other.stdout is not None
        print(line, file=other.stdin, flush=True)
        assert other.stdout.readline() == "done\n"

    there("mem.add('child', id='child', parent='root', meta={'a': 1})")
    assert mem.children("root") == ["child"]
    record = mem.get("child")
    there("mem.update('child', text='grown', meta={'a': 2})")
    assert mem.search("grown", k=1)[0].id == "child"
    assert (record.text, record.meta) == ("grown", {"a": 2})
    there("mem.add_many([{'text': 'x', 'id': 'x'}, {'text': 'y', 'id': 'y', 'parent': 'x'}])")
    there("mem.link('child', 'y')")
    assert mem.ancestors("child") == ["y", "x"]
    assert mem.depth("child") == 2.0
    there("mem.remove('x', cascade=True)")
    assert mem.ids == ["root"]
    assert record.text == "grown"
    there("mem.remove('root'); mem.add('root again', id='root')")
    assert mem.get("root").text == "root again"
    there("mem.inherit = 0.5")
    assert len(mem) == 1
    assert mem.inherit == 0.5
    mem.add("mine", id="mine", parent="root")
    there("assert mem.children('root') == ['mine']")
    there("mem.close()")
    other.communicate(timeout=30)
    mem.close()


def test_what_a_foreign_writer_does_is_noticed(tmp_path: Path) -> None:
    mem = opened(tmp_path / "m.db")
    mem.add_many(
        [{"text": "a", "id": "a"}, {"text": "b", "id": "b", "parent": "a"}, {"text": "c", "id": "c"}]
    )
    assert len(mem) == 3
    shell = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    shell.execute("UPDATE records SET text = 'by hand' WHERE id = 'b'")
    assert mem.get("b").text == "by hand"
    shell.execute("UPDATE records SET id = 'z' WHERE id = 'c'")
    assert mem.ids == ["a", "b", "z"]
    shell.execute("UPDATE records SET parent_id = 'z' WHERE id = 'b'")
    assert mem.children("z") == ["b"]
    shell.execute("INSERT OR REPLACE INTO records SELECT 77, id, text, parent_id, t, valid_from, valid_until, "
                  "access_count, last_accessed, meta, point, embedding FROM records WHERE id = 'z'")  # fmt: skip
    assert mem.ids == ["a", "b", "z"]
    assert mem.children("z") == ["b"]
    shell.execute("DELETE FROM records WHERE id = 'a'")
    assert mem.ids == ["b", "z"]
    shell.execute("BEGIN")
    shell.execute("DELETE FROM records")
    shell.execute("ROLLBACK")
    assert mem.ids == ["b", "z"]
    shell.close()
    mem.close()


def test_a_foreign_write_that_makes_no_sense_is_an_error_until_it_is_put_right(tmp_path: Path) -> None:
    mem = opened(tmp_path / "m.db")
    mem.add_many([{"text": "a", "id": "a"}, {"text": "b", "id": "b", "parent": "a"}])
    shell = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    for broken, mended, message in (
        ("UPDATE records SET parent_id = 'b' WHERE id = 'a'", "parent_id = NULL", "comes back to itself"),
        ("UPDATE records SET point = x'00' WHERE id = 'a'", None, "8 \\* |expected 64 bytes"),
        ("UPDATE records SET t = 'soon' WHERE id = 'a'", "t = '2026-01-01T12:00:00+00:00'", "ISO 8601"),
        ("UPDATE records SET meta = '[]' WHERE id = 'a'", "meta = '{}'", "JSON object"),
        ("UPDATE records SET parent_id = 'nobody' WHERE id = 'b'", "parent_id = NULL", "not in the file"),
    ):
        point = shell.execute("SELECT point FROM records WHERE id = 'a'").fetchone()[0]
        shell.execute(broken)
        for call in (lambda: mem.ids, lambda: mem.search("a"), lambda: mem.add("more")):
            with pytest.raises(ValueError, match=message):
                call()
        if mended is None:
            shell.execute("UPDATE records SET point = ? WHERE id = 'a'", (point,))
        else:
            shell.execute(f"UPDATE records SET {mended}")
        assert mem.ids == ["a", "b"]
    shell.close()
    mem.close()


def test_a_log_that_was_cut_is_made_up_for_by_comparing(tmp_path: Path, monkeypatch: Any) -> None:
    for module in (sql, sql.live):
        monkeypatch.setattr(module, "LOG_LENGTH", 5)
    monkeypatch.setattr(sql, "LOG_SLACK", 5)
    a, b = opened(tmp_path / "m.db"), opened(tmp_path / "m.db")
    a.add_many({"text": f"text {i}", "id": str(i)} for i in range(10))
    assert len(b) == 10
    for i in range(10, 30):
        a.add(f"text {i}", id=str(i), parent=str(i - 10))
    a.remove("29")
    a.update("3", text="other")
    assert sql.first_change(a._store.columns.file._connections.writer) > 10
    assert contents(b) == contents(a)
    a.close()
    b.close()


@pytest.mark.parametrize("holding", [False, True], ids=["plain", "with metadata handed out"])
def test_noticing_nothing_is_cheap(tmp_path: Path, holding: bool) -> None:
    mem = opened(tmp_path / "m.db")
    mem.add_many({"text": f"text {i}", "id": str(i), "meta": {"n": i, "tags": ["a"]}} for i in range(10))
    held = [mem.get(str(i)).meta for i in range(10 if holding else 0)]
    assert len(held) in (0, 10)
    look = mem._store.look
    deadline = time.monotonic() + 30  # the best of many short tries: other processes want the processor too
    best = 1.0
    while best >= 20e-6 and time.monotonic() < deadline:
        best = min(best, *(timed(look) for _ in range(20)))
    mem.close()
    assert best < 20e-6


def timed(call: Callable[[], object], count: int = 50) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


# --- fork ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_reads_and_writes_with_connections_of_its_own(tmp_path: Path) -> None:
    mem = opened(tmp_path / "m.db")
    mem.add("one", id="one")
    mem.search("one")

    def work() -> None:
        assert mem.ids == ["one"]
        mem.add("from the child", id="child", parent="one")
        mem.search("one")
        mem.close()

    assert in_child(work) == 0
    assert mem.children("one") == ["child"]
    mem.add("from the parent", id="parent")
    mem.close()
    with opened(tmp_path / "m.db") as again:
        assert again.ids == ["one", "child", "parent"]
        assert again.get("one").access_count == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_inside_a_transaction_leaves_it_to_the_parent(tmp_path: Path) -> None:
    mem = opened(tmp_path / "m.db")

    def work() -> None:
        for use in (
            lambda: transaction.__exit__(None, None, None),
            lambda: mem.ids,
            lambda: mem.add("two"),
            lambda: opened(tmp_path / "m.db"),
        ):
            with pytest.raises(StoreClosedError, match="forked while"):
                use()

    transaction = mem.transaction()
    transaction.__enter__()
    mem.add("one", id="one")
    assert in_child(work) == 0
    transaction.__exit__(None, None, None)
    assert mem.ids == ["one"]
    mem.close()
    with opened(tmp_path / "m.db") as again:
        assert again.ids == ["one"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_while_threads_write(tmp_path: Path) -> None:
    mem = opened(tmp_path / "m.db", busy_timeout=30)
    mem.add("root", id="root")
    mem.search("root")  # what it imports, no thread may be importing while the process forks
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            mem.add("text", parent="root")
            mem.search("text", k=1)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        statuses = [
            in_child(lambda: (mem.add("child", parent="root"), mem.search("text"))[1]) for _ in range(10)
        ]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert statuses == [0] * 10
    assert sum(record.text == "child" for record in mem) == 10
    mem.close()
