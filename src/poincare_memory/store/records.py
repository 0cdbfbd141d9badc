"""What a memory looks like to its user: `MemoryRecord`, and `SearchResult` around one."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from ..temporal.instants import from_micros, optional_micros, to_micros, utcnow
from .metadata import copy_metadata

if TYPE_CHECKING:
    from .columns import Columns


@dataclass
class MemoryRecord:
    """One stored memory. Its position lives in the :class:`~poincare_memory.Memory` that owns it.

    `Memory.get` hands out a live record: what changes in the store shows in the record, and setting `t`,
    `valid_from`, `valid_until`, `meta`, `access_count` or `last_accessed` changes the store. `id`, `text`
    and `parent_id` of a stored record are changed by `Memory.update` and `Memory.link` only, since a new
    text or parent moves the point. A record outlives its removal with its last values.

    Parameters
    ----------
    id : str
        Unique in its store.
    text : str
        What is remembered.
    parent_id : str or None
        Id of the parent; None for a root.
    t : datetime
        When it happened, UTC; now by default.
    meta : dict
        JSON-like data of the user's own.
    valid_from, valid_until : datetime or None
        Bounds of validity, inclusive, UTC; None leaves a side open.
    access_count : int
        How often a search with ``touch=True`` returned it.
    last_accessed : datetime or None
        When that happened last.

    Examples
    --------
    >>> from poincare_memory import MemoryRecord
    >>> MemoryRecord("a", "Alpha").parent_id is None
    True
    """

    id: str
    text: str
    parent_id: str | None = None
    t: datetime = field(default_factory=utcnow)
    meta: dict[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    access_count: int = 0
    last_accessed: datetime | None = None


FIELDS = tuple(f.name for f in fields(MemoryRecord))


class StoredRecord(MemoryRecord):
    """A `MemoryRecord` that reads and writes one row of a store's columns.

    Reads take no lock: the value is read first and the removal mark afterwards, so a row that was freed
    and used again in between never shows through.
    """

    __slots__ = ("_columns", "_last", "_row")

    _columns: Columns
    _row: int
    _last: MemoryRecord | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # dataclasses.replace and copy.replace call the class: a copy is free of the store.
        return MemoryRecord(*args, **kwargs)

    @classmethod
    def bind(cls, columns: Columns, row: int) -> StoredRecord:
        record: StoredRecord = object.__new__(cls)
        record._columns, record._row, record._last = columns, row, None
        return record

    def release(self) -> None:
        """Keep the last values: the row is about to be freed."""
        self._last = self.snapshot()

    def snapshot(self) -> MemoryRecord:
        """The values now, in a record of its own (`meta` is shared)."""
        return MemoryRecord(*(getattr(self, name) for name in FIELDS))

    @property
    def row(self) -> int:
        """Its row; means nothing once the memory was removed."""
        return self._row

    def is_live(self) -> bool:
        """Whether the memory is still in its store."""
        return self._last is None

    def change_last(self, name: str, value: Any) -> None:
        """Change a removed record: only the record itself."""
        setattr(self._last, name, value)

    def _live(self, value: Any, name: str) -> Any:
        return value if self._last is None else getattr(self._last, name)

    def _instant(self, name: str) -> datetime | None:
        value = from_micros(int(getattr(self._columns, name)[self._row]))
        return self._live(value, name)  # type: ignore[no-any-return]

    @property
    def id(self) -> str:
        return self._live(self._columns.ids[self._row], "id")  # type: ignore[no-any-return]

    @id.setter
    def id(self, value: str) -> NoReturn:
        raise AttributeError(
            "the id of a stored memory cannot change; add it under the new id and remove this one"
        )

    @property
    def text(self) -> str:
        return self._live(self._columns.texts[self._row], "text")  # type: ignore[no-any-return]

    @text.setter
    def text(self, value: str) -> NoReturn:
        raise AttributeError("a new text moves the memory: use Memory.update(id, text=...)")

    @property
    def parent_id(self) -> str | None:
        columns = self._columns
        parent = int(columns.parent[self._row])
        return self._live(columns.ids[parent] if parent >= 0 else None, "parent_id")  # type: ignore[no-any-return]

    @parent_id.setter
    def parent_id(self, value: str | None) -> NoReturn:
        raise AttributeError("a new parent moves the memory: use Memory.link(child, parent)")

    @property
    def t(self) -> datetime:
        return self._instant("t")  # type: ignore[return-value]

    @t.setter
    def t(self, value: datetime) -> None:
        self._columns.change(self, "t", to_micros(value, "t"))

    @property
    def valid_from(self) -> datetime | None:
        return self._instant("valid_from")

    @valid_from.setter
    def valid_from(self, value: datetime | None) -> None:
        self._columns.change(self, "valid_from", optional_micros(value, "valid_from"))

    @property
    def valid_until(self) -> datetime | None:
        return self._instant("valid_until")

    @valid_until.setter
    def valid_until(self, value: datetime | None) -> None:
        self._columns.change(self, "valid_until", optional_micros(value, "valid_until"))

    @property
    def last_accessed(self) -> datetime | None:
        return self._instant("last_accessed")

    @last_accessed.setter
    def last_accessed(self, value: datetime | None) -> None:
        self._columns.change(self, "last_accessed", optional_micros(value, "last_accessed"))

    @property
    def access_count(self) -> int:
        return int(self._live(self._columns.access_count[self._row], "access_count"))

    @access_count.setter
    def access_count(self, value: int) -> None:
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value < 2**63:
            raise ValueError(f"access_count must be a whole number of at least 0, got {value!r}")
        self._columns.change(self, "access_count", int(value))

    @property
    def meta(self) -> dict[str, Any]:
        return self._live(self._columns.meta(self._row), "meta")  # type: ignore[no-any-return]

    @meta.setter
    def meta(self, value: dict[str, Any]) -> None:
        self._columns.change(self, "meta", copy_metadata(value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryRecord):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "MemoryRecord(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in FIELDS) + ")"

    def __reduce__(self) -> tuple[type[MemoryRecord], tuple[Any, ...]]:
        return MemoryRecord, tuple(getattr(self, name) for name in FIELDS)


@dataclass
class SearchResult:
    """One hit of `Memory.search`.

    Parameters
    ----------
    record : MemoryRecord
        The memory, live.
    score : float
        ``-distance + depth_bias * depth + time_coef * log(time_weight)``; larger is better.
    distance : float
        Hyperbolic distance to the query in the metric of the search; 0 without a query.
    time_weight : float
        In [1e-6, 1]; 1 is neutral.
    depth : float
        Hyperbolic distance from the origin.
    cone_energy : float or None
        Set by ``mode="cone"``: at most 1e-9 inside the cone.

    Examples
    --------
    >>> from poincare_memory import MemoryRecord, SearchResult
    >>> SearchResult(MemoryRecord("a", "Alpha"), -0.5, 0.5, 1.0, 1.0).id
    'a'
    """

    record: MemoryRecord
    score: float
    distance: float
    time_weight: float
    depth: float
    cone_energy: float | None = None

    @property
    def id(self) -> str:
        """Id of the memory."""
        return self.record.id

    @property
    def text(self) -> str:
        """Text of the memory."""
        return self.record.text

    def to_dict(self) -> dict[str, object]:
        """Plain values: id, text, parent, score, distance, time_weight, depth, cone_energy, t, meta."""
        record = self.record
        return {
            "id": record.id,
            "text": record.text,
            "parent": record.parent_id,
            "score": self.score,
            "distance": self.distance,
            "time_weight": self.time_weight,
            "depth": self.depth,
            "cone_energy": self.cone_energy,
            "t": record.t.isoformat(),
            "meta": record.meta,
        }
