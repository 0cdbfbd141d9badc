"""Connections to a PostgreSQL server: one a thread while it works, kept for whoever comes next."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .errors import BackendError
from .silence import HeardConnection

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise ImportError(
        'Memory.connect("postgresql://...") needs the "postgres" extra: pip install "poincare-memory[postgres]"'
    ) from error

__all__ = ["Connections", "told"]

GRACE: Final = 1.0  # seconds that the answer to a statement may take to come, beside the statement
# What a server says that will answer in a moment; libpq has no code for it.
_SOON: Final = ("starting up", "shutting down", "not yet accepting connections", "in recovery mode")


class Connections:
    """Open connections, at most so many at once; a thread that finds none free waits.

    Parameters
    ----------
    url : str
        Of libpq.
    timeout : float
        Seconds that a statement, connecting, or waiting for a free connection may take.
    most : int
    """

    def __init__(self, url: str, timeout: float, most: int) -> None:
        if type(most) is not int or most < 1:
            raise ValueError(f"connections: expected an int of at least 1, got {most!r:.80}")
        if not timeout > 0:
            raise ValueError(f"timeout: expected seconds above 0, got {timeout!r:.80}")
        self.timeout, self._most = timeout, most
        self._options = _options(url, timeout)
        self._free = threading.BoundedSemaphore(most)
        self._idle: list[Any] = []
        self._process = os.getpid()
        self._close = weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def lease(self) -> Iterator[Any]:
        """A connection that nobody else has meanwhile."""
        if self._process != os.getpid():  # forked: the connections are the parent's
            self._free, self._process = threading.BoundedSemaphore(self._most), os.getpid()
            self._close.detach()
            self._idle = _Abandoned.of(self._idle)
            self._close = weakref.finalize(self, _close_all, self._idle)
        if not self._free.acquire(timeout=self.timeout):
            raise BackendError(
                f"all {self._most} connections to PostgreSQL were in use for {self.timeout:g} s: "
                "raise connections= or timeout="
            )
        try:
            connection = self._taken()
            try:
                yield connection
            finally:
                if not connection.closed:
                    self._idle.append(connection)
        finally:
            self._free.release()

    def _taken(self) -> Any:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._opened()
            if not connection.closed:
                return connection

    def _opened(self) -> HeardConnection:
        until, pause = time.monotonic() + self.timeout, 0.05
        while True:
            try:
                connection = HeardConnection.connect(**self._options, autocommit=True)
                connection.patience = self.timeout + GRACE
                return connection
            except psycopg.OperationalError as error:
                soon = any(word in str(error) for word in _SOON)
                if not soon or time.monotonic() + pause > until:
                    raise BackendError(f"no connection to PostgreSQL: {told(error)}") from error
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def answers(self) -> bool:
        """Whether the server says something to who knocks: also that there is no room."""
        try:
            HeardConnection.connect(**self._options).close()
        except psycopg.Error as error:
            return not isinstance(error, psycopg.errors.ConnectionTimeout)
        return True

    def close(self) -> None:
        """Close those that nobody has."""
        _close_all(self._idle)


class _Abandoned:
    """Connections of the process that this one was forked from: kept, for closing them would end the parent's."""

    kept: Final[list[Any]] = []

    @classmethod
    def of(cls, idle: list[Any]) -> list[Any]:
        cls.kept.extend(idle)
        return []


def _options(url: str, timeout: float) -> dict[str, Any]:
    try:
        options: dict[str, Any] = dict(conninfo_to_dict(url))
    except psycopg.Error as error:
        raise ValueError(f"url: {told(error)}") from error
    milliseconds = max(1, int(timeout * 1000))
    ours = f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds}"
    options["options"] = " ".join([ours, str(options.get("options") or "")]).strip()  # the last one counts
    options.setdefault("connect_timeout", max(2, int(timeout)))  # libpq takes 1 for 2
    options.setdefault("tcp_user_timeout", milliseconds)  # of a network that swallows everything
    options.setdefault("keepalives_idle", max(1, int(timeout)))
    return options


def _close_all(idle: list[Any]) -> None:
    while idle:
        try:
            idle.pop().close()
        except (IndexError, psycopg.Error):
            return


def told(error: BaseException) -> str:
    """An error on one line."""
    return " ".join(str(error).split())[:300]
