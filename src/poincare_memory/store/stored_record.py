"""`StoredRecord`: the record that a store hands out, bound to a row of its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, cast

from .._core import _kernels
from ..temporal.instants import from_micros, optional_micros, to_micros
from .metadata import copy_metadata
from .records import MemoryRecord

if TYPE_CHECKING:
    from .columns import Columns

FIELDS = tuple(f.name for f in fields(MemoryRecord) if f.compare)
EXTRAS = tuple(f.name for f in fields(MemoryRecord) if not f.compare)


def _parent_at(columns: Columns, row: int) -> str | None:
    parent = int(columns.parent[row])
    return columns.ids[parent] if parent >= 0 else None


def _t_at(columns: Columns, row: int) -> datetime:
    return cast(datetime, from_micros(int(columns.t[row])))


def _valid_from_at(columns: Columns, row: int) -> datetime | None:
    return from_micros(int(columns.valid_from[row]))


def _valid_until_at(columns: Columns, row: int) -> datetime | None:
    return from_micros(int(columns.valid_until[row]))


def _last_accessed_at(columns: Columns, row: int) -> datetime | None:
    return from_micros(int(columns.last_accessed[row]))


def _access_count_at(columns: Columns, row: int) -> int:
    return int(columns.access_count[row])


def _recorded_at_at(columns: Columns, row: int) -> datetime | None:
    return from_micros(int(columns.recorded_at[row]))


def _pinned_at(columns: Columns, row: int) -> bool:
    return bool(columns.pinned[row])


def _meta_at(columns: Columns, row: int) -> dict[str, Any]:
    return columns.meta(row)


class StoredRecord(_kernels.BoundRecord, MemoryRecord):
    """A `MemoryRecord` that reads and writes one row of a store's columns; `HeldRecords` makes them.

    Reads take no lock: the value is read first and the removal mark afterwards, so a row that was freed
    and used again in between never shows through.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # dataclasses.replace and copy.replace call the class: a copy is free of the store.
        return MemoryRecord(*args, **kwargs)

    def snapshot(self) -> MemoryRecord:
        """The values now, in a record of its own (`meta` is shared)."""
        values = (getattr(self, name) for name in FIELDS)
        return MemoryRecord(*values, **{name: getattr(self, name) for name in EXTRAS})

    @property
    def row(self) -> int:
        """Its row; means nothing once the memory was removed."""
        return self._row

    def is_live(self) -> bool:
        """Whether the memory is still in its store."""
        return self._last is None

    def change_last(self, name: str, value: Any) -> None:
        """Change a removed record: only the record itself. Times are in microseconds, as for a column."""
        instant = name not in ("meta", "access_count", "pinned")
        setattr(self._last, name, from_micros(value) if instant else value)

    @property
    def parent_id(self) -> str | None:
        return self._read("parent_id", _parent_at)

    @parent_id.setter
    def parent_id(self, value: str | None) -> NoReturn:
        raise AttributeError("a new parent moves the memory: use Memory.link(child, parent)")

    @property
    def t(self) -> datetime:
        return self._read("t", _t_at)

    @t.setter
    def t(self, value: datetime) -> None:
        self._columns.change(self, "t", to_micros(value, "t"))

    @property
    def valid_from(self) -> datetime | None:
        return self._read("valid_from", _valid_from_at)

    @valid_from.setter
    def valid_from(self, value: datetime | None) -> None:
        self._columns.change(self, "valid_from", optional_micros(value, "valid_from"))

    @property
    def valid_until(self) -> datetime | None:
        return self._read("valid_until", _valid_until_at)

    @valid_until.setter
    def valid_until(self, value: datetime | None) -> None:
        self._columns.change(self, "valid_until", optional_micros(value, "valid_until"))

    @property
    def last_accessed(self) -> datetime | None:
        return self._read("last_accessed", _last_accessed_at)

    @last_accessed.setter
    def last_accessed(self, value: datetime | None) -> None:
        self._columns.change(self, "last_accessed", optional_micros(value, "last_accessed"))

    @property
    def access_count(self) -> int:
        return self._read("access_count", _access_count_at)

    @access_count.setter
    def access_count(self, value: int) -> None:
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value < 2**63:
            raise ValueError(f"access_count must be a whole number of at least 0, got {value!r}")
        self._columns.change(self, "access_count", int(value))

    @property
    def recorded_at(self) -> datetime | None:
        return self._read("recorded_at", _recorded_at_at)

    @recorded_at.setter
    def recorded_at(self, value: datetime | None) -> NoReturn:
        raise AttributeError("when a memory was recorded cannot change")

    @property
    def pinned(self) -> bool:
        return self._read("pinned", _pinned_at)

    @pinned.setter
    def pinned(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"pinned must be True or False, got {value!r:.80}")
        self._columns.change(self, "pinned", value)

    @property
    def meta(self) -> dict[str, Any]:
        return self._read("meta", _meta_at)

    @meta.setter
    def meta(self, value: dict[str, Any]) -> None:
        self._columns.change(self, "meta", copy_metadata(value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryRecord):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in FIELDS)

    __hash__ = None  # type: ignore[assignment]  # as in every dataclass that compares

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # computed: there is no dict
        """What `vars` shows, as of any other record."""
        return {name: getattr(self, name) for name in (*FIELDS, *EXTRAS)}

    def __repr__(self) -> str:
        return "MemoryRecord(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in FIELDS) + ")"

    def __reduce__(self) -> tuple[Callable[..., MemoryRecord], tuple[Any, ...]]:
        return _record_of, (vars(self),)


def _record_of(values: dict[str, Any]) -> MemoryRecord:
    return MemoryRecord(**values)
