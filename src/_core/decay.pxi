cdef extern from "decay.hpp" namespace "poincare" nogil:
    cdef enum DecayKind:
        kHalfLife
        kEbbinghaus
        kValidity
    cppclass DecayFactor:
        pass
    cppclass DecayColumns:
        const int64_t* t
        const int64_t* access_count
        const int64_t* valid_from
        const int64_t* valid_until
    vector[DecayFactor] c_decay_factors "poincare::decay_factors"(const double* rows, size_t count) except +
    void c_decay_weights "poincare::decay_weights"(
        const DecayFactor* factors, size_t factor_count, int64_t now, const DecayColumns& columns,
        const int64_t* rows, size_t n, double* out, int threads) except +
    void c_decay_log_weights "poincare::decay_log_weights"(
        const DecayFactor* factors, size_t factor_count, int64_t now, const DecayColumns& columns,
        const int64_t* rows, size_t n, double* out, int threads) except +

DECAY_HALF_LIFE = kHalfLife
DECAY_EBBINGHAUS = kEbbinghaus
DECAY_VALIDITY = kValidity

ctypedef void (*DecayFunction)(
    const DecayFactor*, size_t, int64_t, const DecayColumns&, const int64_t*, size_t, double*, int) except + nogil


cdef inline const int64_t* _int64_pointer(const int64_t[::1] column) noexcept:
    return &column[0] if column is not None and column.shape[0] > 0 else NULL


cdef _check_decay_column(str name, const int64_t[::1] column, Py_ssize_t n):
    if column is not None and column.shape[0] != n:
        raise ValueError(f"{name}: expected {n} rows as in t, got {column.shape[0]}")


cdef _apply_decay(
    DecayFunction function, const double[:, ::1] factors, int64_t now, const int64_t[::1] t,
    const int64_t[::1] access_count, const int64_t[::1] valid_from, const int64_t[::1] valid_until,
    const int64_t[::1] rows, double[::1] out, int threads,
):
    if factors.shape[1] != 3:
        raise ValueError(f"factors: expected rows [kind, a, b], got {factors.shape[1]} columns")
    _check_decay_column("access_count", access_count, t.shape[0])
    _check_decay_column("valid_from", valid_from, t.shape[0])
    _check_decay_column("valid_until", valid_until, t.shape[0])
    cdef size_t n = t.shape[0] if rows is None else rows.shape[0]
    if <size_t>out.shape[0] != n:
        raise ValueError(f"out: expected {n} places, got {out.shape[0]}")
    if n == 0:
        return
    cdef size_t count = factors.shape[0]
    cdef vector[DecayFactor] compiled = c_decay_factors(&factors[0, 0] if count else NULL, count)
    cdef DecayColumns columns
    columns.t = _int64_pointer(t)
    columns.access_count = _int64_pointer(access_count)
    columns.valid_from = _int64_pointer(valid_from)
    columns.valid_until = _int64_pointer(valid_until)
    cdef const int64_t* chosen = _int64_pointer(rows)
    with nogil:
        function(compiled.data(), count, now, columns, chosen, n, &out[0], threads)


def decay_weights(
    const double[:, ::1] factors not None, int64_t now, const int64_t[::1] t not None,
    const int64_t[::1] access_count, const int64_t[::1] valid_from, const int64_t[::1] valid_until,
    const int64_t[::1] rows, double[::1] out not None, int threads=0,
):
    """Weights in [MIN_WEIGHT, 1] of all rows, or of `rows`; a column that is None is unset everywhere."""
    _apply_decay(c_decay_weights, factors, now, t, access_count, valid_from, valid_until, rows, out, threads)


def decay_log_weights(
    const double[:, ::1] factors not None, int64_t now, const int64_t[::1] t not None,
    const int64_t[::1] access_count, const int64_t[::1] valid_from, const int64_t[::1] valid_until,
    const int64_t[::1] rows, double[::1] out not None, int threads=0,
):
    """Natural logarithms of the weights, as the scan adds them to the score."""
    _apply_decay(c_decay_log_weights, factors, now, t, access_count, valid_from, valid_until, rows, out, threads)
