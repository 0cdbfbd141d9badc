"""Changes to a store: every one happens whole or not at all.

The order is always the same. Everything is checked that can be checked; then the embedder and the clock run,
with no lock held; then, under the write lock, what may have changed meanwhile is checked again (ids that are
taken by now, parents that are gone), memory is reserved, and only then anything is written.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..progress import Progress, checked_progress, metered
from ..temporal.instants import MISSING, optional_micros, to_micros, utcnow
from .arrays import checked_reference
from .columns import Columns, check_window
from .gathering import (
    Batch,
    checked_id,
    checked_text,
    convert_times,
    duplicate_id,
    gather,
    listed_items,
    unknown_parent,
)
from .metadata import copy_metadata
from .placement import place, rule_of
from .state import Store, truth
from .undo import PLACE

if TYPE_CHECKING:
    from datetime import datetime

    from .arrays import Rows

EMBEDDED_AT_ONCE: Final = 256  # texts, where progress is told


class Unset:
    """Tells "not given" from None."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET: Final = Unset()


# --- add ----------------------------------------------------------------------------------------------


def add(
    store: Store,
    text: str,
    parent: str | None = None,
    t: datetime | None = None,
    id: str | None = None,
    meta: Mapping[str, Any] | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    pin: bool = False,
) -> str:
    """Store one memory; see `Memory.add`."""
    store.look()
    columns = store.columns
    text = checked_text(text)
    if id is not None:
        id = checked_id(id)
        if id in columns.row_of:
            raise duplicate_id(id)
    if parent is not None and checked_reference(parent, "parent") not in columns.row_of:
        raise unknown_parent(parent)
    contents = None if meta is None else copy_metadata(meta)
    start = end = MISSING
    if valid_from is not None or valid_until is not None:
        start, end = optional_micros(valid_from, "valid_from"), optional_micros(valid_until, "valid_until")
        check_window(start, end, "memory")
    pinned = pin if pin is False else truth("pin", pin)
    happened = None if t is None else to_micros(t, "t")
    recorded_at = store.now()
    if happened is None:
        happened = recorded_at
    embeddings = store.embed([text])
    with columns.changing():
        made = columns.writer.append(
            columns,
            id,
            text,
            contents,
            parent,
            happened,
            start,
            end,
            recorded_at,
            pinned,
            embeddings,
            rule_of(store),
        )
        if made is None:  # by now
            raise duplicate_id(id) if id is not None and id in columns.row_of else unknown_parent(parent)
    return made


def add_many(store: Store, items: Iterable[Mapping[str, Any]], progress: Progress = None) -> list[str]:
    """Store many memories with one call of the embedder; see `Memory.add_many`."""
    checked_progress(progress)
    listed = listed_items(items)
    if not listed:
        return []
    store.look()
    batch = gather(listed, store.columns.row_of)
    convert_times(batch)
    fill_in_now(store, batch)
    return commit(store, batch, embedded(store, batch.texts, progress))


def embedded(store: Store, texts: list[str], progress: Progress) -> NDArray[Any]:
    """Embeddings of texts: with one call of the embedder, or with one a part where somebody wants to be told."""
    if not progress:
        return store.embed(texts)
    parts = []
    with metered(progress, len(texts), "embedding", "text") as meter:
        for start in range(0, len(texts), EMBEDDED_AT_ONCE):
            parts.append(store.embed(texts[start : start + EMBEDDED_AT_ONCE]))
            meter.update(len(parts[-1]))
    return np.concatenate(parts)


def fill_in_now(store: Store, batch: Batch) -> None:
    """The clock's time: when each happened, where that was not told, and when all were recorded."""
    missing = batch.t == MISSING
    if (
        store.clock is utcnow and missing.any()
    ):  # one moment: asked again and again it would be a third of all
        batch.recorded_at = store.now()
        batch.t[missing] = batch.recorded_at
        return
    undated = np.flatnonzero(missing).tolist()
    for i in undated:
        batch.t[i] = store.now()
    batch.recorded_at = int(batch.t[undated[-1]]) if undated else store.now()


def commit(store: Store, batch: Batch, embeddings: NDArray[Any]) -> list[str]:
    """Store a batch that was checked; returns the ids."""
    with store.columns.changing():
        return _commit_inside(store, batch, embeddings)


def _commit_inside(store: Store, batch: Batch, embeddings: NDArray[Any]) -> list[str]:
    columns = store.columns
    ids = _final_ids(columns, batch)
    _check_parents_are_there(columns, batch, ids)
    columns.reserve(len(ids), embeddings.dtype)
    rows: Rows = np.empty(0, np.int32)
    try:
        rows = columns.allocate(len(ids))
        _fill(columns, rows, ids, batch)
        place(store, rows, embeddings)
    except BaseException:  # a KeyboardInterrupt too
        if columns.undo is None:
            columns.discard(rows)
        raise
    return ids


def _final_ids(columns: Columns, batch: Batch) -> list[str]:
    """Ids with those made up that were not given; an id taken meanwhile is an error."""
    known = columns.row_of
    if not known.keys().isdisjoint(batch.ids):
        raise duplicate_id(next(id for id in batch.ids if id is not None and id in known))
    return _kernels.with_made_up_ids(batch.ids, known)


def _check_parents_are_there(columns: Columns, batch: Batch, ids: list[str]) -> None:
    known = columns.row_of
    missing = {parent for parent in batch.parents if parent is not None and parent not in known}
    if missing:
        missing.difference_update(ids)
    if missing:
        raise unknown_parent(missing.pop())


def _fill(columns: Columns, rows: Rows, ids: list[str], batch: Batch) -> None:
    columns.set_objects(rows, ids, batch.texts, batch.metas)
    at = slice(int(rows[0]), int(rows[0]) + 1) if len(ids) == 1 else rows
    columns.t[at] = batch.t
    columns.valid_from[at] = batch.valid_from
    columns.valid_until[at] = batch.valid_until
    columns.recorded_at[at] = batch.recorded_at
    columns.aged_from[at] = batch.t
    if not _kernels.all_are(batch.pinned, False):
        columns.pinned[at] = batch.pinned
        columns.set_age(at)
    columns.attach(rows, _kernels.rows_of_ids(batch.parents, columns.row_of))


# --- change -------------------------------------------------------------------------------------------


def update(
    store: Store,
    id: str,
    text: str | None = None,
    meta: Mapping[str, Any] | None = None,
    t: datetime | None = None,
    valid_from: datetime | Unset | None = UNSET,
    valid_until: datetime | Unset | None = UNSET,
    pin: bool | None = None,
) -> None:
    """Change a memory in place; see `Memory.update`."""
    columns = store.columns
    with store.reading():
        row = columns.row_of[id]
        order = int(columns.order[row])
    if text is not None:
        text = checked_text(text)
    new_meta = copy_metadata(meta)
    times: dict[str, int] = {} if t is None else {"t": to_micros(t, "t")}
    if pin is not None:
        times["pinned"] = truth("pin", pin)
    if not isinstance(valid_from, Unset):
        times["valid_from"] = optional_micros(valid_from, "valid_from")
    if not isinstance(valid_until, Unset):
        times["valid_until"] = optional_micros(valid_until, "valid_until")
    embeddings = None
    while True:
        with store.reading():
            is_new = text is not None and text != columns.texts[_row_now(columns, id, order)]
        if is_new and embeddings is None:
            embeddings = store.embed([text])  # type: ignore[list-item]  # a new text is one
        with columns.changing() if text is None else columns.moving():
            row = _row_now(columns, id, order)
            if text is not None and text != columns.texts[row] and embeddings is None:
                continue  # another text came meanwhile
            change(store, row, id, text, embeddings, None if meta is None else (new_meta,), times)
            return


def _row_now(columns: Columns, id: str, order: int) -> int:
    row = columns.row_of[id]
    if int(columns.order[row]) != order:
        raise KeyError(id)  # removed meanwhile, and added again
    return row


def change(
    store: Store,
    row: int,
    id: str,
    text: str | None,
    embeddings: NDArray[Any] | None,
    meta: tuple[dict[str, Any] | None] | None,
    times: dict[str, int],
) -> None:
    """Set, inside a change, what is not None; `embeddings` is that of the text, (1, dim), where it is another."""
    columns, rows = store.columns, _one(row)
    check_window(
        times.get("valid_from", int(columns.valid_from[row])),
        times.get("valid_until", int(columns.valid_until[row])),
        f"memory {id!r:.80}",
    )
    if embeddings is not None and text != columns.texts[row]:
        columns.reserve(0, embeddings.dtype)
        columns.before(rows, "text", "embedding")
        columns.hold_embeddings(rows, embeddings)
        columns.texts[row] = text
        _replace(store, row)
    columns.before(rows, *times)
    for name, micros in times.items():
        getattr(columns, name)[row] = micros
    columns.set_age(rows)
    if meta is not None:
        columns.before(rows, "meta")
        columns.metas[row] = meta[0]
    columns.changed()


def _one(row: int) -> Rows:
    return np.array([row], np.int32)


def link(store: Store, child: str, parent: str | None) -> None:
    """Move a memory with its subtree; see `Memory.link`."""
    columns = store.columns
    with _moving(columns, child):
        row = columns.row_of[child]
        target = -1
        if parent is not None:
            found = columns.row_of.get(checked_reference(parent, "parent"))
            if found is None:
                raise unknown_parent(parent)
            target = found
        if target == int(columns.parent[row]):
            return  # nothing changes, the order of its siblings included
        if target == row or (target >= 0 and row in columns.ancestor_rows(target)):
            raise ValueError(
                f"cannot link a node under itself: {parent!r:.80} is in the subtree of {child!r:.80}"
            )
        _relink(store, row, target)


def _relink(store: Store, row: int, target: int) -> None:
    try:
        _change_parent(store, row, target)
    except BaseException:  # a KeyboardInterrupt: a leaf moves without a log, so it moves whole
        if store.columns.undo is None:
            _change_parent(store, row, target)
        raise


def _change_parent(store: Store, row: int, target: int) -> None:
    columns = store.columns
    columns.before(_one(row), "parent", "attached")
    columns.detach(row)
    columns.attach(_one(row), np.array([target], np.int32))
    columns.attached[row] = columns.next_order()
    _replace(store, row)


def _moving(columns: Columns, id: str) -> AbstractContextManager[None]:
    """Context to move or remove a memory in: one that can be taken back half done, where there is anything below it."""
    row, first_child = columns.row_of.get(id), columns.first_child
    alone = row is None or row >= len(first_child) or first_child[row] < 0  # or, unlocked: it was just now
    return columns.changing() if alone else columns.moving()


def _replace(store: Store, row: int) -> None:
    rows = store.columns.subtree_rows(row)
    store.columns.before(rows, *PLACE)
    place(store, rows)
    store.columns.moved(rows)


def remove(store: Store, id: str, cascade: bool = False) -> None:
    """Forget a memory; see `Memory.remove`."""
    columns = store.columns
    if not isinstance(id, Hashable):
        raise TypeError(
            f"id: expected the id of one memory (str), got {type(id).__name__}; to remove several, all or none: "
            "with mem.transaction(): and in it mem.remove(id) for each"
        )
    with _moving(columns, id):
        row = columns.row_of[id]
        if not cascade and columns.first_child[row] >= 0:
            raise ValueError(f"{id!r:.80} has children; pass cascade=True to remove the subtree")
        rows = columns.subtree_rows(row) if cascade else _one(row)
        columns.free(rows)
