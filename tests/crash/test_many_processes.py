"""Two writers and three readers on one file, in processes of their own."""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys

import pytest

from crash import company
from crash.workload import assert_same_vectors, load_memory, open_memory, state_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fork server is POSIX")

SECONDS = [pytest.param(2, id="short"), pytest.param(10, id="long", marks=pytest.mark.long)]


@pytest.mark.parametrize("seconds", SECONDS)
def test_no_write_is_lost_and_readers_see_every_commit_in_order(tmp_path, seconds):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crash.company"])
    path = tmp_path / "live.db"
    with open_memory(path) as memory:
        memory.add("shared", id="shared", meta={"total": 0})
    names = ["one", "two"]
    start = context.Barrier(5)  # all have the store open: a loaded machine may take its time
    jobs = [(company.writer, (str(path), name, start, seconds)) for name in names]
    jobs += [(company.reader, (str(path), names, start, seconds))] * 3
    children, inlets = [], []
    for target, arguments in jobs:
        inlet, outlet = context.Pipe(duplex=False)
        children.append(context.Process(target=target, args=(*arguments, outlet)))
        children[-1].start()
        outlet.close()
        inlets.append(inlet)
    reports = [inlet.recv() for inlet in inlets]
    for child in children:
        child.join()
    assert [report for report in reports if isinstance(report, str)] == []
    writers, readers = reports[:2], reports[2:]

    expected = {"shared"}
    for name, report in zip(names, writers, strict=True):
        gone = {added - 3 for added in range(1, report["added"] + 1) if added % 7 == 0}
        expected |= {f"{name}-{i}" for i in range(report["added"]) if i not in gone}
    with open_memory(path) as memory:
        assert set(memory.ids) == expected
        assert memory.get("shared").meta["total"] == sum(report["counted"] for report in writers)
        for name, report in zip(names, writers, strict=True):
            changed = f"{name}-{report['added'] // 5 * 5 - 1}"
            if report["added"] >= 5 and changed in memory:
                assert memory.get(changed).text.startswith("changed")
        loaded = load_memory(path)
        assert state_of(loaded)["records"] == state_of(memory)["records"]
        assert_same_vectors(loaded, memory)
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()
    assert all(report["looks"] for report in readers)
    print(f"{seconds} s: writers {writers}, readers {readers}")  # noqa: T201
