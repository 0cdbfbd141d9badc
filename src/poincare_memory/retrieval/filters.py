"""What the `filters` argument of a search may say, compiled once a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .conditions import Columns, Memories, Truth, compile_mapping

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

__all__ = ["MetadataFilter", "RecordFilter", "compile_filter"]

Mask = NDArray[np.uint8]


class MetadataFilter:
    """Conditions on metadata and on fields of the records.

    Examples
    --------
    >>> from poincare_memory.retrieval.filters import compile_filter
    >>> compile_filter({"kind": "event", "year": {"$gte": 2026}}).mask([{"kind": "event", "year": 2026.0}, None])
    array([1, 0], dtype=uint8)
    """

    def __init__(self, condition: Callable[[Memories], Truth]) -> None:
        self._condition = condition

    def mask(
        self,
        metas: Sequence[Mapping[str, Any] | None],
        field: Callable[[str], NDArray[Any] | list[Any]] | None = None,
        columns: Columns | None = None,
    ) -> Mask:
        """1 where a memory passes.

        Parameters
        ----------
        metas : sequence of mapping or None
            Metadata; None stands for none.
        field : callable, optional
            Gives the values of a record field, one a memory (see `conditions.FIELDS`); without it, only metadata
            is looked at.
        columns : optional
            Answers conditions on keys that it has columns of.
        """
        return self._condition(Memories(metas, field, columns)).view(np.uint8)


class RecordFilter:
    """A function of the user's own; call it with no lock held."""

    def __init__(self, function: Callable[[MemoryRecord], Any]) -> None:
        self._function = function

    def mask(self, records: Iterable[MemoryRecord]) -> Mask:
        """1 where the function finds a record true.

        Parameters
        ----------
        records : iterable of MemoryRecord

        Returns
        -------
        uint8 array of shape (n,)
        """
        return np.array([bool(self._function(record)) for record in records], dtype=np.uint8)


def compile_filter(filters: Any) -> MetadataFilter | RecordFilter | None:
    """A filter from a mapping of conditions, or from a function of a record.

    ``{"kind": "event"}`` asks for equality, where a missing key counts as None. Operators say more:

    ========================== ==================================================================================
    ``$eq $ne``                equal or not
    ``$gt $gte $lt $lte``      greater, less; values that have no order (a string and a number) do not match
    ``$in $nin``               among these values, or not
    ``$exists``                True: the key is there; False: it is not
    ``$contains``              a string has this part, a list this element, a mapping this key
    ``$and $or $not``          lists of filters, and one filter; ``$not`` may also stand below a key
    ========================== ==================================================================================

    ``"user.id"`` looks into nested mappings (a key with that very name comes first). Where a memory has no
    metadata of that name, ``t``, ``level``, ``parent``, ``access_count``, ``id`` and ``text`` are those of the
    record. A datetime compares as an instant, with ISO 8601 strings too. A missing key matches ``$ne``, ``$nin``
    and ``$exists: False`` only.

    Parameters
    ----------
    filters : mapping, callable or None
        Conditions; or a function of a :class:`MemoryRecord` that says True or False; or nothing.

    Returns
    -------
    MetadataFilter, RecordFilter or None
        What asks the mapping, the function; None where nothing is asked.

    Raises
    ------
    TypeError
        For anything but a mapping, a function or None.
    ValueError
        For an unknown operator or an operand of the wrong kind, naming the place.

    Examples
    --------
    >>> from poincare_memory.retrieval.filters import compile_filter
    >>> compile_filter(None) is None
    True
    >>> compile_filter({"n": {"$above": 3}})
    Traceback (most recent call last):
        ...
    ValueError: filters['n']: unknown operator '$above'; known are $contains, $eq, $exists, $gt, $gte, $lt, $lte, $in, $ne, $nin, $not
    """  # noqa: E501
    if filters is None:
        return None
    if isinstance(filters, Mapping):
        return MetadataFilter(compile_mapping(filters)) if filters else None
    if callable(filters):
        return RecordFilter(filters)
    raise TypeError(
        "filters: expected a mapping {metadata key: value} or a function of a record that returns True or "
        f"False, got {type(filters).__name__}: {filters!r:.80}"
    )
