"""Coordinates and exported data are those of the reference, where its depths do not saturate."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.harness import Reference

NOW = datetime(2026, 4, 5, 6, 7, 8, 901234, tzinfo=timezone.utc)
WORDS = (
    "amber birch cedar delta ember fjord grove heath inlet jetty knoll lagoon marsh night oasis pond".split()
)


def drawn(payload):
    from poincare_memory import Ebbinghaus, HalfLife, Memory, NoDecay, Product, ValidityWindow
    from poincare_memory.viz import disk_coordinates, structural_coordinates, to_dict

    decay = {
        "none": NoDecay(),
        "half_life": HalfLife(40),
        "ebbinghaus": Ebbinghaus(70, 0.2),
        "product": Product(HalfLife(300), ValidityWindow()),
    }[payload["decay"]]
    memory = Memory(decay=decay, curvature=payload["curvature"], clock=lambda: payload["now"])
    for item in payload["items"]:
        memory.add(**item)
    for child, parent in payload["links"]:
        memory.link(child, parent)
    if payload["items"]:
        memory.search("amber", k=50, mode="subtree", root="m0")
    return {
        "structural": structural_coordinates(memory),
        "projection": disk_coordinates(memory.points, memory.ball),
        "radii": np.tanh(memory.ball.distance_to_origin(memory.points) / 2),
        "data": {layout: to_dict(memory, layout=layout) for layout in ("auto", "structural", "projection")},
        "earlier": to_dict(memory, at_time=payload["earlier"], layout="structural")["nodes"],
    }


@st.composite
def memories(draw):
    count = draw(st.integers(0, 12))
    items, levels = [], []
    for i in range(count):
        above = draw(st.none() | st.integers(0, i - 1)) if i else None
        level = 0 if above is None else levels[above] + 1
        if level > 6:
            above, level = None, 0
        levels.append(level)
        item = {
            "text": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=5, unique=True)))
            + f" {i}",
            "id": f"m{i}",
            "parent": None if above is None else f"m{above}",
            "t": NOW - timedelta(hours=draw(st.integers(-50, 500)), microseconds=draw(st.integers(0, 10**6))),
            "meta": draw(st.sampled_from([{}, {"kind": "note", "n": [1, 2.5, None]}])),
        }
        if draw(st.booleans()):
            item["valid_until"] = NOW - timedelta(hours=draw(st.integers(-100, 100)))
        items.append(item)
    flat = [item["id"] for item in items if item["parent"] is None]
    links = [(flat[-1], flat[0])] if len(flat) > 1 and draw(st.booleans()) else []
    return {
        "items": items,
        "links": links,
        "curvature": draw(st.sampled_from([0.5, 1.0, 2.0])),
        "decay": draw(st.sampled_from(["none", "half_life", "ebbinghaus", "product"])),
        "now": NOW,
        "earlier": NOW - timedelta(hours=200),
    }


def assert_same_nodes(ours, theirs) -> None:
    """Node for node; ours say more."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        for key, value in other.items():
            if isinstance(value, float):
                assert mine[key] == pytest.approx(value, rel=1e-9, abs=1e-9), key
            else:
                assert mine[key] == value, key


@given(memories())
def test_the_same_drawing(reference: Reference, payload) -> None:
    ours, theirs = drawn(payload), reference.call(drawn, payload)
    np.testing.assert_allclose(ours["structural"], theirs["structural"], atol=1e-9)
    # The reference loses the depth of a point that is orthogonal to the plane of the drawing: compare with the point.
    np.testing.assert_allclose(ours["radii"], theirs["radii"], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(ours["projection"], axis=1), ours["radii"], atol=1e-9)
    assert_same_nodes(ours["earlier"], theirs["earlier"])
    for layout, data in theirs["data"].items():
        assert ours["data"][layout]["config"] == data["config"]
        assert ours["data"][layout]["edges"] == data["edges"]
        if data["config"]["layout"] == "structural":
            assert_same_nodes(ours["data"][layout]["nodes"], data["nodes"])


def projected(payload):
    from poincare_memory import PoincareBall
    from poincare_memory.viz import disk_coordinates

    return disk_coordinates(payload["points"], PoincareBall(payload["curvature"]))


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 2), (5, 2), (1, 3), (6, 5), (3, 30), (14, 8), (15, 8), (300, 12)]
)
@pytest.mark.parametrize("curvature", [0.25, 1.0, 4.0])
def test_the_same_projection_axes_and_signs_included(reference: Reference, shape, curvature: float) -> None:
    """Points in general position have two principal axes of their own: the drawing is determined."""
    draw = np.random.default_rng(shape[0] * 100 + shape[1])
    points = draw.normal(size=shape)
    points *= draw.uniform(0.05, 0.95, size=(shape[0], 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    payload = {"points": points / np.sqrt(curvature), "curvature": curvature}
    np.testing.assert_allclose(projected(payload), reference.call(projected, payload), atol=1e-9)
