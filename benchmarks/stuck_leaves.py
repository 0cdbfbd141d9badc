"""Leaves that training has left in a wrong region, put elsewhere by direct search: what it does to MAP and mean rank.

    python benchmarks/wordnet_reconstruction.py --dims 10 --threads 2 --save nouns.npz
    python benchmarks/stuck_leaves.py --points nouns.npz [--edges FILE] [--steps 30 8 3] [--save out.npz]

    python benchmarks/wordnet_reconstruction.py --dims 10 --threads 1 --stages 1 --save one.npz
    python benchmarks/stuck_leaves.py --points one.npz --steps 30 8 hard 30 8 soft 5 3

A step is a number, by which leaves are stuck that are moved, or epochs on one thread: `hard`, those of the second
stage of the recipe, with hard negatives, or `soft`, 20 against uniform ones at a low rate.

Pairs are (descendant, ancestor), those of `wordnet_reconstruction.py`. A leaf is stuck by n where more than n unrelated
nodes, in the mean, are nearer than one of its ancestors. It is tried at random places around its three rarest
ancestors, then around the best of these. A place costs the ranks that the leaf adds, its own and those of the nodes
that it is then nearer to than their ancestors are, and `--weight` times the average precision it takes in both; the
cheapest is taken.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from wordnet_reconstruction import Pair, add_edge_arguments, closure_asked_for

from poincare_memory import fit_poincare_embeddings
from poincare_memory._core import _kernels
from poincare_memory.hierarchy import recipes
from poincare_memory.hierarchy.pairs import NumberedPairs

Array = np.ndarray[Any, np.dtype[Any]]

AROUND = 3  # of the rarest ancestors
TRIED, LOOKED_AT = 32, 5  # places, and those of them of which others are asked, too
ROUNDS, STEPS = 3, 4  # of the search around the best place
STEPS_IN_RANKING = 6  # at which a leaf between the ancestors of another node is counted
AT_ONCE = 500  # leaves that do not know of each other
RADIUS = 1 - 1e-5
SOFT = {"epochs": 20, "lr": 0.02, "lr_end": 0.005, "negatives": 50, "temperature": 4.0, "burn_in": 0}


def moved(points: Array, directions: Array, lengths: Array) -> Array:
    """exp_p(v), short of the boundary (Ungar 2008: Möbius addition)."""
    step = np.tanh(lengths / 2) * directions
    product = 2 * np.einsum("ij,ij->i", points, step)[:, None]
    squares = np.einsum("ij,ij->i", points, points)[:, None], np.einsum("ij,ij->i", step, step)[:, None]
    result = (1 + product + squares[1]) * points + (1 - squares[0]) * step
    result /= 1 + product + squares[0] * squares[1]
    return result * np.minimum(1, RADIUS / np.maximum(np.linalg.norm(result, axis=1), 1e-9))[:, None]


class Ranking:
    """The points, and for every query at which distances another node spoils its ranks."""

    def __init__(self, points: Array, pairs: NumberedPairs[Any], weight: float) -> None:
        self.points, self.weight = points, weight
        self.query, self.start, self.related = pairs.related
        self.count = np.diff(self.start)
        self.degree = np.bincount(self.related, minlength=len(points))
        # Where the leaf comes before the j-th of m ancestors it adds m − j + 1 ranks, and takes Σ 1/(k+1) / m of
        # the average precision, k from j to m.
        m = self.count
        place = m - (m * np.arange(STEPS_IN_RANKING)[:, None]) // STEPS_IN_RANKING
        harmonic = np.append(0, np.cumsum(1 / np.arange(1, m.max() + 2)))
        self.ranks_lost, self.precision_lost = m - place + 1, (harmonic[m + 1] - harmonic[place]) / m
        self.place = place - 1
        self.look()

    def ranks(self, chosen: Array | None = None) -> tuple[Array, Array]:
        """Average precision, and the ranks that unrelated nodes add, of the chosen queries."""
        chosen = np.arange(len(self.query)) if chosen is None else chosen
        lists = [self.related[self.start[i] : self.start[i + 1]] for i in chosen]
        start = np.append(0, np.cumsum(self.count[chosen])).astype(np.int64)
        precision, ranks = np.empty(len(chosen)), np.empty(len(chosen), np.int64)
        scale = 1 - np.einsum("ij,ij->i", self.points, self.points)
        _kernels.reconstruction_ranks(
            self.points, scale, self.query[chosen], start, np.concatenate(lists), 1, precision, ranks
        )
        return precision, ranks - self.count[chosen]

    def look(self) -> None:
        self.precision, self.excess = self.ranks()
        self.at = self.points[self.query]
        self.limits = np.empty(self.place.shape)
        self.right = np.empty((self.at.shape[1] + 2, len(self.at)), np.float32)
        self.note(np.arange(len(self.query)))

    def note(self, chosen: Array) -> None:
        """The squared gaps, over 1 − |x|² of the other node, from which on it does no harm."""
        dim = self.at.shape[1]
        self.at[chosen] = self.points[self.query[chosen]]
        for i in chosen:
            others = self.points[self.related[self.start[i] : self.start[i + 1]]]
            gaps = ((others - self.at[i]) ** 2).sum(1) / (1 - (others**2).sum(1))
            self.limits[:, i] = np.sort(gaps)[self.place[:, i]]
        self.right[:dim, chosen] = self.at[chosen].T
        self.right[dim, chosen], self.right[dim + 1, chosen] = (
            self.limits[0, chosen],
            (self.at[chosen] ** 2).sum(1),
        )

    def cost_of_own(self, chosen: Array, tried: Array) -> Array:
        nodes = self.query[chosen]
        before = self.points[nodes]
        self.points[nodes] = tried
        precision, excess = self.ranks(chosen)
        self.points[nodes] = before
        return excess - self.weight * precision

    def cost_to_others(self, chosen: Array, tried: Array, block: int = 256) -> Array:
        cost, squares = np.zeros(len(tried)), (tried**2).sum(1)
        left = np.column_stack([2 * tried, 1 - squares, -np.ones(len(tried))]).astype(np.float32)
        for begin in range(0, len(tried), block):
            part = slice(begin, begin + block)
            near = left[part] @ self.right > (squares[part] - 1e-6).astype(np.float32)[:, None]
            row, other = np.nonzero(near)
            row, other = row[chosen[part][row] != other], other[chosen[part][row] != other]
            gaps = ((tried[part][row] - self.at[other]) ** 2).sum(1) / (1 - squares[part][row])
            passed = (gaps < self.limits[:, other]).sum(0) - 1
            row, other, passed = (x[passed >= 0] for x in (row, other, passed))
            lost = self.precision_lost[passed, other] * self.precision[other] * self.weight
            lost += self.ranks_lost[passed, other]
            cost[part] += np.bincount(row, lost, minlength=len(squares[part]))
        return cost


class Search:
    """The cheapest places that were found for a few leaves."""

    def __init__(self, ranking: Ranking, chosen: Array, draw: np.random.Generator) -> None:
        self.ranking, self.chosen, self.draw = ranking, chosen, draw
        self.place = ranking.points[ranking.query[chosen]]
        own = ranking.cost_of_own(chosen, self.place)
        self.cost = own + ranking.cost_to_others(chosen, self.place)

    def offer(self, tried: Array, own: Array) -> None:
        better = np.flatnonzero(own < self.cost)
        cost = own[better] + self.ranking.cost_to_others(self.chosen[better], tried[better])
        better, cost = better[cost < self.cost[better]], cost[cost < self.cost[better]]
        self.cost[better], self.place[better] = cost, tried[better]

    def around_ancestors(self) -> None:
        ranking, size = self.ranking, len(self.chosen)
        rarest = np.empty((AROUND, size), np.int64)
        for column, i in zip(rarest.T, self.chosen, strict=True):
            mine = ranking.related[ranking.start[i] : ranking.start[i + 1]]
            column[:] = np.resize(mine[np.argsort(ranking.degree[mine], kind="stable")], AROUND)
        places, costs = [], []
        for tried in range(TRIED):
            from_where = ranking.points[rarest[tried // 2 % AROUND if tried % 2 else 0]]
            outwards = from_where / np.maximum(np.linalg.norm(from_where, axis=1), 1e-9)[:, None]
            direction = self.directions() + self.draw.uniform(0, 1.5, (size, 1)) * outwards
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            places.append(moved(from_where, direction, self.draw.uniform(0.3, 3.5, (size, 1))))
            costs.append(ranking.cost_of_own(self.chosen, places[-1]))
        order, every = np.argsort(costs, axis=0), np.arange(size)
        for best in order[:LOOKED_AT]:
            self.offer(np.stack(places)[best, every], np.stack(costs)[best, every])

    def around_best(self) -> None:
        for part in range(ROUNDS * STEPS):
            lengths = self.draw.uniform(0.05, 0.8, (len(self.chosen), 1)) * 0.6 ** (part // STEPS)
            tried = moved(self.place, self.directions(), lengths)
            self.offer(tried, self.ranking.cost_of_own(self.chosen, tried))

    def directions(self) -> Array:
        drawn: Array = self.draw.normal(size=self.place.shape)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def unstick(ranking: Ranking, least: float, draw: np.random.Generator) -> int:
    """Move the leaves that are stuck by `least`; how many moved."""
    ranking.look()
    is_leaf = ranking.degree[ranking.query] == 0
    stuck = draw.permutation(np.flatnonzero(is_leaf & (ranking.excess > least * ranking.count)))
    count = 0
    for begin in range(0, len(stuck), AT_ONCE):
        chosen = stuck[begin : begin + AT_ONCE]
        search = Search(ranking, chosen, draw)
        search.around_ancestors()
        search.around_best()
        nodes = ranking.query[chosen]
        count += int((ranking.points[nodes] != search.place).any(1).sum())
        ranking.points[nodes] = search.place
        ranking.note(chosen)
        ranking.precision[chosen] = ranking.ranks(chosen)[0]
    return count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_edge_arguments(parser)
    parser.add_argument("--points", type=Path, required=True, help="what wordnet_reconstruction.py saved")
    parser.add_argument("--steps", nargs="+", default=["30", "8", "3"], help="numbers, `hard` or `soft`")
    parser.add_argument("--weight", type=float, default=1000, help="of average precision against ranks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    saved = np.load(options.points)
    place = dict(zip(saved["nodes"].tolist(), saved["points"], strict=True))
    closure = closure_asked_for(options)
    pairs = NumberedPairs(closure)
    ranking = Ranking(np.stack([place[node] for node in pairs.nodes]), pairs, options.weight)
    draw = np.random.default_rng(options.seed)
    print("| | leaves moved | MAP | mean rank | CPU s |\n|---|---|---|---|---|")
    say(ranking, "", 0, time.process_time())
    for step in options.steps:
        began = time.process_time()
        if step in ("hard", "soft"):
            learn(ranking, pairs, closure, step, options.seed)
            say(ranking, step, 0, began)
        else:
            count = unstick(ranking, float(step), draw)
            say(ranking, f"stuck by {step}", count, began)
    if options.save:
        np.savez_compressed(options.save, nodes=np.array(pairs.nodes), points=ranking.points)


def learn(ranking: Ranking, pairs: NumberedPairs[Any], closure: list[Pair], kind: str, seed: int) -> None:
    dim = ranking.points.shape[1]
    settings = SOFT if kind == "soft" else recipes.for_reconstruction(dim, nodes=len(pairs.nodes)).stages[1]
    init = dict(zip(pairs.nodes, ranking.points, strict=True))
    points, _ = fit_poincare_embeddings(closure, **{**settings, "dim": dim, "init": init, "seed": seed + 1})
    ranking.points[:] = np.stack([points[node] for node in pairs.nodes])


def say(ranking: Ranking, what: str, count: int, began: float) -> None:
    took = time.process_time() - began
    precision, excess = ranking.ranks()
    rank = 1 + excess.sum() / ranking.count.sum()
    print(f"| {what} | {count:,} | {precision.mean():.4f} | {rank:.3f} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
