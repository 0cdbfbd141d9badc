"""Trees, learned embeddings and their evaluation."""

from __future__ import annotations

from poincare_memory import (
    PoincareBall,
    fit_euclidean_embeddings,
    fit_poincare_embeddings,
    reconstruction,
    transitive_closure,
)
from poincare_memory.hierarchy import children_map


class Training:
    """Twenty epochs over the closure of a tree of 1,093 nodes, set-up included."""

    def setup(self) -> None:
        children, roots = children_map([((i - 1) // 3, i) for i in range(1, 1093)])
        self.closure = [(child, ancestor) for ancestor, child in transitive_closure(children, roots[0])]

    def time_poincare(self) -> None:
        fit_poincare_embeddings(self.closure, epochs=20)

    def time_euclidean(self) -> None:
        fit_euclidean_embeddings(self.closure, epochs=20)


class Evaluation:
    def setup(self) -> None:
        children, roots = children_map([((i - 1) // 3, i) for i in range(1, 1093)])
        self.closure = [(child, ancestor) for ancestor, child in transitive_closure(children, roots[0])]
        self.ball = PoincareBall()
        self.points, _ = fit_poincare_embeddings(self.closure, epochs=20)

    def time_reconstruction(self) -> None:
        reconstruction(self.points, self.closure, self.ball.distance)


class Closure:
    def setup(self) -> None:
        self.chain = {i: [i + 1] for i in range(900)}

    def time_deep_closure(self) -> None:
        transitive_closure(self.chain, 0)
