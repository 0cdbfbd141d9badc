import numpy as np
import numpy.typing as npt

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
