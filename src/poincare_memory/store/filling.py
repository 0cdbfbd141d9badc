"""A store from what a file holds, after checking every value of it.

Level and radius come from the parent chain and the direction from the point, so a file whose points were clipped
near the boundary loads with the right depths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..collector import CollectorPaused
from ..embed.embedding import check_embedder
from ..embed.projection import BallProjector
from ..embed.specs import embedder_from_spec
from ..geometry.poincare import PoincareBall
from ..geometry.polar import directions
from ..temporal.instants import utcnow
from ..temporal.specs import policy_from_spec
from .archive import FORMAT, SETTINGS_IN_FILES, SETTINGS_OF_OURS, Archive, Floats
from .checked_records import CheckedRecords, RecordNames
from .placement import set_learned_depths
from .state import SETTINGS, Store

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy
    from .arrays import Rows
    from .columns import Columns
    from .room import Room


def take_settings(store: Store, config: Mapping[str, Any], where: str, keep_decay: bool) -> None:
    """Use the settings of a file from now on; under the write lock."""
    for name, fixed in (("format", FORMAT), ("curvature", store.ball.c), ("dim", store.columns.dim)):
        if config.get(name) != fixed:
            raise ValueError(f"{where}: config: {name} is {config.get(name)!r} by now, expected {fixed!r}")
    try:
        told = {name: config.get(name) for name in SETTINGS_IN_FILES} | _of_ours(config)
        checked = {name: SETTINGS[name](name, value) for name, value in told.items()}
        if not keep_decay:
            checked["decay"] = policy_from_spec(config.get("decay", {"type": "none"}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: config: {error}") from error
    for name, value in checked.items():
        setattr(store, name, value)


def _of_ours(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: config.get(name, usual) for name, usual in SETTINGS_OF_OURS.items()}


def store_of(
    archive: Archive,
    where: str,
    *,
    embedder: Embedder | None = None,
    decay: DecayPolicy | None = None,
    clock: Callable[[], datetime] | None = None,
    room: Room | None = None,
) -> Store:
    """Build a store from an archive after checking every value of it.

    Raises
    ------
    ValueError
        Naming `where`, the record and the field, and what was expected there.
    """
    store = empty_store(archive.config, where, embedder=embedder, decay=decay, clock=clock, room=room)
    with CollectorPaused():
        fill(store, archive, where)
    return store


def fill(store: Store, archive: Archive, where: str) -> None:
    """Put the records of an archive into an empty store after checking every value of them."""
    rows, narrow = _filled_vectors(store, archive, where)
    records = CheckedRecords(archive.fields, where)
    parents = records.parents()
    levels = records.levels(parents)
    depths = records.learned_depths()
    times = {name: records.instants(name) for name in ("t", "valid_from", "valid_until", "last_accessed")}
    counts = records.access_counts()
    texts, metas = records.texts(), records.metas()
    columns = store.columns
    if len(rows) == 0:
        return
    if archive.positions is not None:
        columns.number(rows, records.orders(archive.positions))
    columns.level[rows] = levels
    columns.radius[rows] = store.base_depth + levels * store.depth_step
    columns.access_count[rows] = counts
    for name, column in times.items():
        getattr(columns, name)[rows] = column
    columns.recorded_at[rows], columns.pinned[rows] = records.recorded_at(), records.pinned()
    columns.set_age(rows)
    columns.set_objects(rows, records.ids, texts, metas)
    attached = records.attached(columns.order[rows])
    columns.attached[rows] = attached
    columns.reserve_orders(int(attached.max()) + 1)
    by_age = np.argsort(attached, kind="stable")
    columns.attach(rows[by_age], np.where(parents < 0, -1, rows[parents]).astype(np.int32)[by_age])
    set_learned_depths(store, rows, depths)
    for block, embeddings in narrow:
        columns.set_embeddings(rows[block], embeddings)


def _filled_vectors(
    store: Store, archive: Archive, where: str
) -> tuple[Rows, list[tuple[slice, NDArray[Any]]]]:
    """Rows of an empty store with the vectors of an archive in them, but for those embeddings that come second: they
    can be set once all parents have their places.

    Nothing is allocated for all records before the first of them was seen to have vectors of that length.
    """
    columns, names = store.columns, RecordNames(archive.fields["id"], where)
    rows: Rows = np.empty(0, np.int32)
    narrow: list[tuple[slice, NDArray[Any]]] = []
    filled = 0
    for points, embeddings in archive.vectors:
        has_length = check_vectors(points, embeddings, names, store, filled)
        if not len(rows):
            # A live store: room that is not touched takes no memory, but it does take disk.
            if archive.positions is not None and columns.room.precision == "full":
                columns.reserve(archive.count + archive.count // 2)
            rows = columns.allocate(archive.count)
        wide = filled and columns.embedding_dtype == np.float64  # by a block before: then all of them are
        kept = embeddings if wide else narrow_if_exact(embeddings)
        if filled == 0:
            columns.start_embeddings(kept.dtype)
        columns.reserve(0, kept.dtype)
        block = slice(filled, filled + len(points))
        if columns.folds:
            narrow.append((block, kept))
        else:
            columns.set_embeddings(rows[block], kept)
        _set_directions(columns, block, points, embeddings, has_length)
        filled = block.stop
    if filled != archive.count or filled != len(archive.fields["id"]):
        raise ValueError(f"{where}: expected the vectors of {archive.count} records, got {filled}")
    return rows, narrow


def _set_directions(
    columns: Columns, block: slice, points: Floats, embeddings: NDArray[Any], has_length: NDArray[np.bool_]
) -> None:
    """Directions of rows from their points, as those of roots: one pass."""
    directed = columns.directed[block]
    _kernels.place_rows(
        points, columns.direction[block], columns.radius[block], columns.level[block],
        columns.parent[block], directed, np.arange(len(points), dtype=np.int32),
        1.0, 1.0, 0.0, 1.0, False, _kernels.DEFAULT_CONE_K, 1,
    )  # fmt: skip
    if directed.all() and has_length.all():
        return
    direction, known = directions_of(points, embeddings)
    columns.direction[block] = direction
    columns.directed[block] = known


def empty_store(
    config: Any,
    where: str,
    *,
    embedder: Embedder | None,
    decay: DecayPolicy | None,
    clock: Callable[[], datetime] | None,
    room: Room | None = None,
) -> Store:
    """Store with the settings of a file and no memories."""
    if not isinstance(config, Mapping):
        raise ValueError(f"{where}: config: expected an object, got {type(config).__name__}")
    found = config.get("format")
    if found != FORMAT or isinstance(found, bool):
        raise ValueError(f"{where}: unsupported file format {found!r}; this version reads format {FORMAT}")
    for name in ("curvature", "dim", *SETTINGS_IN_FILES):
        if name not in config:
            raise ValueError(f"{where}: config has no {name!r}")
    dim = config["dim"]
    if not isinstance(dim, int) or isinstance(dim, bool) or dim < 1:
        raise ValueError(f"{where}: config: dim: expected an integer of at least 1, got {dim!r}")
    try:
        used = embedder_of(config, embedder)
        if int(used.dim) != dim:
            raise ValueError(f"embedder dimension {used.dim} does not match the saved dimension {dim}")
        return Store(
            used,
            BallProjector(PoincareBall(config["curvature"])),
            room,
            decay=policy_from_spec(config.get("decay", {"type": "none"})) if decay is None else decay,
            clock=utcnow if clock is None else clock,
            **{name: config[name] for name in SETTINGS_IN_FILES},
            **_of_ours(config),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: config: {error}") from error


def embedder_of(config: Mapping[str, Any], embedder: Embedder | None) -> Embedder:
    """The embedder that was passed, or the one that a file tells of."""
    if embedder is None:
        return embedder_from_spec(config.get("embedder", {}))
    return check_embedder(embedder)


def check_vectors(
    points: Floats, embeddings: NDArray[Any], records: RecordNames, store: Store, first: int = 0
) -> NDArray[np.bool_]:
    """Check the vectors of the records from `first` on; which embeddings certainly are no zero vectors."""
    shape = (len(points), store.columns.dim)
    if (
        points.shape == embeddings.shape == shape
        and points.dtype == embeddings.dtype == np.float64
        and points.flags.c_contiguous
        and embeddings.flags.c_contiguous
        and _kernels.ordinary_vectors(points, embeddings, store.ball.radius)
    ):
        return np.ones(len(points), np.bool_)
    squares: list[NDArray[Any]] = []
    for name, matrix in (("point", points), ("embedding", embeddings)):
        if matrix.shape != shape:
            raise ValueError(f"{records.where}: {name}s: expected vectors of {shape[1]}, got {matrix.shape}")
        squares.append(np.einsum("ij,ij->i", matrix, matrix))
        if np.isfinite(squares[-1]).all():  # then every number is
            continue
        finite = np.isfinite(matrix).all(axis=1)
        if not finite.all():
            raise records.fail(first + int(np.argmin(finite)), f"{name} is not finite")
    norms = np.sqrt(squares[0])
    inside = norms < store.ball.radius
    if not inside.all():
        i = int(np.argmin(inside))
        raise records.fail(
            first + i, f"point has norm {norms[i]:.6g}, not inside the ball of radius {store.ball.radius:.6g}"
        )
    has_length: NDArray[np.bool_] = squares[1] > 0
    return has_length


def directions_of(points: Floats, embeddings: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Unit directions of the points; of the embeddings where a point is at the origin.

    A memory whose embedding has zero length has no direction, whatever its point says.
    """
    direction, at_point = directions(points)
    by_embedding, directed = directions(embeddings)
    lost = directed & ~at_point
    direction[lost] = by_embedding[lost]
    direction[~directed] = 0.0
    return direction, directed


def narrow_if_exact(embeddings: NDArray[Any]) -> NDArray[Any]:
    """float32 where it holds every value: files write float64, whatever the embedder returned."""
    with np.errstate(over="ignore"):
        if not np.array_equal(embeddings[:1].astype(np.float32), embeddings[:1]):
            return embeddings
        narrow = embeddings.astype(np.float32)
    return narrow if np.array_equal(narrow, embeddings) else embeddings
