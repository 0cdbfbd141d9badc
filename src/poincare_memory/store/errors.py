"""What can go wrong with a store that lives in a file."""

from __future__ import annotations

__all__ = ["StoreBusyError", "StoreClosedError", "StoreReadError", "StoreWriteError"]


class StoreBusyError(TimeoutError):
    """Another process kept writing the file for longer than ``busy_timeout``. Nothing was changed."""


class StoreClosedError(ValueError):
    """The memory was closed (or its file is gone): open it again."""


class StoreReadError(OSError):
    """The file could not be read (disk error, no permission). Nothing was changed."""


class StoreWriteError(OSError):
    """The file could not be written (full disk, no permission, replaced by another). Nothing was changed."""
