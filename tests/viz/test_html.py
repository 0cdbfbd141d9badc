"""The page as text: two scripts, one pass over the template, nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from poincare_memory import Memory
from poincare_memory.viz import html as html_module
from poincare_memory.viz import render_html

MODULES = sorted(
    (entry for entry in (files("poincare_memory.viz") / "inspector").iterdir() if entry.name.endswith(".js")),
    key=lambda entry: entry.name,
)


class Elements(HTMLParser):
    """Tags with attributes, and what stands in scripts, styles and the title."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.content: list[tuple[str, str]] = []
        self.open = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.append((tag, dict(attributes)))
        self.open = tag
        if tag in {"script", "style", "title", "h1"}:
            self.content.append((tag, ""))

    def handle_endtag(self, tag) -> None:
        self.open = ""

    def handle_data(self, data) -> None:
        if self.open in {"script", "style", "title", "h1"}:
            self.content[-1] = (self.open, self.content[-1][1] + data)

    def of(self, tag: str) -> list[str]:
        return [text for name, text in self.content if name == tag]


@pytest.fixture
def memory() -> Memory:
    memory = Memory()
    memory.add("<img src=x onerror=alert(1)> </script><script>alert(2)</script> <!-- <script>", id="<b>")
    return memory


def test_exactly_two_scripts(memory: Memory) -> None:
    page = Elements(render_html(memory))
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"id": "data", "type": "application/json"}, {"type": "module"}]
    assert json.loads(page.of("script")[0])["nodes"][0]["id"] == "<b>"
    assert "img" not in {tag for tag, _ in page.tags}


def test_the_policy_allows_the_pages_own_script_and_style_alone(memory: Memory) -> None:
    page = Elements(render_html(memory))
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    policy = next(meta["content"] for meta in metas if meta.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "script-src": digest(page.of("script")[1]),
        "style-src": digest(page.of("style")[0]),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    # Nothing that the policy would refuse: no inline handlers, no style attributes.
    assert not [
        name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"
    ]


def test_nothing_is_loaded(memory: Memory) -> None:
    page = Elements(render_html(memory))
    links = [
        value for _, attributes in page.tags for name, value in attributes.items() if name in {"src", "href"}
    ]
    assert links == ["data:,"]
    assert not re.search(
        r"https?:|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(",
        "".join(page.of("style") + page.of("script")[1:]),
    )


@pytest.mark.parametrize(
    "title",
    [
        "</title><script>alert(1)</script>",
        "{{data}}",
        "__DATA__",
        "{{script}}{{nonsense}}",
        "a & b < c \"'",
        "",
        "\\1 \\g<0>",
    ],
)
def test_titles_are_text(memory: Memory, title: str) -> None:
    page = Elements(render_html(memory, title=title))
    assert page.of("title") == [title]
    assert page.of("h1") == [title]
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 2


def test_default_title(memory: Memory) -> None:
    assert f"<title>{html.escape(html_module.DEFAULT_TITLE)}</title>" in render_html(memory)


def test_any_title_can_be_written(memory: Memory) -> None:
    assert "\ufffd" in render_html(memory, title="half a \ud83d pair").encode("utf-8").decode()


def test_slots_in_texts_stay_as_they_are() -> None:
    memory = Memory()
    memory.add("{{script}} {{title}} {{policy}}")
    assert "{{script}} {{title}} {{policy}}" in Elements(render_html(memory)).of("script")[0]


def test_an_empty_memory_has_a_page() -> None:
    assert json.loads(Elements(render_html(Memory())).of("script")[0])["nodes"] == []


def test_layout_is_checked(memory: Memory) -> None:
    with pytest.raises(ValueError, match="layout"):
        render_html(memory, layout="zzz")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_modules_set_text_only_as_text(module) -> None:
    source = module.read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source
    )
    assert not re.search(r"</script|<!--", source, re.IGNORECASE)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_no_call_spreads_all_memories(module) -> None:
    """An argument list of 100,000 items overflows the stack of the browser."""
    source = module.read_text(encoding="utf-8")
    assert not re.search(r"Math\.(min|max)\([^)]*\.\.\.", source)


def test_the_dark_page_is_one_whether_chosen_or_preferred() -> None:
    style = (files("poincare_memory.viz") / "inspector" / "style.css").read_text(encoding="utf-8")
    preferred, chosen = (
        re.search(re.escape(selector) + r" \{(.*?)\}", style, re.DOTALL)
        for selector in (':root:not([data-theme="light"])', ':root[data-theme="dark"]')
    )
    assert preferred is not None and chosen is not None
    assert "--page" in preferred[1] and preferred[1].split() == chosen[1].split()
