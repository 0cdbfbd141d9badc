"""Where memories go, against geodesics on the hyperboloid in many digits, and at the edges of float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from poincare_memory import Memory
from store.placement_oracle import child_direction, pulled_into_cone, unit
from store.table_embedder import CheapEmbedder, TableEmbedder

COORDINATES = st.floats(-4, 4, allow_subnormal=False).map(lambda x: round(x, 3))


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[float]], list[int]]:
    """Embeddings and parents (earlier rows or -1)."""
    dim, n = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    vectors = draw(st.lists(st.lists(COORDINATES, min_size=dim, max_size=dim), min_size=n, max_size=n))
    return vectors, [draw(st.integers(-1, i - 1)) for i in range(n)]


def planted(
    vectors: Sequence[Any], parents: Sequence[int], dtype: Any = np.float64, **settings: Any
) -> Memory:
    mem = Memory(TableEmbedder({str(i): v for i, v in enumerate(vectors)}, dtype), **settings)
    mem.add_many(
        {"text": str(i), "id": str(i), "parent": str(parent) if parent >= 0 else None}
        for i, parent in enumerate(parents)
    )
    return mem


def levels_of(parents: Sequence[int]) -> list[int]:
    levels: list[int] = []
    for parent in parents:
        levels.append(levels[parent] + 1 if parent >= 0 else 0)
    return levels


@settings(max_examples=60, deadline=None)
@given(
    trees(),
    st.sampled_from([0.25, 1.0, 4.0]),
    st.sampled_from([0.05, 1.0, 3.0]),
    st.sampled_from([0.1, 0.5, 2.0]),
    st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]),
    st.booleans(),
)
def test_points_are_those_of_the_hyperboloid(
    tree: tuple[list[list[float]], list[int]],
    curvature: float,
    base_depth: float,
    depth_step: float,
    inherit: float,
    cone_constrained: bool,
) -> None:
    vectors, parents = tree
    mem = planted(
        vectors,
        parents,
        curvature=curvature,
        base_depth=base_depth,
        depth_step=depth_step,
        inherit=inherit,
        cone_constrained=cone_constrained,
    )
    with mp.workdps(40):
        root_c = mp.sqrt(curvature)
        expected: list[list[Any] | None] = []
        for i, (vector, parent) in enumerate(zip(vectors, parents, strict=True)):
            radius = mp.mpf(base_depth) + levels_of(parents)[i] * mp.mpf(depth_step)
            direction = unit(vector)
            above = expected[parent] if parent >= 0 else None
            if direction is not None and above is not None:
                R, S = root_c * (radius - mp.mpf(depth_step)), root_c * radius
                direction = child_direction(above, R, direction, S, 1 - mp.mpf(inherit))
                if cone_constrained and direction is not None:
                    direction = pulled_into_cone(above, direction, R, S, mp.mpf("0.1"))
                assume(direction is not None)
            expected.append(direction)
            length = mp.tanh(root_c * radius / 2) / root_c
            point = [length * x for x in direction] if direction is not None else [0] * len(vector)
            np.testing.assert_allclose(mem.point(str(i)), [float(x) for x in point], rtol=0, atol=1e-9)
            assert mem.depth(str(i)) == base_depth + levels_of(parents)[i] * depth_step


def test_depth_is_exact_at_level_5000() -> None:
    mem = Memory(CheapEmbedder())
    mem.add_many(
        {"text": f"node {i}", "id": str(i), "parent": str(i - 1) if i else None} for i in range(5001)
    )
    for level in (0, 1, 10, 100, 1000, 5000):
        assert mem.depth(str(level)) == 1.0 + level * 0.5
        assert mem.level(str(level)) == level
    norms = np.linalg.norm(mem.points, axis=1)
    assert (norms < 1).all()
    assert norms[-1] > 1 - 1e-14
    assert (np.diff(norms[:60]) > 0).all()


@pytest.mark.parametrize("curvature", [1e-6, 0.04, 64.0, 1e4, 1e12])
def test_depth_at_any_curvature(curvature: float) -> None:
    mem = planted([[1, 0], [0, 1], [1, 1]], [-1, 0, 1], curvature=curvature)
    assert [mem.depth(id) for id in mem.ids] == [1.0, 1.5, 2.0]
    assert (np.linalg.norm(mem.points, axis=1) * np.sqrt(curvature) < 1).all()


@pytest.mark.parametrize("scale", [1e300, 1e160, 1e-160, 1e-200, 5e-300])
def test_the_length_of_an_embedding_does_not_matter(scale: float) -> None:
    vectors = np.array([[3.0, -4.0, 1.0], [1.0, 2.0, 2.0]])
    plain, scaled = planted(vectors, [-1, 0]), planted(vectors * scale, [-1, 0])
    np.testing.assert_allclose(scaled.points, plain.points, rtol=0, atol=1e-15)


def test_subnormal_embeddings_keep_what_direction_they_hold() -> None:
    mem = planted([[5e-324, 0.0], [5e-324, -5e-324]], [-1, -1])
    np.testing.assert_allclose(
        mem.points / np.tanh(0.5), [[1, 0], [np.sqrt(0.5), -np.sqrt(0.5)]], rtol=0, atol=1e-15
    )


def test_float32_embeddings_are_placed_as_their_exact_values() -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 9)).astype(np.float32)
    parents = [-1, 0, 1, 1, -1, 4]
    narrow = planted(vectors, parents, np.float32)
    wide = planted(vectors.astype(np.float64), parents)
    assert np.array_equal(narrow.points, wide.points)


def test_no_direction() -> None:
    """A text that embeds to nothing is at the origin, as deep as declared, and leaves its children alone."""
    mem = planted([[0, 0], [0, 2], [0, 0], [3, 0]], [-1, 0, 1, 2])
    assert [mem.depth(id) for id in mem.ids] == [1.0, 1.5, 2.0, 2.5]
    assert not mem.point("0").any()
    assert not mem.point("2").any()
    np.testing.assert_allclose(mem.point("1"), [0, np.tanh(0.75)], rtol=0, atol=1e-15)
    np.testing.assert_allclose(mem.point("3"), [np.tanh(1.25), 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("cone_constrained", [False, True])
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("inherit", np.linspace(0, 1, 21).tolist())
def test_opposite_directions(inherit: float, dim: int, cone_constrained: bool) -> None:
    down = [-1.0] + [0.0] * (dim - 1)
    up = [1.0] + [0.0] * (dim - 1)
    mem = planted([up, down, down], [-1, 0, 1], inherit=inherit, cone_constrained=cone_constrained)
    points = mem.points
    assert np.isfinite(points).all()
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), np.tanh([0.5, 0.75, 1.0]), rtol=0, atol=1e-15)
    if inherit == 0 and not cone_constrained:
        assert points[1, 0] < 0
    if inherit == 1:
        assert points[1, 0] > 0


def test_the_cancelling_fraction_leaves_the_child_its_own_direction() -> None:
    # sinh((1-t)D)·sinh R = sinh(tD)·sinh S at t = R/D: the geodesic is at the origin there.
    mem = planted([[1.0, 0.0], [-1.0, 0.0]], [-1, 0], inherit=1.5 / 2.5)
    assert np.linalg.norm(mem.point("1")) == pytest.approx(np.tanh(0.75), abs=1e-15)


def test_deep_opposite_child_stays_on_its_own_side() -> None:
    mem = planted([[1, 0, 0], [-1, 0, 0]], [-1, 0], base_depth=300.0)
    assert mem.point("1")[0] < 0


def test_inherit_0_keeps_own_and_1_takes_the_parents_direction() -> None:
    vectors = np.random.default_rng(1).normal(size=(2, 6))
    own, taken = (planted(vectors, [-1, 0], inherit=share) for share in (0.0, 1.0))
    unit_vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(own.point("1") / np.tanh(0.75), unit_vectors[1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(taken.point("1") / np.tanh(0.75), unit_vectors[0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("curvature", [0.25, 1.0, 9.0])
def test_constrained_children_lie_in_every_ancestors_cone(curvature: float) -> None:
    rng = np.random.default_rng(7)
    n = 60
    mem = planted(
        rng.normal(size=(n, 12)),
        [i - 1 if i < 40 else int(rng.integers(0, i)) for i in range(n)],
        cone_constrained=True,
        curvature=curvature,
    )
    for id in mem.ids:
        inside = {hit.id for hit in mem.search(None, k=n, mode="cone", root=id, touch=False)}
        assert inside >= set(mem.descendants(id))


def test_the_constraint_turns_no_further_than_it_must() -> None:
    from poincare_memory import cone_energy

    mem = planted([[1, 0, 0], [0, 1, 0]], [-1, 0], cone_constrained=True)
    just_outside = mem.ball.point_at(mem.point("1") - 1e-6 * mem.point("0"), 1.5)
    assert float(cone_energy(mem.point("0"), mem.point("1"), mem.ball)) == 0
    assert float(cone_energy(mem.point("0"), just_outside, mem.ball)) > 0


def test_one_by_one_and_in_one_batch_and_replaced_are_the_same_bits() -> None:
    rng = np.random.default_rng(3)
    n = 60
    vectors = rng.normal(size=(n, 17))
    parents = [-1 if i < 3 else int(rng.integers(0, i)) for i in range(n)]
    batch = planted(vectors, parents)
    single = Memory(TableEmbedder({str(i): v for i, v in enumerate(vectors)}))
    for i, parent in enumerate(parents):
        single.add(str(i), id=str(i), parent=str(parent) if parent >= 0 else None)
    assert np.array_equal(single.points, batch.points)
    moved = Memory(TableEmbedder({str(i): v for i, v in enumerate(vectors)}))
    moved.add_many({"text": str(i), "id": str(i)} for i in reversed(range(n)))
    for i, parent in enumerate(parents):
        if parent >= 0:
            moved.link(str(i), str(parent))
    assert all(np.array_equal(moved.point(id), batch.point(id)) for id in batch.ids)


def test_threads_change_nothing() -> None:
    from poincare_memory.store.placement import place

    rng = np.random.default_rng(5)
    mem = planted(
        rng.normal(size=(4000, 64)), [-1 if i < 3 else int(rng.integers(0, i)) for i in range(4000)]
    )
    before = mem.points
    place(mem._store, mem._store.columns.live_rows(), threads=1)
    assert np.array_equal(mem.points, before)
    place(mem._store, mem._store.columns.live_rows(), threads=4)
    assert np.array_equal(mem.points, before)


def test_points_are_copies() -> None:
    mem = Memory()
    mem.add("alpha", id="a")
    mem.point("a")[:] = 0.0
    mem.points[:] = 0.0
    assert np.linalg.norm(mem.point("a")) == pytest.approx(np.tanh(0.5), abs=1e-15)


def test_an_embedder_that_reuses_its_buffer() -> None:
    buffer = np.zeros((1, 3))

    class Reusing:
        dim = 3

        def embed(self, texts: Sequence[str]) -> Any:
            buffer[:] = len(texts[0]), 1, 0
            return buffer

    mem = Memory(Reusing())
    mem.add("one", id="1")
    before = mem.point("1")
    mem.add("something longer", id="2", parent="1")
    mem.link("2", None)
    mem.link("2", "1")
    mem.update("1", text="one more")
    mem.update("1", text="one")
    assert np.array_equal(mem.point("1"), before)


@pytest.mark.parametrize("base_depth", [1e-100, 1e-8, 40.0, 700.0, 1e5, 1e100])
@pytest.mark.parametrize("cone_constrained", [False, True])
def test_any_depth_gives_unit_directions(base_depth: float, cone_constrained: bool) -> None:
    vectors = np.random.default_rng(2).normal(size=(12, 5))
    mem = planted(
        vectors,
        [i - 1 for i in range(12)],
        base_depth=base_depth,
        depth_step=base_depth / 3,
        cone_constrained=cone_constrained,
    )
    directions = mem._store.columns.direction[:12]
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1, rtol=0, atol=1e-14)
    assert (np.linalg.norm(mem.points, axis=1) < 1).all()
