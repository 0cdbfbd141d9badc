"""Connections to PostgreSQL that end where the server says nothing any more: libpq would wait for it for ever."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from .errors import BackendError

try:
    import psycopg
except ImportError as error:
    raise ImportError(
        'Memory.connect("postgresql://...") needs the "postgres" extra: pip install "poincare-memory[postgres]"'
    ) from error

__all__ = ["HeardConnection", "SilenceError"]

Value = TypeVar("Value")


class SilenceError(BackendError):
    """The server has not answered, and may do what it was asked some day: nobody knows."""


class HeardConnection(psycopg.Connection[Any]):
    """A connection that is closed, with a `SilenceError`, after so many seconds without a word from the server.

    The server's own ``statement_timeout`` ends what takes too long. It does not where the server is stopped, or its
    machine is, or the network swallows everything: then the kernel may go on to acknowledge what is sent.
    """

    patience: float = math.inf
    """Seconds without a word."""

    is_alive: Callable[[], bool] | None = None
    """Asked when they are over, where a statement may take its time: whether the server answers somebody else."""

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """As of the base class, which all that waits for the server goes through."""
        try:
            return super().wait(self._listening(gen), *arguments, **options)
        except SilenceError:
            self.close()  # what comes later is the answer to a question that was given up
            raise

    def _listening(self, work: Generator[Any, Any, Value]) -> Generator[Any, Any, Value]:
        """What waits for the socket is told of every tenth of a second in which nothing came or could be sent."""
        heard = time.monotonic()
        try:
            wanted = next(work)
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard > self.patience:
                    if self.is_alive is None or not self.is_alive():
                        raise SilenceError(
                            f"PostgreSQL has said nothing for {self.patience:g} s: it stands still, or the network does"
                        )
                    heard = time.monotonic()
                wanted = work.send(ready)
        except StopIteration as done:
            value: Value = done.value
            return value
