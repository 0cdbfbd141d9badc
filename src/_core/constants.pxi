cdef extern from "numerics.hpp" namespace "poincare" nogil:
    const double kBallEpsFloat64
    const double kBallEpsFloat32
    const double kBallEpsFloat16
    const double kAtanhClampFloat64
    const double kAtanhClampFloat32
    const double kAtanhClampFloat16
    const double kTanhClamp
    const double kTiny
    const double kDefaultConeK
    const double kMinWeight
    const double kLogSpaceRadius
    const int64_t kMissingInstant

BALL_EPS_FLOAT64 = kBallEpsFloat64
BALL_EPS_FLOAT32 = kBallEpsFloat32
BALL_EPS_FLOAT16 = kBallEpsFloat16
ATANH_CLAMP_FLOAT64 = kAtanhClampFloat64
ATANH_CLAMP_FLOAT32 = kAtanhClampFloat32
ATANH_CLAMP_FLOAT16 = kAtanhClampFloat16
TANH_CLAMP = kTanhClamp
TINY = kTiny
DEFAULT_CONE_K = kDefaultConeK
MIN_WEIGHT = kMinWeight
LOG_SPACE_RADIUS = kLogSpaceRadius
MISSING_INSTANT = kMissingInstant
