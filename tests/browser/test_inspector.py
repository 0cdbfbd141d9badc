"""The inspector in a real browser."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from poincare_memory import Ebbinghaus, HalfLife, Memory, NoDecay, Product, ValidityWindow
from poincare_memory.demo import build_demo_memory
from poincare_memory.temporal import policies

from .conftest import NOW, Page


def test_memories_are_drawn_at_their_places(demo) -> None:
    assert "32 memories" in demo.find("#facts").text
    for node in demo.data()["nodes"]:
        assert Page.is_coloured(demo.pixels(*demo.place(node))), node["id"]
    x, y, radius = demo.stage()
    assert not Page.is_coloured(demo.pixels(x - radius / 2, y))


def test_pointing_and_clicking(demo) -> None:
    node = demo.node("hams")
    demo.mouse(("mouseMoved", *demo.place(node)))
    assert demo.find("#tip strong").text == node["text"]
    demo.mouse(("mousePressed", *demo.place(node)), ("mouseReleased", *demo.place(node)))
    assert demo.find("#details .text").text == node["text"]
    assert demo.texts("#details .path button") == ["Human musculoskeletal system", "Lower limb musculature"]
    assert len(demo.all("#details .children button")) == 5
    assert demo.driver.current_url.endswith("#id=hams")
    x, y, radius = demo.stage()
    demo.mouse(("mousePressed", x - radius / 2, y), ("mouseReleased", x - radius / 2, y))
    assert demo.find("#details h2").text == "Overview"


def test_a_dragged_memory_stays_under_the_pointer(demo) -> None:
    node = demo.node("body")
    x, y = demo.place(node)
    ends = (x - 150, y + 90)
    demo.mouse(
        ("mousePressed", x, y),
        ("mouseMoved", x - 60, y + 20),
        ("mouseMoved", *ends),
        ("mouseReleased", *ends),
    )
    demo.mouse(("mouseMoved", *ends))
    assert demo.find("#tip strong").text == node["text"]
    assert demo.find("#details h2").text == "Overview"  # a drag is no click
    demo.click("#reset")
    assert Page.is_coloured(demo.pixels(x, y))


def test_the_wheel_magnifies_around_the_pointer(demo) -> None:
    node = demo.node("lower")
    x, y = demo.place(node)
    demo.run(
        "const o = document.getElementById('overlay'), b = o.getBoundingClientRect();"
        "o.dispatchEvent(new WheelEvent('wheel', {clientX: b.left + arguments[0], clientY: b.top + arguments[1],"
        " deltaY: -600, bubbles: true, cancelable: true}))",
        x,
        y,
    )
    demo.settle()
    demo.mouse(("mouseMoved", x, y))
    assert demo.find("#tip strong").text == node["text"]


def test_keys_move_and_reset_the_disk(demo) -> None:
    node = demo.node("body")
    overlay = demo.find("#overlay")
    overlay.send_keys("\ue014\ue014+")  # right, right, plus
    demo.settle()
    demo.mouse(("mouseMoved", *demo.place(node)))
    assert not demo.find("#tip").is_displayed() or demo.find("#tip strong").text != node["text"]
    overlay.send_keys("0")
    demo.settle()
    x, y = demo.place(node)
    demo.mouse(("mouseMoved", x + 1, y))
    assert demo.find("#tip strong").text == node["text"]


def test_double_click_brings_a_memory_to_the_middle(demo) -> None:
    node = demo.node("calf")
    left, top = demo.corner()
    x, y = demo.place(node)
    demo.run(
        "const [clientX, clientY] = arguments;"
        "document.getElementById('overlay').dispatchEvent(new MouseEvent('dblclick', { clientX, clientY }))",
        left + x,
        top + y,
    )
    demo.settle()
    middle = demo.stage()[:2]
    demo.mouse(("mouseMoved", *middle))
    assert demo.find("#tip strong").text == node["text"]


def test_filter_reaches_disk_table_and_tree(demo) -> None:
    demo.type("#filter", "HIP  group")
    assert demo.find("#matches").text == "3 of 32"
    demo.click("#tab-table")
    assert len(demo.all("tbody tr[data-row]")) == 3
    demo.click("#tab-tree")
    shown = demo.texts("#tree .branch:not(.faint) .words")
    assert len(shown) == 3
    assert all("group" in text and "hip" in text for text in shown)
    assert demo.texts("#tree .branch.faint .words") == [
        "Human musculoskeletal system",
        "Lower limb musculature",
    ]
    demo.type("#filter", "kind event")
    assert demo.find("#matches").text == "6 of 32"  # metadata
    demo.type("#filter", " ")
    assert demo.find("#matches").text == ""


def test_the_table_sorts(demo) -> None:
    demo.click("#tab-table")
    nodes = demo.data()["nodes"]
    for key, column in (("depth", 2), ("weight", 4)):
        head = f"th[data-key={key}]"
        demo.click(f"{head} button")
        assert demo.find(head).get_attribute("aria-sort") == "descending"
        shown = [float(text) for text in demo.texts(f"tbody tr[data-row] td:nth-child({column + 1})")]
        assert shown == sorted(shown, reverse=True)
        assert shown[0] == pytest.approx(max(node[key] for node in nodes), abs=5e-3)
    demo.click("th[data-key=text] button")
    texts = demo.texts("tbody tr[data-row] td:first-child")
    assert texts == sorted(texts, key=str.lower)
    demo.click("tbody tr[data-row] button")
    assert demo.find("#details .text").text == texts[0]


def test_the_tree_opens_and_closes(demo) -> None:
    demo.click("#tab-tree")
    everything = len(demo.all("#tree [role=treeitem]"))
    demo.click("#tree [role=treeitem] .caret")
    assert len(demo.all("#tree [role=treeitem]")) == 1
    tree = demo.find("#tree")
    tree.send_keys("\ue014")  # right: open
    demo.settle()
    assert len(demo.all("#tree [role=treeitem]")) == everything
    tree.send_keys("\ue014\ue007")  # right: first child; enter: select
    demo.settle()
    assert demo.find("#details .text").text == "Lower limb musculature"
    assert demo.find("#tree [aria-selected=true] .words").text == "Lower limb musculature"


def test_a_link_names_a_memory(show) -> None:
    memory = build_demo_memory(clock=lambda: NOW)
    memory.add("odd id", id="a b&c=<#%\u00e9", parent="body")
    page = show(memory, fragment="#id=gmax")
    assert page.find("#details .text").text.startswith("Gluteus maximus")
    page.run("location.hash = new URLSearchParams({id: arguments[0]})", "a b&c=<#%\u00e9")
    page.settle()
    assert page.find("#details .text").text == "odd id"


def test_download_is_the_data(demo) -> None:
    demo.run(
        "window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; });"
        " return 'blob:none'; }; HTMLAnchorElement.prototype.click = () => {}"
    )
    demo.click("#download")
    assert demo.run("return JSON.parse(window.saved)") == demo.data()


POLICIES = [
    NoDecay(),
    HalfLife(30),
    Ebbinghaus(40, 0.25),
    ValidityWindow(0.01),
    Product(HalfLife(30), Product(ValidityWindow(), Ebbinghaus(100, 1.5))),
]


def test_every_policy_of_ours_is_among_them() -> None:
    ours = {kind for kind in vars(policies).values() if hasattr(kind, "weight") and isinstance(kind, type)}
    assert ours - {policies.DecayPolicy} == set(map(type, POLICIES))


@pytest.mark.parametrize("policy", [POLICIES[-1]], ids=repr)  # the next test takes the numbers of them all
def test_the_slider_weighs_as_python_does(policy, show) -> None:
    memory = Memory(decay=policy, clock=lambda: NOW)
    draw = np.random.default_rng(5)
    for i in range(40):
        t = NOW - timedelta(hours=float(draw.uniform(0, 300)))
        start, length = (
            timedelta(hours=float(draw.uniform(0, 50))),
            timedelta(hours=float(draw.uniform(0, 250))),
        )
        memory.add(
            f"note {i}",
            id=str(i),
            t=t,
            valid_from=t + start if i % 3 else None,
            valid_until=t + start + length if i % 4 else None,
        )
    for _ in range(3):
        memory.search("note 7", k=5)
    page = show(memory)
    page.click("#tab-table")
    for part in (0.0, 0.35, 0.8, 1.0):
        page.slide(part)
        shown = page.find("#moment").text
        moment = datetime.strptime(shown, "%Y-%m-%d %H:%M UTC").replace(tzinfo=timezone.utc)
        rows = page.run(
            "return [...document.querySelectorAll('tbody tr[data-row]')]"
            ".map((r) => [r.dataset.row, r.cells[4].textContent])"
        )
        # The moment is shown to the minute: the weight lies between those of its two ends.
        ends = [memory.time_weights(memory.ids, moment + timedelta(minutes=m)) for m in (0, 1)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        for row, text in rows:
            weight = float(text)
            tolerance = 0.0006 if weight >= 0.001 else 0.06 * weight
            assert low[int(row)] - tolerance <= weight <= high[int(row)] + tolerance, (part, row)
    page.click("#now")
    assert page.find("#moment").text == "2026-03-04 05:06 UTC"


def test_weights_agree_to_the_last_digits(asking) -> None:
    """policies.js itself, asked for numbers."""
    from poincare_memory.temporal import MIN_WEIGHT
    from poincare_memory.viz.payload import data_block
    from poincare_memory.viz.snapshot import take_snapshot

    ask = asking(
        'import { factorsOf, weigh } from "./policies.js";\nimport { readModel } from "./model.js";\n'
        "window.ask = (data, now, floor) =>\n"
        "  Array.from(weigh(factorsOf(data.config.decay), now, readModel(data), floor));\n"
    )
    for policy in POLICIES:
        memory = Memory(decay=policy, clock=lambda: NOW)
        for i in range(30):
            t = NOW - timedelta(hours=i * 7.7)
            until = t + timedelta(hours=100) if i % 2 else None
            memory.add(f"note {i}", t=t, valid_until=until, pin=i % 5 == 0)
        memory.search("note 3", k=4)
        for hours in (-500, -40.25, 0, 13, 1e5):
            moment = NOW + timedelta(hours=hours)
            asked = ask(
                json.loads(data_block(take_snapshot(memory))),
                moment.timestamp() * 1000,
                MIN_WEIGHT,
            )
            np.testing.assert_allclose(asked, memory.time_weights(memory.ids, moment), rtol=1e-12)


def test_a_policy_of_the_users_own_fixes_the_time(show) -> None:
    class Third:
        def weight(self, now, times, access_counts, valid_from, valid_until):
            return np.full(len(times), 1 / 3)

    memory = Memory(decay=Third())
    memory.add("a", id="a", t=NOW)
    page = show(memory, fragment="#id=a")
    assert not page.find("#time").is_enabled()
    assert "0.333" in page.find("#details dl").text


HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script><!-- <script>"


def test_hostile_texts_do_nothing(show) -> None:
    memory = Memory(clock=lambda: NOW)
    memory.add(HOSTILE, id=HOSTILE, meta={HOSTILE: HOSTILE, "__proto__": {"x": 1}})
    memory.add(f"child {HOSTILE}", id="__proto__", parent=HOSTILE)
    memory.add("javascript:alert(1)", id="constructor", parent="__proto__")
    page = show(memory, title=HOSTILE)
    assert page.find("h1").text == HOSTILE
    for tab in ("table", "tree", "disk"):
        page.click(f"#tab-{tab}")
    for row in range(3):
        page.click("#tab-table")
        page.all("tbody tr[data-row] button")[row].click()
        page.click("#tab-disk")
        page.mouse(("mouseMoved", *page.place(page.data()["nodes"][row])))
    page.type("#filter", "onerror")
    assert page.find("#matches").text == "2 of 3"
    assert page.driver.title == HOSTILE
    assert page.run("return document.images.length + document.scripts.length") == 2
    assert page.run("return ({}).x === undefined")


def test_the_policy_stops_a_script_that_got_in(show) -> None:
    page = show(build_demo_memory())
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s);"
        "const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)"
    )
    assert page.run("return window.owned === undefined")
    page.settle()
    assert all("Content Security Policy" in message for message in page.console())


def test_an_empty_memory(show) -> None:
    page = show(Memory())
    assert "empty" in page.find("#details").text
    assert page.find("#nothing").is_displayed()
    for tab, host in (("table", "#table"), ("tree", "#tree")):
        page.click(f"#tab-{tab}")
        assert page.texts(f"{host} .nothing") == ["No memories yet"]


def test_what_no_memory_matches(demo) -> None:
    page = demo
    page.type("#filter", "no such words")
    page.settle()
    for tab, host in (("table", "#table"), ("tree", "#tree")):
        page.click(f"#tab-{tab}")
        assert page.texts(f"{host} .nothing") == ["No memory matches"]
    page.type("#filter", "hamstring")
    page.settle()
    assert page.texts("#tree .nothing") == []


def test_extreme_times(show) -> None:
    memory = Memory(decay=HalfLife(1))
    memory.add("old", id="old", t=datetime.min, valid_until=datetime.max)
    memory.add("new", id="new", t=datetime.max)
    page = show(memory, fragment="#id=old")
    page.slide(0.5)
    assert page.find("#moment").text.startswith("5000")
    assert "0001-01-01" in page.find("#details dl").text


def test_a_notebook_frame_works(page, tmp_path) -> None:
    (tmp_path / "notebook.html").write_text(
        f'<link rel="icon" href="data:,">{build_demo_memory()._repr_html_()}', encoding="utf-8"
    )
    page.open(tmp_path / "notebook.html")
    page.driver.switch_to.frame(page.find("iframe"))
    page.click("#tab-table")
    page.all("tbody tr[data-row] button")[1].click()
    assert page.find("#details .text").text == "Lower limb musculature"
    page.driver.switch_to.default_content()
