"""Damage done to files, and children that read them, so that a crash or a hang is the child's alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS_A_FILE = 20  # of the processor; of the clock ten times as many, for the machine may be busy

# Reads one JSON line a case: {"path": …, "kind": "load" | "open" | "json"}. Says what came of it in one JSON line.
READER = """
import faulthandler, json, pathlib, resource, signal, sys, warnings
from poincare_memory import Memory
faulthandler.enable()
warnings.simplefilter("error")
in_use = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (in_use + 512 * 2**20,) * 2)
for line in sys.stdin:
    path, kind = json.loads(line).values()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # kills: a hang is found as a death by SIGPROF or SIGALRM
    signal.alarm(10 * SECONDS)
    try:
        if kind == "json":
            memory = Memory.from_json(pathlib.Path(path).read_bytes())
        else:
            memory = Memory.open(path, create=False) if kind == "open" else Memory.load(path)
        answer = {"loaded": memory.to_json(), "uses": [memory.search("node", k=3)[0].id, memory.stats()["count"]]}
        if kind == "open":
            memory.add("another", id="another")
        memory.close()
    except Exception as error:
        answer = {"error": [c.__name__ for c in type(error).__mro__], "message": str(error)}
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    print(json.dumps(answer), flush=True)
""".replace("SECONDS", str(SECONDS_A_FILE))


@dataclass
class Outcome:
    """What became of one damaged file."""

    damage: str
    data: bytes
    loaded: str | None = None
    error: tuple[str, ...] = ()
    message: str = ""


def damages(good: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` damaged copies: single bits, single bytes, runs of bytes, cuts, pages swapped or blanked."""
    draw = random.Random(seed)
    kinds = (_flip_bit, _flip_bit, _set_byte, _overwrite_run, _cut, _blank_block, _swap_blocks, _repeat_block)
    for i in range(count):
        data = bytearray(good)
        name = kinds[i % len(kinds)](data, draw)
        if data != good:
            yield f"case {i} of seed {seed}: {name}", bytes(data)


def _flip_bit(data: bytearray, draw: random.Random) -> str:
    at, bit = draw.randrange(len(data)), draw.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at} flipped"


def _set_byte(data: bytearray, draw: random.Random) -> str:
    at, value = draw.randrange(len(data)), draw.choice((0, 1, 0x22, 0x7F, 0x80, 0xFF))
    data[at] = value
    return f"byte {at} set to {value}"


def _overwrite_run(data: bytearray, draw: random.Random) -> str:
    at, length = draw.randrange(len(data)), draw.randrange(2, 40)
    run = draw.randbytes(len(data[at : at + length]))
    data[at : at + length] = run
    return f"{len(run)} bytes from {at} overwritten"


def _cut(data: bytearray, draw: random.Random) -> str:
    at = draw.randrange(len(data))
    del data[at:]
    return f"cut at {at}"


BLOCK = 512


def _blocks(data: bytearray, draw: random.Random) -> tuple[int, int]:
    last = max(1, len(data) // BLOCK)
    return draw.randrange(last) * BLOCK, draw.randrange(last) * BLOCK


def _blank_block(data: bytearray, draw: random.Random) -> str:
    at, _ = _blocks(data, draw)
    data[at : at + BLOCK] = bytes(len(data[at : at + BLOCK]))
    return f"block at {at} blanked"


def _swap_blocks(data: bytearray, draw: random.Random) -> str:
    one, other = _blocks(data, draw)
    data[one : one + BLOCK], data[other : other + BLOCK] = (
        data[other : other + BLOCK],
        data[one : one + BLOCK],
    )
    return f"blocks at {one} and {other} swapped"


def _repeat_block(data: bytearray, draw: random.Random) -> str:
    one, other = _blocks(data, draw)
    data[one : one + BLOCK] = data[other : other + BLOCK]
    return f"block at {other} written over that at {one}"


def read_all(cases: Iterator[tuple[str, bytes]], kind: str, folder: Path) -> list[Outcome]:
    """Load every damaged file in children; a child that dies is an AssertionError that names its case."""
    outcomes = []
    with (
        open(folder / "stderr", "w+") as said,
        subprocess.Popen(
            [sys.executable, "-c", READER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        ) as child,
    ):
        assert child.stdin is not None and child.stdout is not None
        for damage, data in cases:
            path = folder / "damaged"
            path.write_bytes(data)
            try:
                child.stdin.write(json.dumps({"path": str(path), "kind": kind}) + "\n")
                child.stdin.flush()
                line = child.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                (folder / "killer").write_bytes(data)
                code = child.wait()
                raise AssertionError(f"{damage}: the child died ({code}); see {folder}")
            answer = json.loads(line)
            if kind != "open" or "error" in answer:
                assert path.read_bytes() == data, f"{damage}: reading changed the file"
            left = [file for file in folder.iterdir() if file.name.startswith("damaged-")]
            assert not left, f"{damage}: {left}"
            outcomes.append(
                Outcome(
                    damage,
                    data,
                    answer.get("loaded"),
                    tuple(answer.get("error", ())),
                    answer.get("message", ""),
                )
            )
        child.stdin.close()
    return outcomes
