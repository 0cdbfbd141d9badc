cdef extern from "products.hpp" namespace "poincare" nogil:
    double c_products_with_codes "poincare::products_with_codes"(
        const double* queries, size_t query_count, const CodedRows& coded, const int32_t* rows, size_t count,
        size_t dim, float* out, int threads) except +

cdef extern from "batch_scan.hpp" namespace "poincare" nogil:
    cppclass BatchQueries:
        ScanMetric metric
        const double* directions
        double radius
        size_t count
    bint c_scan_batch "poincare::scan_batch"(
        const ScanColumns& columns, const BatchQueries& queries, const ScanScoring& scoring,
        const ScanCandidates& candidates, size_t k, ScanHit* hits, size_t* found, int threads) except +


def products(const double[:, ::1] queries not None, const int8_t[:, ::1] codes not None,
             const float[::1] scale not None, const int32_t[::1] rows, float[:, ::1] out not None, int threads=0):
    """out[i, q] = inner product of unit query q and row rows[i] (row i where `rows` is None), but for an error.

    It is at most ``error * (1 + e) + e``, where `error` is returned and e is what the row's code lost.
    """
    cdef Py_ssize_t count = out.shape[0], dim = queries.shape[1]
    if out.shape[1] != queries.shape[0]:
        raise ValueError(f"out: expected {queries.shape[0]} columns, got {out.shape[1]}")
    _check_codes(codes, scale, scale, dim, count if rows is None else 0)
    if rows is not None and rows.shape[0] != count:
        raise ValueError(f"rows: expected {count} of them, got {rows.shape[0]}")
    if queries.shape[0] == 0 or count == 0 or dim == 0:
        return 0.0
    cdef const int32_t* chosen = NULL
    if rows is not None:
        chosen = &rows[0]
    cdef CodedRows coded = _coded_rows(codes, scale, scale)
    cdef double error
    with nogil:
        error = c_products_with_codes(&queries[0, 0], queries.shape[0], coded, chosen, count, dim, &out[0, 0], threads)
    return error


def scan_batch(
    const double[:, ::1] direction not None,
    const int8_t[:, ::1] codes not None,
    const float[::1] code_scale not None,
    const float[::1] code_error not None,
    const double[::1] radius not None,
    const uint8_t[::1] directed not None,
    const int64_t[::1] t not None,
    const int64_t[::1] access_count not None,
    const int64_t[::1] valid_from not None,
    const int64_t[::1] valid_until not None,
    const int32_t[::1] rows,
    int metric,
    const double[:, ::1] queries not None,
    double query_radius,
    Py_ssize_t count,
    double curvature,
    double depth_bias,
    double time_coef,
    const double[:, ::1] factors,
    int64_t now,
    const double[::1] log_weights,
    Py_ssize_t k,
    int threads=0,
):
    """What `scan_top_k` returns, one list a query; None where float32 cannot bound the scores.

    Candidates are the first `count` rows, or `rows`.
    """
    cdef Py_ssize_t asked = queries.shape[0], n = count, dim = direction.shape[1]
    if queries.shape[1] != dim:
        raise ValueError(f"queries: expected {dim} columns, got {queries.shape[1]}")
    if rows is not None and rows.shape[0] != n:
        raise ValueError(f"rows: expected {n} of them, got {rows.shape[0]}")
    if rows is None:
        for name, column in (("direction", direction), ("radius", radius), ("directed", directed), ("t", t),
                             ("access_count", access_count), ("valid_from", valid_from),
                             ("valid_until", valid_until)):
            _need_rows(name, len(column), n)
    _check_codes(codes, code_scale, code_error, dim, n if rows is None else 0)
    if log_weights is not None:
        _need_rows("log_weights", log_weights.shape[0], n)
    if factors is not None and factors.shape[1] != 3:
        raise ValueError(f"factors: expected rows [kind, a, b], got {factors.shape[1]} columns")
    if metric != <int>ScanMetric.shell and metric != <int>ScanMetric.hyperbolic:
        raise ValueError(f"metric: expected {SCAN_SHELL} or {SCAN_HYPERBOLIC}, got {metric}")
    if not curvature > 0:
        raise ValueError(f"curvature: expected a positive number, got {curvature}")
    if asked < 1 or n < 1 or k < 1 or dim < 1:
        raise ValueError("expected at least one query, candidate, dimension and result")
    k = min(k, n)
    cdef vector[DecayFactor] compiled
    if factors is not None and factors.shape[0]:
        compiled = c_decay_factors(&factors[0, 0], factors.shape[0])
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
    cdef BatchQueries batch
    batch.metric = <ScanMetric>metric
    batch.directions = &queries[0, 0]
    batch.radius = query_radius
    batch.count = asked
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
    cdef ScanCandidates candidates
    candidates.rows = NULL
    if rows is not None:
        candidates.rows = &rows[0]
    candidates.count = n
    cdef vector[ScanHit] hits
    cdef vector[size_t] found
    hits.resize(asked * k)
    found.resize(asked)
    cdef bint bounded
    with nogil:
        bounded = c_scan_batch(columns, batch, scoring, candidates, k, hits.data(), found.data(), threads)
    if not bounded:
        return None
    cdef Py_ssize_t i, j
    cdef ScanHit* hit
    answers = []
    for i in range(asked):
        answer = []
        for j in range(<Py_ssize_t>found[i]):
            hit = &hits[i * k + j]
            answer.append((hit.position, hit.score, hit.distance, hit.weight))
        answers.append(answer)
    return answers
