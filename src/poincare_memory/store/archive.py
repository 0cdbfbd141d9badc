"""What a file of format 1 holds, whatever the container: settings and records, in order of insertion.

`archive_of` takes it from a store in one consistent moment; `store_of` checks every value and builds a store.
Level and radius come from the parent chain and the direction from the point, so a file whose points were clipped
near the boundary loads with the right depths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..embed.embedding import check_embedder
from ..embed.projection import BallProjector
from ..embed.specs import embedder_from_spec, embedder_spec
from ..geometry.poincare import PoincareBall
from ..geometry.polar import directions
from ..temporal.instants import MISSING, to_micros, utcnow
from ..temporal.specs import policy_from_spec, policy_spec
from .arrays import span_of
from .metadata import check_unicode, copy_metadata
from .placement import LEARNT, set_learned_depths
from .state import FORMAT_VERSION, LARGEST_DEPTH, SETTINGS, Store

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy
    from .arrays import Rows
    from .columns import Columns

FORMAT = FORMAT_VERSION
SETTINGS_IN_FILES = (
    "base_depth",
    "depth_step",
    "inherit",
    "cone_constrained",
    "cone_k",
    "metric",
    "time_coef",
    "depth_bias",
)
# What format 1 does not know and its readers pass over; left out where it is this.
SETTINGS_OF_OURS = {"lexical_coef": 0.0}
# Fields of a record but for the vectors, as both containers name them.
FIELDS = (
    "id",
    "text",
    "parent",
    "t",
    "valid_from",
    "valid_until",
    "access_count",
    "last_accessed",
    "meta",
)
# What format 1 does not know: left out where a record has none of it.
EXTRAS = ("recorded_at", "pinned", "attached", "learned_depth")

Floats = NDArray[np.float64]


Block = tuple[Floats, NDArray[Any]]  # points and embeddings of consecutive records
BLOCK = 256  # records a block: a megabyte or so, so that what one step writes is in cache for the next
Result = TypeVar("Result")


@dataclass
class Archive:
    """Settings, one list a field (times as ISO 8601 strings), and the vectors in blocks, in the same order.

    `vectors` can be gone through once. Where an archive is being read, the lists grow along with it and are
    complete at its end.
    """

    config: dict[str, Any]
    fields: dict[str, list[Any]]
    vectors: Iterable[Block]
    count: int
    positions: list[Any] | None = None  # serial numbers of the records, where they are to keep them


class Overtaken(Exception):
    """Memories were changed before they had been written."""


def written(store: Store, write: Callable[[Archive], Result]) -> Result:
    """What `write` makes of an archive that holds a store as it was in one moment.

    Vectors are read while they are being written: a copy of all of them would take as much memory again, and a lock
    would keep everybody waiting. Where somebody changes a memory before its turn, `write` is called again with a
    copy; what it had begun is void.
    """
    try:
        return write(archive_of(store, copied=False))
    except Overtaken:
        return write(archive_of(store, copied=True))


def archive_of(store: Store, copied: bool) -> Archive:
    """Everything a file holds, in one consistent moment; `Overtaken` may come out of vectors that are not copied.

    Points of memories without direction are written at the origin, those of deep levels with the largest norm
    below the ball's radius.
    """
    config = config_of(store)
    columns = store.columns
    with store.reading():
        rows = columns.live_rows().copy()
        fields = _all_fields(columns, rows)
        vectors = _Vectors(columns, rows, store.ball.sqrt_c)
        if copied:
            vectors.copy()
    return Archive(config, fields, vectors, len(rows))


def texts_of(store: Store) -> dict[str, list[Any]]:
    """What `archive_of` gives but for the vectors: one list a field, in one consistent moment."""
    columns = store.columns
    with store.reading():
        return _all_fields(columns, columns.live_rows())


class _Vectors:
    """Points and embeddings of rows as they are now, in blocks."""

    def __init__(self, columns: Columns, rows: Rows, sqrt_c: float) -> None:
        self._columns: Columns | None = columns
        self._rows = rows
        self._sqrt_c = sqrt_c
        self._version = columns.structure_version
        # Growing columns are replaced: what others add never shows in these.
        self._direction, self._radius, self._embedding = columns.direction, columns.radius, columns.embedding

    def copy(self) -> None:
        """Be free of what changes later; under the read lock."""
        rows = self._rows
        self._direction, self._radius = self._direction[rows], self._radius[rows]
        self._embedding = self._embedding[rows]
        self._rows, self._columns = np.arange(len(rows), dtype=np.int32), None

    def __iter__(self) -> Iterator[Block]:
        for start in range(0, len(self._rows), BLOCK):
            rows = self._rows[start : start + BLOCK]
            if self._columns is None:
                yield self._block(rows)
                continue
            with self._columns.lock.read():
                self._check_unchanged(self._columns)
                block = self._block(rows)
            yield block

    def _block(self, rows: Rows) -> Block:
        points = np.empty((len(rows), self._direction.shape[1]))
        _kernels.points_of_rows(self._direction, self._radius, rows, self._sqrt_c, points, 1)
        span = span_of(rows)
        return points, self._embedding[rows if span is None else span].astype(np.float64)

    def _check_unchanged(self, columns: Columns) -> None:
        if columns.structure_version == self._version:
            return
        changed = columns.changed_rows(self._version)
        if changed is None or np.isin(self._rows, changed).any():
            raise Overtaken
        self._version = columns.structure_version


def fields_of(columns: Columns, rows: Rows) -> dict[str, list[Any]]:
    """What files hold of these rows, but for the vectors; under the read lock."""
    places, names, texts, metas = rows.tolist(), columns.ids, columns.texts, columns.metas
    fields: dict[str, list[Any]] = {
        "id": columns.names(rows),
        "text": [texts[row] for row in places],
        "parent": [names[parent] if parent >= 0 else None for parent in columns.parent[rows].tolist()],
        "meta": [checked_meta(metas[row], names[row]) if metas[row] else {} for row in places],
        "access_count": columns.access_count[rows].tolist(),
    }
    for name in ("t", "valid_from", "valid_until", "last_accessed", "recorded_at"):
        fields[name] = _kernels.instant_texts(getattr(columns, name)[rows])
    fields["pinned"] = [1 if pinned else None for pinned in columns.pinned[rows].tolist()]
    fields["learned_depth"] = learned_depths(columns, rows)
    return fields


def learned_depths(columns: Columns, rows: Rows) -> list[float | None]:
    learnt = columns.learnt[rows] == LEARNT
    if not learnt.any():
        return [None] * len(rows)
    depths = columns.radius[rows].tolist()
    return [depth if known else None for depth, known in zip(depths, learnt.tolist(), strict=True)]


def _all_fields(columns: Columns, rows: Rows) -> dict[str, list[Any]]:
    return fields_of(columns, rows) | {"attached": _attached(columns, rows)}


def _attached(columns: Columns, rows: Rows) -> list[int | None]:
    """Numbers that sort children which are not in order of insertion; None for all others."""
    parents, attached = columns.parent[rows], columns.attached[rows]
    by_parent = np.lexsort((np.arange(len(rows)), parents))
    parents, attached = parents[by_parent], attached[by_parent]
    late = (parents[1:] == parents[:-1]) & (parents[1:] >= 0) & (attached[1:] < attached[:-1])
    numbers: list[int | None] = [None] * len(rows)
    if late.any():
        disordered = np.flatnonzero(np.isin(parents, parents[1:][late]))
        in_order = by_parent[disordered[np.argsort(attached[disordered], kind="stable")]]
        for number, i in enumerate(in_order.tolist(), len(rows)):
            numbers[i] = number
    return numbers


def checked_meta(meta: dict[str, Any] | None, id: str | None) -> dict[str, Any]:
    """A checked copy: a live record's `meta` may hold anything by now."""
    return copy_metadata(meta, f"memory {id!r}: meta") or {}


def config_of(store: Store) -> dict[str, Any]:
    """Settings of a store as files hold them."""
    return {
        "format": FORMAT,
        "curvature": store.ball.c,
        "dim": store.columns.dim,
        **{name: getattr(store, name) for name in SETTINGS_IN_FILES},
        **{
            name: getattr(store, name)
            for name, usual in SETTINGS_OF_OURS.items()
            if getattr(store, name) != usual
        },
        "embedder": embedder_spec(store.embedder),
        "decay": policy_spec(store.decay),
    }


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


def parse_instant(text: Any) -> int:
    """UTC microseconds of an ISO 8601 time; ValueError, TypeError or AttributeError for anything else."""
    return to_micros(datetime.fromisoformat(_without_z(text)))


def store_of(
    archive: Archive,
    where: str,
    *,
    embedder: Embedder | None = None,
    decay: DecayPolicy | None = None,
    clock: Callable[[], datetime] | None = None,
) -> Store:
    """Build a store from an archive after checking every value of it.

    Raises
    ------
    ValueError
        Naming `where`, the record and the field, and what was expected there.
    """
    store = empty_store(archive.config, where, embedder=embedder, decay=decay, clock=clock)
    fill(store, archive, where)
    return store


def fill(store: Store, archive: Archive, where: str) -> None:
    """Put the records of an archive into an empty store after checking every value of them."""
    rows = _filled_vectors(store, archive, where)
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


def _filled_vectors(store: Store, archive: Archive, where: str) -> Rows:
    """Rows of an empty store with the embeddings and directions of an archive in them.

    Nothing is allocated for all records before the first of them was seen to have vectors of that length.
    """
    columns, names = store.columns, RecordNames(archive.fields["id"], where)
    rows: Rows = np.empty(0, np.int32)
    filled = 0
    for points, embeddings in archive.vectors:
        has_length = check_vectors(points, embeddings, names, store, filled)
        if not len(rows):
            if archive.positions is not None:  # a live store: room that is not touched takes no memory
                columns.reserve(archive.count + archive.count // 2)
            rows = columns.allocate(archive.count)
        kept = narrow_if_exact(embeddings)
        columns.reserve(0, kept.dtype)
        block = slice(filled, filled + len(points))
        columns.embedding[block] = kept
        _set_directions(columns, block, points, embeddings, has_length)
        filled = block.stop
    if filled != archive.count or filled != len(archive.fields["id"]):
        raise ValueError(f"{where}: expected the vectors of {archive.count} records, got {filled}")
    return rows


def _set_directions(
    columns: Columns, block: slice, points: Floats, embeddings: NDArray[Any], has_length: NDArray[np.bool_]
) -> None:
    """Directions of rows from their points, as those of roots: one pass."""
    n = len(points)
    directed = columns.directed[block]
    _kernels.place_rows(
        points, columns.direction[block], columns.scan_direction[block], np.empty(n), np.empty(n, np.int32),
        np.full(n, -1, np.int32), directed, np.arange(n, dtype=np.int32),
        1.0, 1.0, 0.0, 1.0, False, _kernels.DEFAULT_CONE_K, 1,
    )  # fmt: skip
    if directed.all() and has_length.all():
        return
    direction, known = directions_of(points, embeddings)
    columns.direction[block] = columns.scan_direction[block] = direction
    columns.directed[block] = known


def empty_store(
    config: Any,
    where: str,
    *,
    embedder: Embedder | None,
    decay: DecayPolicy | None,
    clock: Callable[[], datetime] | None,
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


class RecordNames:
    """Errors that name a record of a file."""

    def __init__(self, ids: Sequence[Any], where: str) -> None:
        self.ids = ids
        self.where = where

    def fail(self, i: int, message: str) -> ValueError:
        return ValueError(f"{self.where}: record {i} ({self.ids[i]!r:.80}): {message}")


class CheckedRecords(RecordNames):
    """Field lists of the records, read with checks; every error names the record."""

    ids: list[str]

    def __init__(self, fields: Mapping[str, Sequence[Any]], where: str) -> None:
        super().__init__(list(fields["id"]), where)
        self.fields = fields
        self.index: dict[str, int] = {}
        if _are_plain_texts(self.ids):
            self.index = dict(zip(self.ids, range(len(self.ids)), strict=True))
        if len(self.index) < len(self.ids) or "" in self.index:
            self._check_ids()

    def _check_ids(self) -> None:
        self.index.clear()
        for i, id in enumerate(self.ids):
            if not isinstance(id, str) or not id:
                raise ValueError(f"{self.where}: record {i}: id: expected a non-empty string, got {id!r:.80}")
            if id in self.index:
                raise ValueError(
                    f"{self.where}: record {i}: id {id!r} is already that of record {self.index[id]}"
                )
            self._checked(i, check_unicode, id, "id")
            self.index[id] = i

    def _checked(self, i: int, check: Callable[[str, str], None], value: str, name: str) -> None:
        try:
            check(value, name)
        except ValueError as error:
            raise ValueError(f"{self.where}: record {i}: {error}") from error

    def texts(self) -> list[str]:
        texts = list(self.fields["text"])
        if _are_plain_texts(texts):
            return texts
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise self.fail(i, f"text: expected a string, got {type(text).__name__}")
            self._checked(i, check_unicode, text, "text")
        return texts

    def metas(self) -> list[dict[str, Any] | None]:
        return [None if meta is None else self._meta(i, meta) for i, meta in enumerate(self.fields["meta"])]

    def _meta(self, i: int, meta: Any) -> dict[str, Any] | None:
        try:
            return copy_metadata(meta)
        except (TypeError, ValueError) as error:
            raise self.fail(i, str(error)) from error

    def instants(self, name: str) -> NDArray[np.int64]:
        texts = list(self.fields[name])
        micros = np.empty(len(texts), np.int64)
        i, missing_allowed = 0, name != "t"
        while (i := _kernels.fill_instants(texts, micros, i, missing_allowed)) < len(texts):
            try:  # in another form than ours
                micros[i] = parse_instant(texts[i])
            except (TypeError, ValueError, AttributeError):
                raise self.fail(i, f"{name}: expected an ISO 8601 time, got {texts[i]!r:.80}") from None
            i += 1
        return micros

    def access_counts(self) -> NDArray[np.int64]:
        return self._integers("access_count", self.fields["access_count"], 2**63)

    def orders(self, positions: Sequence[Any]) -> NDArray[np.int64]:
        """Serial numbers of the records, increasing."""
        return self._integers("pos", positions, 2**62)

    def recorded_at(self) -> NDArray[np.int64]:
        return self.instants("recorded_at") if self.fields.get("recorded_at") else self._nothing(MISSING)

    def pinned(self) -> NDArray[np.int64]:
        found = self._nothing(0)
        for i, pinned in self._given("pinned"):
            if pinned not in (0, 1):
                raise self.fail(i, f"pinned: expected 1 or 0, got {pinned!r:.80}")
            found[i] = bool(pinned)
        return found

    def learned_depths(self) -> NDArray[np.float64]:
        """Depths that were not computed from a level; NaN for all others."""
        found = np.full(len(self.ids), np.nan)
        for i, depth in self._given("learned_depth"):
            number = isinstance(depth, float | int) and not isinstance(depth, bool)
            if not number or not 0 <= depth <= LARGEST_DEPTH:
                raise self.fail(i, f"learned_depth: expected a number from 0 to 1e100, got {depth!r:.80}")
            found[i] = depth
        return found

    def attached(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """`orders`, but for what tells another place among its siblings."""
        found = orders.copy()
        for i, number in self._given("attached"):
            self._check_integer(i, "attached", number, 2**62)
            found[i] = number
        return found

    def _given(self, name: str) -> Iterator[tuple[int, Any]]:
        """Records of which this is said, and what."""
        return ((i, value) for i, value in enumerate(self.fields.get(name) or ()) if value is not None)

    def _integers(self, name: str, values: Sequence[Any], end: int) -> NDArray[np.int64]:
        if set(map(type, values)) != {int} or min(values) < 0 or max(values) >= end:
            for i, value in enumerate(values):
                self._check_integer(i, name, value, end)
        return np.array(values, np.int64)

    def _check_integer(self, i: int, name: str, value: Any, end: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < end:
            raise self.fail(i, f"{name}: expected an integer of at least 0, got {value!r:.80}")

    def _nothing(self, value: int) -> NDArray[np.int64]:
        return np.full(len(self.ids), value, np.int64)

    def parents(self) -> NDArray[np.int64]:
        """Position of each record's parent, -1 at a root."""
        parents = self.fields["parent"]
        if set(map(type, parents)) <= {str, type(None)}:
            positions = list(map(self.index.get, parents, repeat(-1)))
            if positions.count(-1) == parents.count(None):
                return np.array(positions, np.int64)
        for i, parent in enumerate(parents):
            if parent is not None and not (isinstance(parent, str) and parent in self.index):
                raise self.fail(i, f"its parent {parent!r:.80} is not in the file")
        return np.array([-1 if parent is None else self.index[parent] for parent in parents], np.int64)

    def levels(self, parents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Level of each record; a cycle is an error that names one of its members."""
        levels = np.empty(len(parents), np.int32)
        i = _kernels.levels_below(parents, levels)
        if i >= 0:
            raise self.fail(i, "its chain of parents comes back to itself")
        return levels


def _are_plain_texts(values: Sequence[Any]) -> bool:
    """Whether all are strings, and of ASCII, so that no character of them can be wrong."""
    return set(map(type, values)) <= {str} and all(map(str.isascii, values))


def _without_z(text: str) -> str:
    return text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text  # Python 3.10 reads no Z


def check_vectors(
    points: Floats, embeddings: NDArray[Any], records: RecordNames, store: Store, first: int = 0
) -> NDArray[np.bool_]:
    """Check the vectors of the records from `first` on; which embeddings certainly are no zero vectors."""
    shape = (len(points), store.columns.dim)
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
