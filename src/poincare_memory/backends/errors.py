"""What goes wrong with a server."""

from __future__ import annotations

from typing import NoReturn

from ..store.errors import StoreClosedError

__all__ = ["BackendError", "Closed", "TryAgainError"]


class BackendError(OSError):
    """The server is gone, too slow, or holds something else than a memory; nothing is half written."""


class TryAgainError(Exception):
    """Another writer was in the way; the same work may succeed now."""


class Closed:
    """In the place of an engine that was closed: whatever is asked of it is an error."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def close(self) -> None:
        """Closing twice is no error."""

    def __getattr__(self, asked: str) -> NoReturn:
        if asked.startswith("__"):  # of Python, when it copies or shows this
            raise AttributeError(asked)
        raise StoreClosedError(f"{self._name}: this memory was closed; connect again")
