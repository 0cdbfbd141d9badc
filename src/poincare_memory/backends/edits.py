"""Edits: the branch that one touches is fetched, changed in this process by the code of `Memory`, and written back."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import numpy as np

from ..store.memory import Memory
from .errors import BackendError, TryAgainError
from .rows import Engine, Row, Where, load, rows_of

__all__ = ["edit"]

TRIES: Final = 8
PAUSE: Final = 0.01  # seconds, doubled with every try
Value = TypeVar("Value")


def edit(
    engine: Engine,
    empty: Callable[[], Memory],
    own: list[str],
    others: list[str],
    change: Callable[[Memory], Value],
) -> Value:
    """Do something to a few memories, in one transaction; once more where another writer was in the way.

    Parameters
    ----------
    engine : Engine
    empty : callable
        Makes a `Memory` of the same settings with nothing in it.
    own, others : list of str
        Ids of what is changed, with everything below it; and of what must only be there, like parents.
    change : callable
        Is given a `Memory` that holds those and their ancestors.

    Raises
    ------
    BackendError
        Where other writers were in the way too often, or the server fails; nothing is half written.
    """
    for tried in range(TRIES):
        try:
            with engine.writing():
                return _edited(engine, empty(), own, others, change)
        except TryAgainError as error:
            if tried == TRIES - 1:
                raise BackendError(
                    f"{engine!r}: other writers were in the way {TRIES} times: {error}"
                ) from error
        time.sleep(random.uniform(0.0, PAUSE * 2**tried))  # so that the same two do not meet again
    raise AssertionError("unreachable")


def _edited(
    engine: Engine, mem: Memory, own: list[str], others: list[str], change: Callable[[Memory], Value]
) -> Value:
    engine.lock(own, shared=False)
    there = engine.fetch(Where(ids=list({*own, *others})))
    above = {id for row in there for id in row.path}
    engine.lock(sorted(above - set(own)), shared=True)
    rows = {row.id: row for row in engine.fetch(Where(ids=sorted(above)))}
    if any(row.id not in rows or rows[row.id].path != row.path for row in there):
        raise TryAgainError("a branch was moved")
    tops = [row.id for row in there if row.id in own]
    if tops:
        rows |= {row.id: row for row in engine.fetch(Where(below=tops))}
    load(mem, sorted(rows.values(), key=lambda row: row.branch), linked=True)
    result = change(mem)
    _write(engine, mem, rows)
    return result


def _write(engine: Engine, mem: Memory, rows: Mapping[str, Row]) -> None:
    """Save what is another than `rows`, remove what is no longer there."""
    after = rows_of(mem)
    new = [row for row in after if row.id not in rows or rows[row.id].parent != row.parent]
    first = engine.serials(len(new)) if new else 0
    serials = {row.id: first + number for number, row in enumerate(new)}
    attached = {row.id: row.branch[-1] for row in rows.values()} | serials
    changed = []
    for row in after:
        old = rows.get(row.id)
        row.branch = [attached[id] for id in row.path]
        row.order = serials[row.id] if old is None else old.order
        if old is None or not _same(old, row):
            changed.append(row)
    left = {row.id for row in after}
    engine.delete([id for id in rows if id not in left])
    engine.save(sorted(changed, key=lambda row: row.level))


def _same(a: Row, b: Row) -> bool:
    for name, value in vars(a).items():
        other = getattr(b, name)
        if isinstance(value, np.ndarray):
            if not np.array_equal(value, other):
                return False
        elif value != other:
            return False
    return True
