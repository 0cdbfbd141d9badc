"""Python's collector of reference cycles, kept from looking again and again at what is being built."""

from __future__ import annotations

import gc
import os
import threading
from types import TracebackType

__all__ = ["CollectorPaused"]


class CollectorPaused:
    """A context in which no cycles are collected: for building as many containers as there are memories.

    The collector would visit all of them, and every other object of the process, a few times on the way: half the
    time of a table, and pauses in which no Ctrl-C is heard. Where it is off it stays off, and contexts of several
    threads end with the last.

    Examples
    --------
    >>> import gc
    >>> with CollectorPaused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """

    _lock = threading.RLock()  # a signal's handler may want it in the thread that holds it
    _inside = 0
    _was_on = False

    def __enter__(self) -> None:
        kind = CollectorPaused
        with self._lock:
            if kind._inside == 0:
                kind._was_on = gc.isenabled()
            kind._inside += 1
            try:
                gc.disable()
            except BaseException:  # an interrupt
                self.__exit__(None, None, None)
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            from traceback import clear_frames

            clear_frames(trace)  # what was being built is let go of, not looked at first
        with self._lock:
            CollectorPaused._inside = max(0, CollectorPaused._inside - 1)  # 0 already: forked inside
            if CollectorPaused._inside == 0 and CollectorPaused._was_on:
                gc.enable()

    @classmethod
    def _start_over(cls) -> None:
        """In a forked child, where the other threads are not."""
        cls._lock = threading.RLock()
        if cls._inside and cls._was_on:
            gc.enable()
        cls._inside = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CollectorPaused._start_over)
