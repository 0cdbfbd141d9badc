"""Memories that live in a database server: `Memory.connect("postgresql://...")`, `Memory.connect("qdrant://...")`."""

from __future__ import annotations

from .errors import BackendError
from .remote import RemoteMemory, connect

__all__ = ["BackendError", "RemoteMemory", "connect"]
