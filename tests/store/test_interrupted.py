"""Ctrl-C at any line of a change: it happens whole or not at all."""

from __future__ import annotations

import linecache
import signal
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store.undo import FreedRows
from store.snapshots import everything
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
EMBEDDER = HashingEmbedder(dim=8)
PACKAGE = Path(sys.modules["poincare_memory"].__file__ or "").parent
# Where locks are taken and logs let go of, no call is long: an interrupt there would have to hit one of a few steps.
STEPS_OF_NO_LENGTH = {"lock.py", "changes.py"}
NEVER = {
    "end_undo",
    "end",
    "back_to",
    "_put_back",
    "put_back",
    "take_back",
    "discard",
    "_blank",
    "resort",
    "start_over",
}


class Interruption:
    """Raises KeyboardInterrupt at the n-th line of the package that runs, as a signal would."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.where = ""

    def __enter__(self) -> Interruption:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        path = Path(code.co_filename)
        if PACKAGE not in path.parents or path.name in STEPS_OF_NO_LENGTH or code.co_name in NEVER:
            return None
        return self._lines()

    def _lines(self) -> Callable[[Any, str, Any], Any]:
        last = -1

        def line(frame: Any, event: str, argument: Any) -> Any:
            nonlocal last
            if event != "line":
                return line
            again, last = frame.f_lineno == last, frame.f_lineno
            source = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            # Left, a `with` is traced where no signal is let in. And what a tracer raises where a comprehension of one
            # line goes round passes by every `with` and `except` of its function in CPython 3.12 and 3.13.
            if again or source.lstrip().startswith("with "):
                return line
            if self.left == 0:
                sys.settrace(None)
                self.left, self.where = -1, f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
            self.left -= 1
            return line

        return line


def filled() -> Memory:
    mem = Memory(EMBEDDER, clock=lambda: NOW, inherit=0.6)
    mem.add_many(
        {"text": f"note {i}", "id": str(i), "parent": str((i - 1) // 3) if i else None, "meta": {"i": i}}
        for i in range(25)
    )
    mem.add("elsewhere", id="other")
    mem.remove("24")
    mem.remove("23")  # so that freed rows are used again
    return mem


POINT = np.full(8, 0.1)
CHANGES: dict[str, Callable[[Memory], Any]] = {
    "link": lambda mem: mem.link("1", "other"),
    "link to the top": lambda mem: mem.link("1", None),
    "update": lambda mem: mem.update("1", text="quite another text", meta={"new": 1}),
    "update a leaf": lambda mem: mem.update("22", text="quite another text", meta={"new": 1}, pin=True),
    "add": lambda mem: mem.add("one more", id="one", meta={"n": 1}),
    "add below": lambda mem: mem.add("one more", id="one", parent="5", pin=True),
    "remove": lambda mem: mem.remove("1", cascade=True),
    "remove a leaf": lambda mem: mem.remove("22"),
    "link a leaf": lambda mem: mem.link("22", "5"),
    "link a leaf to the top": lambda mem: mem.link("22", None),
    "add_many": lambda mem: mem.add_many(
        [{"text": "more 0", "id": "m0", "parent": "2"}]
        + [{"text": f"more {i}", "id": f"m{i}", "parent": "1" if i % 2 else "m0"} for i in range(1, 9)]
    ),
    "place_learned": lambda mem: mem.place_learned({"1": POINT, "5": None}),
    "compact": lambda mem: mem.compact(),
}


@pytest.mark.parametrize("in_transaction", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_ctrl_c_ends_is_whole_or_nothing(change: str, in_transaction: bool) -> None:
    if in_transaction and change == "compact":
        pytest.skip("a memory cannot be compacted inside a transaction")
    work = CHANGES[change]
    mem = filled()
    before = everything(mem)
    work(mem)
    after = everything(mem)
    at, done = 0, False
    while not done:
        mem = filled()
        with Interruption(at) as interruption:
            try:
                if in_transaction:
                    with mem.transaction():
                        work(mem)
                else:
                    work(mem)
            except KeyboardInterrupt:
                pass
        done = interruption.left >= 0
        now = everything(mem)
        assert now == after or (now == before and not done), interruption.where
        assert not mem._store.lock.held_by_me(), interruption.where
        mem.add("new", id="new", parent="2")  # it goes on as any other
        mem.remove("2", cascade=True)
        work_again = [hit.id for hit in mem.search("note 7", k=30, touch=False)]
        assert sorted(work_again) == sorted(mem.ids), interruption.where
        at += 2 if in_transaction else 1
    assert at > 10


def test_ctrl_c_while_a_transaction_is_taken_back_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = Memory(embedder=CheapEmbedder())
    mem.add_many(
        {"text": f"note {i}", "id": str(i), "parent": str((i - 1) // 3) if i else None} for i in range(40)
    )
    before = everything(mem)
    whole = FreedRows.put_back

    def interrupted(self: FreedRows) -> None:
        signal.raise_signal(signal.SIGINT)
        whole(self)

    monkeypatch.setattr(FreedRows, "put_back", interrupted)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

    def remove_and_fail() -> None:
        with mem.transaction():
            mem.remove("1", cascade=True)
            raise RuntimeError

    try:
        with pytest.raises(KeyboardInterrupt):
            remove_and_fail()
        assert everything(mem) == before
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
