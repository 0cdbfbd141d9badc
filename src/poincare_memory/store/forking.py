"""The files of live stores are at rest while a process forks."""

from __future__ import annotations

import os
import time
import weakref
from typing import Final, Protocol

from .lock import FORK_PATIENCE_SECONDS


class Pausing(Protocol):
    """What is paused before a fork, and goes on after it, in the parent and in the child."""

    def pause(self, deadline: float) -> None: ...
    def resume(self) -> None: ...
    def resume_in_child(self) -> None: ...


_every_file: Final[weakref.WeakSet[Pausing]] = weakref.WeakSet()


def rest_over_forks(file: Pausing) -> None:
    """Pause a file, as long as it is there, over every fork of this process."""
    _every_file.add(file)


def _before_fork() -> None:
    deadline = time.monotonic() + FORK_PATIENCE_SECONDS
    for file in list(_every_file):
        file.pause(deadline)


def _after_fork_in_parent() -> None:
    for file in list(_every_file):
        file.resume()


def _after_fork_in_child() -> None:
    for file in list(_every_file):
        file.resume_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
