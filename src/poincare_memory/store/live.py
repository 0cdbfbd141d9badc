"""Open a live store: a SQLite file that holds every change as soon as it returns."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..arguments import number_within
from ..embed.base import HashingEmbedder
from ..embed.embedding import check_embedder
from ..embed.projection import BallProjector
from ..embed.specs import embedder_spec
from ..geometry.poincare import PoincareBall
from ..progress import Progress, checked_progress
from ..retrieval.cones import DEFAULT_K
from ..temporal.instants import utcnow
from ..temporal.policies import NoDecay
from . import sql
from .archive import SETTINGS_IN_FILES, config_of, embedder_of, empty_store
from .errors import StoreBusyError, StoreWriteError
from .identity import EMBEDDER, difference, from_text, identity_of, to_text
from .livefile import LiveFile, adopt, refuse_orphaned, take_turn
from .reembedding import reembed as reembed_file
from .state import SETTINGS, Store

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
    file = Path(os.path.realpath(path))
    if not create and not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    if file.exists() and not file.is_file():
        raise ValueError(f"{file}: expected a file, found something else")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"{file.parent}: no such folder")
    refuse_orphaned(file)
    try:
        writer = sql.connect(file, "rwc" if create else "rw", timeout=patience)
    except sqlite3.OperationalError as error:
        raise StoreWriteError(f"{file}: cannot be opened for writing ({error})") from error
    try:
        config = _prepared(writer, file, embedder, decay, synchronous, patience, settings, create)
        if history and not sql.keeps_versions(writer):
            take_turn(lambda: writer, str(file), patience, threading.Lock())
            if not sql.keeps_versions(writer):
                sql.keep_versions(writer)
            sql.commit(writer)
        used = embedder_of(config, embedder)
        if _settle_embedder(writer, str(file), patience, config, used, reembed, progress):
            config = sql.read_config(writer, str(file))
        store = empty_store(config, str(file), embedder=used, decay=decay, clock=clock)
        _compare_settings(store, settings, str(file))
        live = LiveFile(file, synchronous, patience)
        live.decay_is_ours = decay is not None
        live.attach(store, writer)
    except sqlite3.OperationalError as error:
        writer.close()
        if sql.is_busy(error):
            raise StoreBusyError(
                f"{file}: another program kept it locked for {patience:g} s; not opened"
            ) from error
        raise StoreWriteError(f"{file}: cannot be opened for writing ({error})") from error
    except sqlite3.DatabaseError as error:
        writer.close()
        raise ValueError(f"{file}: not a readable memory store ({error})") from error
    except BaseException:
        writer.close()
        raise
    return store


def _prepared(
    writer: sqlite3.Connection,
    file: Path,
    embedder: Embedder | None,
    decay: DecayPolicy | None,
    synchronous: str,
    patience: float,
    settings: Mapping[str, Any],
    create: bool,
) -> dict[str, Any]:
    """Config of the file, once it is a live store; made where there was none."""
    parts = sql.parts(writer)
    if parts and not sql.is_store(writer):
        raise ValueError(f"{file}: not opened, because it is another application's database")
    if not parts:
        if not create:
            raise ValueError(f"{file}: not a memory store: it is empty")
        _make(writer, file, _new_store(embedder, decay, settings), synchronous, patience)
    strange = sql.foreign_parts(writer)
    if strange:
        raise ValueError(f"{file}: not opened, because {strange[0]!r} in its schema is not of our making")
    _use_log(writer, file, synchronous)
    adopt(writer, str(file), patience)
    return sql.read_config(writer, str(file))


def _make(writer: sqlite3.Connection, file: Path, store: Store, synchronous: str, patience: float) -> None:
    sql.small_pages(writer)
    _use_log(writer, file, synchronous)
    take_turn(lambda: writer, str(file), patience, threading.Lock())
    try:
        if not sql.parts(writer):  # no other process was quicker
            sql.create(writer, config_of(store))
            sql.guard(writer)
        sql.commit(writer)
    finally:
        sql.roll_back(writer)


def _use_log(writer: sqlite3.Connection, file: Path, synchronous: str) -> None:
    mode = sql.write_ahead(writer, synchronous)
    if mode != "wal":
        raise StoreWriteError(
            f"{file}: this file system cannot hold a write-ahead log (journal mode {mode!r}); use a local disk"
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


def _settle_embedder(
    writer: sqlite3.Connection,
    where: str,
    patience: float,
    config: Mapping[str, Any],
    embedder: Embedder,
    reembed: bool,
    progress: Progress,
) -> bool:
    """Make sure that the vectors of the file are this embedder's; True where they were made anew."""
    now = identity_of(embedder)
    noted = from_text(sql.info(writer, EMBEDDER))
    used = noted or {"class": "", "parameters": config.get("embedder"), "fingerprint": None}
    known = now if noted else {**now, "parameters": embedder_spec(embedder)}
    differs = difference(used, known)
    if differs is None:
        if noted is None or (noted["fingerprint"] is None and now["fingerprint"] is not None):
            take_turn(lambda: writer, where, patience, threading.Lock())
            sql.put_info(writer, EMBEDDER, to_text(now))
            sql.commit(writer)
        return False
    if not reembed:
        raise ValueError(
            f"{where}: its memories were embedded by another embedder: {differs}. Pass the one that was used, or "
            "reembed=True to embed every text anew"
        )
    reembed_file(writer, where, patience, embedder, now, progress)
    return True


def _compare_settings(store: Store, settings: Mapping[str, Any], where: str) -> None:
    """Settings that were passed for a store that has others already are an error."""
    for name, value in settings.items():
        if name == "curvature":
            wanted, used = PoincareBall(value).c, store.ball.c
        else:
            wanted, used = SETTINGS[name](name, value), getattr(store, name)
        if wanted != used:
            change = f"; set mem.{name} to change it" if name in SETTINGS_IN_FILES else ""
            raise ValueError(f"{where}: this store was made with {name}={used!r}, not {value!r}{change}")
