"""What goes wrong with a server."""

from __future__ import annotations

__all__ = ["BackendError", "TryAgainError"]


class BackendError(OSError):
    """The server is gone, too slow, or holds something else than a memory; nothing is half written."""


class TryAgainError(Exception):
    """Another writer was in the way; the same work may succeed now."""
