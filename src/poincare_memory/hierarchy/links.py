"""Link prediction: how well points tell pairs of a hierarchy that they have not been trained on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np

from .._core import _kernels
from ..arguments import integer, number_within, positive_number
from ..geometry.poincare import PoincareBall
from .evaluation import ReconstructionResult, checked_points, unknown_distance
from .pairs import NumberedPairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry.numerics import FloatArray

__all__ = ["ConeScores", "LinkSplit", "cone_link_scores", "link_prediction", "split_links"]

N = TypeVar("N", bound=Hashable)

_HELD_OUT = 0.05  # of the pairs that follow from others, for each of validation and test (Ganea et al. 2018)


@dataclass(frozen=True)
class LinkSplit(Generic[N]):
    """A closure in parts; all pairs are (ancestor, descendant) or all (descendant, ancestor), as given.

    Attributes
    ----------
    train : list of pairs
        What to learn from: every basic pair, and the share of the others that was asked for.
    validation, test : list of pairs
        Held out, disjoint.
    closure : list of pairs
        All of it: what is not in here is no link.
    """

    train: list[tuple[N, N]]
    validation: list[tuple[N, N]]
    test: list[tuple[N, N]]
    closure: list[tuple[N, N]]


def split_links(closure: Iterable[tuple[N, N]], share: float = 0.5, *, seed: int = 0) -> LinkSplit[N]:
    """Split a transitive closure for link prediction, as Ganea et al. (2018, section 5) do.

    A pair is *basic* if it does not follow from others (it is in the transitive reduction). Basic pairs are always
    trained on; of the rest 5 % each are for validation and test, and ``share`` of it (of 0.9 on, all that is left) is
    trained on.

    Parameters
    ----------
    closure : iterable of pairs
        Transitively closed, in either direction.
    share : float
        From 0 to 1; the paper's tables have 0, 0.1, 0.25 and 0.5.
    seed : int
        Of the choice.

    Returns
    -------
    LinkSplit

    Raises
    ------
    ValueError
        If no pair follows from others.

    Examples
    --------
    >>> chain = [(i, j) for i in range(30) for j in range(i + 1, 30)]
    >>> split = split_links(chain, 0.1)
    >>> len(split.train), len(split.validation), len(split.test)
    (70, 20, 20)
    """
    share = number_within("share", share, 0, 1)
    pairs = list(dict.fromkeys(closure))
    targets: dict[N, set[N]] = defaultdict(set)
    sources: dict[N, set[N]] = defaultdict(set)
    for u, v in pairs:
        targets[u].add(v)
        sources[v].add(u)
    follows = [not targets[u].isdisjoint(sources[v]) for u, v in pairs]
    basic = [pair for pair, derived in zip(pairs, follows, strict=True) if not derived]
    rest = [pair for pair, derived in zip(pairs, follows, strict=True) if derived]
    if not rest:
        raise ValueError(
            "closure: expected pairs that follow from others, got none; is it transitively closed?"
        )
    order = np.random.default_rng(integer("seed", seed, least=0)).permutation(len(rest))
    held = max(1, round(_HELD_OUT * len(rest)))
    chosen = [rest[i] for i in order]
    left = chosen[2 * held :]
    return LinkSplit(basic + left[: round(share * len(rest))], chosen[:held], chosen[held : 2 * held], pairs)


def link_prediction(
    points: Mapping[N, FloatArray],
    split: LinkSplit[N],
    distance: Callable[[FloatArray, FloatArray], FloatArray] | Literal["euclidean"],
) -> ReconstructionResult:
    """MAP and mean rank of the test pairs (u, v): v among the nodes that u has no link to, by distance from u.

    Parameters
    ----------
    points : mapping of node to array of shape (dim,)
    split : LinkSplit
    distance : callable or "euclidean"
        Gets arrays of shapes (1, dim) and (n, dim), such as ``ball.distance``.

    Returns
    -------
    ReconstructionResult
        Over the nodes that a test pair begins with; NaN where there is none. Ties count against the link.

    Raises
    ------
    KeyError
        If a node of the split has no point.
    TypeError
        If `split` is not what `split_links` gives.

    Examples
    --------
    >>> from poincare_memory import PoincareBall, fit_poincare_embeddings
    >>> split = split_links([(i, j) for i in range(30) for j in range(i + 1, 30)])
    >>> points, _ = fit_poincare_embeddings(split.train, dim=3)
    >>> link_prediction(points, split, PoincareBall().distance).n_queries <= len(split.test)
    True
    """
    _check(points, split)
    nodes = list(points)
    number = {node: i for i, node in enumerate(nodes)}
    rows = np.stack([np.asarray(points[node], np.float64) for node in nodes])
    known: dict[N, list[int]] = defaultdict(list)
    asked: dict[N, list[int]] = defaultdict(list)
    for u, v in split.closure:
        known[u].append(number[v])
    for u, v in split.test:
        asked[u].append(number[v])
    if not asked:
        return ReconstructionResult(math.nan, math.nan, 0)
    precisions, ranks = [], []
    for u, mine in asked.items():
        gaps = _distances(distance, rows, number[u])
        unrelated = np.ones(len(nodes), bool)
        unrelated[known[u]] = unrelated[number[u]] = False
        closer = np.searchsorted(np.sort(gaps[unrelated]), np.sort(gaps[mine]), side="right")
        place = np.arange(1, len(mine) + 1)
        precisions.append(float((place / (place + closer)).mean()))
        ranks.extend((1 + closer).tolist())
    return ReconstructionResult(
        math.fsum(precisions) / len(precisions), sum(ranks) / len(ranks), len(precisions)
    )


@dataclass(frozen=True)
class ConeScores:
    """How well cones tell links from what is none, on the test pairs.

    Attributes
    ----------
    f1, precision, recall : float
    threshold : float
        Energy up to which a pair counts as a link: the best on the validation pairs.
    """

    f1: float
    precision: float
    recall: float
    threshold: float


def cone_link_scores(
    points: Mapping[N, FloatArray],
    split: LinkSplit[N],
    ball: PoincareBall | None = None,
    *,
    K: float = 0.1,
    negatives: int = 10,
    seed: int = 0,
) -> ConeScores:
    """F1 of entailment cones on held-out links (Ganea et al. 2018, table 1).

    A pair (ancestor, descendant) counts as a link if its :func:`~poincare_memory.cone_energy` is at most a threshold,
    which is chosen on the validation pairs. To every link come ``negatives`` pairs that are none: half with another
    descendant, half with another ancestor.

    Parameters
    ----------
    points : mapping of node to array of shape (dim,)
    split : LinkSplit
        With pairs (ancestor, descendant).
    ball : PoincareBall, optional
    K : float
        Of the cones.
    negatives : int
        At least 1, to a link.
    seed : int
        Of these.

    Returns
    -------
    ConeScores
        On the test pairs, and the threshold.

    Raises
    ------
    KeyError
        If a node of the split has no point.
    ValueError
        If ``K`` is not positive, a point is not strictly inside the ball, or nothing is held out.

    Examples
    --------
    >>> from poincare_memory import PoincareBall
    >>> from poincare_memory.hierarchy import fit_entailment_cones
    >>> chain = [(i, j) for i in range(30) for j in range(i + 1, 30)]
    >>> split = split_links(chain, 0.5)
    >>> points, _ = fit_entailment_cones(split.train, dim=3, epochs=20)
    >>> 0 <= cone_link_scores(points, split).f1 <= 1
    True
    """
    _check(points, split)
    ball = PoincareBall() if ball is None else ball
    K = positive_number("K", K)
    negatives = integer("negatives", negatives, least=1)
    if not split.validation or not split.test:
        raise ValueError(
            "split: expected validation and test pairs, got none; its closure is too small to hold both out"
        )
    numbered: NumberedPairs[N] = NumberedPairs(split.closure)
    number = {node: i for i, node in enumerate(numbered.nodes)}
    rows = np.stack([np.asarray(points[node], np.float64) for node in numbered.nodes])
    source, target = numbered.as_arrays()
    links = np.sort(source.astype(np.int64) * len(rows) + target)
    rng = np.random.default_rng(integer("seed", seed, least=0))

    def energies(pairs: list[tuple[N, N]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ends = np.array([(number[u], number[v]) for u, v in pairs], np.int64)
        others = _corrupted(ends, links, len(rows), negatives, rng)
        return _cone_energies(rows, ends, ball, K), _cone_energies(rows, others, ball, K)

    threshold = _best_threshold(*energies(split.validation))
    related, unrelated = energies(split.test)
    hits, wrong = int((related <= threshold).sum()), int((unrelated <= threshold).sum())
    precision, recall = hits / max(1, hits + wrong), hits / len(related)
    return ConeScores(2 * hits / max(1, hits + wrong + len(related)), precision, recall, threshold)


def _check(points: Mapping[N, FloatArray], split: LinkSplit[N]) -> None:
    """Refuse other types, and a node of the split without a point."""
    checked_points(points)
    if not isinstance(split, LinkSplit):
        raise TypeError(
            f"split: expected a LinkSplit, whole, as split_links(closure) gives it, got {type(split).__name__}"
        )
    for pair in split.closure:
        for node in pair:
            if node not in points:
                raise KeyError(f"split: node {node!r} has no point")


def _distances(
    distance: Callable[[FloatArray, FloatArray], FloatArray] | Literal["euclidean"], rows: FloatArray, u: int
) -> NDArray[np.float64]:
    if callable(distance):
        gaps = np.asarray(distance(rows[u : u + 1], rows), dtype=np.float64).reshape(-1)
    elif distance == "euclidean":
        gaps = np.linalg.norm(rows - rows[u], axis=1)
    else:
        raise unknown_distance(distance)
    if np.isnan(gaps).any():
        raise ValueError("distance: got NaN")
    return gaps


def _corrupted(
    ends: NDArray[np.int64], links: NDArray[np.int64], count: int, negatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """For every pair others with one end replaced, none of them a link or a node with itself."""
    pairs = np.repeat(ends, negatives, axis=0)
    side = np.tile(np.arange(negatives) % 2, len(ends))  # 1: another descendant
    wrong = np.arange(len(pairs))
    for _ in range(100):
        pairs[wrong, side[wrong]] = rng.integers(0, count, len(wrong))
        keys = pairs[wrong, 0] * count + pairs[wrong, 1]
        at = np.minimum(np.searchsorted(links, keys), len(links) - 1)
        wrong = wrong[(links[at] == keys) | (pairs[wrong, 0] == pairs[wrong, 1])]
        if not len(wrong):
            return pairs
    return np.delete(pairs, wrong, axis=0)  # ends that nearly everything is linked to


def _cone_energies(
    rows: FloatArray, ends: NDArray[np.int64], ball: PoincareBall, K: float
) -> NDArray[np.float64]:
    energies = np.empty(len(ends))
    outside = _kernels.cone_energies(rows[ends[:, 0]], rows[ends[:, 1]], ball.c, K, energies, 0)
    if outside >= 0:
        raise ValueError("points: expected points strictly inside the ball")
    return energies


def _best_threshold(related: NDArray[np.float64], unrelated: NDArray[np.float64]) -> float:
    """The energy of a related pair up to which F1 is largest."""
    limits = np.unique(related)
    hits = np.searchsorted(np.sort(related), limits, side="right")
    wrong = np.searchsorted(np.sort(unrelated), limits, side="right")
    return float(limits[np.argmax(2 * hits / (hits + wrong + len(related)))])
