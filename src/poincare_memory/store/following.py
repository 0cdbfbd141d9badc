"""Take into a store what others wrote to its file: what the log of changes names, or everything."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embed.identity import EMBEDDER, Identity, difference, from_text
from ..temporal.instants import MISSING
from . import sql
from .archive import Archive
from .checked_records import parse_instant
from .filling import fill, take_settings
from .merging import merge
from .schema import CONFIGURED, TOUCHED

if TYPE_CHECKING:
    from .columns import Columns
    from .state import Store

logger = logging.getLogger("poincare_memory")


class Following:
    """How far a store has followed its file.

    Attributes
    ----------
    seq : int
        Last entry of the log that was taken in.
    must_compare : bool
        The log does not lead from what was taken in to what there is.
    keeps_versions : bool
        Whether the file keeps what memories were.
    decay_is_ours : bool
        The policy was passed in: the file's is not ours.
    embedder : Identity or None
        Whose the vectors are.
    """

    def __init__(self, where: str, decay_is_ours: bool) -> None:
        self.where = where
        self.decay_is_ours = decay_is_ours
        self.seq = 0
        self.cut_at = 0
        self.must_compare = False
        self.keeps_versions = False
        self.embedder: Identity | None = None

    def read_everything(self, store: Store, connection: sqlite3.Connection) -> None:
        """Into an empty store."""
        self.seq = self.cut_at = sql.last_change(connection)
        self._take_settings(store, connection)
        fields, positions = sql.no_fields(), list[Any]()
        dim = store.columns.dim
        count = sql.count(connection, dim, self.where)
        vectors = sql.read(connection, fields, dim, self.where, positions)
        fill(store, Archive({}, fields, vectors, count, positions), self.where)
        store.columns.reserve_orders(sql.info(connection, "next_pos") or 0)

    def is_at(self, last: int) -> bool:
        """Whether everything up to this entry of the log, its last, was taken in."""
        return last == self.seq and not self.must_compare

    def catch_up(self, store: Store, connection: sqlite3.Connection) -> None:
        """Under the columns' write lock."""
        last = sql.last_change(connection)
        if self.is_at(last):
            return
        if self.must_compare or last < self.seq or sql.first_change(connection) > self.seq + 1:
            self._compare_everything(store, connection)
            self.must_compare = False
        else:
            self._apply_entries(store, connection)
        self.seq = last

    def _apply_entries(self, store: Store, connection: sqlite3.Connection) -> None:
        columns = store.columns
        changed: dict[str, None] = {}
        touched: dict[str, None] = {}
        configured = False
        for _, kind, id in sql.changes_since(connection, self.seq):
            configured = configured or kind == CONFIGURED
            if kind == TOUCHED:
                touched[id] = None
            elif kind != CONFIGURED:
                changed[id] = None
        if configured:
            self._take_settings(store, connection)
        found = sql.read_live(connection, columns.dim, self.where, list(changed))
        there = set(found.fields["id"])
        merge(store, found, [id for id in changed if id not in there], self.where)
        for id in touched:
            if id not in changed:
                self._take_counts(columns, connection, id)
        columns.changed()

    def _compare_everything(self, store: Store, connection: sqlite3.Connection) -> None:
        self._take_settings(store, connection)
        found = sql.read_live(connection, store.columns.dim, self.where)
        there = set(found.fields["id"])
        merge(store, found, [id for id in store.columns.row_of if id not in there], self.where)

    def _take_counts(self, columns: Columns, connection: sqlite3.Connection, id: str) -> None:
        row, counts = columns.row_of.get(id), sql.counts_of(connection, id)
        if row is None or counts is None:
            return
        count, last = counts
        if isinstance(count, int) and 0 <= count < 2**62:
            columns.access_count[row] = count
        try:
            columns.last_accessed[row] = MISSING if last is None else parse_instant(last)
        except (TypeError, ValueError, AttributeError):
            logger.warning("%s: record %r: last_accessed is no time: %r", self.where, id, last)
        if columns.file is not None:
            columns.file.waiting.add_to(columns, np.array([row], np.int32))

    def _take_settings(self, store: Store, connection: sqlite3.Connection) -> None:
        self._check_same_embedder(connection)
        self.keeps_versions = sql.keeps_versions(connection)
        take_settings(store, sql.read_config(connection, self.where), self.where, self.decay_is_ours)

    def _check_same_embedder(self, connection: sqlite3.Connection) -> None:
        """ValueError where another process has embedded everything anew."""
        noted = from_text(sql.info(connection, EMBEDDER))
        if self.embedder is None or noted is None:
            self.embedder = self.embedder or noted
            return
        differs = difference(noted, self.embedder)
        if differs is not None:
            raise ValueError(
                f"{self.where}: another process has embedded its memories anew: {differs}; open it again"
            )

    def check_embedder(self, identity: Identity, count: int) -> None:
        """ValueError where there are memories, and they are not this embedder's."""
        differs = None if self.embedder is None or not count else difference(self.embedder, identity)
        if differs is not None:
            raise ValueError(
                f"{self.where}: its memories were embedded by another embedder: {differs}. "
                "Memory.open(..., reembed=True) embeds every text anew"
            )
