"""A process that dies while it saves, copies, compacts or embeds anew leaves the old or the new, whole."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sqlite3

import pytest

from crash import chores
from crash.chores import ALIKE, CHORES, embedder, filled
from crash.workload import NOW, load_memory, new_memory, open_memory, state_of
from poincare_memory import Memory

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL and a fork server are POSIX")

KILLS = [pytest.param(3, id="some"), pytest.param(60, id="many", marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def forkserver():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crash.chores"])
    return context


def killed(context, folder, name, patience):
    """Start a chore and kill it some time after it was done once; how often it was done."""
    inlet, outlet = context.Pipe(duplex=False)
    child = context.Process(target=chores.work, args=(str(folder), name, outlet))
    child.start()
    outlet.close()
    assert inlet.poll(120), "the chore takes for ever"
    try:
        inlet.recv_bytes()
    except EOFError:
        child.join()
        pytest.fail(f"the child failed: {child.exitcode}")
    multiprocessing.connection.wait([child.sentinel], timeout=patience)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert child.exitcode == -signal.SIGKILL, "the child failed before it was killed"
    inlet.close()


def texts(memory):
    return {id: memory.get(id).text for id in memory.ids}


def everything(name):
    return {f"{name}{i}": f"{name} {i}" for i in range(ALIKE)}


def is_below_one(i):
    return (i > 1 and is_below_one(i // 3)) or i == 1


def is_sound(path):
    connection = sqlite3.connect(path)
    sound = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    return sound


def reembedded(path):
    """Open it with whichever of the two embedders it is from; the other is refused."""
    try:
        live = Memory.open(path, embedder=embedder(0))
    except ValueError:
        return Memory.open(path, embedder=embedder(1))
    with pytest.raises(ValueError, match="another embedder"):
        Memory.open(path, embedder=embedder(1))
    return live


def check(folder, name):
    """What the chore worked on is the old or the new, and what it had no business with is as it was."""
    one, two = (state_of(load_memory(folder / f"{each}.db")) for each in ("one", "two"))
    if name in ("saving", "saving_over_a_live_file"):
        found = state_of(load_memory(folder / "target.db"))
        for at, record in enumerate(found["records"]):
            found["records"][at] = (*record[:-1], {})  # `meta`, which was changed in between
        assert found in (one, two)
        assert is_sound(folder / "target.db")
    elif name == "writing_json":
        found = Memory.from_json((folder / "target.json").read_text(), clock=lambda: NOW)
        assert state_of(found) in (one, two)
        json.loads((folder / "target.json").read_text())
    elif name == "backing_up":
        assert texts(load_memory(folder / "target.db")) == everything("live")
        assert is_sound(folder / "target.db")
    if name == "reembedding":
        live = reembedded(folder / "live.db")
        fresh = filled(Memory(live.embedder, clock=lambda: NOW), "live")
        assert abs(live.points - fresh.points).max() < 1e-12
    else:
        live = open_memory(folder / "live.db")
    with live:
        found = texts(live)
        if name == "compacting":  # by then some may be removed, and not yet added again
            rest = {f"live{i}": f"live {i}" for i in range(ALIKE) if not is_below_one(i)}
            assert found in (everything("live"), rest)
        elif name == "keeping_versions":
            assert {**found, "live0": "live 0"} == everything("live")
            versions = [version.record.text for version in live.history("live0")]
            assert versions == ["live 0", "live 0 again"] * (len(versions) // 2) + ["live 0"] * (
                len(versions) % 2
            )
        else:
            assert found == everything("live")
    assert is_sound(folder / "live.db")


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("name", CHORES)
def test_a_chore_is_done_or_not(tmp_path, forkserver, name, kills):
    for each in ("one", "two"):
        filled(new_memory(), each).save(tmp_path / f"{each}.db")
    filled(new_memory(), "one").save(tmp_path / "target.db")
    with open_memory(tmp_path / "live.db") as live:
        filled(live, "live")
    draw = random.Random(kills)
    for _ in range(kills):
        killed(forkserver, tmp_path, name, draw.uniform(0.0, 0.05))
        check(tmp_path, name)
    known = {"one.db", "two.db", "target.db", "target.json", "live.db"}
    left = {file for file in os.listdir(tmp_path) if file not in known}
    logs = {f"target.db-{kind}" for kind in ("wal", "shm", "journal")}  # nobody has opened that file since
    assert all(file in logs or (file.startswith(".target.") and ".tmp" in file) for file in left), left
