"""Methods of `Memory` that change what is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from ...progress import Progress
from .. import editing
from ..changes import Transaction
from ..editing import UNSET, Unset
from ..upserting import OnDuplicate, add_many_or_keep, add_or_keep, checked_choice
from .base import Facade


class Remembering(Facade):
    """Adding, changing and removing memories; each edit happens whole or not at all."""

    def add(
        self,
        text: str,
        parent: str | None = None,
        t: datetime | None = None,
        id: str | None = None,
        meta: Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        *,
        on_duplicate: OnDuplicate = "error",
        pin: bool = False,
    ) -> str:
        """Store a memory; returns its id.

        Parameters
        ----------
        text : str
            What to remember; not blank.
        parent : str, optional
            Id of the memory it belongs under; a root without.
        t : datetime, optional
            When it happened (naive: UTC); the clock's time by default.
        id : str, optional
            Unique, not blank; 12 random hex digits by default.
        meta : mapping, optional
            JSON-like data of your own; copied.
        valid_from, valid_until : datetime, optional
            Bounds of validity, inclusive; None leaves a side open.
        on_duplicate : {"error", "ignore", "update"}, default "error"
            What happens where the id is in use: an error; nothing; or the memory takes what is passed (text,
            parent, t, meta, bounds, pin) and keeps the rest.
        pin : bool, default False
            Exempt it from decay: it is always as new. Its bounds of validity still count.

        Returns
        -------
        str

        Raises
        ------
        KeyError
            For an unknown parent.
        ValueError
            For a blank text or id, an id in use, an inverted validity window, metadata that JSON cannot write
            (NaN), or embeddings of the wrong shape or not finite. Nothing is stored then.
        TypeError
            For times that are no datetimes and metadata of other types.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.add("Prefers tea", id="tea", meta={"kind": "preference"})
        'tea'
        """
        if on_duplicate == "error":
            return editing.add(self._store, text, parent, t, id, meta, valid_from, valid_until, pin)
        item: dict[str, Any] = {"text": text, "parent": parent, "t": t, "id": id, "meta": meta}
        item |= {"valid_from": valid_from, "valid_until": valid_until}
        if pin:
            item["pin"] = pin
        return add_or_keep(self._store, item, checked_choice(on_duplicate))

    def add_many(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        on_duplicate: OnDuplicate = "error",
        progress: Progress = None,
    ) -> list[str]:
        """Store many memories with one call of the embedder, all or none; returns their ids in order.

        Parameters
        ----------
        items : iterable of mappings
            Arguments of `add`, one mapping a memory; a parent comes before its children. Those without a `t` all
            get one moment of the system's clock, and keep their order; a clock of your own is asked for each.
        on_duplicate : {"error", "ignore", "update"}, default "error"
            As for `add`, item by item in their order: of two with one new id the first is added.
        progress : bool or callable, optional
            True: a bar (``pip install "poincare-memory[progress]"``); or a function of how many texts are embedded
            and how many there are. The embedder is then called with 256 texts at a time.

        Returns
        -------
        list of str

        Raises
        ------
        KeyError, TypeError, ValueError
            As `add`, naming the item; also for a key that is no argument of `add`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.add_many([{"text": "Trips", "id": "trips"}, {"text": "Lisbon", "id": "l", "parent": "trips"}])
        ['trips', 'l']
        """
        if checked_choice(on_duplicate) == "error":
            return editing.add_many(self._store, items, progress)
        return add_many_or_keep(self._store, items, on_duplicate, progress)

    def update(
        self,
        id: str,
        text: str | None = None,
        meta: Mapping[str, Any] | None = None,
        t: datetime | None = None,
        valid_from: datetime | Unset | None = UNSET,
        valid_until: datetime | Unset | None = UNSET,
        *,
        pin: bool | None = None,
    ) -> None:
        """Change a memory in place, wholly or not at all.

        A new text is embedded and moves the memory and all below it (a learnt place stays: see `place_learned`); the
        same text moves nothing. `meta`
        replaces the metadata. `valid_from` and `valid_until` may be set to None. `pin` exempts it from decay, or
        not any more.

        Parameters
        ----------
        id : str
            Of the memory to change.
        text : str, optional
            Its new text, not blank.
        meta : mapping, optional
            Its new metadata; {} for none.
        t : datetime, optional
            When it happened (naive: UTC).
        valid_from, valid_until : datetime or None, optional
            Bounds of validity, inclusive; None opens that side.
        pin : bool, optional
            Exempt it from decay, or not any more.

        Raises
        ------
        KeyError
            For an unknown id.
        ValueError, TypeError
            As `add`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> note = mem.add("Prefers tea")
        >>> mem.update(note, text="Prefers coffee", meta={"checked": True})
        >>> mem.get(note).text
        'Prefers coffee'
        """
        editing.update(self._store, id, text, meta, t, valid_from, valid_until, pin)

    def remove(self, id: str, cascade: bool = False) -> None:
        """Forget a memory; with `cascade` everything below it too.

        Parameters
        ----------
        id : str
            Of the memory to forget.
        cascade : bool, default False
            And everything below it.

        Raises
        ------
        KeyError
            For an unknown id.
        ValueError
            Where it has children and `cascade` is False.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.remove(mem.add("Out of date"))
        >>> len(mem)
        0
        """
        editing.remove(self._store, id, cascade)

    def link(self, child: str, parent: str | None) -> None:
        """Move a memory, with all below it, under another parent; None makes it a root.

        Linked to the parent it has, nothing changes; otherwise it becomes the last of the children there. A learnt
        place stays as it is.

        Parameters
        ----------
        child : str
            Id of the memory that moves.
        parent : str or None
            Id of its new parent.

        Raises
        ------
        KeyError
            For an unknown child or parent.
        ValueError
            Where `parent` is `child` itself or below it.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> a, b = mem.add("Animals", id="a"), mem.add("Birds", id="b")
        >>> mem.link("b", "a")
        >>> mem.children("a"), mem.depth("b")
        (['b'], 1.5)
        """
        editing.link(self._store, child, parent)

    def place_learned(self, points: Mapping[str, Any]) -> None:
        """Move memories to places that were learnt for them, all or none.

        A memory placed so keeps direction and depth, whatever becomes of its text and parent, in this memory and in
        files; memories below it are placed from there. None gives a memory back the place of its text and level.

        Parameters
        ----------
        points : mapping of id to array of shape (dim,) or None, or PreciseLayout
            Points of this memory's ball; `dim` is that of the embedder (`embed.LearnedEmbedder` embeds queries in
            the space of such points).

        Raises
        ------
        KeyError
            For an unknown id.
        ValueError
            For points of another length, not finite, or not strictly inside the ball.

        Examples
        --------
        >>> import numpy as np
        >>> from poincare_memory import Memory
        >>> from poincare_memory.embed import LearnedEmbedder
        >>> points = {"animal": [0.1, 0.0], "dog": [0.5, 0.2]}
        >>> mem = Memory(embedder=LearnedEmbedder(points))
        >>> ids = mem.add_many([{"text": "animal", "id": "animal"}, {"text": "dog", "id": "dog", "parent": "animal"}])
        >>> mem.place_learned(points)
        >>> mem.point("dog").round(9).tolist()
        [0.5, 0.2]
        """
        from ..learned import place_learned

        place_learned(self._store, points)

    def transaction(self) -> AbstractContextManager[None]:
        """Group edits: all of them happen, in memory and on disk, or (where the block raises) none.

        Other threads and processes wait, and see nothing of it before its end (but for a `MemoryRecord` that
        another thread holds already: it shows edits as they are made). Blocks may nest: an inner one that raises takes
        back its own edits only, if the outer one catches the exception.

        A block is its thread's: edits of others wait for its end, those of a thread pool or an asynchronous twin too.
        Where a thread ends inside a block without leaving it (a generator that nobody closes), none of the edits
        happen, and whoever waits for the memory goes on.

        Returns
        -------
        context manager

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> with mem.transaction():
        ...     trip = mem.add("Trip to Lisbon")
        ...     _ = mem.add("Hotel near the river", parent=trip)
        """
        return Transaction(self._store.columns)
