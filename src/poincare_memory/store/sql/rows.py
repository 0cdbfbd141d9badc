"""Rows of records as they are selected: the order of their columns, and their digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..archive import EXTRAS
from ..digests import record_digests

# Columns of `records` that hold the fields of an archive, in the order of the archive's names.
COLUMNS: Final = {
    "id": "id",
    "text": "text",
    "parent": "parent_id",
    "t": "t",
    "valid_from": "valid_from",
    "valid_until": "valid_until",
    "access_count": "access_count",
    "last_accessed": "last_accessed",
    "meta": "meta",
}


def digests_of(columns: Mapping[str, Sequence[Any]]) -> list[int]:
    return record_digests([values for name, values in columns.items() if name not in UNDIGESTED])


def record_digest(record: Mapping[str, Any], extras: Sequence[Any]) -> int:
    """Digest of one record, its fields named as those of an archive; `extras` are its values in pm_extra, if any."""
    columns = {column: record[name] for name, column in COLUMNS.items()} | {**record}
    values = [columns[name] for name in RECORD if name not in UNDIGESTED]
    return record_digests([[value] for value in (*values, *extras)])[0]


# What digests do not speak of, so that uses can be counted without them: pm_digest holds copies.
UNDIGESTED: Final = ("pos", "access_count", "last_accessed")
RECORD: Final = (
    *UNDIGESTED,
    *(column for column in COLUMNS.values() if column not in UNDIGESTED),
    "point",
    "embedding",
)
SELECTED: Final = ", ".join(f"r.{name}" for name in RECORD)
SELECTED_EXTRAS: Final = ", ".join(f"x.{name}" for name in EXTRAS)
WITH_EXTRAS: Final = (
    f"SELECT {SELECTED}, x.digest, {SELECTED_EXTRAS} FROM records r LEFT JOIN pm_extra x ON x.id = r.id"
)
WITHOUT_EXTRAS: Final = f"SELECT {SELECTED} FROM records r"
READ: Final = (*RECORD, "text_digest", *EXTRAS)  # names of the columns that `WITH_EXTRAS` selects
NOTED: Final = f"SELECT {', '.join((*UNDIGESTED, 'digest'))} FROM pm_digest"
NO_EXTRA: Final = (None,) * len(EXTRAS)


def columns_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Column by column what `WITH_EXTRAS` or `WITHOUT_EXTRAS` selected."""
    return dict(zip(READ, zip(*rows, strict=True), strict=False))


def text_digests(texts: Sequence[Any]) -> list[int]:
    """Tell whether rows of pm_extra still belong to the records they were written for."""
    return record_digests([texts])


def digest(text: Any) -> int:
    """`text_digests` of one."""
    return text_digests([text])[0]
