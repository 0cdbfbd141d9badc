from libc.math cimport sqrt as c_sqrt
cdef extern from "rows.hpp" namespace "poincare" nogil:
    void c_dots_f32 "poincare::dots_f32"(
        const float* query, const float* matrix, const int32_t* rows, size_t first, size_t count, size_t n,
        float* out)
    double c_dot_f32_error "poincare::dot_f32_error"(size_t n)

cdef extern from "codes.hpp" namespace "poincare" nogil:
    cppclass CodedRows:
        const int8_t* codes
        const float* scale
        const float* error
        size_t stride
    size_t c_code_stride "poincare::code_stride"(size_t dim)
    void c_encode_rows "poincare::encode_rows"(
        const double* matrix, const int32_t* rows, size_t count, size_t dim, int8_t* codes, float* scale,
        float* error, int threads) except +

cdef extern from "scan.hpp" namespace "poincare" nogil:
    cdef enum class ScanMetric(int):
        none
        shell
        hyperbolic
    cppclass ScanColumns:
        const double* direction
        CodedRows coded
        const double* radius
        const uint8_t* directed
        DecayColumns time
        size_t dim
    cppclass ScanQuery:
        ScanMetric metric
        const double* direction
        double radius
    cppclass ScanScoring:
        double sqrt_c
        double depth_bias
        double time_coef
        const DecayFactor* factors
        size_t factor_count
        int64_t now
        const double* log_weights
        const double* bonus
    cppclass ScanCandidates:
        const int32_t* rows
        size_t count
    cppclass ScanHit:
        int64_t position
        double score
        double distance
        double weight
    size_t c_scan_top_k "poincare::scan_top_k"(
        const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
        const ScanCandidates& candidates, size_t k, ScanHit* hits, int threads) except +
    size_t c_scan_top_k_of_passing "poincare::scan_top_k_of_passing"(
        const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
        const ScanCandidates& candidates, const uint8_t* mask, size_t k, ScanHit* hits, int threads) except +

SCAN_NO_QUERY = <int>ScanMetric.none
SCAN_SHELL = <int>ScanMetric.shell
SCAN_HYPERBOLIC = <int>ScanMetric.hyperbolic


def row_dots(const float[::1] query not None, const float[:, ::1] matrix not None, const int32_t[::1] rows,
             float[::1] out not None):
    """out[i] = query · matrix[rows[i]] in float32 (all rows where `rows` is None): what the scan prunes by."""
    cdef size_t count = matrix.shape[0] if rows is None else rows.shape[0]
    if query.shape[0] != matrix.shape[1]:
        raise ValueError(f"query: expected {matrix.shape[1]} numbers, got {query.shape[0]}")
    if <size_t>out.shape[0] != count:
        raise ValueError(f"out: expected {count} places, got {out.shape[0]}")
    if count == 0 or query.shape[0] == 0:
        return
    cdef const int32_t* chosen = NULL
    if rows is not None:
        chosen = &rows[0]
    with nogil:
        c_dots_f32(&query[0], &matrix[0, 0], chosen, 0, count, query.shape[0], &out[0])


def row_dots_error(size_t dim):
    """Bound on the error of `row_dots` for unit vectors of `dim` numbers, rounding to float32 included."""
    return c_dot_f32_error(dim)


def unit_direction(const placed_float[::1] embedding not None, double[::1] direction not None):
    """Fill `direction` with that of one embedding, to the bit as `place_rows` gives it to a root.

    False, and zeros, where the embedding has no direction.
    """
    cdef size_t dim = embedding.shape[0]
    if <size_t>direction.shape[0] != dim:
        raise ValueError(f"direction: expected {dim} places, got {direction.shape[0]}")
    if dim == 0:
        return False
    cdef double radius = 0
    cdef int32_t level = 0, parent = -1, row = 0
    cdef uint8_t directed = 0
    cdef PlacementRule rule
    rule.base_depth = rule.depth_step = rule.sqrt_c = rule.cone_k = 1
    rule.inherit = 0
    rule.cone_constrained = False
    cdef PlacementColumns[placed_float] columns
    columns.embedding = &embedding[0]
    columns.direction = &direction[0]
    columns.radius = &radius
    columns.level = &level
    columns.parent = &parent
    columns.directed = &directed
    columns.dim = dim
    if placed_float is float:
        c_place_rows_f32(columns, &row, 1, rule, 1)
    else:
        c_place_rows_f64(columns, &row, 1, rule, 1)
    return bool(directed)


cdef _need_rows(str name, Py_ssize_t got, Py_ssize_t needed):
    if got < needed:
        raise ValueError(f"{name}: expected at least {needed} rows, got {got}")


def code_stride(size_t dim):
    """Codes that a row of `dim` numbers takes."""
    return c_code_stride(dim)


def encode_rows(const double[:, ::1] direction not None, const int32_t[::1] rows, int8_t[:, ::1] codes not None,
                float[::1] scale not None, float[::1] error not None, int threads=0):
    """Codes of these rows (of all where `rows` is None) into the same rows of `codes`, `scale` and `error`.

    A row is ``scale[row] * codes[row]`` but for an error of norm at most ``error[row]``. Rows are not checked.
    """
    cdef size_t dim = direction.shape[1], count = direction.shape[0] if rows is None else rows.shape[0]
    if <size_t>codes.shape[1] != c_code_stride(dim):
        raise ValueError(f"codes: expected {c_code_stride(dim)} columns, got {codes.shape[1]}")
    if rows is None:
        for name, column in (("codes", codes), ("scale", scale), ("error", error)):
            _need_rows(name, len(column), count)
    if count == 0 or dim == 0:
        return
    cdef const int32_t* chosen = NULL
    if rows is not None:
        chosen = &rows[0]
    with nogil:
        c_encode_rows(&direction[0, 0], chosen, count, dim, &codes[0, 0], &scale[0], &error[0], threads)


cdef _check_codes(const int8_t[:, ::1] codes, const float[::1] scale, const float[::1] error, size_t dim,
                  Py_ssize_t rows):
    if codes is None:
        return
    if <size_t>codes.shape[1] != c_code_stride(dim):
        raise ValueError(f"codes: expected {c_code_stride(dim)} columns, got {codes.shape[1]}")
    for name, column in (("codes", codes), ("code_scale", scale), ("code_error", error)):
        _need_rows(name, len(column), rows)


cdef CodedRows _coded_rows(const int8_t[:, ::1] codes, const float[::1] scale, const float[::1] error):
    cdef CodedRows coded
    coded.codes = NULL
    coded.scale = coded.error = NULL
    coded.stride = 0
    if codes is not None and codes.shape[0]:
        coded.codes = &codes[0, 0]
        coded.scale = &scale[0]
        coded.error = &error[0]
        coded.stride = codes.shape[1]
    return coded


def scan_top_k(
    const double[:, ::1] direction not None,
    const int8_t[:, ::1] codes,
    const float[::1] code_scale,
    const float[::1] code_error,
    const double[::1] radius not None,
    const uint8_t[::1] directed not None,
    const int64_t[::1] t not None,
    const int64_t[::1] access_count not None,
    const int64_t[::1] valid_from not None,
    const int64_t[::1] valid_until not None,
    Py_ssize_t count,
    const int32_t[::1] rows,
    const uint8_t[::1] mask,
    int metric,
    const double[::1] query_direction,
    double query_radius,
    double curvature,
    double depth_bias,
    double time_coef,
    const double[:, ::1] factors,
    int64_t now,
    const double[::1] log_weights,
    Py_ssize_t k,
    int threads=0,
    const double[::1] bonus=None,
):
    """The k best candidates as a list of (position, score, distance, weight), best first.

    Candidates are rows 0 … count − 1, or `rows` (in candidate order; every one below the length of the
    columns, which is not checked). `codes` are those of `encode_rows`, or None: then every candidate is scored
    exactly at once, which pays where they are few. `mask`, `log_weights` and `bonus` hold one value a candidate; `log_weights`
    replaces `factors`, `bonus` is added to the score. A query without direction passes None.
    """
    cdef Py_ssize_t n = count if rows is None else rows.shape[0]
    cdef Py_ssize_t dim = direction.shape[1]
    if rows is None:
        for name, column in (("direction", direction), ("radius", radius), ("directed", directed), ("t", t), ("access_count", access_count),
                             ("valid_from", valid_from), ("valid_until", valid_until)):
            _need_rows(name, len(column), n)
    _check_codes(codes, code_scale, code_error, dim, n if rows is None else 0)
    if query_direction is not None and query_direction.shape[0] != dim:
        raise ValueError(f"query_direction: expected {dim} numbers, got {query_direction.shape[0]}")
    if mask is not None:
        _need_rows("mask", mask.shape[0], n)
    if log_weights is not None:
        _need_rows("log_weights", log_weights.shape[0], n)
    if bonus is not None:
        _need_rows("bonus", bonus.shape[0], n)
    if factors is not None and factors.shape[1] != 3:
        raise ValueError(f"factors: expected rows [kind, a, b], got {factors.shape[1]} columns")
    if not 0 <= metric <= 2:
        raise ValueError(f"metric: expected 0, 1 or 2, got {metric}")
    if not curvature > 0:
        raise ValueError(f"curvature: expected a positive number, got {curvature}")
    if n == 0 or k < 1 or dim == 0:
        return []
    cdef vector[DecayFactor] compiled
    if factors is not None and factors.shape[0]:
        compiled = c_decay_factors(&factors[0, 0], factors.shape[0])
    cdef Py_ssize_t i
    cdef ScanColumns columns
    columns.direction = &direction[0, 0]
    columns.coded = _coded_rows(codes, code_scale, code_error)
    columns.radius = &radius[0]
    columns.directed = &directed[0]
    columns.time.t = &t[0]
    columns.time.access_count = &access_count[0]
    columns.time.valid_from = &valid_from[0]
    columns.time.valid_until = &valid_until[0]
    columns.dim = dim
    cdef ScanQuery query
    query.metric = <ScanMetric>metric
    query.direction = NULL
    query.radius = query_radius
    if query_direction is not None:
        query.direction = &query_direction[0]
    cdef ScanScoring scoring
    scoring.sqrt_c = c_sqrt(curvature)
    scoring.depth_bias = depth_bias
    scoring.time_coef = time_coef
    scoring.factors = compiled.data()
    scoring.factor_count = compiled.size()
    scoring.now = now
    scoring.log_weights = NULL
    if log_weights is not None:
        scoring.log_weights = &log_weights[0]
    scoring.bonus = NULL
    if bonus is not None:
        scoring.bonus = &bonus[0]
    cdef ScanCandidates candidates
    candidates.rows = NULL
    if rows is not None:
        candidates.rows = &rows[0]
    candidates.count = n
    cdef vector[ScanHit] hits
    hits.resize(min(k, n))
    cdef size_t found
    cdef const uint8_t* passing = NULL
    if mask is not None:
        passing = &mask[0]
    with nogil:
        if passing == NULL:
            found = c_scan_top_k(columns, query, scoring, candidates, min(k, n), hits.data(), threads)
        else:
            found = c_scan_top_k_of_passing(columns, query, scoring, candidates, passing, min(k, n), hits.data(), threads)
    return [(hits[i].position, hits[i].score, hits[i].distance, hits[i].weight)
            for i in range(<Py_ssize_t>found)]
