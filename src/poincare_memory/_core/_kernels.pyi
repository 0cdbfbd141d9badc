from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

_Float64Array = npt.NDArray[np.float64]
_Int64Array = npt.NDArray[np.int64]
_Real = TypeVar("_Real", np.float32, np.float64)
_Value = TypeVar("_Value")
_Bound = TypeVar("_Bound", bound=BoundRecord)

# constants.pxi: numerics.hpp as Python sees it
BALL_EPS_FLOAT64: float
BALL_EPS_FLOAT32: float
BALL_EPS_FLOAT16: float
LARGEST_NORM_FLOAT64: float
LARGEST_NORM_FLOAT32: float
LARGEST_NORM_FLOAT16: float
ATANH_CLAMP_FLOAT64: float
ATANH_CLAMP_FLOAT32: float
ATANH_CLAMP_FLOAT16: float
TANH_CLAMP: float
TINY: float
DEFAULT_CONE_K: float
MIN_WEIGHT: float
LOG_SPACE_RADIUS: float
MISSING_INSTANT: int

# threads.pxi
def available_threads() -> int: ...
def make_serial_after_fork() -> None: ...
def serial_after_fork() -> bool: ...
def simd_level() -> str: ...

# lock.pxi
class UsersBlock(Protocol):
    def is_abandoned(self) -> bool: ...
    def take_back(self) -> None: ...

class ReadersOrWriter:
    writers_waiting: int
    look_again: float
    block: UsersBlock | None

    def read(self) -> AbstractContextManager[None]: ...
    def write(self) -> AbstractContextManager[None]: ...
    def held_by_me(self) -> bool: ...
    def written_by_me(self) -> bool: ...
    def refuse_reader(self) -> None: ...
    def acquire_read(self) -> None: ...
    def release_read(self) -> None: ...
    def acquire_write(self, patience: float | None = None) -> bool: ...
    def release_write(self) -> None: ...
    def end_abandoned(self) -> None: ...
    def keep_only_me(self) -> None: ...

# instants.pxi
EARLIEST_INSTANT: int
LATEST_INSTANT: int

def micros_of(moment: datetime, name: str) -> int: ...
def fill_micros(
    moments: tuple[datetime | None, ...], out: _Int64Array, name: str, missing_allowed: bool
) -> None: ...
def fill_instants(texts: list[Any], out: _Int64Array, start: int, missing_allowed: bool) -> int: ...
def instant_texts(instants: _Int64Array) -> list[str | None]: ...
def fill_counts(counts: tuple[int, ...], out: _Int64Array, name: str) -> None: ...

# decay.pxi
DECAY_HALF_LIFE: int
DECAY_EBBINGHAUS: int
DECAY_VALIDITY: int

def decay_weights(
    factors: _Float64Array,
    now: int,
    t: _Int64Array,
    access_count: _Int64Array | None,
    valid_from: _Int64Array | None,
    valid_until: _Int64Array | None,
    rows: _Int64Array | None,
    out: _Float64Array,
    threads: int = 0,
) -> None: ...
def decay_log_weights(
    factors: _Float64Array,
    now: int,
    t: _Int64Array,
    access_count: _Int64Array | None,
    valid_from: _Int64Array | None,
    valid_until: _Int64Array | None,
    rows: _Int64Array | None,
    out: _Float64Array,
    threads: int = 0,
) -> None: ...

# tree: columns of row numbers, -1 where there is none
def attach_rows(
    rows: npt.NDArray[np.int32],
    parents: npt.NDArray[np.int32],
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    last_child: npt.NDArray[np.int32],
    next_sibling: npt.NDArray[np.int32],
    prev_sibling: npt.NDArray[np.int32],
) -> None: ...
def detach_row(
    row: int,
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    last_child: npt.NDArray[np.int32],
    next_sibling: npt.NDArray[np.int32],
    prev_sibling: npt.NDArray[np.int32],
) -> None: ...
def detach_rows(
    rows: npt.NDArray[np.int32],
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    last_child: npt.NDArray[np.int32],
    next_sibling: npt.NDArray[np.int32],
    prev_sibling: npt.NDArray[np.int32],
) -> None: ...
def child_rows(
    row: int, first_child: npt.NDArray[np.int32], next_sibling: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]: ...
def ancestor_rows(row: int, parent: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]: ...
def subtree_rows(
    row: int,
    parent: npt.NDArray[np.int32],
    last_child: npt.NDArray[np.int32],
    prev_sibling: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]: ...
def levels_below(parent: _Int64Array, level: npt.NDArray[np.int32]) -> int: ...

# placement: columns of a store, rows with parents before children
def place_rows(
    embedding: npt.NDArray[np.float32] | _Float64Array,
    direction: _Float64Array,
    radius: _Float64Array,
    level: npt.NDArray[np.int32],
    parent: npt.NDArray[np.int32],
    directed: npt.NDArray[np.uint8],
    rows: npt.NDArray[np.int32],
    base_depth: float,
    depth_step: float,
    inherit: float,
    sqrt_c: float,
    cone_constrained: bool,
    cone_k: float,
    threads: int = 0,
    learnt: npt.NDArray[np.uint8] | None = None,
    own: npt.NDArray[np.float64] | None = None,
    above: npt.NDArray[np.float64] | None = None,
    kept: npt.NDArray[np.uint8] | None = None,
) -> None: ...
def plain_copy(meta: Any) -> dict[str, Any] | None: ...
def plain_copies(metas: list[Any]) -> list[dict[str, Any] | None] | None: ...
def is_plain_text(text: object) -> TypeGuard[str]: ...
def are_plain_texts(values: list[Any]) -> TypeGuard[list[str]]: ...
def are_plain_or_none(values: list[Any]) -> TypeGuard[list[str | None]]: ...
def all_are(values: list[Any], one: object) -> bool: ...
def names_are_sound(ids: list[str | None], parents: list[str | None], known: Mapping[str, int]) -> bool: ...
def with_made_up_ids(ids: list[str | None], known: Mapping[str, int]) -> list[str]: ...
def rows_of_ids(ids: list[str | None], known: Mapping[str, int]) -> npt.NDArray[np.int32]: ...
def field_lists(
    items: list[Any], names: tuple[str, ...], defaults: tuple[Any, ...]
) -> list[list[Any]] | None: ...
def first_not_finite(numbers: npt.NDArray[Any]) -> int: ...
def finite_copy(array: object, rows: int, dim: int) -> npt.NDArray[Any] | None: ...

class RowWriter:
    def __init__(self, in_memory: bool) -> None: ...
    def forget(self) -> None: ...
    def append(
        self,
        columns: Any,
        id: str | None,
        text: str,
        meta: dict[str, Any] | None,
        parent: str | None,
        t: int,
        valid_from: int,
        valid_until: int,
        recorded_at: int,
        pinned: bool,
        embedding: npt.NDArray[Any],
        rule: tuple[float, float, float, float, bool, float],
    ) -> str | None: ...

def fold_embeddings(
    embedding: npt.NDArray[np.float32],
    direction: _Float64Array,
    parent: npt.NDArray[np.int32],
    own: _Float64Array,
    above: _Float64Array,
    rows: npt.NDArray[np.int32],
    kept: npt.NDArray[np.uint8],
    threads: int = 0,
) -> int: ...
def unfold_embeddings(
    direction: _Float64Array,
    parent: npt.NDArray[np.int32],
    own: _Float64Array,
    above: _Float64Array,
    rows: npt.NDArray[np.int32],
    out: npt.NDArray[np.float32],
    threads: int = 0,
) -> None: ...
def points_of_rows(
    direction: _Float64Array,
    radius: _Float64Array,
    rows: npt.NDArray[np.int32],
    sqrt_c: float,
    out: _Float64Array,
    threads: int = 0,
) -> None: ...

# scan.pxi
SCAN_NO_QUERY: int
SCAN_SHELL: int
SCAN_HYPERBOLIC: int

def row_dots(
    query: npt.NDArray[np.float32],
    matrix: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int32] | None,
    out: npt.NDArray[np.float32],
) -> None: ...
def row_dots_error(dim: int) -> float: ...
def unit_direction(embedding: npt.NDArray[np.float32] | _Float64Array, direction: _Float64Array) -> bool: ...
def code_stride(dim: int) -> int: ...
def encode_rows(
    direction: npt.NDArray[np.float64],
    rows: npt.NDArray[np.int32] | None,
    codes: npt.NDArray[np.int8],
    scale: npt.NDArray[np.float32],
    error: npt.NDArray[np.float32],
    threads: int = 0,
) -> None: ...
def scan_top_k(
    direction: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int8] | None,
    code_scale: npt.NDArray[np.float32] | None,
    code_error: npt.NDArray[np.float32] | None,
    radius: npt.NDArray[np.float64],
    directed: npt.NDArray[np.uint8],
    t: npt.NDArray[np.int64],
    access_count: npt.NDArray[np.int64],
    valid_from: npt.NDArray[np.int64],
    valid_until: npt.NDArray[np.int64],
    count: int,
    rows: npt.NDArray[np.int32] | None,
    mask: npt.NDArray[np.uint8] | None,
    metric: int,
    query_direction: npt.NDArray[np.float64] | None,
    query_radius: float,
    curvature: float,
    depth_bias: float,
    time_coef: float,
    factors: npt.NDArray[np.float64] | None,
    now: int,
    log_weights: npt.NDArray[np.float64] | None,
    k: int,
    threads: int = 0,
    bonus: npt.NDArray[np.float64] | None = None,
) -> list[tuple[int, float, float, float]]: ...
def products(
    queries: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int8],
    scale: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int32] | None,
    out: npt.NDArray[np.float32],
    threads: int = 0,
) -> float: ...
def scan_batch(
    direction: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int8],
    code_scale: npt.NDArray[np.float32],
    code_error: npt.NDArray[np.float32],
    radius: npt.NDArray[np.float64],
    directed: npt.NDArray[np.uint8],
    t: npt.NDArray[np.int64],
    access_count: npt.NDArray[np.int64],
    valid_from: npt.NDArray[np.int64],
    valid_until: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int32] | None,
    metric: int,
    queries: npt.NDArray[np.float64],
    query_radius: float,
    count: int,
    curvature: float,
    depth_bias: float,
    time_coef: float,
    factors: npt.NDArray[np.float64] | None,
    now: int,
    log_weights: npt.NDArray[np.float64] | None,
    k: int,
    threads: int = 0,
) -> list[list[tuple[int, float, float, float]]] | None: ...

# maps.pxi: the row number as below, and whether a point deeper than `limit` (its largest norm, in units of the
# ball's radius) was asked for
def mobius_add(
    x: _Rows, y: _Rows, curvature: float, limit: float, out: _Rows, threads: int
) -> tuple[int, bool]: ...
def exp_map(
    x: _Rows, v: _Rows, curvature: float, limit: float, out: _Rows, threads: int
) -> tuple[int, bool]: ...
def log_map(
    x: _Rows, y: _Rows, curvature: float, limit: float, out: _Rows, threads: int
) -> tuple[int, bool]: ...
def geodesic(
    x: _Rows, y: _Rows, t: _Float64Array, curvature: float, limit: float, out: _Rows, threads: int
) -> tuple[int, bool]: ...

# ball.pxi, lorentz.pxi, polar.pxi, cones.pxi: C-contiguous rows, float32 or float64, one dtype a call; a side with one
# row stands against every row of the other. Those that return a number return -1, or the first row that is
# not strictly inside the ball: i for x, n + i for y.
_Rows = npt.NDArray[np.floating[Any]]

def ball_row_terms(
    x: _Rows, curvature: float, norm: _Float64Array, margin: _Float64Array, threads: int
) -> int: ...
def ball_distances(x: _Rows, y: _Rows, curvature: float, out: _Float64Array, threads: int) -> int: ...
def ball_pairwise(x: _Rows, y: _Rows, curvature: float, out: _Rows, threads: int) -> int: ...
def scale_rows(x: _Rows, length: _Float64Array, out: _Rows, threads: int) -> None: ...
def atan2_nonnegative(y: _Float64Array, x: _Float64Array, out: _Float64Array) -> None: ...
def log1p_nonnegative(z: _Float64Array, out: _Float64Array) -> None: ...
def ball_to_lorentz(x: _Rows, curvature: float, out: _Rows, threads: int) -> int: ...
def ball_from_lorentz(
    x: _Rows, curvature: float, limit: float, out: _Rows, threads: int
) -> tuple[int, bool]: ...
def lorentz_distances(x: _Rows, y: _Rows, curvature: float, out: _Float64Array, threads: int) -> None: ...
def polar_distances(
    r: _Float64Array, s: _Float64Array, squared_chord: _Float64Array, out: _Float64Array
) -> None: ...
def polar_q(r: float, s: float, squared_chord: float) -> float: ...
def polar_log_q(r: float, s: float, squared_chord: float) -> float: ...
def distance_from_log_q(log_q: float) -> float: ...
def polar_cone_energy(r: float, s: float, squared_chord: float, squared_sum: float, K: float) -> float: ...
def half_apertures(x: _Rows, curvature: float, K: float, out: _Float64Array, threads: int) -> int: ...
def cone_energies(
    x: _Rows, y: _Rows, curvature: float, K: float, out: _Float64Array, threads: int
) -> int: ...
def cone_angles(x: _Rows, y: _Rows, curvature: float, out: _Float64Array, threads: int) -> int: ...

# decimal.pxi
def decimal_lists(rows: _Float64Array) -> list[str]: ...

# records.pxi
def record_digests(columns: Iterable[Sequence[Any]], out: _Int64Array) -> None: ...
def digests_match(
    noted: list[tuple[Any, ...]],
    positions: list[Any],
    counts: list[Any],
    accessed: list[Any],
    digests: _Int64Array,
    before: int | None,
) -> bool: ...
def ordinary_vectors(points: _Float64Array, embeddings: _Float64Array, radius: float) -> bool: ...
def fill_buffers(data: npt.NDArray[np.uint8], buffers: list[bytearray]) -> None: ...

class SqliteRows:
    def __init__(self, module: str | None, uri: str, statement: str) -> None: ...
    def __iter__(self) -> SqliteRows: ...
    def __next__(self) -> tuple[Any, ...]: ...
    def close(self) -> None: ...
    def take(
        self,
        most: int,
        room: int,
        digested: int,
        point: int,
        columns: list[list[Any]],
        points: npt.NDArray[np.uint8],
        embeddings: npt.NDArray[np.uint8],
        digests: npt.NDArray[np.int64],
    ) -> tuple[int, int, list[tuple[int, int, Any]]]: ...

def start_writeback(descriptor: int) -> None: ...
def take_records(
    rows: Iterator[tuple[Any, ...]],
    most: int,
    room: int,
    digested: int,
    point: int,
    columns: list[list[Any]],
    points: npt.NDArray[np.uint8],
    embeddings: npt.NDArray[np.uint8],
    digests: _Int64Array,
) -> tuple[int, int, list[tuple[int, int, Any]]]: ...

# results.pxi
class BoundRecord:
    id: str
    text: str
    @property
    def _columns(self) -> Any: ...
    @property
    def _row(self) -> int: ...
    @property
    def _last(self) -> Any: ...
    def _read(self, name: str, read: Callable[[Any, int], _Value]) -> _Value: ...

class HeldRecords(Generic[_Bound]):
    def __init__(self, kind: type[_Bound]) -> None: ...
    def __len__(self) -> int: ...
    def of(self, columns: Any, row: int) -> _Bound: ...
    def many(self, columns: Any, rows: list[int]) -> list[_Bound]: ...
    def held(self, row: int) -> _Bound | None: ...
    def release(self, rows: list[int]) -> None: ...
    def rebind(self, row: int, record: _Bound) -> None: ...
    def renumber(self, now: npt.NDArray[np.int32]) -> None: ...

def search_results(
    kind: type[_Value],
    members: tuple[Any, ...],
    held: HeldRecords[Any],
    columns: Any,
    found: list[list[tuple[int, float, float, float]]],
    rows: npt.NDArray[np.int32] | None,
    radius: _Float64Array,
) -> list[list[_Value]]: ...

# cone_members.pxi
def cone_members(
    direction: _Float64Array,
    codes: npt.NDArray[np.int8] | None,
    code_scale: npt.NDArray[np.float32] | None,
    code_error: npt.NDArray[np.float32] | None,
    radius: _Float64Array,
    directed: npt.NDArray[np.uint8],
    count: int,
    rows: npt.NDArray[np.int32] | None,
    apex: int,
    K: float,
    curvature: float,
    threads: int = 0,
) -> tuple[npt.NDArray[np.int32], _Float64Array]: ...

# spreading.pxi
def spread_sphere(out: npt.NDArray[np.float64], seed: int, steps: int, threads: int = 0) -> None: ...
def align_first(rows: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> None: ...
def geodesic_end(
    u: npt.NDArray[np.float64],
    r: float,
    v: npt.NDArray[np.float64],
    length: float,
    direction: npt.NDArray[np.float64],
    back: npt.NDArray[np.float64],
    low_u: npt.NDArray[np.float64] | None = None,
    low: npt.NDArray[np.float64] | None = None,
) -> float: ...
def sarkar_polar(
    child_count: npt.NDArray[np.int64],
    length: npt.NDArray[np.float64],
    seed: int,
    steps: int,
    direction: npt.NDArray[np.float64],
    radius: npt.NDArray[np.float64],
    threads: int = 0,
    low: npt.NDArray[np.float64] | None = None,
) -> None: ...

# layout_quality.pxi: radii times √c; `low` holds the digits of directions beyond float64
def polar_pair_distances(
    direction: _Float64Array,
    low: _Float64Array | None,
    radius: _Float64Array,
    first: npt.NDArray[np.int32],
    second: npt.NDArray[np.int32],
    out: _Float64Array,
    threads: int = 0,
) -> None: ...
def layout_quality(
    direction: _Float64Array,
    low: _Float64Array | None,
    radius: _Float64Array,
    parent: npt.NDArray[np.int32],
    length: _Float64Array,
    sources: npt.NDArray[np.int32],
    threads: int = 0,
) -> tuple[_Float64Array, npt.NDArray[np.int64]]: ...

# hashing.pxi
def hash_texts(
    texts: list[str] | tuple[str, ...],
    dim: int,
    shortest: int,
    longest: int,
    seed: int,
    out: _Float64Array,
    threads: int = 0,
) -> None: ...

# training.pxi
def alias_table(
    weight: _Float64Array, threshold: npt.NDArray[np.uint32], alias: npt.NDArray[np.int32]
) -> None: ...

class TrainingRun:
    def __init__(
        self,
        nodes: int,
        source: npt.NDArray[np.int32] | None,
        target: npt.NDArray[np.int32] | None,
        start: npt.NDArray[np.int64] | None,
        shifted: npt.NDArray[np.int32] | None,
        threshold: npt.NDArray[np.uint32] | None,
        alias: npt.NDArray[np.int32] | None,
    ) -> None: ...

def training_stride(dim: int, single: bool) -> int: ...
def train_epoch(
    run: TrainingRun,
    points: npt.NDArray[np.float32] | npt.NDArray[np.float64],
    dim: int,
    manifold: str,
    random: npt.NDArray[np.uint64],
    negatives: int,
    rate: float,
    temperature: float,
    weighted: bool,
    threads: int,
    intruder: npt.NDArray[np.int32] | None,
    found: npt.NDArray[np.int32] | None,
    hard: int,
) -> float: ...

# cone_training.pxi
def smallest_apex_norm(k: float) -> float: ...
def cone_excess(
    u: _Float64Array, v: _Float64Array, k: float, at_u: _Float64Array, at_v: _Float64Array
) -> float: ...
def cone_epoch(
    run: TrainingRun,
    turned: TrainingRun,
    points: _Float64Array,
    random: npt.NDArray[np.uint64],
    below: int,
    above: int,
    rate: float,
    k: float,
    margin: float,
) -> float: ...

# reconstruction.pxi
def reconstruction_ranks(
    points: _Float64Array,
    scale: _Float64Array,
    query: npt.NDArray[np.int32],
    start: _Int64Array,
    related: npt.NDArray[np.int32],
    threads: int,
    average_precision: _Float64Array,
    rank_sum: _Int64Array,
) -> None: ...
def find_intruders(
    points: _Float64Array,
    scale: _Float64Array,
    query: npt.NDArray[np.int32],
    start: _Int64Array,
    related: npt.NDArray[np.int32],
    seed: int,
    threads: int,
    intruder: npt.NDArray[np.int32],
    found: npt.NDArray[np.int32],
) -> None: ...

# closure.pxi
def append_pairs(pairs: list[tuple[Any, Any]], path: list[Any], node: object) -> None: ...
