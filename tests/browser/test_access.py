"""The inspector without a mouse, without sight, on small screens: checks in the manner of axe-core."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from poincare_memory import HalfLife, Memory
from poincare_memory.demo import build_demo_memory

from .conftest import NOW, Page

TAB = "\ue004"
NAMED_ROLES = {
    "application",
    "button",
    "checkbox",
    "combobox",
    "complementary",
    "list",
    "listbox",
    "option",
    "slider",
    "tab",
    "table",
    "tabpanel",
    "tree",
    "treeitem",
}


def rich() -> Memory:
    return build_demo_memory(clock=lambda: NOW, decay=HalfLife(hours=720), depth_bias=0.1)


@pytest.fixture
def full(show: Callable[..., Page]) -> Page:
    """A page on which everything that can be shown is there: hits, sample, selection."""
    return show(rich(), query="hamstring", k=4, limit=20, fragment="#id=hams", title="demo")


def tree_of(page: Page) -> list[dict[str, Any]]:
    """What a screen reader is told, as Chromium computes it."""
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [
        {
            "role": node["role"]["value"],
            "name": node.get("name", {}).get("value", ""),
            **{item["name"]: item["value"].get("value") for item in node.get("properties", [])},
        }
        for node in nodes
        if not node["ignored"]
    ]


def show_tab(page: Page, name: str) -> None:
    page.click(f"#tab-{name}")


@pytest.mark.parametrize("tab", ["disk", "table", "tree"])
def test_everything_has_a_name(full: Page, tab: str) -> None:
    show_tab(full, tab)
    nodes = tree_of(full)
    assert [
        node for node in nodes if node["role"] in NAMED_ROLES - {"list"} and not node["name"].strip()
    ] == []
    assert [node for node in nodes if node.get("focusable") and not node["name"].strip()] == []
    roles = {node["role"] for node in nodes}
    assert {"banner", "main", "complementary", "tablist", "tab", "tabpanel", "heading"} <= roles
    assert roles & {"application", "table", "tree"} == {
        "disk": {"application"},
        "table": {"table"},
        "tree": {"tree"},
    }[tab] | ({"table"} if any(node["name"] == "Terms of the score" for node in nodes) else set())


def test_attributes_refer_to_what_is_there(full: Page) -> None:
    for tab in ("table", "tree", "disk"):
        show_tab(full, tab)
        broken = full.run(
            """
            const found = [];
            for (const e of document.querySelectorAll('*')) {
              const names = ['controls', 'labelledby', 'describedby', 'activedescendant'].map((n) => `aria-${n}`);
              for (const name of [...names, 'for']) {
                for (const id of (e.getAttribute(name) ?? '').split(' ').filter(Boolean)) {
                  if (!document.getElementById(id)) found.push(`${name}=${id}`);
                }
              }
              if (e.id && document.querySelectorAll(`[id="${e.id}"]`).length > 1) found.push(`twice: ${e.id}`);
              if (e.tabIndex > 0) found.push(`tabindex: ${e.id}`);
            }
            return found;
            """
        )
        assert broken == []


# Which states a role may have; others are ignored by readers, or read out wrongly.
ALLOWED = {
    "aria-selected": {"tab", "option", "treeitem"},
    "aria-expanded": {"combobox", "treeitem"},
    "aria-level": {"treeitem"},
    "aria-posinset": {"treeitem", "option"},
    "aria-setsize": {"treeitem", "option"},
    "aria-sort": {"columnheader"},
}


def test_states_belong_to_their_roles(full: Page) -> None:
    seen = set()
    for tab in ("table", "tree", "disk"):
        show_tab(full, tab)
        full.run("document.querySelector('th[data-key=depth] button')?.click()")
        for name, roles in ALLOWED.items():
            found = full.run(
                "return [...document.querySelectorAll(`[${arguments[0]}]`)]"
                ".map((e) => e.getAttribute('role') ?? { TH: 'columnheader' }[e.tagName] ?? e.tagName)",
                name,
            )
            assert set(found) <= roles, name
            seen |= {name} if found else set()
    assert seen == set(ALLOWED)


def test_headings_do_not_skip_a_level(full: Page) -> None:
    for fragment in ("#id=hams", "#"):
        full.run("location.hash = arguments[0]", fragment)
        full.settle()
        levels = [
            int(tag[1])
            for tag in full.run("return [...document.querySelectorAll('h1,h2,h3')].map((e) => e.tagName)")
        ]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_the_tree_says_where_each_row_stands(full: Page) -> None:
    show_tab(full, "tree")
    rows = full.run(
        "return [...document.querySelectorAll('[role=treeitem]')]"
        ".map((e) => ['level', 'posinset', 'setsize'].map((n) => Number(e.getAttribute(`aria-${n}`))))"
    )
    assert rows[0] == [1, 1, 1]
    for level, place, size in rows:
        assert level >= 1
        assert 1 <= place <= size


def test_the_tabulator_goes_through_everything_in_order(show: Callable[..., Page]) -> None:
    page = show(rich())
    page.run("document.getElementById('theme').focus()")
    order = []
    for _ in range(30):
        active = page.run(
            "const e = document.activeElement; const s = getComputedStyle(e);"
            "return [e.id || e.tagName, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1.5]"
        )
        if active[0] == "BODY":
            break
        order.append(active[0])
        if len(order) > 1:  # the first focus came from a script
            assert active[1], f"the focus on {active[0]} cannot be seen"
        page.driver.switch_to.active_element.send_keys(TAB)
    expected = [
        "theme",
        "tab-disk",
        "filter",
        "time",
        "save-png",
        "save-svg",
        "download",
        "overlay",
        "colour",
    ]
    expected += ["zoom-in", "zoom-out", "reset", "labels", "cone"]
    assert [name for name in order if name in expected] == expected


def luminance(colour: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def parsed(colour: str) -> tuple[float, ...]:
    if colour.startswith("#"):
        return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(int(part) / 255 for part in re.findall(r"\d+", colour)[:3])


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(parsed(first)), luminance(parsed(second))))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(scheme: str, show: Callable[..., Page], page: Page) -> None:
    page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    show(rich(), query="hamstring", k=4, limit=20, title="demo")
    states = [
        "",
        "document.querySelector('.hits button').click()",
        "location.hash = 'id=lower'; document.getElementById('focus')?.click()",
        "const f = document.getElementById('filter'); f.focus(); f.value = 'a'; f.dispatchEvent(new Event('input'))",
        "document.getElementById('tab-table').click()",
        "document.getElementById('tab-tree').click()",
    ]
    for state in states:
        page.run(state)
        page.settle()
        page.settle()
        colours = page.run(
            """
            const ground = (e) => { for (; e; e = e.parentElement) {
              const c = getComputedStyle(e).backgroundColor;
              if (!/^rgba\\(.*, 0\\)$/.test(c)) return c; } };
            return [...document.querySelectorAll('body *')]
              .filter((e) => e.checkVisibility() && !e.disabled)
              .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
              .map((e) => [getComputedStyle(e).color, ground(e), e.textContent.slice(0, 30)]);
            """
        )
        assert len(colours) > 20
        assert [text for ink, ground, text in colours if contrast(ink, ground) < 4.5] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_from_the_disk(scheme: str, page: Page, ask: Callable[..., Any]) -> None:
    """Graphics need 3 : 1 (WCAG 2.2, 1.4.11)."""
    page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    ground = {"light": "#ffffff", "dark": "#14181f"}[scheme]
    for function in ("classColours", "rampColours"):
        for colour in ask("palette", function):
            assert contrast(colour, ground) >= 3.0, (function, colour)


def test_style_colours_stand_out_too(demo: Page) -> None:
    for scheme in ("light", "dark"):
        demo.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        names = [
            "disk",
            "hit",
            "hit-ink",
            "accent",
            "ink",
            "panel",
            "part-distance",
            "part-depth",
            "part-time",
            "part-lexical",
        ]
        values = demo.run(
            "const style = getComputedStyle(document.documentElement);"
            "return arguments[0].map((n) => style.getPropertyValue(`--${n}`).trim())",
            names,
        )
        colour = dict(zip(names, values, strict=True))
        for name in ("hit", "accent", "ink"):
            assert contrast(colour[name], colour["disk"]) >= 3.0, (scheme, name)
        for name in names[6:]:
            assert contrast(colour[name], colour["panel"]) >= 3.0, (scheme, name)
        assert contrast(colour["hit"], colour["hit-ink"]) >= 4.5


def test_the_theme_button_switches_and_redraws(demo: Page) -> None:
    x, y, radius = demo.stage()
    light = demo.pixels(x - radius / 2, y)[0]
    demo.click("#theme")
    dark = demo.pixels(x - radius / 2, y)[0]
    assert sum(light) > 700
    assert sum(dark) < 150


def test_targets_are_large_enough(full: Page) -> None:
    """24 by 24 pixels (WCAG 2.2, 2.5.8), but for links in running lists."""
    for tab in ("table", "tree", "disk"):
        show_tab(full, tab)
        small = full.run(
            """
            return [...document.querySelectorAll('button:not(.plain), input, select, label.check, [role=treeitem]')]
              .filter((e) => e.checkVisibility() && e.type !== 'range' && e.type !== 'checkbox')
              .filter((e) => { const b = e.getBoundingClientRect(); return b.width < 24 || b.height < 24; })
              .map((e) => e.outerHTML.slice(0, 80))
            """
        )
        assert small == []


def test_tabs_move_with_the_arrows(demo: Page) -> None:
    selected = [tab.get_attribute("aria-selected") for tab in demo.all("[role=tab]")]
    assert selected == ["true", "false", "false"]
    demo.find("#tab-disk").send_keys("\ue014")  # right arrow
    demo.settle()
    assert demo.find("#tab-table").get_attribute("aria-selected") == "true"
    assert demo.run("return document.activeElement.id") == "tab-table"


@pytest.mark.parametrize("width", [320, 360, 768])
def test_small_screens_need_no_scrolling_sideways(width: int, show: Callable[..., Page], page: Page) -> None:
    page.resize(width, 740)
    show(
        rich(),
        fragment="#id=lower",
        query="hamstring",
        k=3,
        title="a_title_without_any_room_for_a_break_in_it_at_all",
    )
    page.find("#overlay").send_keys("f")
    for tab in ("table", "tree", "disk"):
        show_tab(page, tab)
        assert page.run("return document.documentElement.scrollWidth") <= width
        outside = page.run(
            "return [...document.querySelectorAll('header *, .controls *, .corner *, #focus-bar *, #details *')]"
            ".filter((e) => e.checkVisibility() && !e.closest('.visually-hidden'))"
            ".filter((e) => e.getBoundingClientRect().right > arguments[0])"
            ".map((e) => e.id || e.outerHTML.slice(0, 60))",
            width,
        )
        assert outside == []
    assert page.stage()[2] > 120


def test_motion_is_reduced_where_that_is_wished(demo: Page) -> None:
    demo.run("location.hash = 'id=hams'")
    demo.settle()
    demo.run(
        "[...document.querySelectorAll('#details button')].find((b) => b.textContent === 'Centre').click()"
    )
    demo.settle()
    demo.mouse(("mouseMoved", *demo.stage()[:2]))
    assert demo.find("#tip strong").text.startswith("Hamstring group")


def test_keys_stay_where_they_were(full: Page) -> None:
    """Views are made anew at every change; whoever uses them by keyboard must not be thrown to the top."""
    show_tab(full, "table")
    full.run("document.querySelectorAll('#table tbody button')[0].focus()")
    active = full.driver.switch_to.active_element
    active.send_keys("\ue015")  # down
    full.settle()
    second = full.run("return document.activeElement.textContent")
    assert second == full.texts("tbody tr[data-row] td:first-child")[1]
    full.driver.switch_to.active_element.send_keys("\ue007")  # enter
    full.settle()
    assert full.find("#details .text").text == second
    assert full.run("return document.activeElement.textContent") == second
    full.run("location.hash = 'id=lower'")
    full.settle()
    full.run("document.getElementById('focus').focus()")
    full.driver.switch_to.active_element.send_keys("\ue007")
    full.settle()
    assert full.run("return document.activeElement.id") == "focus"
