"""Open a live store: a SQLite file that holds every change as soon as it returns."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..arguments import number_within
from ..embed.base import HashingEmbedder
from ..embed.embedding import check_embedder
from ..embed.identity import EMBEDDER, Identity, difference, from_text, identity_of, to_text
from ..embed.projection import BallProjector
from ..embed.specs import embedder_spec
from ..geometry.poincare import PoincareBall
from ..progress import Progress, checked_progress
from ..retrieval.cones import DEFAULT_K
from ..temporal.instants import utcnow
from ..temporal.policies import NoDecay
from . import sql
from .archive import SETTINGS_OF_OURS, config_of
from .connections import refuse_orphaned
from .errors import StoreBusyError, StoreWriteError
from .filling import embedder_of, empty_store, fill
from .livefile import LiveFile
from .reembedding import Placeholder, reembed_all
from .room import Precision, room_of
from .sqlite import archive_in
from .state import SETTINGS, Store
from .turns import adopt, turn

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy

SYNCHRONOUS: Final = ("off", "normal", "full")
DEFAULTS: Final[dict[str, Any]] = {
    "curvature": 1.0,
    "base_depth": 1.0,
    "depth_step": 0.5,
    "inherit": 0.25,
    "cone_constrained": False,
    "cone_k": DEFAULT_K,
    "metric": "shell",
    "time_coef": 1.0,
    "depth_bias": 0.0,
    **SETTINGS_OF_OURS,
}


def open_store(
    path: str | os.PathLike[str],
    *,
    embedder: Embedder | None = None,
    decay: DecayPolicy | None = None,
    clock: Callable[[], datetime] | None = None,
    create: bool = True,
    synchronous: str = "normal",
    busy_timeout: float = 5.0,
    history: bool = False,
    reembed: bool = False,
    progress: Progress = None,
    precision: Precision = "full",
    settings: Mapping[str, Any],
) -> Store:
    """Store behind a file; see `Memory.open`."""
    if synchronous not in SYNCHRONOUS:
        raise ValueError(f"synchronous must be one of {', '.join(SYNCHRONOUS)}, got {synchronous!r:.80}")
    checked_progress(progress)
    patience = number_within("busy_timeout", busy_timeout, 0)
    unknown = [name for name in settings if name not in DEFAULTS]
    if unknown:
        raise TypeError(f"no such setting: {', '.join(unknown)}; known are {', '.join(DEFAULTS)}")
    room_of(precision)  # which it is to be
    file = _usable_file(path, create)
    blank = _new_store(embedder, decay, settings)  # what is wrong with it is said before a file is made
    try:
        writer = sql.connect(file, "rwc" if create else "rw", timeout=patience)
    except sqlite3.OperationalError as error:
        raise StoreWriteError(f"{file}: cannot be opened for writing ({error})") from error
    with _closed_on_errors(file, writer, patience):
        opening = Opening(file, writer, synchronous, patience)
        if not sql.parts(writer):
            if not create:
                raise ValueError(f"{file}: not a memory store: it is empty")
            opening.make(blank)
        opening.check(embedder, settings, history, reembed)
        opening.prepare(history, progress)
        store = empty_store(
            opening.config(),
            str(file),
            embedder=opening.embedder,
            decay=decay,
            clock=clock,
            room=room_of(precision, str(file.parent)),
        )
        LiveFile(file, synchronous, patience, decay_is_ours=decay is not None).attach(store, writer)
    return store


def _usable_file(path: str | os.PathLike[str], create: bool) -> Path:
    """The file behind links, if one can be read and written there."""
    file = Path(os.path.realpath(path))
    if not create and not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    if file.exists() and not file.is_file():
        raise ValueError(f"{file}: expected a file, found something else")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"{file.parent}: no such folder")
    if file.exists() and not os.access(file, os.W_OK):
        raise StoreWriteError(
            f"{file}: cannot be opened for writing (the file is read-only); Memory.load reads it"
        )
    # SQLite takes one byte for no file yet, and writes over it.
    if file.exists() and file.stat().st_size == 1:
        raise ValueError(f"{file}: not a readable memory store (it holds a single byte)")
    refuse_orphaned(file)
    return file


@contextlib.contextmanager
def _closed_on_errors(file: Path, writer: sqlite3.Connection, patience: float) -> Iterator[None]:
    """Close the connection on any error, and say what one of SQLite's means for the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        writer.close()
        if sql.is_busy(error):
            raise StoreBusyError(
                f"{file}: another program kept it locked for {patience:g} s; not opened"
            ) from error
        if "decode" in str(error):
            raise ValueError(f"{file}: not a readable memory store ({error})") from error
        raise StoreWriteError(f"{file}: cannot be opened for writing ({error})") from error
    except sqlite3.DatabaseError as error:
        writer.close()
        raise ValueError(f"{file}: not a readable memory store ({error})") from error
    except BaseException:
        writer.close()
        raise


class Opening:
    """The steps from a file to one that can be used live; nothing is changed in a file before all of it was checked."""

    embedder: Embedder
    _identity: Identity
    _differs: str | None  # how the embedder differs from the one that was used

    def __init__(self, file: Path, writer: sqlite3.Connection, synchronous: str, patience: float) -> None:
        self._where = str(file)
        self._writer = writer
        self._synchronous = synchronous
        self._patience = patience

    def config(self) -> dict[str, Any]:
        return sql.read_config(self._writer, self._where)

    def make(self, blank: Store) -> None:
        """An empty store in an empty file."""
        sql.small_pages(self._writer)
        self._use_log()
        with self._turn():
            if not sql.parts(self._writer):  # no other process was quicker
                sql.create(self._writer, config_of(blank))
                sql.guard(self._writer)

    def check(
        self, embedder: Embedder | None, settings: Mapping[str, Any], history: bool, reembed: bool
    ) -> None:
        """Refuse what is no good store, or another one than was asked for.

        Records are read here only where the file is about to be changed; else taking them in checks them.
        """
        writer, where = self._writer, self._where
        if not sql.is_store(writer):
            raise ValueError(f"{where}: not opened, because it is another application's database")
        strange = sql.foreign_parts(writer)
        if strange:
            raise ValueError(
                f"{where}: not opened, because {strange[0]!r} in its schema is not of our making"
            )
        config = self.config()
        self.embedder = embedder_of(config, embedder)
        self._identity = identity_of(self.embedder)
        self._differs = self._difference(config)
        if self._differs and not reembed:
            raise ValueError(
                f"{where}: its memories were embedded by another embedder: {self._differs}. Pass the one that was "
                "used, or reembed=True to embed every text anew"
            )
        dim = sql.checked_dim(config, where)
        store = empty_store(config, where, embedder=Placeholder(dim), decay=NoDecay(), clock=None)
        _compare_settings(store, settings, where)
        if self._differs or not sql.is_live(writer) or (history and not sql.keeps_versions(writer)):
            with sql.snapshot(writer):
                fill(store, archive_in(writer, where), where)

    def prepare(self, history: bool, progress: Progress) -> None:
        """Make it a live file, with what was asked for."""
        writer = self._writer
        self._use_log()
        if not sql.is_live(writer):
            adopt(writer, self._where, self._patience)
        if history and not sql.keeps_versions(writer):
            with self._turn():
                if not sql.keeps_versions(writer):
                    sql.keep_versions(writer)
        if self._differs:
            reembed_all(writer, self._where, self._patience, self.embedder, self._identity, progress)
        elif self._is_unknown():
            with self._turn():
                sql.put_info(writer, EMBEDDER, to_text(self._identity))

    def _difference(self, config: Mapping[str, Any]) -> str | None:
        noted = self._noted()
        if noted is not None:
            return difference(noted, self._identity)
        used = {"class": "", "parameters": config.get("embedder"), "fingerprint": None}
        return difference(used, {**self._identity, "parameters": embedder_spec(self.embedder)})

    def _noted(self) -> Identity | None:
        known = "pm_info" in sql.parts(self._writer)
        return from_text(sql.info(self._writer, EMBEDDER)) if known else None

    def _is_unknown(self) -> bool:
        noted = self._noted()
        return noted is None or (noted["fingerprint"] is None and self._identity["fingerprint"] is not None)

    def _turn(self) -> AbstractContextManager[None]:
        return turn(self._writer, self._where, self._patience)

    def _use_log(self) -> None:
        mode = sql.write_ahead(self._writer, self._synchronous)
        if mode != "wal":
            raise StoreWriteError(
                f"{self._where}: this file system cannot hold a write-ahead log (journal mode {mode!r}); "
                "use a local disk"
            )


def _new_store(embedder: Embedder | None, decay: DecayPolicy | None, settings: Mapping[str, Any]) -> Store:
    wanted = {**DEFAULTS, **settings}
    return Store(
        HashingEmbedder() if embedder is None else check_embedder(embedder),
        BallProjector(PoincareBall(wanted.pop("curvature"))),
        decay=NoDecay() if decay is None else decay,
        clock=utcnow,
        **wanted,
    )


def _compare_settings(store: Store, settings: Mapping[str, Any], where: str) -> None:
    """Settings that were passed for a store that has others already are an error."""
    for name, value in settings.items():
        if name == "curvature":
            wanted, used = PoincareBall(value).c, store.ball.c
        else:
            wanted, used = SETTINGS[name](name, value), getattr(store, name)
        if wanted != used:
            change = f"; set mem.{name} to change it" if name != "curvature" else ""
            raise ValueError(f"{where}: this store was made with {name}={used!r}, not {value!r}{change}")
