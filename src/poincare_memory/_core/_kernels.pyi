from datetime import datetime

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

_Float64Array = npt.NDArray[np.float64]
_Int64Array = npt.NDArray[np.int64]

# constants.pxi: numerics.hpp as Python sees it
BALL_EPS_FLOAT64: float
BALL_EPS_FLOAT32: float
BALL_EPS_FLOAT16: float
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

# instants.pxi
EARLIEST_INSTANT: int
LATEST_INSTANT: int

def micros_of(moment: datetime, name: str) -> int: ...
def fill_micros(
    moments: tuple[datetime | None, ...], out: _Int64Array, name: str, missing_allowed: bool
) -> None: ...
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
    rows: NDArray[np.int32],
    parents: NDArray[np.int32],
    parent: NDArray[np.int32],
    first_child: NDArray[np.int32],
    last_child: NDArray[np.int32],
    next_sibling: NDArray[np.int32],
    prev_sibling: NDArray[np.int32],
) -> None: ...
def detach_row(
    row: int,
    parent: NDArray[np.int32],
    first_child: NDArray[np.int32],
    last_child: NDArray[np.int32],
    next_sibling: NDArray[np.int32],
    prev_sibling: NDArray[np.int32],
) -> None: ...
def child_rows(
    row: int, first_child: NDArray[np.int32], next_sibling: NDArray[np.int32]
) -> NDArray[np.int32]: ...
def ancestor_rows(row: int, parent: NDArray[np.int32]) -> NDArray[np.int32]: ...
def subtree_rows(
    row: int,
    parent: NDArray[np.int32],
    last_child: NDArray[np.int32],
    prev_sibling: NDArray[np.int32],
) -> NDArray[np.int32]: ...
