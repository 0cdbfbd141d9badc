cdef extern from "training.hpp" namespace "poincare" nogil:
    cdef cppclass RandomState:
        uint64_t word[4]
    cdef cppclass ExcludedNodes:
        const int64_t* start
        const int32_t* shifted
    cdef cppclass TrainingPairs:
        int32_t* source
        int32_t* target
        size_t count
    size_t c_training_stride "poincare::training_stride"[Real](size_t dim)
    double c_poincare_epoch "poincare::poincare_epoch"[Real](
        Real* points, Real* boundary_gap, size_t nodes, size_t stride, const TrainingPairs& pairs,
        const ExcludedNodes& excluded, size_t negatives, double learning_rate, RandomState& random) except +
    double c_euclidean_epoch "poincare::euclidean_epoch"[Real](
        Real* points, size_t nodes, size_t stride, const TrainingPairs& pairs, const ExcludedNodes& excluded,
        size_t negatives, double learning_rate, RandomState& random) except +

ctypedef fused training_real:
    float
    double


def training_stride(size_t dim, bint single):
    return c_training_stride[float](dim) if single else c_training_stride[double](dim)


cdef class TrainingRun:
    """What an epoch works on. Everything is checked here once, so that the loops need not."""

    cdef int32_t[::1] source
    cdef int32_t[::1] target
    cdef const int64_t[::1] start
    cdef const int32_t[::1] shifted
    cdef TrainingPairs pairs
    cdef ExcludedNodes excluded
    cdef RandomState random
    cdef size_t nodes
    cdef size_t negatives

    def __init__(self, size_t nodes, int32_t[::1] source, int32_t[::1] target, const int64_t[::1] start,
                 const int32_t[::1] shifted, size_t negatives, const uint64_t[::1] random):
        cdef Py_ssize_t i
        if source.shape[0] != target.shape[0]:
            raise ValueError("source and target must be equally long")
        for i in range(source.shape[0]):
            if not (0 <= source[i] < <int64_t>nodes and 0 <= target[i] < <int64_t>nodes) or source[i] == target[i]:
                raise ValueError("a pair must join two different nodes below `nodes`")
        if start is not None and (start.shape[0] != <Py_ssize_t>nodes + 1 or start[0] != 0
                                  or start[nodes] != shifted.shape[0]):
            raise ValueError("start must have nodes + 1 entries, from 0 to the length of shifted")
        if start is not None:
            for i in range(<Py_ssize_t>nodes):
                if not 0 < start[i + 1] - start[i] <= <int64_t>nodes:
                    raise ValueError("every list of excluded nodes must hold from one to all nodes")
        if random.shape[0] != 4:
            raise ValueError("the random state has four words")
        self.source, self.target, self.start, self.shifted = source, target, start, shifted
        self.pairs.count = source.shape[0]
        self.pairs.source = &source[0] if source.shape[0] else NULL
        self.pairs.target = &target[0] if source.shape[0] else NULL
        self.excluded.start = &start[0] if start is not None else NULL
        self.excluded.shifted = &shifted[0] if start is not None else NULL
        self.nodes, self.negatives = nodes, negatives
        for i in range(4):
            self.random.word[i] = random[i]

    cdef int check_points(self, Py_ssize_t rows, Py_ssize_t columns, bint single) except -1:
        if rows != <Py_ssize_t>self.nodes or self.nodes == 0 or columns == 0:
            raise ValueError("points must have a row a node")
        if columns != <Py_ssize_t>training_stride(columns, single):
            raise ValueError("points must have training_stride columns")
        return 0


def poincare_epoch(TrainingRun run, training_real[:, ::1] points, training_real[::1] boundary_gap,
                   double learning_rate):
    cdef double loss
    run.check_points(points.shape[0], points.shape[1], training_real is float)
    if boundary_gap.shape[0] != points.shape[0]:
        raise ValueError("boundary_gap must have an entry a point")
    with nogil:
        loss = c_poincare_epoch(
            &points[0, 0], &boundary_gap[0], run.nodes, points.shape[1], run.pairs, run.excluded,
            run.negatives, learning_rate, run.random)
    return loss


def euclidean_epoch(TrainingRun run, training_real[:, ::1] points, double learning_rate):
    cdef double loss
    run.check_points(points.shape[0], points.shape[1], training_real is float)
    with nogil:
        loss = c_euclidean_epoch(
            &points[0, 0], run.nodes, points.shape[1], run.pairs, run.excluded, run.negatives, learning_rate,
            run.random)
    return loss
