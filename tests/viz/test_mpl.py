"""The matplotlib drawing."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from poincare_memory import HalfLife, Memory
from poincare_memory.demo import build_demo_memory
from poincare_memory.viz import disk_coordinates, mpl, plot_memory, structural_coordinates

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


def boxes_of(ax) -> list:
    ax.figure.canvas.draw()
    return [label.get_window_extent() for label in ax.texts]


@pytest.mark.parametrize("center", [None, "hams"])
def test_labels_cover_neither_points_nor_each_other(center) -> None:
    memory = build_demo_memory(decay=HalfLife(720))
    ax = memory.plot(labels=True, center=center)
    boxes = boxes_of(ax)
    assert len(boxes) > 20
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    bar = ax.figure.axes[1].get_tightbbox()
    assert not any(box.overlaps(bar) for box in boxes)
    points = ax.transData.transform(np.asarray(ax.collections[-1].get_offsets()))
    for box in boxes:
        assert not any(box.contains(x, y) for x, y in points)
        assert ax.figure.bbox.x0 <= box.x0
        assert box.x1 <= ax.figure.bbox.x1


def test_long_texts_are_cut() -> None:
    memory = Memory()
    memory.add("a long   text\nthat no figure has room for, at all")
    ax = memory.plot(labels=True)
    assert [label.get_text() for label in ax.texts] == ["a long text that no figure…"]


def test_labels_on_sub_figures_and_other_axes() -> None:
    memory = build_demo_memory()
    figure = pyplot.figure(figsize=(12, 6), layout="constrained")
    left, right = figure.subfigures(1, 2)
    memory.plot(ax=left.subplots(), labels=True)
    ax = memory.plot(ax=right.subplots(), labels=True, color="root")
    boxes = boxes_of(ax)
    assert boxes
    assert not any(box.overlaps(other) for i, box in enumerate(boxes) for other in boxes[:i])


def coloured(ax):
    return next(drawn for drawn in ax.collections if drawn.get_array() is not None)


def test_colour_by_amounts() -> None:
    memory = build_demo_memory(decay=HalfLife(720))
    memory.search("hamstring", k=3)
    for color, expected in (
        ("level", [memory.level(id) for id in memory.ids]),
        ("depth", [memory.depth(id) for id in memory.ids]),
        ("accesses", [memory.get(id).access_count for id in memory.ids]),
    ):
        np.testing.assert_allclose(coloured(memory.plot(color=color)).get_array(), expected)
    own = np.linspace(0, 1, len(memory))
    np.testing.assert_allclose(coloured(memory.plot(color=own)).get_array(), own)


def legend_of(ax) -> dict[str, tuple]:
    legend = ax.get_legend()
    return {
        text.get_text(): matplotlib.colors.to_rgba(mark.get_color())
        for text, mark in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }


def test_colour_by_a_key_of_the_metadata() -> None:
    memory = Memory()
    kinds = ["$a$", "b", "b", None, 3, "b"]
    for i, kind in enumerate(kinds):
        memory.add(f"n {i}", meta={} if kind is None else {"kind": kind})
    ax = memory.plot(color="kind")
    ax.figure.canvas.draw()
    legend = legend_of(ax)
    assert list(legend) == ["b", "$a$", "none", "3"]
    drawn = ax.collections[-1].get_facecolors()[:, :3]
    for colour, kind in zip(drawn, kinds, strict=True):
        assert tuple(colour) == legend["none" if kind is None else str(kind)][:3]
    assert memory.plot(color="kind", legend=False).get_legend() is None


def test_numbers_of_the_metadata_are_amounts_and_gaps_are_grey() -> None:
    memory = Memory()
    for i in range(10):
        memory.add(f"n {i}", meta={"size": i / 2} if i else {})
    values = coloured(memory.plot(color="size")).get_array()
    np.testing.assert_allclose(np.ma.getdata(values)[1:], np.arange(1, 10) / 2)
    assert np.ma.getmaskarray(values)[0] or np.isnan(np.ma.getdata(values)[0])


def test_the_largest_trees_have_colours() -> None:
    memory = Memory()
    for i in range(12):
        memory.add(f"tree {i}", id=str(i))
    memory.add_many({"text": "leaf", "parent": "4"} for _ in range(3))
    names = list(legend_of(memory.plot(color="root")))
    assert names[0] == "tree 4"
    assert names[-1] == "4 others"
    assert len(names) == 9


@pytest.mark.parametrize("color", ["no such key", [1, 2]])
def test_a_colour_that_is_none_is_an_error(color) -> None:
    with pytest.raises(ValueError, match="color must"):
        build_demo_memory().plot(color=color)


def test_the_centre_is_moved_by_an_isometry() -> None:
    memory = build_demo_memory()
    ball = memory.ball.__class__(1.0)
    ax = memory.plot(center="hams", layout="structural")
    drawn = np.asarray(ax.collections[-1].get_offsets())
    where = structural_coordinates(memory)
    place = memory.ids.index("hams")
    np.testing.assert_allclose(drawn[place], [0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(ball.distance_to_origin(drawn), ball.distance(where, where[place]), atol=1e-9)
    with pytest.raises(KeyError, match="no memory 'nowhere'"):
        memory.plot(center="nowhere")


def test_of_a_big_memory_a_sample_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpl, "MOST_POINTS", 10)
    memory = build_demo_memory()
    values = np.arange(32.0)
    ax = memory.plot(color=values, center="calf")
    assert ax.get_title() == "poincare-memory · 10 of 32 memories · c=1"
    shown = coloured(ax)
    places = shown.get_array().astype(int)
    assert len(places) == 10
    assert memory.ids.index("calf") in places
    where = structural_coordinates(memory) @ [1, 1j]
    middle = where[memory.ids.index("calf")]
    expected = (where - middle) / (1 - np.conj(middle) * where)
    np.testing.assert_allclose(np.asarray(shown.get_offsets()) @ [1, 1j], expected[places], atol=1e-12)
