"""Deep memories: the disk seen from any of them, against the same in many digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from poincare_memory import Memory

from .conftest import NOW, Page

SEEN_FROM = """
import { Frame } from "./frame.js";
import { moved } from "./geometry.js";
window.ask = (radii, angles, rows) => {
  const config = { layout: "structural", dim: 8, curvature: 1 };
  const x = radii.map((r, i) => Math.tanh(r / 2) * Math.cos(angles[i]));
  const y = radii.map((r, i) => Math.tanh(r / 2) * Math.sin(angles[i]));
  const frame = new Frame({ config, count: radii.length, x, y, depth: radii });
  frame.angle = Float64Array.from(angles); // to compare digits, without those that atan2 adds
  let carried = null;
  for (const row of rows) {
    const before = { x: frame.x[row], y: frame.y[row], others: radii.map((_, i) => [frame.x[i], frame.y[i]]) };
    const isometry = frame.moveTo(row);
    carried = before.others.map(([px, py]) => moved(isometry, px, py));
  }
  return { places: [...frame.x].map((px, i) => [px, frame.y[i]]), carried, rim: angles.map((a) => frame.rim(a)) };
};
"""


def exact(radii: list[float], angles: list[float], row: int) -> list[complex]:
    """Every point after the translation that brings one of them to the centre."""
    with mpmath.workdps(30 + int(max(radii) * 0.9)):
        points = [
            mpmath.tanh(mpmath.mpf(r) / 2) * mpmath.expj(mpmath.mpf(a))
            for r, a in zip(radii, angles, strict=True)
        ]
        apex = points[row]
        return [complex((z - apex) / (1 - mpmath.conj(apex) * z)) for z in points]


def as_complex(pairs: list[list[float]]) -> list[complex]:
    return [complex(*pair) for pair in pairs]


@pytest.mark.parametrize("deepest", [3.0, 30.0, 120.0, 1400.0])
def test_points_are_seen_from_any_of_them(deepest: float, asking: Callable[..., Any]) -> None:
    draw = np.random.default_rng(int(deepest))
    radii = [*draw.uniform(0.1, deepest, 8).tolist(), deepest, deepest - 0.5]
    angles = draw.uniform(-3, 3, 10)
    angles[3:6] = angles[2]  # on one ray
    angles[8:] = angles[7]
    ask = asking(SEEN_FROM)
    for row in (0, 4, 8, 9):
        answer = ask(radii, angles.tolist(), [row])
        expected = exact(radii, angles.tolist(), row)
        np.testing.assert_allclose(as_complex(answer["places"]), expected, atol=2e-11)
        assert answer["places"][row] == [0, 0]
        ends = exact([*radii, deepest + 80.0], [*angles.tolist(), angles[row]], row)
        assert as_complex(answer["rim"])[row] == pytest.approx(ends[-1], abs=1e-9)


def test_the_picture_stays_when_the_frame_moves(asking: Callable[..., Any]) -> None:
    """What `moveTo` returns takes the old places to the new ones."""
    draw = np.random.default_rng(3)
    radii, angles = draw.uniform(0.1, 4.0, 12).tolist(), draw.uniform(-3, 3, 12).tolist()
    answer = asking(SEEN_FROM)(radii, angles, [2, 7, 5])
    np.testing.assert_allclose(as_complex(answer["carried"]), as_complex(answer["places"]), atol=1e-12)


@pytest.fixture
def chain(show: Callable[..., Page]) -> Page:
    memory = Memory(clock=lambda: NOW)
    memory.add_many(
        {"text": f"link {i}", "id": str(i), "parent": str(i - 1) if i else None} for i in range(3000)
    )
    return show(memory, fragment="#id=2500")


def press(page: Page, name: str) -> None:
    page.run(
        "[...document.querySelectorAll('#details button')].find((b) => b.textContent === arguments[0]).click()",
        name,
    )
    page.settle()


def test_a_memory_at_level_2500_comes_to_the_middle(chain: Page) -> None:
    press(chain, "Centre")
    x, y, radius = chain.stage()
    # Its parent and its child are half a unit away, on both sides.
    for step, name in ((-2, "2498"), (-1, "2499"), (0, "2500"), (1, "2501"), (3, "2503")):
        chain.mouse(("mouseMoved", x + radius * math.tanh(step * 0.25), y))
        assert chain.find("#tip strong").text == f"link {name}"


def test_a_long_way_by_hand(chain: Page) -> None:
    """Dragged many times, the disk is far from where it began, and still the dragged memory is under the pointer."""
    chain.click("#reset")
    x, y, radius = chain.stage()
    ahead = x + radius * math.tanh(0.25 * 3)  # three links on
    for place in range(3, 51, 3):
        chain.mouse(("mouseMoved", ahead, y))
        assert chain.find("#tip strong").text == f"link {place}"
        chain.mouse(
            ("mousePressed", ahead, y),
            ("mouseMoved", (x + ahead) / 2, y),
            ("mouseMoved", x, y),
            ("mouseReleased", x, y),
        )
    chain.mouse(("mouseMoved", x, y))
    assert chain.find("#tip strong").text == "link 48"


def test_a_long_path_is_cut_in_the_middle(chain: Page) -> None:
    path = chain.texts("#details .path li")
    assert path[:4] == ["link 0", "link 1", "link 2", "… 2,488 levels between …"]
    assert path[-1] == "link 2499"
    assert len(path) == 13
