cdef extern from "training.hpp" namespace "poincare" nogil:
    cdef cppclass RandomState:
        uint64_t word[4]
    cdef cppclass ExcludedNodes:
        const int64_t* start
        const int32_t* shifted
    cdef cppclass NodeWeights:
        const uint32_t* threshold
        const int32_t* alias
    cdef cppclass TrainingPairs:
        const int32_t* source
        const int32_t* target
        size_t count
        ExcludedNodes listed
        size_t nodes
    cdef cppclass IntruderTable:
        const int32_t* node
        const int32_t* count
        size_t width
        size_t drawn
    cdef enum class Manifold:
        poincare
        lorentz
        euclidean
    cdef cppclass EpochSettings:
        Manifold manifold
        size_t negatives
        double rate
        double temperature
        int threads
    void c_alias_table "poincare::alias_table"(const double* weight, size_t nodes, uint32_t* threshold,
                                               int32_t* alias) except +
    size_t c_training_stride "poincare::training_stride"[Real](size_t dim)
    double c_train_epoch "poincare::train_epoch"[Real](
        Real* points, size_t nodes, size_t dim, size_t stride, const TrainingPairs& pairs, const ExcludedNodes& excluded,
        const NodeWeights& weights, const IntruderTable& intruders, const EpochSettings& settings, RandomState random) except +

ctypedef fused training_real:
    float
    double


def training_stride(size_t dim, bint single):
    return c_training_stride[float](dim) if single else c_training_stride[double](dim)


def alias_table(const double[::1] weight, uint32_t[::1] threshold, int32_t[::1] alias):
    cdef Py_ssize_t i, n = weight.shape[0]
    cdef double total = 0
    if threshold.shape[0] != n or alias.shape[0] != n:
        raise ValueError("threshold and alias must have an entry a weight")
    for i in range(n):
        if not weight[i] >= 0:
            raise ValueError("weights must not be negative")
        total += weight[i]
    if not 0 < total < INFINITY:
        raise ValueError("weights must have a finite sum above 0")
    with nogil:
        c_alias_table(&weight[0], n, &threshold[0], &alias[0])


cdef int check_lists(const int64_t[::1] start, const int32_t[::1] shifted) except -1:
    """The list of each node must hold itself, and rise."""
    cdef int64_t nodes = start.shape[0] - 1, u, last, node, at
    cdef bint own
    for u in range(nodes):
        last, own = -1, False
        for at in range(start[u], start[u + 1]):
            node = shifted[at] + at - start[u]
            if not last < node < nodes:
                raise ValueError("a list must hold nodes in rising order, each once")
            own, last = own or node == u, node
        if not own:
            raise ValueError("the list of a node must hold the node itself")
    return 0


cdef class TrainingRun:
    """What epochs work on. Everything is checked here once, so that the loops need not.

    Without `source` and `target` the pairs are (u, v) for every other node v in the list of u.
    """

    cdef const int32_t[::1] source
    cdef const int32_t[::1] target
    cdef const int64_t[::1] start
    cdef const int32_t[::1] shifted
    cdef const uint32_t[::1] threshold
    cdef const int32_t[::1] alias
    cdef TrainingPairs pairs
    cdef ExcludedNodes excluded
    cdef NodeWeights weights
    cdef NodeWeights equal_weights
    cdef size_t nodes

    def __init__(self, size_t nodes, const int32_t[::1] source, const int32_t[::1] target,
                 const int64_t[::1] start, const int32_t[::1] shifted, const uint32_t[::1] threshold,
                 const int32_t[::1] alias):
        cdef Py_ssize_t i
        cdef bint listed = False
        if source is None or target is None:
            if source is not None or target is not None or start is None:
                raise ValueError("source and target must both be given, or lists without them")
            source = target = _np.empty(0, _np.int32)
            listed = True
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
            if listed:
                check_lists(start, shifted)
        if threshold is not None and not threshold.shape[0] == alias.shape[0] == <Py_ssize_t>nodes:
            raise ValueError("threshold and alias must have an entry a node")
        if threshold is not None:
            for i in range(<Py_ssize_t>nodes):
                if not 0 <= alias[i] < <int64_t>nodes:
                    raise ValueError("an alias must be a node")
        self.source, self.target, self.start, self.shifted = source, target, start, shifted
        self.threshold, self.alias = threshold, alias
        self.pairs.count = source.shape[0]
        self.pairs.source = &source[0] if source.shape[0] else NULL
        self.pairs.target = &target[0] if source.shape[0] else NULL
        self.excluded.start = &start[0] if start is not None else NULL
        self.excluded.shifted = &shifted[0] if start is not None else NULL
        self.weights.threshold = &threshold[0] if threshold is not None and nodes else NULL
        self.weights.alias = &alias[0] if threshold is not None and nodes else NULL
        if listed:
            self.pairs.count = <size_t>(shifted.shape[0] - <Py_ssize_t>nodes)
            self.pairs.listed = self.excluded
            self.pairs.nodes = nodes
        self.nodes = nodes

    cdef int check_points(self, Py_ssize_t rows, Py_ssize_t columns, bint single) except -1:
        if rows != <Py_ssize_t>self.nodes or self.nodes == 0 or columns == 0:
            raise ValueError("points must have a row a node")
        if columns != <Py_ssize_t>training_stride(columns, single):
            raise ValueError("points must have training_stride columns")
        return 0


    cdef int check_intruders(self, const int32_t[:, ::1] intruder, const int32_t[::1] found) except -1:
        cdef Py_ssize_t i, j
        if intruder is None or intruder.shape[0] != <Py_ssize_t>self.nodes or intruder.shape[1] == 0 \
                or found.shape[0] != <Py_ssize_t>self.nodes:
            raise ValueError("intruder and found must have a row a node")
        for i in range(<Py_ssize_t>self.nodes):
            if not 0 <= found[i] <= intruder.shape[1]:
                raise ValueError("found must not exceed the width of intruder")
            for j in range(found[i]):
                if not 0 <= intruder[i, j] < <int64_t>self.nodes or intruder[i, j] == i:
                    raise ValueError("an intruder must be another node")
        return 0


cdef Manifold manifold_named(str name) except *:
    if name == "poincare":
        return Manifold.poincare
    if name == "lorentz":
        return Manifold.lorentz
    if name == "euclidean":
        return Manifold.euclidean
    raise ValueError(f"manifold must be poincare, lorentz or euclidean, got {name!r}")


def train_epoch(TrainingRun run, training_real[:, ::1] points, size_t dim, str manifold, const uint64_t[::1] random,
                size_t negatives, double rate, double temperature, bint weighted, int threads,
                const int32_t[:, ::1] intruder, const int32_t[::1] found, size_t hard):
    """One epoch in place; the sum of the losses. Columns of `points` from `dim` on are zero.

    `weighted` draws negatives by the weights of the run; `hard` more are drawn of the `found` nodes in the row
    of `intruder` that belongs to the source of a pair.
    """
    cdef EpochSettings settings
    cdef RandomState state
    cdef double loss
    cdef Py_ssize_t i
    cdef IntruderTable intruders
    run.check_points(points.shape[0], points.shape[1], training_real is float)
    if not 0 < dim <= <size_t>points.shape[1]:
        raise ValueError("dim must be at least 1, and at most the columns of points")
    if random.shape[0] != 4:
        raise ValueError("the random state has four words")
    if weighted and run.weights.threshold == NULL:
        raise ValueError("the run has no weights")
    if hard:
        run.check_intruders(intruder, found)
        intruders.node, intruders.count = &intruder[0, 0], &found[0]
        intruders.width, intruders.drawn = intruder.shape[1], hard
    for i in range(4):
        state.word[i] = random[i]
    settings.manifold = manifold_named(manifold)
    settings.negatives, settings.rate = negatives, rate
    settings.temperature, settings.threads = temperature, threads
    with nogil:
        loss = c_train_epoch(&points[0, 0], run.nodes, dim, points.shape[1], run.pairs, run.excluded,
                             run.weights if weighted else run.equal_weights, intruders, settings, state)
    return loss
