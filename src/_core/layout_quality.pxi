cdef extern from "layout_quality.hpp" namespace "poincare" nogil:
    cdef cppclass PolarRows:
        const double* direction
        const double* low
        const double* radius
        size_t dim
    cdef cppclass ParentTree:
        const int32_t* parent
        const double* length
        size_t nodes
    cdef cppclass NodeQuality:
        double error
        double least
        double largest
        double precision
        int64_t pairs
    void c_polar_pair_distances "poincare::polar_pair_distances"(
        const PolarRows& points, const int32_t* first, const int32_t* second, size_t count, double* out,
        int threads) except +
    void c_layout_quality "poincare::layout_quality"(
        const PolarRows& points, const ParentTree& tree, const int32_t* sources, size_t count, NodeQuality* out,
        int threads) except +


cdef PolarRows _polar_rows(const double[:, ::1] direction, const double[:, ::1] low, const double[::1] radius) except *:
    cdef PolarRows points
    _check_length("radius", radius.shape[0], direction.shape[0])
    if low is not None and (low.shape[0] != direction.shape[0] or low.shape[1] != direction.shape[1]):
        raise ValueError("low: expected the shape of direction")
    if direction.shape[0] == 0 or direction.shape[1] == 0:
        raise ValueError("direction: expected at least one row and one column")
    points.direction = &direction[0, 0]
    points.low = NULL
    if low is not None:
        points.low = &low[0, 0]
    points.radius = &radius[0]
    points.dim = <size_t>direction.shape[1]
    return points


cdef _check_rows(str name, const int32_t[::1] rows, Py_ssize_t n):
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        if rows[i] < 0 or rows[i] >= n:
            raise ValueError(f"{name}: expected rows from 0 to {n - 1}, got {rows[i]}")


def polar_pair_distances(const double[:, ::1] direction, const double[:, ::1] low, const double[::1] radius,
                         const int32_t[::1] first, const int32_t[::1] second, double[::1] out, int threads=0):
    cdef Py_ssize_t n = first.shape[0]
    _check_length("second", second.shape[0], n)
    _check_length("out", out.shape[0], n)
    if n == 0:
        return
    cdef PolarRows points = _polar_rows(direction, low, radius)
    _check_rows("first", first, direction.shape[0])
    _check_rows("second", second, direction.shape[0])
    with nogil:
        c_polar_pair_distances(points, &first[0], &second[0], <size_t>n, &out[0], threads)


def layout_quality(const double[:, ::1] direction, const double[:, ::1] low, const double[::1] radius,
                   const int32_t[::1] parent, const double[::1] length, const int32_t[::1] sources, int threads=0):
    """(error, least, largest, precision) as columns of a float64 array, and the pairs, of every source."""
    cdef Py_ssize_t n = parent.shape[0], i
    _check_length("direction", direction.shape[0], n)
    _check_length("length", length.shape[0], n)
    _check_rows("sources", sources, n)
    for i in range(n):
        if parent[i] >= i or parent[i] < -1 or (i > 0 and parent[i] < parent[i - 1]):
            raise ValueError(f"parent: node {i} is not in breadth-first order")
    cdef vector[NodeQuality] found
    found.resize(<size_t>sources.shape[0])
    measures, pairs = _np.empty((sources.shape[0], 4)), _np.empty(sources.shape[0], _np.int64)
    if sources.shape[0] == 0:
        return measures, pairs
    cdef PolarRows points = _polar_rows(direction, low, radius)
    cdef ParentTree tree
    tree.parent = &parent[0]
    tree.length = &length[0]
    tree.nodes = <size_t>n
    with nogil:
        c_layout_quality(points, tree, &sources[0], found.size(), found.data(), threads)
    cdef double[:, ::1] of_measures = measures
    cdef int64_t[::1] of_pairs = pairs
    for i in range(sources.shape[0]):
        of_measures[i, 0] = found[i].error
        of_measures[i, 1] = found[i].least
        of_measures[i, 2] = found[i].largest
        of_measures[i, 3] = found[i].precision
        of_pairs[i] = found[i].pairs
    return measures, pairs
