cdef extern from "placement.hpp" namespace "poincare" nogil:
    cdef struct PlacementRule:
        double base_depth
        double depth_step
        double inherit
        double sqrt_c
        bint cone_constrained
        double cone_k
    cdef cppclass PlacementColumns[T]:
        const T* embedding
        double* direction
        double* radius
        int32_t* level
        const int32_t* parent
        uint8_t* directed
        uint8_t* learnt
        double* own
        double* above
        uint8_t* kept
        size_t dim
    void c_place_rows_f32 "poincare::place_rows<float>"(
        const PlacementColumns[float]&, const int32_t*, size_t, const PlacementRule&, int) except +
    void c_place_rows_f64 "poincare::place_rows<double>"(
        const PlacementColumns[double]&, const int32_t*, size_t, const PlacementRule&, int) except +
    void c_place_row_alone_f32 "poincare::place_row_alone<float>"(
        const PlacementColumns[float]&, int32_t, const PlacementRule&, double*)
    void c_place_row_alone_f64 "poincare::place_row_alone<double>"(
        const PlacementColumns[double]&, int32_t, const PlacementRule&, double*)
    void c_points_of_rows "poincare::points_of_rows"(
        const double*, const double*, const int32_t*, size_t, size_t, double, double*, int) except +

ctypedef fused placed_float:
    float
    double


cdef PlacementRule _placement_rule(tuple given) except *:
    """From (base_depth, depth_step, inherit, sqrt_c, cone_constrained, cone_k)."""
    cdef PlacementRule rule
    rule.base_depth, rule.depth_step, rule.inherit, rule.sqrt_c, rule.cone_constrained, rule.cone_k = given
    return rule


def place_rows(const placed_float[:, ::1] embedding, double[:, ::1] direction, double[::1] radius,
               int32_t[::1] level, const int32_t[::1] parent, uint8_t[::1] directed,
               const int32_t[::1] rows, double base_depth, double depth_step, double inherit, double sqrt_c,
               bint cone_constrained, double cone_k, int threads=0, uint8_t[::1] learnt=None,
               double[::1] own=None, double[::1] above=None, uint8_t[::1] kept=None):
    """Direction, radius, level and marks of rows (placement.hpp).

    With `own`, `above` and `kept` it folds their embeddings too, which are float32, as `fold_embeddings` does.
    """
    cdef size_t n = <size_t>rows.shape[0]
    cdef PlacementRule rule
    cdef PlacementColumns[placed_float] columns
    if embedding.shape[0] != rows.shape[0]:
        raise ValueError(f"embedding: expected a row for each of {n} rows, got {embedding.shape[0]}")
    if kept is not None and (own is None or above is None or kept.shape[0] != rows.shape[0]):
        raise ValueError("kept: expected one place a row, and own and above with it")
    if n == 0:
        return
    rule.base_depth = base_depth
    rule.depth_step = depth_step
    rule.inherit = inherit
    rule.sqrt_c = sqrt_c
    rule.cone_constrained = cone_constrained
    rule.cone_k = cone_k
    columns.embedding = &embedding[0, 0]
    columns.direction = &direction[0, 0]
    columns.radius = &radius[0]
    columns.level = &level[0]
    columns.parent = &parent[0]
    columns.directed = &directed[0]
    columns.learnt = NULL
    if learnt is not None:
        columns.learnt = &learnt[0]
    if kept is not None:
        columns.own = &own[0]
        columns.above = &above[0]
        columns.kept = &kept[0]
    columns.dim = <size_t>direction.shape[1]
    with nogil:
        if placed_float is float:
            c_place_rows_f32(columns, &rows[0], n, rule, threads)
        else:
            c_place_rows_f64(columns, &rows[0], n, rule, threads)


def points_of_rows(const double[:, ::1] direction, const double[::1] radius, const int32_t[::1] rows,
                   double sqrt_c, double[:, ::1] out, int threads=0):
    cdef size_t n = <size_t>rows.shape[0]
    cdef size_t dim = <size_t>direction.shape[1]
    if out.shape[0] != rows.shape[0] or out.shape[1] != direction.shape[1]:
        raise ValueError("out must have one row a row asked for")
    if n == 0:
        return
    with nogil:
        c_points_of_rows(&direction[0, 0], &radius[0], &rows[0], n, dim, sqrt_c, &out[0, 0], threads)
