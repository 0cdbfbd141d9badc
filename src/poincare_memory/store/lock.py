"""Many readers or one writer, re-entrant, and safe across `fork`.

``with lock.read():`` and ``with lock.write():`` may nest in any way that does not turn a reader into a
writer: a writer may read, a reader that asks to write is refused (two such readers would wait for each
other for ever). A waiting writer goes before new readers, and writers go in the order they came: neither a
stream of searches nor one of edits starves an edit.

A user's transaction may be left behind by a thread that ends inside it: who waits for one, looks now and then.

Nothing that belongs to the user runs while the lock is held: no embedder, clock, filter or policy.

What nobody else wants is entered and left in one native step each (``src/_core/lock.pxi``).
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from typing import Protocol

from .._core import _kernels

logger = logging.getLogger("poincare_memory")

FORK_PATIENCE_SECONDS = 10.0


class SharedLock(_kernels.ReadersOrWriter):
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
        super().__init__()
        _every_lock.add(self)


class Forking(Protocol):
    """What parent and child of a fork will both have."""

    def forking(self) -> None: ...


_every_lock: weakref.WeakSet[SharedLock] = weakref.WeakSet()
_held_for_fork: dict[int, list[SharedLock]] = {}  # by the thread that forks: two may at once
_to_tell: weakref.WeakSet[Forking] = weakref.WeakSet()


def tell_of_forks(one: Forking) -> None:
    """Tell it, as long as it is there, of every fork of this process, while no store is written."""
    _to_tell.add(one)


def _before_fork() -> None:
    """Let every write that is under way finish, so that no child inherits half of one."""
    deadline = time.monotonic() + FORK_PATIENCE_SECONDS
    held = _held_for_fork.setdefault(threading.get_ident(), [])
    for lock in list(_every_lock):
        if lock.held_by_me():
            continue
        if lock.acquire_write(max(0.0, deadline - time.monotonic())):
            held.append(lock)
        else:
            logger.warning("a store was still being used after %g s; forking anyway", FORK_PATIENCE_SECONDS)
    for one in list(_to_tell):
        one.forking()


def _after_fork_in_parent() -> None:
    for lock in _held_for_fork.pop(threading.get_ident(), ()):
        lock.release_write()


def _after_fork_in_child() -> None:
    _after_fork_in_parent()
    _held_for_fork.clear()
    for lock in list(_every_lock):
        lock.keep_only_me()  # the forking thread lives on


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
