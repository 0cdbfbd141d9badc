cdef extern from "spreading.hpp" namespace "poincare" nogil:
    void c_spread_sphere "poincare::spread_sphere"(
        size_t count, size_t dim, uint64_t seed, size_t steps, double* out, int threads) except +
    void c_align_first "poincare::align_first"(
        double* rows, size_t count, size_t dim, const double* target) except +

cdef extern from "sarkar.hpp" namespace "poincare" nogil:
    cdef cppclass SarkarTree:
        const int64_t* child_count
        const double* length
        size_t nodes
        size_t dim
    void c_sarkar_polar "poincare::sarkar_polar"(
        const SarkarTree& tree, uint64_t seed, size_t steps, double* direction, double* low, double* radius,
        int threads) except +
    void c_geodesic_end "poincare::geodesic_end"(
        const double* u, double r, const double* v, double length, size_t dim, double* direction,
        double* radius, double* back) except +
    void c_precise_geodesic_end "poincare::precise_geodesic_end"(
        const double* u, const double* low_u, double r, const double* v, double length, size_t dim,
        double* direction, double* low, double* radius, double* back) except +


cdef _check_length(str name, Py_ssize_t found, Py_ssize_t expected):
    if found != expected:
        raise ValueError(f"{name}: expected length {expected}, got {found}")


def spread_sphere(double[:, ::1] out, uint64_t seed, size_t steps, int threads=0):
    if out.shape[1] < 2:
        raise ValueError(f"out: expected at least 2 columns, got {out.shape[1]}")
    if out.shape[0] == 0:
        return
    with nogil:
        c_spread_sphere(<size_t>out.shape[0], <size_t>out.shape[1], seed, steps, &out[0, 0], threads)


def align_first(double[:, ::1] rows, const double[::1] target):
    _check_length("target", target.shape[0], rows.shape[1])
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        return
    with nogil:
        c_align_first(&rows[0, 0], <size_t>rows.shape[0], <size_t>rows.shape[1], &target[0])


def geodesic_end(const double[::1] u, double r, const double[::1] v, double length, double[::1] direction,
                 double[::1] back, const double[::1] low_u=None, double[::1] low=None):
    _check_length("v", v.shape[0], u.shape[0])
    _check_length("direction", direction.shape[0], u.shape[0])
    _check_length("back", back.shape[0], u.shape[0])
    cdef double radius = 0
    if u.shape[0] == 0:
        raise ValueError("u: expected at least one coordinate")
    if low_u is None or low is None:
        with nogil:
            c_geodesic_end(&u[0], r, &v[0], length, <size_t>u.shape[0], &direction[0], &radius, &back[0])
        return radius
    _check_length("low_u", low_u.shape[0], u.shape[0])
    _check_length("low", low.shape[0], u.shape[0])
    with nogil:
        c_precise_geodesic_end(&u[0], &low_u[0], r, &v[0], length, <size_t>u.shape[0], &direction[0], &low[0],
                               &radius, &back[0])
    return radius


def sarkar_polar(const int64_t[::1] child_count, const double[::1] length, uint64_t seed, size_t steps,
                 double[:, ::1] direction, double[::1] radius, int threads=0, double[:, ::1] low=None):
    cdef Py_ssize_t n = child_count.shape[0], i, children = 0
    _check_length("length", length.shape[0], n)
    _check_length("direction", direction.shape[0], n)
    _check_length("radius", radius.shape[0], n)
    if direction.shape[1] < 2:
        raise ValueError(f"direction: expected at least 2 columns, got {direction.shape[1]}")
    if low is not None and (low.shape[0] != n or low.shape[1] != direction.shape[1]):
        raise ValueError("low: expected the shape of direction")
    if n == 0:
        return
    # In breadth-first order the children seen so far always reach past the node itself.
    for i in range(n):
        if children < i or child_count[i] < 0 or child_count[i] > n - 1 - children:
            raise ValueError(f"child_count: node {i} does not fit a tree of {n} nodes in breadth-first order")
        children += child_count[i]
    if children != n - 1:
        raise ValueError(f"child_count: expected {n - 1} children in all, got {children}")
    cdef SarkarTree tree
    tree.child_count = &child_count[0]
    tree.length = &length[0]
    tree.nodes = <size_t>n
    tree.dim = <size_t>direction.shape[1]
    cdef double* of_low = NULL
    if low is not None:
        of_low = &low[0, 0]
    with nogil:
        c_sarkar_polar(tree, seed, steps, &direction[0, 0], of_low, &radius[0], threads)
