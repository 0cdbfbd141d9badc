"""What the parts of `Memory` have in common."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..state import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from ..memory import Memory

    Path = str | os.PathLike[str]

Whole = TypeVar("Whole", bound=type)


class Facade:
    """A part of `Memory`: it holds no algorithm; every method checks nothing and delegates to the store."""

    _store: Store

    @classmethod
    def _of(cls, store: Store) -> Memory:
        """A memory over a store. `Memory` says how: its parts come before it, and cannot."""
        raise NotImplementedError(f"{cls.__name__} is a part of Memory, which makes memories")

    @property
    def _memory(self) -> Memory:
        """The memory that this is a part of, for those who need all of it."""
        return cast("Memory", self)


def as_one(whole: Whole) -> Whole:
    """Let errors, help and pickles name the methods of a class's parts as its own, ``Memory.add``."""
    for part in whole.__mro__[1:-1]:
        for name, value in vars(part).items():
            for function in _functions(value):
                function.__module__ = whole.__module__
                function.__qualname__ = f"{whole.__qualname__}.{name}"
    return whole


def _functions(value: Any) -> Iterator[Callable[..., Any]]:
    if inspect.isfunction(value):
        yield value
    if isinstance(value, (classmethod, staticmethod)):
        yield value.__func__
    if isinstance(value, property):
        yield from filter(None, (value.fget, value.fset))
