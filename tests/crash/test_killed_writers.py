"""A process that dies by SIGKILL leaves exactly what it acknowledged, or one edit more; never half of one."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import time

import pytest

from crash import workload
from crash.workload import assert_same_vectors, load_memory, open_memory, perform, state_of

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL and a fork server are POSIX")

KILLS = [pytest.param(12, id="some"), pytest.param(200, id="many", marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def forkserver():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crash.workload"])  # so that a child starts in milliseconds
    return context


def messages_until_killed(context, path, seed, serial, patience):
    """What a child told before its death, `patience` seconds after its first acknowledgement at the latest."""
    inlet, outlet = context.Pipe(duplex=False)
    child = context.Process(target=workload.live_child, args=(str(path), seed, serial, outlet))
    child.start()
    outlet.close()
    told = []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if inlet.poll(max(0.0, deadline - time.monotonic())):
            try:
                told.append(json.loads(inlet.recv_bytes()))
            except EOFError:
                break
            if len(told) == 1:
                deadline = time.monotonic() + patience
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert child.exitcode == -signal.SIGKILL, "the child failed before it was killed"
    try:
        while inlet.poll(0):
            told.append(json.loads(inlet.recv_bytes()))
    except EOFError:
        pass
    inlet.close()
    return told


def without_sibling_order(state):
    """Format 1 does not hold it: `load` gives siblings in order of insertion, `open` as they were attached."""
    return {**state, "children": {id: sorted(ids) for id, ids in state["children"].items()}}


@pytest.mark.parametrize("kills", KILLS)
def test_the_acknowledged_state_survives(tmp_path, forkserver, kills):
    path = tmp_path / "live.db"
    draw = random.Random(7 + kills)
    twin = workload.new_memory()  # makes the acknowledged edits, and lives on
    serial, acknowledged, unsure, one_more = 0, 0, 0, 0
    for kill in range(kills):
        told = messages_until_killed(forkserver, path, 1000 * kills + kill, serial, draw.uniform(0.0, 0.25))
        before = None
        for message in told:
            if message[0] == "open":
                assert message[1] == twin.ids
            elif message[0] == "begin":
                before = copy.deepcopy(twin)
                perform(twin, message[1])
                serial += 1
            else:
                before = None
                acknowledged += 1
        with open_memory(path) as memory:
            if before is not None:
                unsure += 1
                if state_of(memory) == state_of(before):
                    twin = before
                else:
                    one_more += 1
            assert state_of(memory) == state_of(twin)
            assert_same_vectors(memory, twin)
            assert {hit.id for hit in memory.search("note", k=5)} <= set(twin.ids)
        with sqlite3.connect(path) as raw:  # as any other program would find it
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        raw.close()
        loaded = load_memory(path)
        assert without_sibling_order(state_of(loaded)) == without_sibling_order(state_of(twin))
        assert_same_vectors(loaded, twin)
    assert acknowledged > kills
    print(f"{kills} kills: {acknowledged} acknowledged edits, {unsure} cut, {one_more} of them made")  # noqa: T201
