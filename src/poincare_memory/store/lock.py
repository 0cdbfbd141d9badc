"""Many readers or one writer, re-entrant, and safe across `fork`.

``with lock.read():`` and ``with lock.write():`` may nest in any way that does not turn a reader into a
writer: a writer may read, a reader that asks to write is refused (two such readers would wait for each
other for ever). A waiting writer goes before new readers, and writers go in the order they came: neither a
stream of searches nor one of edits starves an edit.

Nothing that belongs to the user runs while the lock is held: no embedder, clock, filter or policy.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import deque
from types import TracebackType
from typing import Protocol

logger = logging.getLogger("poincare_memory")

FORK_PATIENCE_SECONDS = 10.0


class _Reading:
    __slots__ = ("_lock",)

    def __init__(self, lock: SharedLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.acquire_read()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release_read()


class _Writing:
    __slots__ = ("_lock",)

    def __init__(self, lock: SharedLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.acquire_write()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release_write()


class SharedLock:
    """A shared/exclusive lock for the threads of one process.

    Examples
    --------
    >>> from poincare_memory.store.lock import SharedLock
    >>> lock = SharedLock()
    >>> with lock.write():
    ...     with lock.read():
    ...         lock.held_by_me()
    True
    """

    def __init__(self) -> None:
        self._new_gate()
        self._readers: dict[int, int] = {}  # thread -> how many times it entered
        self._writer: int | None = None
        self._writer_depth = 0
        self._writers_waiting: deque[int] = deque()  # threads, first come first served
        self._reading = _Reading(self)
        self._writing = _Writing(self)
        _every_lock.add(self)

    def _new_gate(self) -> None:
        self._inside = threading.RLock()  # entered in C, a condition is not
        self._gate = threading.Condition(self._inside)
        self._waiting = 0  # threads at the gate: where there are none, nobody has to be told

    def _wait(self, patience: float | None = None) -> None:
        self._waiting += 1
        try:
            self._gate.wait(patience)
        finally:
            self._waiting -= 1

    def read(self) -> _Reading:
        """Context manager: shared with other readers."""
        return self._reading

    def write(self) -> _Writing:
        """Context manager: alone."""
        return self._writing

    def held_by_me(self) -> bool:
        """Whether the calling thread reads or writes now."""
        me = threading.get_ident()
        return self._writer == me or me in self._readers

    def written_by_me(self) -> bool:
        """Whether the calling thread writes now."""
        return self._writer == threading.get_ident()

    def refuse_reader(self) -> None:
        """RuntimeError where the calling thread reads: two readers that ask to write wait for ever."""
        if threading.get_ident() in self._readers:
            raise RuntimeError("a thread that reads the store cannot start to write it; leave the read first")

    def acquire_read(self) -> None:
        me = threading.get_ident()
        with self._inside:
            if me not in self._readers and self._writer != me:
                while self._writer is not None or self._writers_waiting:
                    self._wait()
            self._readers[me] = self._readers.get(me, 0) + 1

    def release_read(self) -> None:
        me = threading.get_ident()
        with self._inside:
            depth = self._readers.pop(me) - 1
            if depth:
                self._readers[me] = depth
            elif self._writers_waiting:
                self._gate.notify_all()

    def acquire_write(self, patience: float | None = None) -> bool:
        """Wait for the lock, at most `patience` seconds (None: for ever); whether it was had."""
        me = threading.get_ident()
        with self._inside:
            if self._writer == me:
                self._writer_depth += 1
                return True
            self.refuse_reader()
            if self._writer is not None or self._readers or self._writers_waiting:
                return self._wait_to_write(me, patience)
            self._writer, self._writer_depth = me, 1
            return True

    def _wait_to_write(self, me: int, patience: float | None) -> bool:
        deadline = None if patience is None else time.monotonic() + patience
        queue = self._writers_waiting
        queue.append(me)
        try:
            while self._writer is not None or self._readers or queue[0] != me:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._wait(left)
            self._writer, self._writer_depth = me, 1
            return True
        finally:
            queue.remove(me)
            if self._writer != me:
                self._gate.notify_all()

    def release_write(self) -> None:
        with self._inside:
            self._writer_depth -= 1
            if self._writer_depth == 0:
                self._writer = None
                if self._waiting:
                    self._gate.notify_all()

    def _reset_in_child(self) -> None:
        # Only the forking thread lives on in the child; what it holds itself it will also release.
        me = threading.get_ident()
        self._new_gate()
        self._readers = {me: self._readers[me]} if me in self._readers else {}
        self._writers_waiting.clear()
        if self._writer != me:
            self._writer, self._writer_depth = None, 0


class Forking(Protocol):
    """What parent and child of a fork will both have."""

    def forking(self) -> None: ...


_every_lock: weakref.WeakSet[SharedLock] = weakref.WeakSet()
_held_for_fork: list[SharedLock] = []
_to_tell: weakref.WeakSet[Forking] = weakref.WeakSet()


def tell_of_forks(one: Forking) -> None:
    """Tell it, as long as it is there, of every fork of this process, while no store is written."""
    _to_tell.add(one)


def _before_fork() -> None:
    """Let every write that is under way finish, so that no child inherits half of one."""
    deadline = time.monotonic() + FORK_PATIENCE_SECONDS
    for lock in list(_every_lock):
        if lock.held_by_me():
            continue
        if lock.acquire_write(max(0.0, deadline - time.monotonic())):
            _held_for_fork.append(lock)
        else:
            logger.warning("a store was still being used after %g s; forking anyway", FORK_PATIENCE_SECONDS)
    for one in list(_to_tell):
        one.forking()


def _after_fork_in_parent() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release_write()


def _after_fork_in_child() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release_write()
    for lock in list(_every_lock):
        lock._reset_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
