cdef extern from "lorentz.hpp" namespace "poincare" nogil:
    ptrdiff_t c_ball_to_lorentz "poincare::ball_to_lorentz"[T](
        const T*, size_t, size_t, double, T*, int) except +
    MapReport c_ball_from_lorentz "poincare::ball_from_lorentz"[T](
        const T*, size_t, size_t, double, double, T*, int) except +
    void c_lorentz_distances "poincare::lorentz_distances"[T](
        const T*, size_t, const T*, size_t, size_t, size_t, double, double*, int) except +


def ball_to_lorentz(const row_t[:, ::1] x, double curvature, row_t[:, ::1] out, int threads):
    with nogil:
        outside = c_ball_to_lorentz(&x[0, 0], x.shape[0], x.shape[1], curvature, &out[0, 0], threads)
    return outside


def ball_from_lorentz(const row_t[:, ::1] x, double curvature, double limit, row_t[:, ::1] out, int threads):
    cdef MapReport report
    with nogil:
        report = c_ball_from_lorentz(&x[0, 0], out.shape[0], out.shape[1], curvature, limit, &out[0, 0], threads)
    return report.outside, report.saturated != 0


def lorentz_distances(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double[::1] out,
                      int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    with nogil:
        c_lorentz_distances(&x[0, 0], x_step, &y[0, 0], y_step, n, x.shape[1] - 1, curvature, &out[0], threads)
