"""`add` and `add_many` where an id may be in use already: such an item is passed over, or changes the memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..progress import Progress, checked_progress
from ..temporal.instants import MISSING
from .changes import Change
from .editing import change, commit, embedded, fill_in_now, link
from .gathering import Batch, convert_times, gather, listed_items

if TYPE_CHECKING:
    from .state import Store

OnDuplicate = Literal["error", "ignore", "update"]
CHOICES: Final = ("error", "ignore", "update")


def checked_choice(on_duplicate: Any) -> OnDuplicate:
    """`on_duplicate` itself, if it is one of the three choices."""
    if on_duplicate not in CHOICES:
        raise ValueError(f"on_duplicate must be one of {', '.join(CHOICES)}, got {on_duplicate!r:.80}")
    return cast(OnDuplicate, on_duplicate)


def add_or_keep(store: Store, item: Mapping[str, Any], on_duplicate: OnDuplicate) -> str:
    """`add_many_or_keep` of one item."""
    try:
        return add_many_or_keep(store, [item], on_duplicate)[0]
    except (KeyError, TypeError, ValueError) as error:
        if not error.args or not str(error.args[0]).startswith("item 0: "):
            raise
        raise type(error)(str(error.args[0]).removeprefix("item 0: ")) from None


def add_many_or_keep(
    store: Store, items: Iterable[Mapping[str, Any]], on_duplicate: OnDuplicate, progress: Progress = None
) -> list[str]:
    """Add what has a new id; of the rest, change what "update" says, all or nothing."""
    checked_progress(progress)
    listed = listed_items(items)
    if not listed:
        return []
    store.look()
    batch = gather(listed, store.columns.row_of, unique=False)
    convert_times(batch)
    dated = batch.t != MISSING
    fill_in_now(store, batch)
    upsert = _Upsert(store, batch, dated, listed, on_duplicate == "update")
    while True:
        upsert.embed(progress)
        ids = upsert.carry_out()
        if ids is not None:
            return ids


class _Upsert:
    def __init__(
        self,
        store: Store,
        batch: Batch,
        dated: NDArray[np.bool_],
        items: list[Mapping[str, Any]],
        update: bool,
    ) -> None:
        self._store = store
        self._batch = batch
        self._dated = dated
        self._has_meta = [item.get("meta") is not None for item in items]
        self._pins = [item.get("pin") for item in items]
        self._update = update
        self._vectors: dict[str, NDArray[Any]] = {}  # text -> its embedding

    def embed(self, progress: Progress) -> None:
        """Embed, with no lock held, what has to be as things are."""
        with self._store.reading():
            new, known = self._parted()
            wanted = self._texts(new, known)
        missing = [text for text in dict.fromkeys(wanted) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, embedded(self._store, missing, progress), strict=True))

    def _parted(self) -> tuple[list[int], list[int]]:
        """Items whose ids are new, and those whose are not (in the store, or earlier in the batch)."""
        row_of = self._store.columns.row_of
        new: list[int] = []
        known: list[int] = []
        seen: set[str] = set()
        for i, id in enumerate(self._batch.ids):
            (known if id is not None and (id in row_of or id in seen) else new).append(i)
            if id is not None:
                seen.add(id)
        return new, known

    def _texts(self, new: list[int], known: list[int]) -> list[str]:
        columns, batch = self._store.columns, self._batch
        wanted = [batch.texts[i] for i in new]
        for i in known if self._update else ():
            row = columns.row_of.get(cast(str, batch.ids[i]))
            if row is None or columns.texts[row] != batch.texts[i]:
                wanted.append(batch.texts[i])
        return wanted

    def carry_out(self) -> list[str] | None:
        """The ids; None where others changed meanwhile what is there, so that more must be embedded."""
        store, batch = self._store, self._batch
        with Change(store.columns):
            new, known = self._parted()
            if not self._vectors.keys() >= set(self._texts(new, known)):
                return None
            ids = list(batch.ids)
            if new:
                vectors = np.stack([self._vectors[batch.texts[i]] for i in new])
                for i, id in zip(new, commit(store, batch.subset(new), vectors), strict=True):
                    ids[i] = id
            for i in known if self._update else ():
                self._change(i)
            return cast("list[str]", ids)

    def _change(self, i: int) -> None:
        batch, columns = self._batch, self._store.columns
        id, parent = cast(str, batch.ids[i]), batch.parents[i]
        row = columns.row_of[id]
        times = {"t": int(batch.t[i])} if self._dated[i] else {}
        if self._pins[i] is not None:
            times["pinned"] = int(batch.pinned[i])
        for name in ("valid_from", "valid_until"):
            if int(getattr(batch, name)[i]) != MISSING:
                times[name] = int(getattr(batch, name)[i])
        vector = self._vectors.get(batch.texts[i])
        meta = (batch.metas[i],) if self._has_meta[i] else None
        change(self._store, row, id, batch.texts[i], None if vector is None else vector[None], meta, times)
        above = int(columns.parent[row])
        if parent is not None and (above < 0 or columns.name(above) != parent):
            link(self._store, id, parent)
