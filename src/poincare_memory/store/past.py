"""The store as it stood: what was known at a moment, and the versions that memories have had."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..temporal.instants import from_micros, to_micros
from .archive import fields_of
from .checked_records import CheckedRecords
from .merging import merge
from .placement import points
from .records import MemoryRecord
from .state import SETTINGS, Store

if TYPE_CHECKING:
    from .arrays import Rows
    from .sql import Found


@dataclass
class MemoryVersion:
    """What a memory was for a time.

    Parameters
    ----------
    record : MemoryRecord
        Its text, parent, times and metadata then; a copy.
    recorded_at : datetime or None
        When the store learnt of this version; None where that is not known.
    replaced_at : datetime or None
        When another version took its place, or the memory was removed; None for the present one.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> mem = Memory()
    >>> [version.record.text for version in mem.history(mem.add("Prefers tea"))]
    ['Prefers tea']
    """

    record: MemoryRecord
    recorded_at: datetime | None
    replaced_at: datetime | None


def standing_at(store: Store, options: dict[str, Any]) -> tuple[Store, dict[str, Any]]:
    """The store and the options with which a search asked ``as_of`` a moment is answered.

    Where versions are kept, that is a store of its own, in memory, that holds what stood then. Time weights are
    those of the moment, unless `at_time` names another.
    """
    moment = options.get("as_of")
    if moment is None:
        return store, options
    micros = to_micros(moment, "as_of")
    if options.get("at_time") is None:
        options = {**options, "at_time": moment}
    if not store.keeps_versions():
        return store, options
    options = {name: value for name, value in options.items() if name != "as_of"}
    return _store_at(store, micros), {**options, "touch": False}


def history(store: Store, id: str) -> list[MemoryVersion]:
    """Versions of a memory, the oldest first; see `Memory.history`."""
    store.look()
    versions: list[tuple[int, MemoryVersion]] = []  # with `pos`, which tells one memory of an id from another
    file = store.columns.file
    if file is not None and store.keeps_versions():
        found, spans = file.versions(store.columns, id=id)
        made = (_version(record, *span) for record, span in zip(_records(found), spans, strict=True))
        versions = list(zip(found.positions, made, strict=True))
    with store.reading() as columns:
        row = columns.row_of.get(id)
        if row is not None:
            pos, record = int(columns.order[row]), MemoryRecord(**vars(columns.record(row)))
            same = [version for at, version in versions if at == pos]
            began = same[-1].replaced_at if same else record.recorded_at
            versions.append((pos, MemoryVersion(record, began, None)))
    if not versions:
        raise KeyError(f"unknown id {id!r:.80}")
    return _without_moves(versions)


def _without_moves(versions: list[tuple[int, MemoryVersion]]) -> list[MemoryVersion]:
    """One version where only the place changed, as that of every descendant does with a parent's."""
    kept = [versions[0][1]]
    for (before, _), (pos, version) in pairwise(versions):
        if pos == before and _content(version.record) == _content(kept[-1].record):
            kept[-1] = replace(kept[-1], replaced_at=version.replaced_at, record=version.record)
        else:
            kept.append(version)
    return kept


def _content(record: MemoryRecord) -> tuple[Any, ...]:
    times = (record.t, record.valid_from, record.valid_until)
    return record.text, record.parent_id, record.meta, times, record.pinned


def _version(record: MemoryRecord, began: int | None, replaced: int) -> MemoryVersion:
    recorded = record.recorded_at if began is None else from_micros(began)
    return MemoryVersion(record, recorded, from_micros(replaced))


def _records(found: Found) -> list[MemoryRecord]:
    """Records of versions, which may share an id."""
    fields = dict(found.fields)
    ids = fields["id"]
    checked = CheckedRecords({**fields, "id": [str(i) for i in range(len(found))]}, "history")
    times = {
        name: checked.instants(name)
        for name in ("t", "valid_from", "valid_until", "last_accessed", "recorded_at")
    }
    counts, pins = checked.access_counts(), checked.pinned()
    records = []
    for i, (id, text, meta) in enumerate(zip(ids, checked.texts(), checked.metas(), strict=True)):
        moments: dict[str, Any] = {name: from_micros(int(column[i])) for name, column in times.items()}
        parent = fields["parent"][i]
        records.append(
            MemoryRecord(
                id,
                text,
                parent,
                meta=meta or {},
                access_count=int(counts[i]),
                pinned=bool(pins[i]),
                **moments,
            )
        )
    return records


def _store_at(store: Store, moment: int) -> Store:
    """What stood at a moment; the last one asked for is kept until something changes."""
    store.look()
    file = store.columns.file
    assert file is not None
    key = (moment, store.columns.value_version)
    kept = store.past
    if kept is not None and kept[0] == key:
        past: Store = kept[1]
        return past
    with store.reading() as columns:
        key = (moment, columns.value_version)
        found, replaced = file.standing(columns, moment)
        rows = columns.live_rows()
        rows = rows[(columns.recorded_at[rows] <= moment) & ~np.isin(columns.order[rows], replaced)]
        present = _present(store, rows, found)
    past = Store(
        store.embedder,
        store.projector,
        store.columns.room.another(),
        **{name: getattr(store, name) for name in SETTINGS},
    )
    with past.lock.write():
        merge(past, present, (), "history")
    store.past = (key, past)
    return past


def _present(store: Store, rows: Rows, versions: Found) -> Found:
    """Memories that are still as they were, and versions of the others, in order of insertion."""
    columns = store.columns
    fields = fields_of(columns, rows)
    orders, attached = columns.order[rows], columns.attached[rows]
    fields["attached"] = [
        None if a == o else a for o, a in zip(orders.tolist(), attached.tolist(), strict=True)
    ]
    positions = [*orders.tolist(), *versions.positions]
    order = np.argsort(np.array(positions, np.int64), kind="stable")
    merged = {name: [*values, *versions.fields[name]] for name, values in fields.items()}
    merged = {name: [values[i] for i in order.tolist()] for name, values in merged.items()}
    there = set(merged["id"])
    merged["parent"] = [parent if parent in there else None for parent in merged["parent"]]
    places = np.concatenate([points(columns, rows, store.ball.sqrt_c), versions.points])
    embeddings = np.concatenate([columns.embeddings(rows).astype(np.float64), versions.embeddings])
    return replace(
        versions,
        positions=[positions[i] for i in order.tolist()],
        fields=merged,
        points=places[order],
        embeddings=embeddings[order],
    )
