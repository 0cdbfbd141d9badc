"""What can be taken out of the inspector: images, drawings, names that can be read on them."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from browser.forests import small_forest

from .conftest import Page

SAVES = (
    "window.saved = null;"
    "URL.createObjectURL = (blob) => { const reader = new FileReader();"
    " reader.onload = () => { window.saved = [blob.type, reader.result]; };"
    " reader.readAsDataURL(blob); return 'blob:none'; };"
    "HTMLAnchorElement.prototype.click = function () { window.savedName = this.download; }"
)


def saved(page: Page, button: str) -> tuple[str, str, bytes]:
    page.run(SAVES)
    page.click(button)
    for _ in range(100):
        answer = page.run("return window.saved && [window.savedName, ...window.saved]")
        if answer:
            return answer[0], answer[1], base64.b64decode(answer[2].split(",", 1)[1])
        page.settle()
    raise AssertionError("nothing was saved")


def test_the_disk_as_an_image(demo: Page) -> None:
    name, kind, image = saved(demo, "#save-png")
    assert (name, kind) == ("memory.png", "image/png")
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", image[16:24])
    assert max(width, height) == 2400


def test_the_disk_as_a_drawing(show: Callable[..., Page]) -> None:
    memory = small_forest()
    hostile = "<img src=x>&\"'\x01]]>"
    memory.add(hostile, id="h", parent="b")
    page = show(memory, fragment="#id=b", title="a <title> & more")
    name, kind, drawing = saved(page, "#save-svg")
    assert (name, kind) == ("memory.svg", "image/svg+xml")
    root = ElementTree.fromstring(drawing)
    tags = {element.tag.rsplit("}", 1)[1] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "path", "text"}
    assert root.findtext("{*}title") == "a <title> & more"
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert "<img src=x>&\"'\ufffd]]>" in texts
    assert {"alpha", "beta", "Level 1"} <= texts
    # Every number is one: a path with NaN would be dropped by whoever draws it.
    assert not re.search(rb"NaN|Infinity|undefined", drawing)


CLUTTER = """
import {{ {name} }} from "./{module}.js";
const view = (xs, ys) => ({{ sx: xs, sy: ys, width: 800, height: 600 }});
const stateOf = (count, hits) => ({{
  model: {{ count, hits, hitOf: new Map(), texts: Array.from({{ length: count }}, (_, i) => `memory ${{i}} of many`) }},
  marks: null, selected: -1, isShown: () => true, isMatch: () => true,
}});
"""


def test_names_cover_neither_discs_nor_each_other(asking: Callable[..., Any]) -> None:
    ask = asking(
        CLUTTER.format(name="placeLabels", module="labels")
        + """const context = document.createElement("canvas").getContext("2d");
        window.ask = (xs, ys, radii) => {
          const labels = placeLabels(context, stateOf(xs.length, []), view(xs, ys), radii, []);
          return labels.map(({ text, x, y }) => [x, y - 7.5, x + context.measureText(text).width, y + 7.5]);
        };"""
    )
    rng = np.random.default_rng(4)
    xs, ys = rng.uniform(0, 800, 500), rng.uniform(0, 600, 500)
    radii = rng.uniform(2.6, 9, 500)
    boxes = ask(xs.tolist(), ys.tolist(), radii.tolist())
    assert len(boxes) > 5
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0 and top >= 0 and right <= 800 and bottom <= 600
        assert all(
            right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            for other in boxes[:i]
        )
        inside = (xs + radii > left) & (xs - radii < right) & (ys + radii > top) & (ys - radii < bottom)
        assert not inside.any()


def test_ranks_do_not_cover_each_other(asking: Callable[..., Any]) -> None:
    ask = asking(
        CLUTTER.format(name="Overlay", module="overlay")
        + """window.ask = (xs, ys) => {
          const state = stateOf(xs.length, xs.map((_, row) => ({ row, rank: row + 1 })));
          return new Overlay(null, state, view(xs, ys), { radii: xs.map(() => 5) }).badges();
        };"""
    )
    badges = ask([100, 100, 104, 300], [100, 100, 103, 100])
    assert [badge["rank"] for badge in badges] == [1, 2, 3, 4]
    places = [complex(badge["x"], badge["y"]) for badge in badges]
    assert min(abs(a - b) for i, a in enumerate(places) for b in places[:i]) >= 17
    assert abs(places[0] - (100 + 100j)) < 20 and abs(places[3] - (300 + 100j)) < 20
