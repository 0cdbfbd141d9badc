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
