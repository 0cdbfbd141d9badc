"""The SQLite file behind a live store: turns to write, what other processes wrote, accesses still to be counted.

Two connections. Writers queue for the one that writes, and hold SQLite's own turn before they lock the columns, so
searches go on while another process writes. Readers ask the other, in microseconds, whether anything was committed
since they looked last; only then they read the log of changes and take in the records it names.

SQLite is called only under `_turn` or `_asking`, or by whoever holds the columns' write lock: a fork, which waits
for all three, finds SQLite at rest.
"""

from __future__ import annotations

import ctypes
import logging
import os
import random
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..temporal.instants import MISSING
from . import sql
from .archive import Archive, checked_meta, fill, parse_instant, take_settings
from .atomic import replacing
from .errors import StoreBusyError, StoreClosedError, StoreReadError, StoreWriteError
from .identity import EMBEDDER, Identity, difference, from_text, identity_of, to_text
from .lock import FORK_PATIENCE_SECONDS
from .merging import merge
from .persisting import accesses, persist
from .schema import CONFIGURED, TOUCHED
from .undo import UndoLog

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from .arrays import Rows
    from .columns import Columns
    from .lock import SharedLock
    from .state import Store

logger = logging.getLogger("poincare_memory")

FLUSH_AFTER_MEMORIES: Final = 1000  # accesses of so many memories are written at once
FLUSH_AFTER_SECONDS: Final = 5.0
LONGEST_NAP: Final = 0.005  # between two tries for the turn to write


class LiveFile:
    """What keeps a store's columns and their file the same; `Columns.file` of a live store.

    The method pairs `begin`/`end` with `commit` between them belong to `changes.Change`; `notice` to every look.
    """

    def __init__(self, path: Path, synchronous: str, busy_timeout: float) -> None:
        self.path = path
        self.where = str(path)
        self.synchronous = synchronous
        self.busy_timeout = busy_timeout
        self.closed = False
        self.decay_is_ours = False  # the policy was passed in: the file's is not ours
        self._turn = threading.Lock()
        self._asking = threading.Lock()
        self._copying = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._seen = -1  # data_version of the reader when it last looked
        self._seq = 0  # last entry of the log that was taken in
        self._paused: SharedLock | None = None  # what a fork holds
        self._orphaned = False
        self._must_compare = False  # the log does not lead from what was taken in to what there is
        self._cut_at = 0
        self._identity = (0, 0)
        self._pending: dict[int, list[int]] = {}  # pos -> accesses and the last of them, not yet written
        self._pending_since = 0.0
        self._metas: dict[int, dict[str, Any]] = {}  # pos -> metadata dict that was handed out
        self.keeps_versions = False
        self._moment: int | None = None  # of the change that is under way
        self._embedder: Identity | None = None  # whose the vectors are
        self._store: weakref.ref[Store] | None = None
        _every_file.add(self)

    # --- connections --------------------------------------------------------------------------------------

    def attach(self, store: Store, writer: sqlite3.Connection) -> None:
        """Read everything into an empty store and keep it up to date from now on."""
        self._store = weakref.ref(store)
        self._writer = writer
        sql.never_wait(writer)
        weakref.finalize(store, self._finish)
        try:
            with store.lock.write():
                self._connect_reader()
                self._read_everything(store)
                store.columns.file = self
        except BaseException:
            self._let_go()
            raise

    def _connect_reader(self) -> None:
        self._reader = sql.connect(self.path, "rw", self.busy_timeout)
        self._identity = identity(self.path)

    def _close_connections(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None

    def is_at(self, path: Path) -> bool:
        """Whether this is the file at `path`."""
        try:
            return identity(path) == identity(self.path)
        except OSError:
            return False

    def _reopen(self) -> None:
        """New connections, in a forked child or after the file was replaced."""
        self._writer = sql.connect(self.path, "rw", timeout=0)
        sql.write_ahead(self._writer, self.synchronous)
        self._connect_reader()
        self._seen = -1

    def _open_reader(self) -> sqlite3.Connection:
        if self.closed:
            raise StoreClosedError(f"{self.where}: this memory was closed; open it again")
        if self._orphaned:
            raise StoreClosedError(orphaned(self.where))
        if self._reader is None:
            self._reopen()
        assert self._reader is not None
        return self._reader

    # --- taking in what others wrote ----------------------------------------------------------------------

    def notice(self, columns: Columns) -> None:
        """Take in what was committed since the last look; nothing inside a read or a change of one's own."""
        if columns.lock.held_by_me():
            return
        try:
            with self._asking:
                reader = self._open_reader()
                replaced = self._is_replaced()
                if reader.in_transaction:  # left behind by an error: it would see the past for ever
                    sql.roll_back(reader)
                if not replaced and sql.data_version(reader) == self._seen:
                    return
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        with columns.lock.write(), self._asking, self._read_errors():
            if replaced:
                self._follow_replaced(columns)
            else:
                self._take_in(columns, self._open_reader())

    def _is_replaced(self) -> bool:
        try:
            return identity(self.path) != self._identity
        except FileNotFoundError:  # between the two steps of a replacement, or for good: a write will tell
            return False

    def _follow_replaced(self, columns: Columns) -> None:
        logger.warning("%s was replaced by another file; taking that in", self.where)
        self._close_connections()
        self._must_compare = True
        self._pending.clear()
        self._metas.clear()
        self._reopen()
        assert self._writer is not None and self._reader is not None
        adopt(self._writer, self.where, self.busy_timeout)
        self._take_in(columns, self._reader)

    def _take_in(self, columns: Columns, connection: sqlite3.Connection) -> None:
        """Under the columns' write lock."""
        if connection is self._writer:
            with self._read_errors():
                self._apply_log(connection)
            return
        with self._read_errors(), sql.snapshot(connection):
            self._apply_log(connection)
            self._seen = sql.data_version(connection)

    def _apply_log(self, connection: sqlite3.Connection) -> None:
        last = sql.last_change(connection)
        if last == self._seq and not self._must_compare:
            return
        store = self._live_store()
        if self._must_compare or last < self._seq or sql.first_change(connection) > self._seq + 1:
            self._compare_everything(store, connection)
            self._must_compare = False
        else:
            self._apply_entries(store, connection)
        self._seq = last

    def _apply_entries(self, store: Store, connection: sqlite3.Connection) -> None:
        columns = store.columns
        changed: dict[str, None] = {}
        touched: dict[str, None] = {}
        configured = False
        for _, kind, id in sql.changes_since(connection, self._seq):
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
        self._add_pending_of(columns, row)

    def _take_settings(self, store: Store, connection: sqlite3.Connection) -> None:
        self._check_same_embedder(connection)
        take_settings(store, sql.read_config(connection, self.where), self.where, self.decay_is_ours)

    def _check_same_embedder(self, connection: sqlite3.Connection) -> None:
        """ValueError where another process has embedded everything anew."""
        noted = from_text(sql.info(connection, EMBEDDER))
        if self._embedder is None or noted is None:
            self._embedder = self._embedder or noted
            return
        differs = difference(noted, self._embedder)
        if differs is not None:
            raise ValueError(
                f"{self.where}: another process has embedded its memories anew: {differs}; open it again"
            )

    def identity_of(self, embedder: Embedder) -> Identity:
        """What tells it from another; with no lock held."""
        if self.closed:
            raise StoreClosedError(f"{self.where}: this memory was closed; open it again")
        return identity_of(embedder)

    def check_identity(self, identity: Identity, count: int) -> None:
        """ValueError where there are memories, and they are not this embedder's."""
        differs = None if self._embedder is None or not count else difference(self._embedder, identity)
        if differs is not None:
            raise ValueError(
                f"{self.where}: its memories were embedded by another embedder: {differs}. "
                "Memory.open(..., reembed=True) embeds every text anew"
            )

    def _compare_everything(self, store: Store, connection: sqlite3.Connection) -> None:
        self._take_settings(store, connection)
        found = sql.read_live(connection, store.columns.dim, self.where)
        there = set(found.fields["id"])
        merge(store, found, [id for id in store.columns.row_of if id not in there], self.where)

    def _read_everything(self, store: Store) -> None:
        assert self._reader is not None
        reader = self._reader
        with self._read_errors(), sql.snapshot(reader):
            self.keeps_versions = sql.keeps_versions(reader)
            self._seq = self._cut_at = sql.last_change(reader)
            self._take_settings(store, reader)
            fill(store, self._archive(reader, store.columns.dim), self.where)
            self._seen = sql.data_version(reader)
            store.columns.reserve_orders(sql.info(reader, "next_pos") or 0)

    def _archive(self, connection: sqlite3.Connection, dim: int) -> Archive:
        fields, positions = sql.no_fields(), list[Any]()
        count = sql.count(connection, dim, self.where)
        vectors = sql.read(connection, fields, dim, self.where, positions)
        return Archive({}, fields, vectors, count, positions)

    def _live_store(self) -> Store:
        store = None if self._store is None else self._store()
        if store is None:
            raise StoreClosedError(f"{self.where}: its memory is gone; open it again")
        return store

    @contextmanager
    def _read_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> Exception:
        if not isinstance(error, sqlite3.OperationalError) or "decode" in str(error):
            return ValueError(f"{self.where}: not a readable memory store any more ({error})")
        if sql.is_busy(error):
            return StoreBusyError(f"{self.where}: another process kept the file; nothing was changed")
        return StoreReadError(f"{self.where}: cannot be read ({error}); nothing was changed")

    # --- versions -----------------------------------------------------------------------------------------

    def versions(self, columns: Columns, id: str) -> tuple[sql.Found, list[tuple[int | None, int]]]:
        """Past versions of a memory, the oldest first, and from when till when each stood."""
        with self._asking, self._read_errors():
            return sql.versions_of(self._open_reader(), id, columns.dim, self.where)

    def standing(self, columns: Columns, moment: int) -> tuple[sql.Found, list[int]]:
        """Versions that stood at a moment and do not any more, and `pos` of all memories replaced since."""
        with self._asking, self._read_errors():
            found, spans = sql.versions_at(self._open_reader(), moment, columns.dim, self.where)
        began = [
            MISSING if recorded is None else parse_instant(recorded) if since is None else since
            for (since, _), recorded in zip(spans, found.fields["recorded_at"], strict=True)
        ]
        replaced = list(found.positions)
        return found.only([i for i, since in enumerate(began) if since <= moment]), replaced

    # --- writing ------------------------------------------------------------------------------------------

    def begin(self, columns: Columns, patience: float | None = None) -> None:
        """Wait for the turn to write, lock the columns and take in what others wrote meanwhile."""
        moment = self._live_store().now() if self.keeps_versions else None
        self._wait_for_turn(patience)
        self._moment = moment
        try:
            self._begin_in_file(self.busy_timeout if patience is None else patience)
            columns.lock.acquire_write()
        except BaseException:
            self.end()
            raise
        try:
            self._check_place()
            assert self._writer is not None
            self._take_in(columns, self._writer)
        except BaseException:
            self.end()
            columns.lock.release_write()
            raise

    def _wait_for_turn(self, patience: float | None) -> None:
        if self.closed:
            raise StoreClosedError(f"{self.where}: this memory was closed; open it again")
        if not self._turn.acquire(timeout=-1 if patience is None else patience):
            raise StoreBusyError(f"{self.where}: another thread is writing")

    def _begin_in_file(self, patience: float) -> None:
        take_turn(self._writing_connection, self.where, patience, self._asking)

    def _writing_connection(self) -> sqlite3.Connection:
        self._open_reader()
        assert self._writer is not None
        return self._writer

    def _check_place(self) -> None:
        try:
            there = identity(self.path)
        except FileNotFoundError:
            raise StoreWriteError(
                f"{self.where}: the file was removed or moved while it was open; nothing was changed"
            ) from None
        if there != self._identity:
            raise StoreWriteError(
                f"{self.where}: the file was replaced by another while it was open; nothing was changed"
            )

    def commit(self, columns: Columns, undo: UndoLog) -> None:
        """Write what changed, and the accesses and metadata that wait; on any error nothing is written."""
        if not undo.marks and not undo.settings and not self._pending and not self._metas:
            return
        connection = self._writer
        if connection is None:
            raise StoreClosedError(orphaned(self.where))
        try:
            persist(connection, columns, undo, self._live_store(), self._pending, self._moment)
            if undo.embedder is not None:
                sql.put_info(connection, EMBEDDER, to_text(undo.embedder))
            looked_at = self._write_metas(connection, columns)
            last = sql.last_change(connection)
            if last - self._cut_at > sql.LOG_LENGTH + sql.LOG_SLACK:
                sql.cut_log(connection, last)
                self._cut_at = last - sql.LOG_LENGTH
            sql.commit(connection)
        except sqlite3.Error as error:
            raise StoreWriteError(f"{self.where}: not written ({error}); nothing was changed") from error
        self._check_place()
        self._seq = last
        self._embedder = undo.embedder or self._embedder
        self._pending.clear()
        for pos in looked_at:
            self._metas.pop(pos, None)

    def end(self) -> None:
        """Give up the turn; what was not committed is rolled back."""
        try:
            if self._writer is not None:
                sql.roll_back(self._writer)
        except sqlite3.Error:
            logger.exception("%s: rolling back failed", self.where)
        finally:
            self._turn.release()

    # --- accesses and metadata ----------------------------------------------------------------------------

    def touched(self, orders: list[int], now: int, undo: UndoLog | None) -> None:
        """Count an access of each; under the columns' write lock."""
        pending = self._pending
        if not pending:
            self._pending_since = time.monotonic()
        before = {order: list(pending[order]) if order in pending else None for order in orders}
        for order in orders:
            entry = pending.setdefault(order, [0, now])
            entry[0] += 1
            entry[1] = max(entry[1], now)
        if undo is not None:
            undo.step(lambda: self._untouch(before))

    def _untouch(self, before: dict[int, list[int] | None]) -> None:
        for order, entry in before.items():
            if entry is None:
                self._pending.pop(order, None)
            else:
                self._pending[order] = entry

    def flush_if_due(self, columns: Columns) -> None:
        """Write the accesses when there are many or they wait long; not now if another process is writing."""
        due = len(self._pending) >= FLUSH_AFTER_MEMORIES or (
            self._pending and time.monotonic() - self._pending_since > FLUSH_AFTER_SECONDS
        )
        if due and not columns.lock.held_by_me():
            try:
                self.flush(columns, patience=0.0)
            except StoreBusyError:
                self._pending_since = time.monotonic()
            except (OSError, ValueError):
                self._pending_since = time.monotonic()
                logger.warning("%s: accesses not written yet", self.where, exc_info=True)

    def flush(self, columns: Columns, patience: float | None = None) -> None:
        """Write the accesses and metadata that wait."""
        if not self._pending and not self._metas:
            return
        self.begin(columns, patience)
        try:
            self.commit(columns, UndoLog(columns))
        finally:
            self.end()
            columns.lock.release_write()

    def add_pending(self, columns: Columns, rows: Rows) -> None:
        """Accesses not yet written, on top of the file's numbers."""
        if self._pending:
            for row in rows.tolist():
                self._add_pending_of(columns, row)

    def _add_pending_of(self, columns: Columns, row: int) -> None:
        entry = self._pending.get(int(columns.order[row]))
        if entry is not None:
            columns.access_count[row] += entry[0]
            columns.last_accessed[row] = max(int(columns.last_accessed[row]), entry[1])

    def forget(self, order: int) -> None:
        """A memory is gone."""
        self._pending.pop(order, None)
        self._metas.pop(order, None)

    def forget_meta(self, order: int) -> None:
        """Other metadata took the place of what was handed out."""
        self._metas.pop(order, None)

    def handed_out(self, order: int, meta: dict[str, Any]) -> None:
        """A metadata dict may be changed in place from now on; what it holds is written with the next change."""
        self._metas[order] = meta

    def _write_metas(self, connection: sqlite3.Connection, columns: Columns | None = None) -> list[int]:
        """Write handed-out metadata that differs from the file's; which of it nobody holds any more.

        Where there are `columns`, only what still is a memory's metadata: an update may have put other in its place.
        """
        changed, idle = [], []
        for pos, meta in list(self._metas.items()):
            found = sql.meta_at(connection, pos)
            if found is None:
                idle.append(pos)
                continue
            id, kept = found
            if columns is not None and not _is_meta_of(columns, id, meta):
                idle.append(pos)
                continue
            text = sql.meta_text(checked_meta(meta, id))
            if text != kept and not (kept is None and not meta):
                changed.append((text, pos))
            if sys.getrefcount(meta) <= UNHELD:
                idle.append(pos)
        sql.update_meta(connection, changed)
        sql.seal(connection, (pos for _, pos in changed))
        return idle

    # --- copies and room ----------------------------------------------------------------------------------

    def backup(self, columns: Columns, target: Path) -> None:
        """Copy the file as it is now, in one step, while others go on reading and writing."""
        self.flush(columns)
        with self._copying, replacing(target) as temporary:
            try:
                with closing(sql.connect(self.path, "ro", self.busy_timeout)) as source:
                    sql.copy(source, temporary)
            except sqlite3.Error as error:
                raise self._unreadable(error) from error

    def compact(self, columns: Columns) -> None:
        """Give room back to the disk that records of the past took, and to memory."""
        if columns.lock.held_by_me():
            raise RuntimeError("a memory cannot be compacted inside its own transaction")
        self.flush(columns)
        self._wait_for_turn(None)
        try:
            with self._asking:
                self._open_reader()
            assert self._writer is not None
            sql.give_back(self._writer, self.busy_timeout)
        except sqlite3.OperationalError as error:
            if sql.is_busy(error):
                raise StoreBusyError(f"{self.where}: another process is using the file; try again") from error
            raise StoreWriteError(f"{self.where}: not compacted ({error})") from error
        finally:
            self.end()

    # --- the end ------------------------------------------------------------------------------------------

    def close(self, columns: Columns) -> None:
        """Write what waits and let the file go; once."""
        if self.closed:
            return
        if columns.lock.held_by_me():
            raise RuntimeError("a memory cannot be closed inside its own transaction")
        try:
            self.flush(columns)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._turn, self._asking:
            self.closed = True
            self._close_connections()
            self._pending.clear()
            self._metas.clear()

    def _finish(self) -> None:
        """The store is gone, or the interpreter ends: write what waits, as far as that can be."""
        if self.closed or not self._turn.acquire(timeout=self.busy_timeout):
            return
        try:
            if (self._pending or self._metas) and self._writer is not None:
                self._begin_in_file(self.busy_timeout)
                sql.add_accesses(self._writer, accesses(self._pending))
                self._write_metas(self._writer)
                sql.commit(self._writer)
        except Exception:
            logger.warning("%s: accesses and metadata not written", self.where, exc_info=True)
        finally:
            self.end()
            self._let_go()

    # --- fork ---------------------------------------------------------------------------------------------

    def pause(self, deadline: float) -> None:
        """Before a fork: let what is under way end, and close the connections.

        SQLite keeps in memory which locks a process has on a file. A child would believe that it has those of its
        parent, so it may only be forked while there are none.
        """
        store = None if self._store is None else self._store()
        if self.closed or store is None or store.lock.held_by_me():
            return
        if self._turn.acquire(timeout=max(0.0, deadline - time.monotonic())):
            if store.lock.acquire_write(max(0.0, deadline - time.monotonic())):
                self._asking.acquire()
                self._copying.acquire()
                self._close_connections()
                self._paused = store.lock
                return
            self._turn.release()
        logger.warning("%s: still being used; a child forked now cannot use it", self.where)

    def resume(self) -> None:
        """After a fork."""
        lock = self._paused
        if lock is not None:
            self._paused = None
            self._copying.release()
            self._asking.release()
            lock.release_write()
            self._turn.release()

    def resume_in_child(self) -> None:
        """Connections are made anew when they are needed; what waits to be written, is the parent's."""
        self._pending.clear()
        self._metas.clear()
        if self._paused is not None:
            self.resume()
            return
        if self._reader is None:
            return
        store = None if self._store is None else self._store()
        self._orphaned = True
        _orphaned_files.add(self._identity)
        self._turn, self._asking = threading.Lock(), threading.Lock()
        if store is not None and store.lock.written_by_me():
            self._turn.acquire()
        for connection in (self._reader, self._writer):  # never closed, not even at exit
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        self._reader = self._writer = None


def adopt(connection: sqlite3.Connection, where: str, patience: float) -> None:
    """Make a file of format 1 a live one; ValueError where it holds what ours do not."""
    strange = sql.foreign_parts(connection)
    if strange:
        raise ValueError(f"{where}: not opened, because {strange[0]!r} in its schema is not of our making")
    take_turn(lambda: connection, where, patience, threading.Lock())
    try:
        sql.make_live(connection)
        sql.commit(connection)
    finally:
        sql.roll_back(connection)


def take_turn(
    connection: Callable[[], sqlite3.Connection], where: str, patience: float, guard: threading.Lock
) -> None:
    """Begin to write, waiting for other processes. SQLite's own waiting would hold its locks through a fork."""
    deadline = time.monotonic() + patience
    nap = 0.0005
    while True:
        try:
            with guard:
                sql.begin_writing(connection())
            return
        except sqlite3.OperationalError as error:
            if not sql.is_busy(error):
                raise StoreWriteError(f"{where}: not written ({error}); nothing was changed") from error
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"{where}: another process kept its turn to write for {patience:g} s; nothing was changed. "
                    "Try again, keep transactions short, or open with a longer busy_timeout"
                ) from None
        except sqlite3.Error as error:
            raise ValueError(
                f"{where}: not a memory store any more ({error}); nothing was changed"
            ) from error
        time.sleep(nap * (0.5 + random.random()))
        nap = min(2 * nap, LONGEST_NAP)


def _count_references() -> int:
    meta: dict[str, Any] = {}
    metas, held = [meta], {0: meta}
    del meta
    counts = [sys.getrefcount(each) for _, each in list(held.items())]
    return counts[0] if metas else 0


UNHELD: Final = _count_references()  # references to a metadata dict that no user holds, counted as it is used

_every_file: weakref.WeakSet[LiveFile] = weakref.WeakSet()


_orphaned_files: set[tuple[int, int]] = set()


def refuse_orphaned(path: Path) -> None:
    """A child that was forked while its parent used a file can never use it safely."""
    if _orphaned_files and path.exists() and identity(path) in _orphaned_files:
        raise StoreClosedError(orphaned(str(path)))


def orphaned(where: str) -> str:
    return f"{where}: this process was forked while the file was in use (inside a transaction?); use it elsewhere"


def _is_meta_of(columns: Columns, id: str, meta: dict[str, Any]) -> bool:
    row = columns.row_of.get(id)
    return row is not None and columns.metas[row] is meta


def identity(path: Path) -> tuple[int, int]:
    """Device and inode: another one is another file, whatever its name."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _before_fork() -> None:
    deadline = time.monotonic() + FORK_PATIENCE_SECONDS
    for file in list(_every_file):
        file.pause(deadline)


def _after_fork_in_parent() -> None:
    for file in list(_every_file):
        file.resume()


def _after_fork_in_child() -> None:
    for file in list(_every_file):
        file.resume_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
