cdef extern from "maps.hpp" namespace "poincare" nogil:
    cdef cppclass Rows[T]:
        pass
    Rows[T] c_rows "poincare::rows"[T](const T*, size_t)
    cdef struct MapReport:
        ptrdiff_t outside
        bint saturated
    MapReport c_mobius_additions "poincare::mobius_additions"[T](
        Rows[T], Rows[T], size_t, size_t, double, double, T*, int) except +
    MapReport c_exp_maps "poincare::exp_maps"[T](
        Rows[T], Rows[T], size_t, size_t, double, double, T*, int) except +
    ptrdiff_t c_log_maps "poincare::log_maps"[T](Rows[T], Rows[T], size_t, size_t, double, T*, int) except +
    MapReport c_geodesic_points "poincare::geodesic_points"[T](
        Rows[T], Rows[T], const double*, size_t, size_t, size_t, double, double, T*, int) except +


def mobius_add(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double limit, row_t[:, ::1] out,
               int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    cdef MapReport report
    with nogil:
        report = c_mobius_additions(c_rows(&x[0, 0], x_step), c_rows(&y[0, 0], y_step), n, out.shape[1], curvature,
                                    limit, &out[0, 0], threads)
    return report.outside, report.saturated != 0


def exp_map(const row_t[:, ::1] x, const row_t[:, ::1] v, double curvature, double limit, row_t[:, ::1] out,
            int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), v_step = row_step(v.shape[0], n)
    cdef MapReport report
    with nogil:
        report = c_exp_maps(c_rows(&x[0, 0], x_step), c_rows(&v[0, 0], v_step), n, out.shape[1], curvature, limit,
                            &out[0, 0], threads)
    return report.outside, report.saturated != 0


def log_map(const row_t[:, ::1] x, const row_t[:, ::1] y, double curvature, double limit, row_t[:, ::1] out,
            int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    with nogil:
        outside = c_log_maps(c_rows(&x[0, 0], x_step), c_rows(&y[0, 0], y_step), n, out.shape[1], curvature,
                             &out[0, 0], threads)
    return outside, False  # tangent vectors know no limit


def geodesic(const row_t[:, ::1] x, const row_t[:, ::1] y, const double[::1] t, double curvature, double limit,
             row_t[:, ::1] out, int threads):
    cdef size_t n = out.shape[0], x_step = row_step(x.shape[0], n), y_step = row_step(y.shape[0], n)
    cdef size_t t_step = row_step(t.shape[0], n)
    cdef MapReport report
    with nogil:
        report = c_geodesic_points(c_rows(&x[0, 0], x_step), c_rows(&y[0, 0], y_step), &t[0], t_step, n,
                                   out.shape[1], curvature, limit, &out[0, 0], threads)
    return report.outside, report.saturated != 0
