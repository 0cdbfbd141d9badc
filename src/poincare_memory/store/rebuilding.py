"""A repaired file: the records of a store at the positions they had, past versions, and who embedded them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..embed.identity import EMBEDDER
from . import sql
from .archive import Archive, archive_of
from .atomic import replacing
from .errors import StoreWriteError
from .sqlite import fold_sidecars, refuse_foreign

if TYPE_CHECKING:
    from .state import Store

__all__ = ["Kept", "rebuild"]


@dataclass(frozen=True)
class Kept:
    """What belongs to a store, and is in no column of it."""

    positions: list[int]  # which past versions name
    attached: list[int | None]
    versions: list[dict[str, Any]] | None  # None where the file keeps none
    identity: str | None  # of the embedder


def rebuild(store: Store, kept: Kept, path: Path) -> None:
    """Write them to `path` in one step; what was there stays until the new file is complete."""
    target = Path(os.path.realpath(path))
    refuse_foreign(target)
    archive = archive_of(store, copied=False)
    archive = replace(archive, fields=archive.fields | {"attached": kept.attached})
    with replacing(target) as temporary:
        try:
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                _write(connection, archive, kept)
        except sqlite3.Error as error:
            raise StoreWriteError(f"{target}: not written ({error}); it is as it was") from error
        fold_sidecars(target)


def _write(connection: sqlite3.Connection, archive: Archive, kept: Kept) -> None:
    sql.journal_off(connection)
    sql.begin_writing(connection)
    sql.create(connection, archive.config)
    sql.insert(connection, kept.positions, archive.fields, archive.vectors)
    sql.guard(connection)
    if kept.versions is not None or kept.identity is not None:
        sql.make_live(connection)
    if kept.identity is not None:
        sql.put_info(connection, EMBEDDER, kept.identity)
    if kept.versions is not None:
        sql.keep_versions(connection)
        sql.insert_versions(connection, kept.versions)
    sql.commit(connection)
