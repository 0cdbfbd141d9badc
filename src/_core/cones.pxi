cdef extern from "cones.hpp" namespace "poincare" nogil:
    ptrdiff_t c_cone_angles "poincare::cone_angles"[T](
        const T*, size_t, const T*, size_t, size_t, size_t, double, double*, int) except +
    ptrdiff_t c_cone_energies "poincare::cone_energies"[T](
        const T*, size_t, const T*, size_t, size_t, size_t, double, double, double*, int) except +
    ptrdiff_t c_half_apertures "poincare::half_apertures"[T](
        const T*, size_t, size_t, double, double, double*, int) except +


def cone_angles(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double[::1] out, int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    with nogil:
        outside = c_cone_angles(&x[0, 0], x_step, &y[0, 0], y_step, n, x.shape[1], curvature, &out[0], threads)
    return outside


def cone_energies(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double K, double[::1] out,
                  int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    with nogil:
        outside = c_cone_energies(&x[0, 0], x_step, &y[0, 0], y_step, n, x.shape[1], curvature, K, &out[0],
                                  threads)
    return outside


def half_apertures(const row_t[:, ::1] x, double curvature, double K, double[::1] out, int threads):
    with nogil:
        outside = c_half_apertures(&x[0, 0], x.shape[0], x.shape[1], curvature, K, &out[0], threads)
    return outside
