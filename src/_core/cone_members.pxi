cdef extern from "cone_members.hpp" namespace "poincare" nogil:
    cppclass ConeColumns:
        const double* direction
        CodedRows coded
        const double* radius
        const uint8_t* directed
        size_t dim
    cppclass ConeMembers:
        vector[int32_t] rows
        vector[double] energies
    ConeMembers c_cone_members "poincare::cone_members"(
        const ConeColumns& columns, const int32_t* rows, size_t count, int32_t apex, double K, double sqrt_c,
        int threads) except +


def cone_members(
    const double[:, ::1] direction not None,
    const int8_t[:, ::1] codes,
    const float[::1] code_scale,
    const float[::1] code_error,
    const double[::1] radius not None,
    const uint8_t[::1] directed not None,
    Py_ssize_t count,
    const int32_t[::1] rows,
    int32_t apex,
    double K,
    double curvature,
    int threads=0,
):
    """Rows inside the cone of row `apex`, without it, and their energies (at most 1e-9).

    Looked at are rows 0 … count − 1, or `rows`, in this order; every row must be below the length of the
    columns. `codes` are those of `encode_rows`, or None: then every row is tested exactly.
    """
    cdef Py_ssize_t n = count if rows is None else rows.shape[0]
    cdef Py_ssize_t dim = direction.shape[1]
    cdef Py_ssize_t needed = max(apex + 1, n if rows is None else 0)
    for name, column in (("direction", direction), ("radius", radius), ("directed", directed)):
        _need_rows(name, len(column), needed)
    _check_codes(codes, code_scale, code_error, dim, needed)
    if apex < 0:
        raise ValueError(f"apex: expected a row, got {apex}")
    if not curvature > 0:
        raise ValueError(f"curvature: expected a positive number, got {curvature}")
    cdef ConeColumns columns
    columns.direction = &direction[0, 0]
    columns.coded = _coded_rows(codes, code_scale, code_error)
    columns.radius = &radius[0]
    columns.directed = &directed[0]
    columns.dim = dim
    cdef const int32_t* chosen = NULL
    if n and rows is not None:
        chosen = &rows[0]
    cdef ConeMembers members
    with nogil:
        members = c_cone_members(columns, chosen, n, apex, K, c_sqrt(curvature), threads)
    energies = _np.empty(members.energies.size())
    cdef double[::1] view = energies
    cdef Py_ssize_t i
    for i in range(<Py_ssize_t>members.energies.size()):
        view[i] = members.energies[i]
    return _rows_array(members.rows), energies
