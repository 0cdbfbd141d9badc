"""Give every memory of a live file a new vector and place, from another embedder: all of them, or none."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..embed.embedding import embed_texts
from ..embed.identity import EMBEDDER, Identity, to_text
from ..embed.specs import embedder_spec
from ..progress import Progress, bar_on_a_terminal, metered
from ..temporal.policies import NoDecay
from . import sql
from .filling import empty_store
from .merging import merge
from .placement import LEARNT, keep_directions, place, points
from .turns import take_turn

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from .columns import Columns
    from .state import Store

BATCH: Final = 256  # texts a call of the embedder
BLOCK: Final = 4096  # records a call of SQLite


class Placeholder:
    """Stands for the embedder of old, which is not asked any more."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def embed(self, texts: Any) -> Any:
        raise RuntimeError("the embedder of old is not asked while its vectors are replaced")


def reembed_all(
    connection: sqlite3.Connection,
    where: str,
    patience: float,
    embedder: Embedder,
    identity: Identity,
    progress: Progress,
) -> None:
    """Write new embeddings and points of all records, and which embedder made them.

    Texts are embedded while others may go on writing; only then is the file's turn taken. What was written
    meanwhile is embedded in another round.
    """
    vectors: dict[str, NDArray[Any]] = {}
    while True:
        with sql.snapshot(connection):
            seq = sql.last_change(connection)
            store = _store_in(connection, where)
            versions = sql.version_texts(connection)
        _check_learnt_places(store.columns, embedder)
        _embed(embedder, _texts_of(store.columns, versions), vectors, progress)
        take_turn(lambda: connection, where, patience, threading.Lock())
        try:
            if sql.last_change(connection) == seq:
                _replace(store, embedder, vectors)
                _write(connection, store, embedder, identity)
                _write_versions(connection, store, versions, vectors)
                sql.commit(connection)
                return
        finally:
            sql.roll_back(connection)


def _store_in(connection: sqlite3.Connection, where: str) -> Store:
    config = sql.read_config(connection, where)
    dim = sql.checked_dim(config, where)
    placeholder = Placeholder(dim)
    store = empty_store(config, where, embedder=placeholder, decay=NoDecay(), clock=None)
    merge(store, sql.read_live(connection, dim, where), (), where)
    return store


def _texts_of(columns: Columns, versions: list[tuple[int, str]]) -> Iterable[str]:
    """Every text once, those of past versions too."""
    texts = dict.fromkeys(columns.texts[row] or "" for row in columns.live_rows().tolist())
    return texts | dict.fromkeys(text for _, text in versions)


def _embed(
    embedder: Embedder, texts: Iterable[str], vectors: dict[str, NDArray[Any]], progress: Progress
) -> None:
    missing = [text for text in texts if text not in vectors]
    shown = bar_on_a_terminal() if progress is None else progress
    with metered(shown, len(missing), "re-embedding", "text") as bar:
        for start in range(0, len(missing), BATCH):
            part = missing[start : start + BATCH]
            vectors.update(zip(part, embed_texts(embedder, part), strict=True))
            bar.update(len(part))


def _check_learnt_places(columns: Columns, embedder: Embedder) -> None:
    learnt = int(np.count_nonzero(columns.learnt[columns.live_rows()] == LEARNT))
    if learnt and int(embedder.dim) != columns.dim:
        raise ValueError(
            f"{learnt} memories have places that were learnt in {columns.dim} dimensions: an embedder of "
            f"{embedder.dim} cannot take over; give their places up with place_learned({{id: None, ...}}) first"
        )


def _replace(store: Store, embedder: Embedder, vectors: dict[str, NDArray[Any]]) -> None:
    """New vectors and places in the columns of a store that nobody else has."""
    columns = store.columns
    rows = columns.live_rows()
    if len(rows) == 0:
        return
    learnt = rows[columns.learnt[rows] == LEARNT]
    places = columns.direction[learnt]
    columns.change_dim(int(embedder.dim))
    stacked = np.stack([vectors[columns.texts[row] or ""] for row in rows.tolist()])
    columns.start_embeddings(stacked.dtype)
    if len(learnt):
        columns.direction[learnt] = places
        theirs = np.isin(rows, learnt)
        kept = stacked[theirs]
        keep_directions(columns, learnt, kept)
        stacked[theirs] = kept
    by_level = np.argsort(columns.level[rows], kind="stable")
    place(store, np.ascontiguousarray(rows[by_level]), stacked[by_level])


def _write_versions(
    connection: sqlite3.Connection,
    store: Store,
    versions: list[tuple[int, str]],
    vectors: dict[str, NDArray[Any]],
) -> None:
    """Past versions lie in the direction of their own texts: where their parents lay then is not told."""
    for start in range(0, len(versions), BLOCK):
        part = versions[start : start + BLOCK]
        embeddings = np.stack([vectors[text] for _, text in part])
        directions = store.projector.at_depth(embeddings.astype(np.float64), store.base_depth)
        serials = [serial for serial, _ in part]
        sql.update_versions(
            connection, zip(sql.blobs(directions), sql.blobs(embeddings), serials, strict=True)
        )


def _write(connection: sqlite3.Connection, store: Store, embedder: Embedder, identity: Identity) -> None:
    columns = store.columns
    rows = columns.live_rows()
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        positions = columns.order[part].tolist()
        places = sql.blobs(points(columns, part, store.ball.sqrt_c))
        sql.update_vectors(
            connection, zip(places, sql.blobs(columns.embeddings(part)), positions, strict=True)
        )
        sql.seal(connection, positions)
    sql.put_config(connection, {"dim": int(embedder.dim), "embedder": embedder_spec(embedder)})
    sql.seal_settings(connection)
    sql.put_info(connection, EMBEDDER, to_text(identity))
