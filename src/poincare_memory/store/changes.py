"""The context of every change to a store, and of every look at it."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import StoreClosedError
from .undo import UndoLog

if TYPE_CHECKING:
    from pathlib import Path

    from .columns import Columns

logger = logging.getLogger("poincare_memory")


class Change:
    """Alone with the columns, and whole or not at all: a transaction.

    The outermost one keeps the log and, in a live store, has the file's turn to write: the file is brought up
    to date when it ends well, and everything is taken back where it does not. One inside another takes back its
    own part only.

    The file's turn is waited for with the columns unlocked, so searches go on meanwhile.
    """

    __slots__ = ("_columns", "_mark", "_undo")

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._undo: UndoLog | None = None
        self._mark: int | None = None  # None: the outermost

    def __enter__(self) -> None:
        columns = self._columns
        if columns.lock.written_by_me():
            self._undo = columns.undo
            self._mark = 0 if columns.undo is None else columns.undo.begin_part()
            columns.lock.acquire_write()
            return
        columns.lock.refuse_reader()
        undo = UndoLog(columns)
        if columns.file is None:
            columns.lock.acquire_write()
        else:
            columns.file.begin(columns)
        columns.undo = self._undo = undo

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        columns = self._columns
        undo = columns.undo
        if undo is not self._undo:
            return  # taken back since, when its thread was gone
        self._undo = None
        if self._mark is not None:
            try:
                if kind is not None and undo is not None:
                    undo.back_to(self._mark)
            finally:
                columns.lock.release_write()
            return
        assert undo is not None
        try:
            if kind is None and columns.file is not None:
                columns.file.commit(columns, undo)
        except BaseException:
            kind = BaseException
            raise
        finally:
            try:
                if kind is not None:
                    undo.back_to(0)
            finally:
                self._end()

    def _end(self) -> None:
        columns = self._columns
        columns.lock.block = None
        columns.end_undo()
        if columns.file is not None:
            columns.file.end()
        columns.lock.release_write()


class Transaction(Change):
    """A change around a block of the user's. Whoever waits for one whose thread is gone takes it back."""

    __slots__ = ("_thread",)

    def __enter__(self) -> None:
        if self._undo is not None:
            raise RuntimeError("this transaction has begun already; call mem.transaction() for one inside it")
        self._thread = threading.current_thread()
        super().__enter__()
        if self._mark is None:
            self._columns.lock.block = self

    def is_abandoned(self) -> bool:
        """Whether the thread that began it has ended."""
        return not self._thread.is_alive()

    def take_back(self) -> None:
        """As if the block had raised; by a thread that has taken the lock over."""
        logger.warning("thread %r ended inside a transaction: none of its edits happened", self._thread.name)
        assert self._undo is not None
        try:
            self._undo.back_to(0)
        finally:
            self._end()


class Look:
    """Shared with other readers, after taking in what other processes wrote; gives the columns."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __enter__(self) -> Columns:
        columns = self._columns
        if columns.file is not None:
            columns.file.notice(columns)
        columns.lock.acquire_read()
        return columns

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._columns.lock.release_read()


class ClosedFile:
    """`Columns.file` of a memory without a file that was closed."""

    closed = True
    keeps_versions = False

    @property
    def waiting(self) -> ClosedFile:
        return self

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreClosedError("this memory was closed")

    notice = begin = commit = end = versions = standing = backup = compact = identity_of = check_identity = (
        _refuse
    )
    flush = touched = flush_if_due = add_to = forget = replaced_meta = _refuse

    def handed_out(self, order: int, meta: dict[str, Any]) -> None:
        pass

    def is_at(self, path: Path) -> bool:
        return False

    def close(self, columns: Columns) -> None:
        pass
