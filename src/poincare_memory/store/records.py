"""What a memory looks like to its user: `MemoryRecord`, and `SearchResult` around one."""

from __future__ import annotations

import copyreg
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from ..temporal.instants import utcnow

Hit = tuple[int, float, float, float]
"""What a scan finds: position among the candidates, score, distance, time weight."""


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
    recorded_at : datetime or None
        When the store learnt of it, whenever it happened; None where that is not known. Set by `Memory.add`.
    pinned : bool
        Whether it is exempt from decay.

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
    recorded_at: datetime | None = field(default=None, kw_only=True, compare=False, repr=False)
    pinned: bool = field(default=False, kw_only=True, compare=False, repr=False)


class ResultFields:
    """Slots of a `SearchResult`, which native code fills: a search makes its results without running their class."""

    __slots__ = (
        "__dict__",  # for attributes of the user's own
        "cone_energy",
        "depth",
        "distance",
        "record",
        "score",
        "terms",
        "time_weight",
    )


@dataclass
class SearchResult(ResultFields):
    """One hit of `Memory.search`.

    Parameters
    ----------
    record : MemoryRecord
        The memory, live.
    score : float
        ``-distance + depth_bias * depth + time_coef * log(time_weight) + lexical_coef * lexical``; larger is
        better.
    distance : float
        Hyperbolic distance to the query in the metric of the search; 0 without a query.
    time_weight : float
        In [1e-6, 1]; 1 is neutral.
    depth : float
        Hyperbolic distance from the origin.
    cone_energy : float or None
        Set by ``mode="cone"``: at most 1e-9 inside the cone.
    terms : dict or None
        Set by ``explain=True``: the parts of the score, "distance", "depth", "time" and "lexical"; their sum is
        the score.

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
    terms: dict[str, float] | None = field(default=None, kw_only=True)

    @property
    def __dict__(self) -> dict[str, Any]:
        """What `vars` shows, as of any other dataclass."""
        own: dict[str, Any] = vars(ResultFields)["__dict__"].__get__(self)
        return {name: getattr(self, name) for name in FIELDS} | own

    @__dict__.setter
    def __dict__(self, values: dict[str, Any]) -> None:
        self.__setstate__(values)

    def __setstate__(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]  # what pickle calls; its types leave it out

    @property
    def id(self) -> str:
        """Id of the memory."""
        return self.record.id

    @property
    def text(self) -> str:
        """Text of the memory."""
        return self.record.text

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata of the memory: the record's own dict."""
        return self.record.meta

    @property
    def t(self) -> datetime:
        """When it happened."""
        return self.record.t

    def to_dict(self) -> dict[str, object]:
        """Plain values, which JSON can hold where the metadata can.

        Returns
        -------
        dict
            id, text, parent, score, distance, time_weight, depth, cone_energy, t (ISO 8601), meta; terms if set.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("green tea", id="tea")
        >>> list(mem.search("tea")[0].to_dict())[:4]
        ['id', 'text', 'parent', 'score']
        """
        record = self.record
        plain: dict[str, object] = {
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
        if self.terms is not None:
            plain["terms"] = dict(self.terms)
        return plain


FIELDS = tuple(one.name for one in fields(SearchResult))
SLOTS = tuple(vars(ResultFields)[name] for name in FIELDS)
del SearchResult.cone_energy, SearchResult.terms  # the class's defaults, which would hide the slots
