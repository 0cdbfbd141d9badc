"""The SQLite file behind a live store: turns to write, and looks at what other processes wrote.

Two connections. Writers queue for the one that writes, and hold SQLite's own turn before they lock the columns, so
searches go on while another process writes. Readers ask the other, in microseconds, whether anything was committed
since they looked last; only then they read the log of changes and take in the records it names.

SQLite is called only under `_turn` or `_asking`, or by whoever holds the columns' write lock: a fork, which waits
for all three, finds SQLite at rest.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..embed.identity import EMBEDDER, Identity, identity_of, to_text
from ..temporal.instants import MISSING, to_micros, utcnow
from . import sql
from .atomic import replacing
from .checked_records import parse_instant
from .connections import Connections
from .errors import StoreBusyError, StoreClosedError, StoreWriteError
from .following import Following
from .forking import rest_over_forks
from .persisting import persist
from .read_errors import read_errors, unreadable
from .turns import adopt, take_turn
from .undo import UndoLog
from .waiting import FLUSH_AFTER_SECONDS, Waiting

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from .columns import Columns
    from .lock import SharedLock
    from .state import Store

logger = logging.getLogger("poincare_memory")

NEXT_TRY_SECONDS: Final = 0.05  # after another process was writing when something waited to be written


class LiveFile:
    """What keeps a store's columns and their file the same; `Columns.file` of a live store.

    The method pairs `begin`/`end` with `commit` between them belong to `changes.Change`; `notice` to every look.
    """

    def __init__(self, path: Path, synchronous: str, busy_timeout: float, decay_is_ours: bool) -> None:
        self.where = str(path)
        self.path = path
        self.waiting = Waiting()
        self._busy_timeout = busy_timeout
        self._connections = Connections(path, synchronous, busy_timeout)
        self._following = Following(self.where, decay_is_ours)
        self._turn = threading.Lock()
        self._asking = threading.Lock()
        self._copying = threading.Lock()
        self._paused: SharedLock | None = None  # what a fork holds
        self._moment: int | None = None  # of the change that is under way
        self._store: weakref.ref[Store] | None = None
        rest_over_forks(self)

    def attach(self, store: Store, writer: sqlite3.Connection) -> None:
        """Read everything into an empty store and keep it up to date from now on."""
        self._store = weakref.ref(store)
        weakref.finalize(store, self._finish)
        connections = self._connections
        try:
            with store.lock.write():
                reader = connections.use(writer)
                with read_errors(self.where), sql.snapshot(reader):
                    self._following.read_everything(store, reader)
                    connections.seen = sql.data_version(reader)
                store.columns.file = self
        except BaseException:
            self._let_go()
            raise

    @property
    def closed(self) -> bool:
        return self._connections.closed

    @property
    def keeps_versions(self) -> bool:
        return self._following.keeps_versions

    def is_at(self, path: Path) -> bool:
        """Whether this is the file at `path`."""
        return self._connections.are_at(path)

    def identity_of(self, embedder: Embedder) -> Identity:
        """What tells it from another; with no lock held."""
        self._connections.check_use()
        return identity_of(embedder)

    def check_identity(self, identity: Identity, count: int) -> None:
        """ValueError where there are memories, and they are not this embedder's."""
        self._following.check_embedder(identity, count)

    # --- taking in what others wrote ----------------------------------------------------------------------

    def notice(self, columns: Columns) -> None:
        """Take in what was committed since the last look; nothing inside a read or a change of one's own."""
        if columns.lock.held_by_me():
            return
        if self.waiting:
            self.flush_if_due(columns)
        connections = self._connections
        try:
            with self._asking:
                reader = connections.open_reader()
                replaced = connections.is_replaced()
                if reader.in_transaction:  # left behind by an error: it would see the past for ever
                    sql.roll_back(reader)
                if not replaced and self._has_seen_all(reader):
                    return
        except sqlite3.Error as error:
            raise unreadable(self.where, error) from error
        with columns.lock.write(), self._asking, read_errors(self.where):
            if replaced:
                self._follow_replaced()
            self._take_in(connections.open_reader())

    def _has_seen_all(self, reader: sqlite3.Connection) -> bool:
        version = sql.data_version(reader)
        if version == self._connections.seen:
            return True
        if self._following.is_at(sql.last_change(reader)):  # it was this store that committed
            self._connections.seen = version
            return True
        return False

    def _follow_replaced(self) -> None:
        logger.warning("%s was replaced by another file; taking that in", self.where)
        self._connections.close()
        self._following.must_compare = True
        self.waiting.clear()
        adopt(self._connections.open_writer(), self.where, self._busy_timeout)

    def _take_in(self, connection: sqlite3.Connection) -> None:
        """Under the columns' write lock."""
        store = self._live_store()
        if connection is self._connections.writer:
            with read_errors(self.where):
                self._following.catch_up(store, connection)
            return
        with read_errors(self.where), sql.snapshot(connection):
            self._following.catch_up(store, connection)
            self._connections.seen = sql.data_version(connection)

    def _live_store(self) -> Store:
        store = None if self._store is None else self._store()
        if store is None:
            raise StoreClosedError(f"{self.where}: its memory is gone; open it again")
        return store

    # --- versions -----------------------------------------------------------------------------------------

    def versions(self, columns: Columns, id: str) -> tuple[sql.Found, list[tuple[int | None, int]]]:
        """Past versions of a memory, the oldest first, and from when till when each stood."""
        with self._asking, read_errors(self.where):
            return sql.versions_of(self._connections.open_reader(), id, columns.dim, self.where)

    def standing(self, columns: Columns, moment: int) -> tuple[sql.Found, list[int]]:
        """Versions that stood at a moment and do not any more, and `pos` of all memories replaced since."""
        with self._asking, read_errors(self.where):
            reader = self._connections.open_reader()
            found, spans = sql.versions_at(reader, moment, columns.dim, self.where)
        began = [
            MISSING if recorded is None else parse_instant(recorded) if since is None else since
            for (since, _), recorded in zip(spans, found.fields["recorded_at"], strict=True)
        ]
        replaced = list(found.positions)
        return found.only([i for i, since in enumerate(began) if since <= moment]), replaced

    # --- writing ------------------------------------------------------------------------------------------

    def begin(self, columns: Columns, patience: float | None = None) -> None:
        """Wait for the turn to write, lock the columns and take in what others wrote meanwhile."""
        while not self._begin(columns, patience):
            pass

    def _begin(self, columns: Columns, patience: float | None) -> bool:
        """False where another process had versions kept meanwhile: the clock is asked with no lock held."""
        moment = self._live_store().now() if self.keeps_versions else None
        self._wait_for_turn(columns, patience)
        self._moment = moment
        try:
            self._begin_in_file(self._busy_timeout if patience is None else patience)
            columns.lock.acquire_write()
        except BaseException:
            self.end()
            raise
        try:
            self._connections.check_place()
            self._take_in(self._connections.open_writer())
        except BaseException:
            self.end()
            columns.lock.release_write()
            raise
        if self.keeps_versions and moment is None:
            self.end()
            columns.lock.release_write()
            return False
        return True

    def _wait_for_turn(self, columns: Columns, patience: float | None) -> None:
        if self.closed:
            self._connections.check_use()
        if not self._turn_had(columns.lock, patience):
            raise StoreBusyError(f"{self.where}: another thread is writing")

    def _turn_had(self, lock: SharedLock, patience: float | None) -> bool:
        """Wait for the turn among threads; one whose thread ended inside its transaction does not keep it."""
        if patience is not None:
            return self._turn.acquire(timeout=patience)
        while not self._turn.acquire(timeout=lock.look_again):
            lock.end_abandoned()
        return True

    def _begin_in_file(self, patience: float) -> None:
        take_turn(self._connections.open_writer, self.where, patience, self._asking)

    def commit(self, columns: Columns, undo: UndoLog) -> None:
        """Write what changed, and the accesses and metadata that wait; on any error nothing is written."""
        if not undo.marks and not undo.settings and not self.waiting:
            return
        self._connections.check_use()
        connection, following = self._connections.open_writer(), self._following
        try:
            versioned = persist(connection, columns, undo, self._live_store(), self._moment)
            if self.waiting:
                sql.add_accesses(connection, self.waiting.accesses())
                looked_at = self.waiting.write(connection, columns, self._moment, versioned)
            else:
                looked_at = {}
            if undo.embedder is not None:
                sql.put_info(connection, EMBEDDER, to_text(undo.embedder))
            last = sql.last_change(connection)
            if last - following.cut_at > sql.LOG_LENGTH + sql.LOG_SLACK:
                sql.cut_log(connection, last)
                following.cut_at = last - sql.LOG_LENGTH
            sql.commit(connection)
        except sqlite3.Error as error:
            raise StoreWriteError(f"{self.where}: not written ({error}); nothing was changed") from error
        self._connections.check_place()
        following.embedder = undo.embedder or following.embedder
        self.waiting.written(looked_at)
        following.seq = (
            last  # at the end: interrupted before it, all is taken back here, and in again from the file
        )

    def end(self) -> None:
        """Give up the turn; what was not committed is rolled back."""
        try:
            if self._connections.writer is not None:
                sql.roll_back(self._connections.writer)
        except sqlite3.Error:
            logger.exception("%s: rolling back failed", self.where)
        finally:
            self._turn.release()

    def flush(self, columns: Columns, patience: float | None = None) -> None:
        """Write the accesses and metadata that wait."""
        if not self.waiting:
            return
        self.begin(columns, patience)
        try:
            self.commit(columns, UndoLog(columns))
        finally:
            self.end()
            columns.lock.release_write()

    def flush_if_due(self, columns: Columns) -> None:
        """Write what waits if it is time; not now if another process is writing."""
        if columns.lock.held_by_me() or not self.waiting.is_due():
            return
        try:
            self.flush(columns, patience=0.0)
        except StoreBusyError:
            self.waiting.put_off(NEXT_TRY_SECONDS)
        except StoreClosedError:
            raise
        except (OSError, ValueError, TypeError):
            self.waiting.put_off(FLUSH_AFTER_SECONDS)
            logger.warning("%s: accesses and metadata not written yet", self.where, exc_info=True)

    # --- copies and room ----------------------------------------------------------------------------------

    def backup(self, columns: Columns, target: Path) -> None:
        """Copy the file as it is now, in one step, while others go on reading and writing."""
        self.flush(columns)
        with self._copying, replacing(target) as temporary:
            try:
                with contextlib.closing(sql.connect(self.path, "ro", self._busy_timeout)) as source:
                    sql.copy(source, temporary)
            except sqlite3.Error as error:
                raise unreadable(self.where, error) from error

    def compact(self, columns: Columns) -> None:
        """Give room back to the disk that records of the past took, and to memory."""
        if columns.lock.held_by_me():
            raise RuntimeError("a memory cannot be compacted inside its own transaction")
        self.flush(columns)
        self._wait_for_turn(columns, None)
        try:
            with self._asking:
                writer = self._connections.open_writer()
            sql.give_back(writer, self._busy_timeout)
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
        columns.lock.end_abandoned()
        try:
            self.flush(columns)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._turn, self._asking:
            self._connections.closed = True
            self._connections.close()
            self.waiting.clear()

    def _finish(self) -> None:
        """The store is gone, or the interpreter ends: write what waits, as far as that can be."""
        if self.closed or not self._turn.acquire(timeout=self._busy_timeout):
            return
        try:
            writer = self._connections.writer
            if self.waiting and writer is not None:
                self._begin_in_file(self._busy_timeout)
                moment = to_micros(utcnow(), "now") if sql.keeps_versions(writer) else None
                sql.add_accesses(writer, self.waiting.accesses())
                for wrong in self.waiting.drop_unwritable(writer):
                    logger.warning("%s: not written: %s", self.where, wrong)
                self.waiting.write(writer, None, moment, ())
                sql.commit(writer)
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
        store.lock.end_abandoned()
        if self._turn.acquire(timeout=max(0.0, deadline - time.monotonic())):
            if store.lock.acquire_write(max(0.0, deadline - time.monotonic())):
                self._asking.acquire()
                self._copying.acquire()
                self._connections.close()
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
        self.waiting.clear()
        if self._paused is not None:
            self.resume()
            return
        if not self._connections.are_open():
            return
        store = None if self._store is None else self._store()
        self._connections.abandon()
        self._turn, self._asking = threading.Lock(), threading.Lock()
        if store is not None and store.lock.written_by_me():
            self._turn.acquire()
