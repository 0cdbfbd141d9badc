"""The store: memories as columns, and `Memory` around them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import StoreBusyError as StoreBusyError
    from .errors import StoreClosedError as StoreClosedError
    from .errors import StoreReadError as StoreReadError
    from .errors import StoreWriteError as StoreWriteError
    from .memory import Memory as Memory
    from .past import MemoryVersion as MemoryVersion
    from .records import MemoryRecord as MemoryRecord
    from .records import SearchResult as SearchResult

_HOME = {
    "Memory": "memory",
    "MemoryRecord": "records",
    "MemoryVersion": "past",
    "SearchResult": "records",
    "StoreBusyError": "errors",
    "StoreClosedError": "errors",
    "StoreReadError": "errors",
    "StoreWriteError": "errors",
}
__all__ = [
    "Memory",
    "MemoryRecord",
    "MemoryVersion",
    "SearchResult",
    "StoreBusyError",
    "StoreClosedError",
    "StoreReadError",
    "StoreWriteError",
]


_SUBMODULES = frozenset({"memory", "records"})  # attributes without an import of their own, as in 0.1.4


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
