"""Colours, search, focus, cone and export of the inspector, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from browser.forests import small_forest
from poincare_memory import Memory, PoincareBall
from poincare_memory.retrieval import half_aperture

from .conftest import NOW, Page

DOWN, UP, ENTER, ESCAPE, SHIFT, NULL = "\ue015", "\ue013", "\ue007", "\ue00c", "\ue008", "\ue000"


RIGHT = "\ue014"


def rgb(colour: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


def colour_at(page: Page, id: str) -> list[int]:
    return page.pixels(*page.place(page.node(id)), reach=0)[0]


def legend(page: Page) -> dict[str, list[int]]:
    names = page.texts("#legend .words")
    colours = page.run(
        "return [...document.querySelectorAll('#legend .dot')].map((e) => getComputedStyle(e).backgroundColor)"
    )
    return {name: rgb(colour) for name, colour in zip(names, colours, strict=True)}


def close(first: list[int], second: list[int], tolerance: int = 40) -> bool:
    return max(abs(a - b) for a, b in zip(first, second, strict=True)) <= tolerance


def test_colours_say_level_root_or_a_word_of_the_metadata(show: Callable[..., Page]) -> None:
    page = show(small_forest())
    page.click("#labels")  # names off: they could cover a disc
    assert close(colour_at(page, "a0"), legend(page)["Level 1"])
    page.choose("#colour", "root")
    assert list(legend(page)) == ["alpha", "beta"]
    assert page.texts("#legend .aside") == ["9", "2"]
    assert close(colour_at(page, "a3"), legend(page)["alpha"])
    assert close(colour_at(page, "b0"), legend(page)["beta"])
    page.choose("#colour", "meta:kind")
    assert page.texts("#legend .aside") == ["9", "1", "1"]
    colours = legend(page)
    assert list(colours) == ["plant", "animal", "none"]
    for id, name in (("a", "plant"), ("b", "animal"), ("b0", "none")):
        assert close(colour_at(page, id), colours[name]), id


def test_amounts_have_a_ramp(show: Callable[..., Page]) -> None:
    page = show(small_forest())
    page.click("#labels")
    page.choose("#colour", "meta:size")
    assert page.texts("#legend .amounts span:not(.visually-hidden)") == ["", "0", "9"]
    assert not close(colour_at(page, "a"), colour_at(page, "a7"))
    assert close(colour_at(page, "b0"), legend(page)["none"])
    for key in ("weight", "age", "accesses"):
        page.choose("#colour", key)
        assert len(page.all("#legend .ramp")) == 1


def test_the_colour_of_the_weight_follows_the_time(demo: Page) -> None:
    demo.click("#labels")
    demo.choose("#colour", "weight")
    late = colour_at(demo, "body")
    demo.slide(0.0)
    assert not close(colour_at(demo, "body"), late)


def test_the_list_of_matches_leads_to_a_memory(demo: Page) -> None:
    box = demo.find("#filter")
    demo.type("#filter", "group")
    options = demo.texts("#match-list [role=option] .words")
    assert len(options) == int(demo.find("#matches").text.split()[0])
    assert demo.texts("#match-list mark")[0] == "group"
    assert box.get_attribute("aria-expanded") == "true"
    box.send_keys(DOWN + DOWN)
    active = box.get_attribute("aria-activedescendant")
    assert demo.find(f"#{active}").get_attribute("aria-selected") == "true"
    chosen = demo.find(f"#{active} .words").text
    box.send_keys(ENTER)
    demo.settle()
    assert demo.find("#details .text").text == chosen
    assert not demo.find("#match-list").is_displayed()
    x, y, _ = demo.stage()
    demo.mouse(("mouseMoved", x, y))  # it was brought to the middle
    assert demo.find("#tip strong").text == chosen


def test_the_list_closes_and_a_click_chooses(demo: Page) -> None:
    demo.type("#filter", "calf")
    demo.find("#filter").send_keys(ESCAPE)
    assert not demo.find("#match-list").is_displayed()
    assert demo.find("#filter").get_attribute("aria-expanded") == "false"
    demo.find("#filter").send_keys(DOWN)
    option = demo.find("#match-list [role=option]")
    text = demo.find("#match-list [role=option] .words").text
    option.click()
    demo.settle()
    assert demo.find("#details .text").text.startswith(text[:20])
    demo.type("#filter", "no such words")
    assert demo.texts("#match-list li") == ["No match"]


def test_the_id_itself_is_the_first_match(show: Callable[..., Page]) -> None:
    memory = Memory()
    memory.add("see b9 for details", id="a1")
    memory.add("something", id="b9")
    page = show(memory)
    page.type("#filter", "B9")
    assert page.texts("#match-list [role=option] .aside") == ["b9", "a1"]


def test_a_branch_alone(demo: Page) -> None:
    body, hams = demo.node("body"), demo.node("hams")
    demo.run("location.hash = 'id=lower'")
    demo.settle()
    demo.click("#focus")
    assert "Lower limb musculature" in demo.find("#focus-bar").text
    demo.click("#tab-table")
    shown = demo.texts("tbody tr[data-row] td:first-child")
    assert hams["text"] in shown
    assert body["text"] not in shown
    assert 1 < len(shown) < 32
    demo.click("#tab-tree")
    assert demo.texts("#tree .words")[0] == "Lower limb musculature"
    demo.type("#filter", "group")
    assert demo.find("#matches").text == f"3 of {len(shown)}"
    demo.type("#filter", " ")
    demo.click("#tab-disk")
    x, y, _ = demo.stage()
    demo.mouse(("mouseMoved", x, y))
    assert demo.find("#tip strong").text == "Lower limb musculature"
    demo.click("#focus-bar button")
    assert not demo.find("#focus-bar").is_displayed()
    demo.click("#tab-table")
    assert demo.find("#table table").get_attribute("aria-rowcount") == "33"  # and the head


def test_selecting_outside_the_branch_ends_the_focus(demo: Page) -> None:
    demo.run("location.hash = 'id=hams'")
    demo.settle()
    demo.find("#overlay").send_keys("f")
    assert demo.find("#focus-bar").is_displayed()
    demo.run("location.hash = 'id=body'")
    demo.settle()
    assert not demo.find("#focus-bar").is_displayed()
    assert demo.find("#details .text").text == "Human musculoskeletal system"


def test_keys_walk_through_the_hierarchy(demo: Page) -> None:
    overlay = demo.find("#overlay")
    overlay.send_keys(ENTER)  # the root is in the middle
    demo.settle()
    assert demo.find("#details .text").text == "Human musculoskeletal system"
    steps = [(DOWN, 1), (RIGHT, 1), (DOWN, 2), (UP, 1), (UP, 0)]
    for key, level in steps:
        overlay.send_keys(SHIFT + key + NULL)
        demo.settle()
        text = demo.find("#details .text").text
        node = next(node for node in demo.data()["nodes"] if node["text"] == text)
        assert node["level"] == level
    overlay.send_keys(ESCAPE)
    assert demo.find("#details h2").text == "Overview"


@pytest.mark.parametrize("curvature", [0.25, 1.0, 4.0])
def test_the_half_aperture_is_pythons(curvature: float, ask: Callable[..., Any]) -> None:
    ball = PoincareBall(curvature)
    for depth in (0.01, 0.1, 0.5, 1.0, 3.0, 6.0):
        for k in (0.05, 0.1, 0.4):
            point = ball.expmap0(np.array([depth / 2, 0.0]))
            expected = float(half_aperture(point, ball, k))
            distance = float(ball.distance_to_origin(point))
            assert ask("cone", "halfAperture", distance, curvature, k) == pytest.approx(expected, rel=1e-9)


def test_the_edges_of_the_cone_leave_at_its_angle(ask: Callable[..., Any]) -> None:
    for apex, angle in ((0.5 + 0.2j, 0.3), (-0.1 + 0.7j, 1.2), (0.05j, 0.01)):
        axis = apex / abs(apex)
        ends = ask("cone", "coneEnds", apex.real, apex.imag, axis.real, axis.imag, angle)
        ends = [complex(*end) for end in ends]
        assert np.allclose(np.abs(ends), 1.0)
        # Seen from the apex, geodesics are straight: the angle to the outward axis can be read off.
        seen = [(end - apex) / (1 - apex.conjugate() * end) for end in ends]
        np.testing.assert_allclose(np.angle(np.array(seen) / axis), [-angle, angle], atol=1e-12)
    assert ask("cone", "coneEnds", 0.1, 0.0, 1.0, 0.0, np.pi) is None


def test_the_cone_of_the_selected_memory_is_drawn(show: Callable[..., Page]) -> None:
    memory = Memory(clock=lambda: NOW, base_depth=0.5)
    memory.add("root", id="root")
    memory.add("other root", id="other")
    page = show(memory, fragment="#id=root", layout="structural")
    x, y = page.place(page.node("root"))
    centre_x, centre_y, radius = page.stage()
    length = np.hypot(x - centre_x, y - centre_y)
    beyond = (
        centre_x + (x - centre_x) / length * radius * 0.8,
        centre_y + (y - centre_y) / length * radius * 0.8,
    )

    def painted() -> int:
        return page.run(
            "const o = document.getElementById('overlay'), k = o.width / o.clientWidth;"
            "return o.getContext('2d').getImageData(arguments[0] * k, arguments[1] * k, 1, 1).data[3]",
            *beyond,
        )

    assert painted() > 0
    page.click("#cone")
    assert painted() == 0


def touch(page: Page, kind: str, *points: tuple[float, float]) -> None:
    left, top = page.corner()
    page.driver.execute_cdp_cmd(
        "Input.dispatchTouchEvent",
        {
            "type": kind,
            "touchPoints": [{"x": left + x, "y": top + y, "id": i} for i, (x, y) in enumerate(points)],
        },
    )


def test_fingers_drag_and_spread(demo: Page) -> None:
    page = demo
    node = page.node("lower")
    x, y = page.place(node)
    touch(page, "touchStart", (x, y))
    for step in range(1, 5):
        touch(page, "touchMove", (x - 30 * step, y + 10 * step))
    touch(page, "touchEnd")
    page.settle()
    x, y = x - 120, y + 40
    page.mouse(("mouseMoved", x, y))
    assert page.find("#tip strong").text == node["text"]
    # Two fingers move apart: what is between them stays there and grows.
    touch(page, "touchStart", (x - 40, y), (x + 40, y))
    for reach in (50, 70, 90):
        touch(page, "touchMove", (x - reach, y), (x + reach, y))
    touch(page, "touchEnd")
    page.settle()
    page.mouse(("mouseMoved", x, y))
    assert page.find("#tip strong").text == node["text"]
    page.mouse(("mouseMoved", *page.stage()[:2]))
    touch(page, "touchStart", (x, y))
    touch(page, "touchEnd")
    page.settle()
    assert page.find("#details .text").text == node["text"]  # a tap selects
    assert page.find("#tip strong").text == node["text"]  # and says so where it was


def test_the_hits_of_a_query_are_marked(show: Callable[..., Page]) -> None:
    memory = Memory(clock=lambda: NOW, depth_bias=0.1)
    memory.add("drinks", id="drinks", t=NOW)
    for text in ("green tea", "black tea", "milk", "orange juice"):
        memory.add(text, id=text, parent="drinks", t=NOW)
    query = "tea <b>"
    page = show(memory, query=query, k=2)
    expected = memory.search(query, k=2, explain=True, touch=False)
    assert page.find("#details h2").text == "Results for “tea <b>”"
    assert page.texts(".hits button") == [result.text for result in expected]
    assert page.texts(".hits .score") == [f"{result.score:.3f}" for result in expected]
    accent = page.run(
        "return document.getElementById('overlay').getContext('2d')"
        ".getImageData(0, 0, 1280, 900).data.some((value) => value > 0)"
    )
    assert accent  # rings and ranks
    page.click(".hits button")
    assert page.find("#details .text").text == expected[0].text
    terms = dict(zip(page.texts(".terms th"), page.texts(".terms td"), strict=True))
    assert float(terms["Distance"].replace("−", "-")) == pytest.approx(
        expected[0].terms["distance"], abs=1e-4
    )
    assert float(terms["Depth"]) == pytest.approx(expected[0].terms["depth"], abs=1e-4)
    assert float(terms["Score"].replace("−", "-")) == pytest.approx(expected[0].score, abs=1e-4)
    page.click("#tab-table")
    page.click("th[data-key=score] button")
    shown = page.texts("tbody tr[data-row] td:first-child")
    assert shown[:2] == [result.text for result in expected]


def test_a_sample_says_so(show: Callable[..., Page]) -> None:
    memory = Memory(clock=lambda: NOW)
    memory.add("top", id="top")
    memory.add_many({"text": f"n {i}", "parent": "top"} for i in range(1500))
    page = show(memory, limit=100, fragment="#id=top")
    assert page.find("#sampled").is_displayed()
    assert "100 of 1,501 memories" in page.find("#sampled").text
    assert page.find("#facts").text.startswith("1,501 memories")
    assert "Children (1,500)" in page.texts("#details h3")
    page.click("#tab-table")
    assert page.find("#table table").get_attribute("aria-rowcount") == "101"


def test_bars_show_when_memories_were_written(show: Callable[..., Page]) -> None:
    memory = Memory(clock=lambda: NOW)
    for hours, count in ((0, 8), (100, 2)):
        memory.add_many({"text": f"n {i}", "t": NOW - timedelta(hours=hours)} for i in range(count))
    page = show(memory)
    heights = page.run(
        "const c = document.getElementById('times');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "return Array.from({ length: c.width }, (_, x) => Array.from({ length: c.height }, (_, y) => y)"
        ".filter((y) => d[4 * (y * c.width + x) + 3] > 0).length)"
    )
    tallest = max(heights)
    columns = [x for x, height in enumerate(heights) if height]
    assert tallest == max(heights[len(heights) // 2 :])
    assert 0.4 * tallest <= max(heights[: len(heights) // 2]) <= 0.6 * tallest  # the root of a quarter
    assert columns[0] >= 7
    assert columns[-1] <= len(heights) - 7
