cdef extern from "embeddings.hpp" namespace "poincare" nogil:
    cdef cppclass MixtureColumns:
        const double* direction
        const int32_t* parent
        double* own
        double* above
        size_t dim
    size_t c_fold_embeddings "poincare::fold_embeddings"(
        const MixtureColumns&, const float*, const int32_t*, size_t, uint8_t*, int) except +
    void c_unfold_embeddings "poincare::unfold_embeddings"(
        const MixtureColumns&, const int32_t*, size_t, float*, int) except +
    size_t c_first_not_finite_f32 "poincare::first_not_finite<float>"(const float*, size_t)
    size_t c_first_not_finite_f64 "poincare::first_not_finite<double>"(const double*, size_t)
    bint c_copy_finite_f32 "poincare::copy_finite<float>"(const float*, float*, size_t, int) except +
    bint c_copy_finite_f64 "poincare::copy_finite<double>"(const double*, double*, size_t, int) except +


cdef MixtureColumns _mixture(const double[:, ::1] direction, const int32_t[::1] parent, double[::1] own,
                             double[::1] above):
    cdef MixtureColumns columns
    columns.direction = &direction[0, 0]
    columns.parent = &parent[0]
    columns.own = &own[0]
    columns.above = &above[0]
    columns.dim = <size_t>direction.shape[1]
    return columns


def fold_embeddings(const float[:, ::1] embedding not None, const double[:, ::1] direction not None,
                    const int32_t[::1] parent not None, double[::1] own not None, double[::1] above not None,
                    const int32_t[::1] rows not None, uint8_t[::1] kept not None, int threads=0):
    """Set `own` and `above` of rows, whose embeddings are the rows of `embedding` in that order, so that
    `unfold_embeddings` gives these to the bit; ``kept[i]`` is 1 where nothing does, and both are 0 then. Returns how many those are.
    """
    cdef size_t n = <size_t>rows.shape[0]
    if embedding.shape[0] != rows.shape[0] or embedding.shape[1] != direction.shape[1] or kept.shape[0] != rows.shape[0]:
        raise ValueError("expected one embedding and one place in `kept` a row")
    if n == 0 or direction.shape[1] == 0:
        return 0
    cdef MixtureColumns columns = _mixture(direction, parent, own, above)
    cdef size_t many
    with nogil:
        many = c_fold_embeddings(columns, &embedding[0, 0], &rows[0], n, &kept[0], threads)
    return many


def unfold_embeddings(const double[:, ::1] direction not None, const int32_t[::1] parent not None,
                      double[::1] own not None, double[::1] above not None, const int32_t[::1] rows not None,
                      float[:, ::1] out not None, int threads=0):
    """Embeddings of rows, one after the other, into `out`; zeros where `own` is 0."""
    cdef size_t n = <size_t>rows.shape[0]
    if out.shape[0] != rows.shape[0] or out.shape[1] != direction.shape[1]:
        raise ValueError("out must have one row a row asked for")
    if n == 0 or direction.shape[1] == 0:
        return
    cdef MixtureColumns columns = _mixture(direction, parent, own, above)
    with nogil:
        c_unfold_embeddings(columns, &rows[0], n, &out[0, 0], threads)


def first_not_finite(numbers):
    """Place, counted through all rows, of the first number that is NaN or infinite; -1 where none is.

    `numbers` is a C-contiguous array of float32 or float64. Looked at as a buffer: telling types of memoryviews apart
    takes longer than looking at a thousand numbers.
    """
    cdef Py_buffer buffer
    PyObject_GetBuffer(numbers, &buffer, PyBUF_CONTIG_RO | PyBUF_FORMAT)
    try:
        if buffer.format[0] != b"f" and buffer.format[0] != b"d":
            raise TypeError(f"numbers: expected float32 or float64, got {numbers.dtype}")
        return _first_not_finite(&buffer)
    finally:
        PyBuffer_Release(&buffer)


cdef enum:
    kShortLook = 1 << 14  # bytes that are looked at in less time than it takes to let other threads run


cdef Py_ssize_t _first_not_finite(const Py_buffer* buffer) noexcept:
    cdef size_t n = <size_t>(buffer.len // buffer.itemsize), found
    if buffer.len <= kShortLook:
        found = _look_for_not_finite(buffer, n)
    else:
        with nogil:
            found = _look_for_not_finite(buffer, n)
    return -1 if found == n else <Py_ssize_t>found


cdef size_t _look_for_not_finite(const Py_buffer* buffer, size_t n) noexcept nogil:
    if buffer.itemsize == sizeof(float):
        return c_first_not_finite_f32(<const float*>buffer.buf, n)
    return c_first_not_finite_f64(<const double*>buffer.buf, n)


cdef object _NDARRAY = _np.ndarray, _FLOAT32 = _np.dtype(_np.float32), _FLOAT64 = _np.dtype(_np.float64)


def finite_copy(array, Py_ssize_t rows, Py_ssize_t dim):
    """A C-contiguous copy of a matrix of `rows` times `dim` finite numbers, float32 or float64; None for anything else."""
    cdef Py_buffer buffer
    if type(array) is not _NDARRAY:
        return None
    dtype = array.dtype
    if dtype is not _FLOAT32 and dtype is not _FLOAT64:
        return None
    if rows * dim * dtype.itemsize > kShortLook and array.shape == (rows, dim) and array.flags.c_contiguous:
        return _large_finite_copy(array, dtype)
    copy = array.copy()
    PyObject_GetBuffer(copy, &buffer, PyBUF_CONTIG_RO)
    cdef bint expected = buffer.ndim == 2 and buffer.shape[0] == rows and buffer.shape[1] == dim
    expected = expected and _first_not_finite(&buffer) < 0
    PyBuffer_Release(&buffer)
    return copy if expected else None


cdef object _large_finite_copy(array, dtype):
    """A copy of a C-contiguous array, by several threads; None where not all of it is finite."""
    cdef Py_buffer source, target
    cdef bint finite = False
    copy = _np.empty(array.shape, dtype)
    PyObject_GetBuffer(copy, &target, PyBUF_CONTIG)
    try:
        PyObject_GetBuffer(array, &source, PyBUF_CONTIG_RO)
        try:
            if source.len != target.len:
                return None
            with nogil:
                if source.itemsize == sizeof(float):
                    finite = c_copy_finite_f32(<const float*>source.buf, <float*>target.buf,
                                               <size_t>source.len // sizeof(float), 0)
                else:
                    finite = c_copy_finite_f64(<const double*>source.buf, <double*>target.buf,
                                               <size_t>source.len // sizeof(double), 0)
        finally:
            PyBuffer_Release(&source)
    finally:
        PyBuffer_Release(&target)
    return copy if finite else None
