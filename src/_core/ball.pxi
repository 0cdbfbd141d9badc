# Rows are C-contiguous float32 or float64 (`row_t`); a side with one row stands against every row of the other.
ctypedef fused row_t:
    float
    double

cdef extern from "ball.hpp" namespace "poincare" nogil:
    ptrdiff_t c_ball_row_terms "poincare::ball_row_terms"[T](
        const T*, size_t, size_t, double, double*, double*, int) except +
    ptrdiff_t c_ball_distances "poincare::ball_distances"[T](
        const T*, size_t, const T*, size_t, size_t, size_t, double, double*, int) except +
    ptrdiff_t c_ball_pairwise "poincare::ball_pairwise"[T](
        const T*, size_t, const T*, size_t, size_t, double, T*, int) except +
    void c_scale_rows "poincare::scale_rows"[T](
        const T*, size_t, const double*, size_t, size_t, size_t, T*, int) except +

cdef extern from "log1p.hpp" namespace "poincare" nogil:
    double c_log1p_nonnegative "poincare::log1p_nonnegative"(double)

cdef extern from "arctangent.hpp" namespace "poincare" nogil:
    double c_atan2_nonnegative "poincare::atan2_nonnegative"(double, double)


cdef inline size_t row_step(Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    return 0 if rows == 1 and n != 1 else 1


def ball_row_terms(const row_t[:, ::1] x, double curvature, double[::1] norm, double[::1] margin, int threads):
    with nogil:
        outside = c_ball_row_terms(&x[0, 0], x.shape[0], x.shape[1], curvature, &norm[0], &margin[0], threads)
    return outside


def ball_distances(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double[::1] out, int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    with nogil:
        outside = c_ball_distances(&x[0, 0], x_step, &y[0, 0], y_step, n, x.shape[1], curvature, &out[0], threads)
    return outside


def ball_pairwise(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, row_t[:, ::1] out, int threads):
    with nogil:
        outside = c_ball_pairwise(&x[0, 0], x.shape[0], &y[0, 0], y.shape[0], x.shape[1], curvature, &out[0, 0],
                                  threads)
    return outside


def scale_rows(const row_t[:, ::1] x, const double[::1] length, row_t[:, ::1] out, int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), length_step = row_step(length.shape[0], n)
    with nogil:
        c_scale_rows(&x[0, 0], x_step, &length[0], length_step, n, x.shape[1], &out[0, 0], threads)


def atan2_nonnegative(const double[::1] y, const double[::1] x, double[::1] out):
    cdef Py_ssize_t i
    for i in range(y.shape[0]):
        out[i] = c_atan2_nonnegative(y[i], x[i])


def log1p_nonnegative(const double[::1] z, double[::1] out):
    cdef Py_ssize_t i
    for i in range(z.shape[0]):
        out[i] = c_log1p_nonnegative(z[i])
