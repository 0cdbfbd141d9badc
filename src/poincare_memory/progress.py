"""How far long work has come: one form of the ``progress=`` argument, wherever it is taken.

``True`` shows a bar (of tqdm), ``False`` and ``None`` show nothing, and a function is called with how many are done
and how many there are, now and then and at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Protocol

__all__ = ["Meter", "Progress", "bar_on_a_terminal", "checked_progress", "metered"]

Progress = Callable[[int, int], object] | bool | None


class Meter(Protocol):
    """What long work tells of itself."""

    def update(self, count: int) -> object:
        """So many more are done."""


class _Silent:
    def update(self, count: int) -> None:
        """Nobody listens."""


class _Told:
    def __init__(self, tell: Callable[[int, int], object], total: int) -> None:
        self._tell, self._done, self._total = tell, 0, total

    def update(self, count: int) -> None:
        self._done += count
        self._tell(self._done, self._total)


def checked_progress(progress: Progress) -> Progress:
    """`progress` itself, if it is one.

    Raises
    ------
    TypeError
        If it is neither True, False, None nor callable.
    """
    if progress is None or isinstance(progress, bool) or callable(progress):
        return progress
    raise TypeError(
        "progress: expected True, False, None or a function of how many are done and how many there are, "
        f"got {type(progress).__name__} {progress!r:.80}"
    )


def bar_on_a_terminal() -> bool:
    """Whether to show a bar unasked: somebody looks, and tqdm is installed."""
    return os.isatty(2) and find_spec("tqdm") is not None


@contextmanager
def metered(progress: Progress, total: int, label: str, unit: str) -> Iterator[Meter]:
    """What to tell of `total` pieces of work, which `label` and `unit` name on a bar.

    Raises
    ------
    TypeError
        As `checked_progress`.
    ImportError
        For a bar, where tqdm is not installed.

    Examples
    --------
    >>> told = []
    >>> with metered(lambda done, total: told.append((done, total)), 3, "counting", "number") as meter:
    ...     for _ in range(3):
    ...         meter.update(1)
    >>> told
    [(1, 3), (2, 3), (3, 3)]
    """
    checked_progress(progress)
    if callable(progress):
        yield _Told(progress, total)
        return
    if not progress:
        yield _Silent()
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]  # an extra without types
    except ImportError as error:
        raise ImportError(
            'progress=True needs tqdm: pip install "poincare-memory[progress]"; or pass a function of how many are '
            "done and how many there are"
        ) from error
    with tqdm(total=total, desc=label, unit=unit) as bar:
        yield bar
