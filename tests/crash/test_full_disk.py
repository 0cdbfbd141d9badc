"""A disk that fills up: an error that says so, memory and file as they were, and work goes on when there is room."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="RLIMIT_FSIZE is POSIX")

# No file of this process may grow beyond the limit: what a full disk does, without one. A write beyond it fails as
# EFBIG, for Python ignores SIGXFSZ.
PROGRAM = """
import os, resource, sys
from crash.workload import assert_same_vectors, load_memory, new_memory, open_memory, state_of
path, room = sys.argv[1], int(sys.argv[2])
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

def whole(memory):
    return {**state_of(memory), "counts": [memory.get(id).access_count for id in memory.ids]}

memory = open_memory(path)
memory.add("root", id="root", meta={"n": 0})
limit(room)
refused, n = 0, 0
while refused < 6:
    before = whole(memory)
    try:
        kind = n % 4
        if kind == 0:
            memory.add(f"note {n} " + "long " * 300, id=f"n{n}", parent="root")
        elif kind == 1:
            memory.add_many([{"text": f"{i} of {n}", "id": f"n{n}-{i}"} for i in range(5)])
        elif kind == 2:
            memory.update("root", text=f"root {n} " + "long " * 2000, meta={"n": n})
        else:
            with memory.transaction():
                memory.add(f"note {n}", id=f"n{n}")
                memory.link(f"n{n}", "root")
                memory.update(f"n{n}", meta={"x": "y" * 3000})
    except OSError as error:
        refused += 1
        assert "nothing was changed" in str(error), error
        assert whole(memory) == before, (n, kind)
    n += 1
    assert n < 5000
count, acknowledged = len(memory), state_of(memory)
assert memory.search("note", k=3)
try:
    memory.close()
except OSError:
    pass  # what waited to be counted may be lost; it was said
limit(hard)
with open_memory(path) as memory:
    assert state_of(memory) == acknowledged
    memory.add("there is room again", id="again")
    memory.update("root", meta={"n": -1})
twin = load_memory(path)
assert "again" in twin and twin.get("root").meta == {"n": -1} and len(twin) == count + 1

# save and to_json: the old file stays, and nothing is left beside it
saved = path + ".saved"
small = new_memory()
small.add("small", id="s")
small.save(saved)
good, there = open(saved, "rb").read(), sorted(os.listdir(os.path.dirname(path)))
limit(1_000)
for write in (twin.save, twin.to_json):
    try:
        write(saved)
    except OSError as error:
        pass
    else:
        raise AssertionError("written?")
    assert open(saved, "rb").read() == good
    assert sorted(os.listdir(os.path.dirname(path))) == there
limit(hard)
twin.save(saved)
assert load_memory(saved).ids == twin.ids
print(n, count)
"""


@pytest.mark.parametrize("room", [250_000, 400_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_disk_that_fills_up(tmp_path, room):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "live.db"), str(room)],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    edits, count = map(int, done.stdout.split())
    assert edits > 10
    assert count > 5
