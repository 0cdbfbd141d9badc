"""How many threads the kernels use: one decision, in one place."""

from __future__ import annotations

import os

from ._core import _kernels
from .arguments import integer

__all__ = ["available_threads", "resolve_threads"]

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernels.make_serial_after_fork)


def available_threads() -> int:
    """Processors this process may use: affinity, container quota and `OMP_NUM_THREADS` counted; 1 in a forked child.

    Examples
    --------
    >>> available_threads() >= 1
    True
    """
    return 1 if _kernels.serial_after_fork() else _kernels.available_threads()


def resolve_threads(n_threads: int | None) -> int:
    """Turn an ``n_threads`` argument into the number that the kernels take (0: their default).

    Parameters
    ----------
    n_threads : int or None
        At least 1, or None for the default: all processors that this process may use.

    Raises
    ------
    ValueError
        If ``n_threads`` is below 1.
    TypeError
        If it is not an integer.

    Examples
    --------
    >>> resolve_threads(2), resolve_threads(None)
    (2, 0)
    """
    return 0 if n_threads is None else integer("n_threads", n_threads, least=1)
