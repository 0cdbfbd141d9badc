"""Trees, learned embeddings and their evaluation."""

from __future__ import annotations

from poincare_memory import (
    PoincareBall,
    fit_euclidean_embeddings,
    fit_poincare_embeddings,
    reconstruction,
    transitive_closure,
)
from poincare_memory.hierarchy import (
    children_map,
    closure_of_dag,
    layout_quality,
    sarkar_layout,
    spread_directions,
)


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


class Layout:
    """A tree of 20,000 nodes, some of them with hundreds of children."""

    params = ([2, 10], ["float64", "double-double"])
    param_names = ("dim", "precision")

    def setup(self, dim: int, precision: str) -> None:
        self.edges = [(i // 300 if i % 2 else i // 3, i) for i in range(1, 20_000)]
        self.points = sarkar_layout(self.edges, dim=dim, tau=0.8, precision=precision)

    def time_sarkar(self, dim: int, precision: str) -> None:
        sarkar_layout(self.edges, dim=dim, tau=0.8, precision=precision)

    def time_quality(self, dim: int, precision: str) -> None:
        layout_quality(self.points, self.edges, tau=0.8, sample=50)

    def time_closure_of_dag(self, dim: int, precision: str) -> None:
        closure_of_dag(self.edges)


class Spreading:
    params = (1_000, 5_000)

    def time_in_ten_dimensions(self, count: int) -> None:
        spread_directions(count, 10)
