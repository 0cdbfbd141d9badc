"""Forked children that do one thing."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable

NOBODY = 65534  # root may write everywhere, so its child becomes somebody else


def in_child(work: Callable[[], None]) -> int:
    """Wait status of a forked child that did `work`; 0 when it went well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the process has threads
        pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def as_somebody_else(work: Callable[[], None]) -> int:
    """The same, as a user whom modes of files hold back."""

    def work_there() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        work()

    return in_child(work_there)
