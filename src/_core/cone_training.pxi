cdef extern from "cone_training.hpp" namespace "poincare" nogil:
    cdef cppclass ConeEpochSettings:
        size_t below
        size_t above
        double rate
        double k
        double margin
    double c_smallest_apex_norm "poincare::smallest_apex_norm"(double k)
    double c_cone_excess "poincare::cone_excess"(
        const double* u, const double* v, size_t dim, double k, double* at_u, double* at_v)
    double c_cone_epoch "poincare::cone_epoch"(
        double* points, size_t nodes, size_t dim, const TrainingPairs& pairs, const ExcludedNodes& below,
        const ExcludedNodes& above, const ConeEpochSettings& settings, RandomState random) except +


def smallest_apex_norm(double k):
    return c_smallest_apex_norm(k)


def cone_excess(const double[::1] u, const double[::1] v, double k, double[::1] at_u, double[::1] at_v):
    if not u.shape[0] == v.shape[0] == at_u.shape[0] == at_v.shape[0] or u.shape[0] == 0:
        raise ValueError("u, v and the gradients must be equally long")
    return c_cone_excess(&u[0], &v[0], u.shape[0], k, &at_u[0], &at_v[0])


def cone_epoch(TrainingRun run, TrainingRun turned, double[:, ::1] points, const uint64_t[::1] random,
               size_t below, size_t above, double rate, double k, double margin):
    """One epoch in place over the pairs of `run`; `turned` has them the other way round. The sum of the losses.

    A pair has `below` negatives with another second node, and `above` with another first one.
    """
    cdef ConeEpochSettings settings
    cdef RandomState state
    cdef double loss
    cdef Py_ssize_t i
    if run.nodes != turned.nodes or points.shape[0] != <Py_ssize_t>run.nodes or run.nodes == 0 \
            or points.shape[1] == 0:
        raise ValueError("points must have a row a node")
    if run.excluded.start == NULL or turned.excluded.start == NULL:
        raise ValueError("both runs must list the related nodes")
    if random.shape[0] != 4:
        raise ValueError("the random state has four words")
    for i in range(4):
        state.word[i] = random[i]
    settings.below, settings.above = below, above
    settings.rate, settings.k, settings.margin = rate, k, margin
    with nogil:
        loss = c_cone_epoch(&points[0, 0], run.nodes, points.shape[1], run.pairs, run.excluded, turned.excluded,
                            settings, state)
    return loss
