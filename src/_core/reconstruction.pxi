cdef extern from "reconstruction.hpp" namespace "poincare" nogil:
    cdef cppclass RelatedNodes:
        const int32_t* query
        const int64_t* start
        const int32_t* related
        size_t queries
    void c_reconstruction_ranks "poincare::reconstruction_ranks"(
        const double* points, const double* scale, size_t nodes, size_t dim, const RelatedNodes& related,
        int threads, double* average_precision, int64_t* rank_sum) except +
    void c_find_intruders "poincare::find_intruders"(
        const double* points, const double* scale, size_t nodes, size_t dim, const RelatedNodes& related,
        size_t most, uint64_t seed, int threads, int32_t* intruder, int32_t* found) except +


cdef RelatedNodes checked_related(Py_ssize_t n, const int32_t[::1] query, const int64_t[::1] start,
                                  const int32_t[::1] related) except *:
    """The lists as the kernels take them; there is at least one query."""
    cdef RelatedNodes nodes
    cdef Py_ssize_t i, queries = query.shape[0]
    if start[0] != 0 or start[queries] != related.shape[0]:
        raise ValueError("start must run from 0 to the length of related")
    for i in range(queries):
        if not 0 <= query[i] < n or start[i + 1] <= start[i]:
            raise ValueError("every query must be a node with at least one related node")
    for i in range(related.shape[0]):
        if not 0 <= related[i] < n:
            raise ValueError("every related node must be a row of points")
    nodes.query, nodes.start, nodes.related, nodes.queries = &query[0], &start[0], &related[0], queries
    return nodes


def reconstruction_ranks(const double[:, ::1] points, const double[::1] scale, const int32_t[::1] query,
                         const int64_t[::1] start, const int32_t[::1] related, int threads,
                         double[::1] average_precision, int64_t[::1] rank_sum):
    cdef RelatedNodes nodes
    cdef Py_ssize_t n = points.shape[0], queries = query.shape[0]
    if scale.shape[0] != n or start.shape[0] != queries + 1 or points.shape[1] == 0:
        raise ValueError("scale must have an entry a point, start one more than query, points a dimension")
    if average_precision.shape[0] != queries or rank_sum.shape[0] != queries:
        raise ValueError("the results must have an entry a query")
    if queries == 0:
        return
    nodes = checked_related(n, query, start, related)
    with nogil:
        c_reconstruction_ranks(&points[0, 0], &scale[0], n, points.shape[1], nodes, threads,
                               &average_precision[0], &rank_sum[0])


def find_intruders(const double[:, ::1] points, const double[::1] scale, const int32_t[::1] query,
                   const int64_t[::1] start, const int32_t[::1] related, uint64_t seed, int threads,
                   int32_t[:, ::1] intruder, int32_t[::1] found):
    cdef RelatedNodes nodes
    cdef Py_ssize_t n = points.shape[0], queries = query.shape[0]
    if scale.shape[0] != n or start.shape[0] != queries + 1 or points.shape[1] == 0:
        raise ValueError("scale must have an entry a point, start one more than query, points a dimension")
    if intruder.shape[0] != n or found.shape[0] != n or intruder.shape[1] == 0:
        raise ValueError("the results must have a row a point")
    if queries == 0:
        return
    nodes = checked_related(n, query, start, related)
    with nogil:
        c_find_intruders(&points[0, 0], &scale[0], n, points.shape[1], nodes, intruder.shape[1], seed, threads,
                         &intruder[0, 0], &found[0])
