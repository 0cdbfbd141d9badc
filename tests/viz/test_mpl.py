"""The matplotlib drawing."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from poincare_memory import HalfLife, Memory
from poincare_memory.demo import build_demo_memory
from poincare_memory.viz import disk_coordinates, plot_memory, structural_coordinates

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_points_lie_where_the_layout_puts_them() -> None:
    memory = build_demo_memory(decay=HalfLife(720))
    ax = plot_memory(memory)
    points = next(drawn for drawn in ax.collections if len(drawn.get_offsets()) == len(memory))
    np.testing.assert_allclose(np.asarray(points.get_offsets()), structural_coordinates(memory))
    assert ax.get_title() == "poincare-memory · 32 memories · c=1"


def test_edges_are_geodesics_between_parent_and_child() -> None:
    memory = build_demo_memory()
    ax = plot_memory(memory)
    paths = [np.array(segment) for segment in ax.collections[0].get_segments()]
    drawn = dict(zip(memory.ids, structural_coordinates(memory), strict=True))
    children = [id for id in memory.ids if memory.parent(id) is not None]
    assert len(paths) == len(children)
    for child, path in zip(children, paths, strict=True):
        np.testing.assert_allclose(path[[0, -1]], [drawn[memory.parent(child)], drawn[child]], atol=1e-12)
        lengths = memory.ball.__class__(1.0).distance(path[:-1], path[1:])
        direct = memory.ball.__class__(1.0).distance(path[0], path[-1])
        assert np.sum(lengths) == pytest.approx(float(np.squeeze(direct)), rel=1e-9)


def test_labels_are_the_beginnings_of_texts_and_no_markup() -> None:
    memory = Memory()
    memory.add("costs $5 and $6 for\nall")
    ax = plot_memory(memory, labels=True)
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.texts] == ["costs $5 and $6 for all"]


def test_an_empty_memory_is_an_empty_disk() -> None:
    ax = plot_memory(Memory())
    ax.figure.canvas.draw()
    assert ax.get_title() == "poincare-memory · 0 memories · c=1"


def test_it_draws_on_given_axes() -> None:
    memory = Memory()
    memory.add_many(
        {"text": text} for text in ("red apples", "red pears", "blue ink", "night train", "a pear")
    )
    _, ax = pyplot.subplots()
    assert memory.plot(ax=ax) is ax
    points = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(np.asarray(points), disk_coordinates(memory.points, memory.ball), atol=1e-12)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"poincare-memory\[viz\]"):
        plot_memory(Memory())
