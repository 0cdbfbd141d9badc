"""Write to a live file what a change did to the columns, as its undo log tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embed.specs import embedder_spec
from ..temporal.instants import optional_iso
from ..temporal.specs import policy_spec
from . import sql
from .archive import EXTRAS, SETTINGS_IN_FILES, SETTINGS_OF_OURS, fields_of
from .placement import points
from .undo import BORN, COUNTS, EMBEDDING, EXTRA, PARENT, POINT, VALUES

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns
    from .state import Store
    from .undo import UndoLog


def persist(
    connection: sqlite3.Connection,
    columns: Columns,
    undo: UndoLog,
    store: Store,
    moment: int | None,
) -> list[int]:
    """Write every memory that came, changed or went, and the settings that were set.

    Under the columns' write lock, inside a transaction of the file. Where a `moment` is given, what is replaced or
    removed is kept as a version that stood until then; the `pos` of all that were are returned.
    """
    versioned: list[int] = []
    gone = [
        order
        for order, mark in undo.marks.items()
        if not mark.bits & BORN and columns.order[mark.row] != order
    ]
    if moment is not None and undo.marks:
        changed = _live_rows(columns, undo, False, VALUES | PARENT | POINT | EMBEDDING | EXTRA)
        versioned = [*gone, *columns.order[changed].tolist()]
        sql.put_versions(connection, versioned, moment)
    if gone:
        _expect(sql.delete(connection, gone), len(gone))
        sql.put_info(connection, "next_pos", columns.last_order() + 1)
    if undo.marks:
        _insert_born(connection, columns, undo, store)
        _update_changed(connection, columns, undo, store)
    if undo.settings:
        sql.put_config(connection, _config(undo.settings))
    return versioned


def _config(settings: Mapping[str, Any]) -> dict[str, Any]:
    held = {*SETTINGS_IN_FILES, *SETTINGS_OF_OURS}
    config = {name: value for name, value in settings.items() if name in held}
    if "decay" in settings:
        config["decay"] = policy_spec(settings["decay"])
    if "embedder" in settings:
        config["embedder"] = embedder_spec(settings["embedder"])
    return config


def _live_rows(columns: Columns, undo: UndoLog, born: bool, bits: int) -> Rows:
    """Rows of the marked memories that are there, born or not, and changed in one of these respects."""
    rows = [
        mark.row
        for order, mark in undo.marks.items()
        if bool(mark.bits & BORN) == born and mark.bits & bits and columns.order[mark.row] == order
    ]
    return np.array(rows, np.int32)


def _insert_born(connection: sqlite3.Connection, columns: Columns, undo: UndoLog, store: Store) -> None:
    rows = _live_rows(columns, undo, True, BORN)
    if len(rows) == 0:
        return
    positions = columns.order[rows].tolist()
    fields = _with_places(columns, rows, fields_of(columns, rows))
    places = points(columns, rows, store.ball.sqrt_c)
    if len(rows) > 1:
        sql.insert(connection, positions, fields, [(places, columns.embeddings(rows))])
        return
    record = {column: fields[name][0] for name, column in sql.COLUMNS.items()}
    record |= {
        "pos": positions[0],
        "meta": sql.meta_text(record["meta"]),
        "point": sql.blob(places),
        "embedding": sql.blob(columns.embeddings(rows)),
    }
    sql.insert_one(connection, record, [fields[name][0] for name in EXTRAS])


def _update_changed(connection: sqlite3.Connection, columns: Columns, undo: UndoLog, store: Store) -> None:
    if all(mark.bits & BORN for mark in undo.marks.values()):
        return
    rows = _live_rows(columns, undo, False, VALUES | PARENT)
    if len(rows):
        fields = fields_of(columns, rows)
        names = ("text", "parent", "t", "valid_from", "valid_until")
        metas = map(sql.meta_text, fields["meta"])
        values = zip(*(fields[name] for name in names), metas, columns.order[rows].tolist(), strict=True)
        _expect(sql.update_values(connection, values), len(rows))
    rows = _live_rows(columns, undo, False, POINT)
    if len(rows):
        places = sql.blobs(points(columns, rows, store.ball.sqrt_c))
        changed = zip(places, columns.order[rows].tolist(), strict=True)
        _expect(sql.update_points(connection, changed), len(rows))
    rows = _live_rows(columns, undo, False, EMBEDDING)
    if len(rows):
        changed = zip(sql.blobs(columns.embeddings(rows)), columns.order[rows].tolist(), strict=True)
        _expect(sql.update_embeddings(connection, changed), len(rows))
    rows = _live_rows(columns, undo, False, COUNTS)
    if len(rows):
        _expect(sql.update_counts(connection, _counts(columns, rows)), len(rows))
    rows = _live_rows(columns, undo, False, VALUES | EXTRA)
    if len(rows):
        fields = _with_places(columns, rows, fields_of(columns, rows))
        told = (fields[name] for name in ("id", "text", *EXTRAS))
        sql.put_extras(connection, zip(*told, strict=True))
    rows = _live_rows(columns, undo, False, VALUES | PARENT | POINT | EMBEDDING | EXTRA)
    sql.seal(connection, columns.order[rows].tolist())


def _counts(columns: Columns, rows: Rows) -> Iterator[tuple[int, str | None, int]]:
    for row in rows.tolist():
        yield (
            int(columns.access_count[row]),
            optional_iso(int(columns.last_accessed[row])),
            int(columns.order[row]),
        )


def _with_places(columns: Columns, rows: Rows, fields: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """`fields` with the moments at which memories got their parents, where those are not their own."""
    orders, attached = columns.order[rows].tolist(), columns.attached[rows].tolist()
    fields["attached"] = [None if at == order else at for order, at in zip(orders, attached, strict=True)]
    return fields


def _expect(found: int, expected: int) -> None:
    if found != expected:
        raise sqlite3.DatabaseError(f"{expected} records were to change, {found} were found in the file")
