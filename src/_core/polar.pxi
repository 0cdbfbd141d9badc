# polar.hpp over columns: radii multiplied by √c, squared chords between unit directions.
cdef extern from "polar.hpp" namespace "poincare" nogil:
    double c_polar_q "poincare::polar_q<double>"(double, double, double)
    double c_polar_log_q "poincare::polar_log_q"(double, double, double)
    double c_polar_distance "poincare::polar_distance"(double, double, double)
    double c_distance_from_log_q "poincare::distance_from_log_q"(double)
    double c_polar_cone_energy "poincare::cone_energy"(double, double, double, double, double)


def polar_distances(const double[::1] r, const double[::1] s, const double[::1] squared_chord, double[::1] out):
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = c_polar_distance(r[i], s[i], squared_chord[i])


def polar_q(double r, double s, double squared_chord):
    return c_polar_q(r, s, squared_chord)


def polar_log_q(double r, double s, double squared_chord):
    return c_polar_log_q(r, s, squared_chord)


def distance_from_log_q(double log_q):
    return c_distance_from_log_q(log_q)


def polar_cone_energy(double r, double s, double squared_chord, double squared_sum, double K):
    return c_polar_cone_energy(r, s, squared_chord, squared_sum, K)
