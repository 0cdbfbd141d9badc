"""Epochs of training in plain NumPy, draw for draw, and the kernel called the same way."""

from __future__ import annotations

import numpy as np

from poincare_memory._core import _kernels

MARGIN = 1 - _kernels.BALL_EPS_FLOAT64


WORD = 2**64 - 1


class Xoshiro:
    """xoshiro256++ in Python integers."""

    def __init__(self, words):
        self.s = [int(word) for word in words]

    def below(self, bound):
        return ((self.next() >> 32) * bound) >> 32

    def next(self):
        s = self.s
        total = (s[0] + s[3]) & WORD
        result = ((((total << 23) | (total >> 41)) & WORD) + s[0]) & WORD
        t = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & WORD
        return result


def excluded_lists(pairs, nodes):
    lists = [sorted({u, *(v for a, v in pairs if a == u)}) for u in range(nodes)]
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    shifted = np.array([node - i for one in lists for i, node in enumerate(one)], np.int32)
    return lists, start, shifted


def draw_any(random, nodes, table):
    """A node: by the alias table, or a uniform one without."""
    bits = random.next()
    at = ((bits >> 32) * nodes) >> 32
    if table is None:
        return at
    threshold, alias = table
    return at if (bits & 0xFFFFFFFF) < int(threshold[at]) else int(alias[at])


def draw_allowed(random, draw, forbidden, allowed, first=None):
    """`first`, or what `draw` returns; a uniform one after 16 that were related."""
    for tries in range(16):
        node = draw() if first is None or tries else first
        if node not in forbidden:
            return node
    return allowed[random.below(len(allowed))]


POOL, DRAWS_OF_NODE = 4096, 5
IN_CACHE = 4 << 20  # bytes of rows


class Pool:
    """The nodes that negatives of large tables are drawn of."""

    def __init__(self, random, draw):
        self.random, self.draw_new, self.oldest = random, draw, 0
        self.node = [draw() for _ in range(POOL)]

    def renew(self, negatives):
        for _ in range(-(-negatives // DRAWS_OF_NODE)):
            self.node[self.oldest % POOL] = self.draw_new()
            self.oldest += 1

    def draws(self, count):
        """Nodes drawn, five out of each random number."""
        for k in range(count):
            if k % 5 == 0:
                bits = self.random.next()
            bits, place = divmod(bits, POOL)
            yield self.node[place]

    def draw(self):
        return next(self.draws(1))


FILTERED = 20  # nodes in a list that has a filter


def bits_of(node, salt):
    """Where a node stands in either half of a filter."""
    mixed = ((node ^ salt) * 0x9E3779B97F4A7C15) & WORD
    return mixed >> 59, 32 + (mixed >> 54 & 31)


def taken_for_related(related, nodes, salt):
    """The nodes that a filter of the related ones holds."""
    held = {bit for node in related for bit in bits_of(node, salt)}
    return {node for node in range(nodes) if held.issuperset(bits_of(node, salt))}


def oracle_samples(pairs, nodes, words, options):
    """The pairs in the order of one epoch, each with its negatives."""
    random = Xoshiro(words)
    order = list(pairs)
    for i in range(len(order), 1, -1):
        j = random.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    lists, _, _ = excluded_lists(pairs, nodes)

    def draw():
        return draw_any(random, nodes, options["table"] if options["weighted"] else None)

    pool = Pool(random, draw) if options["pooled"] else None
    for u, v in order:
        forbidden = set(lists[u]) if options["exclude"] else {u, v}
        allowed = [node for node in range(nodes) if node not in forbidden]
        count = options["negatives"] if allowed else 0
        if pool:
            pool.renew(options["negatives"])
            if options["filtered"] and len(forbidden) <= FILTERED:
                forbidden = taken_for_related(forbidden, nodes, int(words[0]) >> 32)
            # Drawn one by one: what is drawn again comes before the number of the next five.
            drawn = [
                draw_allowed(random, pool.draw, forbidden, allowed, first) for first in pool.draws(count)
            ]
        elif options["weighted"]:
            drawn = [draw_allowed(random, draw, forbidden, allowed) for _ in range(count)]
        else:
            drawn = [allowed[random.below(len(allowed))] for _ in range(count)]
        known = options["intruders"].get(u, ())
        drawn += [known[random.below(len(known))] for _ in range(min(options["hard"], len(known)))]
        yield u, v, drawn


def poincare_terms(u, x):
    """Distance, and its Riemannian gradients at u and at x (curvature 1)."""
    a, b, gap = 1 - u @ u, 1 - x @ x, u - x
    delta = 2 * (gap @ gap) / (a * b)
    sinh = np.sqrt(delta * (delta + 2))
    if sinh == 0:
        return 0.0, 0 * u, 0 * x
    at_u = (a * gap + (gap @ gap) * u) / (b * sinh)
    at_x = (-b * gap + (gap @ gap) * x) / (a * sinh)
    return np.arcsinh(sinh), at_u, at_x


def lorentz_terms(u, x):
    """The same on the hyperboloid, for the spatial parts."""
    z = np.sqrt(1 + u @ u) * np.sqrt(1 + x @ x) - u @ x
    sinh = np.sqrt(max(z * z - 1, 0))
    if sinh == 0:
        return 0.0, 0 * u, 0 * x
    return np.arccosh(z), (z * u - x) / sinh, (z * x - u) / sinh


def euclidean_terms(u, x):
    d = np.linalg.norm(u - x)
    direction = (u - x) / d if d else 0 * u
    return d, direction, -direction


TERMS = {"poincare": poincare_terms, "lorentz": lorentz_terms, "euclidean": euclidean_terms}


LIMIT = {"poincare": MARGIN, "lorentz": 2 * MARGIN / (1 - MARGIN**2), "euclidean": np.inf}


def with_defaults(options, nodes):
    defaults = {
        "negatives": 1, "exclude": True, "weighted": False, "rate": 1e-5, "temperature": 1.0, "intruders": {},
        "hard": 0, "threads": 1, "pooled": False, "filtered": False,
    }  # fmt: skip
    threshold, alias = np.empty(nodes, np.uint32), np.empty(nodes, np.int32)
    _kernels.alias_table(np.arange(1.0, nodes + 1), threshold, alias)
    return {**defaults, "table": (threshold, alias), **options}


def oracle_epoch(points, pairs, words, manifold="poincare", **options):
    options = with_defaults(options, len(points))
    beta, total = options["temperature"], 0.0
    for u, v, drawn in oracle_samples(pairs, len(points), words, options):
        others = [v, *drawn]
        found = [TERMS[manifold](points[u], points[x]) for x in others]
        weight = np.exp(-beta * (np.array([d for d, _, _ in found]) - found[0][0]))
        total += np.log(weight.sum())
        slope = -weight / weight.sum()
        slope[0] += 1
        points[u] -= options["rate"] * sum(s * at_u for s, (_, at_u, _) in zip(slope, found, strict=True))
        for s, x, (_, _, at_x) in zip(slope, others, found, strict=True):
            points[x] -= options["rate"] * s * at_x
        for node in {u, *others}:
            norm = np.linalg.norm(points[node])
            points[node] *= min(1.0, LIMIT[manifold] / max(norm, 1e-300))
    return total


def intruder_table(intruders, nodes):
    width = max([1, *map(len, intruders.values())])
    table, found = np.zeros((nodes, width), np.int32), np.zeros(nodes, np.int32)
    for node, known in intruders.items():
        table[node, : len(known)], found[node] = known, len(known)
    return table, found


def kernel_epoch(points, pairs, words, manifold="poincare", dtype=np.float64, **options):
    nodes, dim = points.shape
    options = with_defaults(options, nodes)
    source, target = np.array(pairs, np.int32).T.copy()
    _, *lists = excluded_lists(pairs, nodes)
    if not options["exclude"]:
        lists = [None, None]
    run = _kernels.TrainingRun(nodes, source, target, *lists, *options["table"])
    rows = np.zeros((nodes, _kernels.training_stride(dim, dtype == np.float32)), dtype)
    rows[:, :dim] = points
    loss = _kernels.train_epoch(
        run, rows, dim, manifold, words, options["negatives"], options["rate"], options["temperature"],
        options["weighted"], options["threads"], *intruder_table(options["intruders"], nodes), options["hard"],
    )  # fmt: skip
    assert not rows[:, dim:].any()
    assert [(int(u), int(v)) for u, v in zip(source, target, strict=True)] == list(pairs)
    return rows[:, :dim].astype(float), loss
