cdef extern from "cones.hpp" namespace "poincare" nogil:
    ptrdiff_t c_cone_angles "poincare::cone_angles"[T](
        const T*, size_t, const T*, size_t, size_t, size_t, double, double*, int) except +


def cone_angles(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double[::1] out, int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    with nogil:
        outside = c_cone_angles(&x[0, 0], x_step, &y[0, 0], y_step, n, x.shape[1], curvature, &out[0], threads)
    return outside
