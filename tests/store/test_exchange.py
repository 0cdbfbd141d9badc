"""Memories through text files and back: JSON Lines, CSV, Markdown outlines."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import CallableEmbedder, Memory
from poincare_memory.store.exchange import export_text, format_of, import_text, read_entries

FORMATS = ["jsonl", "csv", "tsv", "markdown"]
THEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)


def tiny(**settings: Any) -> Memory:
    """A memory whose embedder costs nothing."""
    return Memory(
        embedder=CallableEmbedder(lambda texts: [[1.0, len(text)] for text in texts], 2), **settings
    )


def content(mem: Memory) -> dict[str, Any]:
    return {
        record.id: (
            record.text, record.parent_id, record.t, record.valid_from, record.valid_until, record.pinned,
            record.access_count, record.last_accessed, record.meta,
        )
        for record in mem
    }  # fmt: skip


def shape(mem: Memory) -> dict[str, list[str]]:
    return {"": mem.roots()} | {id: mem.children(id) for id in mem.ids}


def through(mem: Memory, format: str) -> Memory:
    page = io.BytesIO()
    export_text(mem, page, format)
    back = tiny()
    assert import_text(back, io.BytesIO(page.getvalue()), format) == len(mem)
    return back


TEXT = st.text(
    st.sampled_from("ab #*-+|<>!\\`~_=\n\t\r1.)\"',:{}[]\u2028\x85\x0cé膝\U0001f9b5"), min_size=1, max_size=14
).filter(lambda text: text.strip() != "")
TIME = st.datetimes(datetime(1950, 1, 1), datetime(2200, 1, 1)).map(lambda t: t.replace(tzinfo=timezone.utc))
META = st.dictionaries(
    st.text(max_size=4), st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT), max_size=2
)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    mem = tiny(clock=lambda: THEN)
    for i in range(draw(st.integers(0, 9))):
        ids = mem.ids
        mem.add(
            draw(TEXT),
            id=draw(st.just(f"m{i}") | TEXT.filter(lambda id: id not in ids)),  # noqa: B023
            parent=draw(st.none() | st.sampled_from(ids)) if ids else None,
            t=draw(st.none() | TIME),
            valid_until=draw(st.none() | TIME),
            meta=draw(META),
            pin=draw(st.booleans()),
        )
    if mem.ids and draw(st.booleans()):
        record = mem.get(draw(st.sampled_from(mem.ids)))
        record.access_count, record.last_accessed = draw(st.integers(1, 9)), THEN
    if len(mem) > 2 and draw(st.booleans()):
        child, parent = draw(st.permutations(mem.ids))[:2]
        if parent not in mem.descendants(child):
            mem.link(child, parent)
    return mem


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=50, deadline=None)
@given(mem=memories())
def test_everything_but_vectors_comes_back(format: str, mem: Memory) -> None:
    back = through(mem, format)
    assert content(back) == content(mem)
    children, again = shape(mem), shape(back)
    if format != "markdown":
        assert back.ids == mem.ids
    else:
        assert again == children
    assert {id: sorted(below) for id, below in again.items()} == {
        id: sorted(below) for id, below in children.items()
    }


def read(text: str, format: str) -> list[Any]:
    return list(read_entries(io.BytesIO(text.encode()), format, "x"))


def drawn(text: str) -> list[tuple[int, str]]:
    """Depth and text of what an outline holds."""
    depth: dict[str | None, int] = {None: -1}
    found = []
    for entry in read(text, "markdown"):
        depth[entry.id] = depth[entry.parent] + 1
        found.append((depth[entry.id], entry.text))
    return found


def test_an_outline_as_people_write_it() -> None:
    text = """---
title: notes
---
# Training

Prose that goes
on here.

## Legs #

* Squats, 3 x 5
  with a pause
   1. warm up
   2. work
* [ ] Lunges
- - -
Rest days
---------
It was a great year,
1986. It still is
<!-- a comment
over lines -->
| a | b |
|---|---|

```python
# no heading
- no item
```
Line one\\
line two
"""
    assert drawn(text) == [
        (0, "Training"),
        (1, "Prose that goes on here."),
        (1, "Legs"),
        (2, "Squats, 3 x 5 with a pause"),
        (3, "warm up"),
        (3, "work"),
        (2, "[ ] Lunges"),
        (1, "Rest days"),
        (2, "It was a great year, 1986. It still is"),
        (2, "| a | b |\n|---|---|"),
        (2, "```python\n# no heading\n- no item\n```"),
        (2, "Line one\nline two"),
    ]


def test_levels_may_be_left_out_and_tabs_indent() -> None:
    assert drawn("### deep\n# top\n### far below\n## nearer\n- a\n\t- b\n\t\t- c\n- d\n") == [
        (0, "deep"), (0, "top"), (1, "far below"), (1, "nearer"), (2, "a"), (3, "b"), (4, "c"), (2, "d"),
    ]  # fmt: skip


def test_headings_go_down_to_the_sixth_level_and_leaves_stay_with_their_parents() -> None:
    mem = tiny(clock=lambda: THEN)
    above = None
    for level in range(8):
        above = mem.add(f"Level {level}", parent=above, id=f"l{level}")
        mem.add(f"leaf {level}", parent=above)
    mem.add("late leaf", parent="l0")
    page = io.BytesIO()
    export_text(mem, page, "markdown", bare=True)
    lines = page.getvalue().decode().splitlines()
    assert lines[:4] == ["# Level 0", "", "- leaf 0", ""]
    assert "###### Level 5" in lines
    assert "- Level 6" in lines and "  - Level 7" in lines and "    - leaf 7" in lines
    assert lines[-1] == "## late leaf", "as an item it would hang under the last heading"


def test_a_deep_chain_and_a_wide_tree(tmp_path: Path) -> None:
    mem = tiny(clock=lambda: THEN)
    mem.add_many(
        {"text": f"Node {i}", "id": str(i), "parent": str(i - 1) if i else None} for i in range(3000)
    )
    mem.add_many({"text": f"Leaf {i}", "id": f"leaf{i}", "parent": "7"} for i in range(3000))
    for format in FORMATS:
        back = through(mem, format)
        assert shape(back) == shape(mem)


def test_a_parent_may_come_after_its_children() -> None:
    mem = tiny()
    lines = b'{"id": "b", "text": "B", "parent": "a"}\n{"id": "a", "text": "A"}\n'
    lines += b'{"id": "c", "text": "C", "parent": "a"}\n'
    assert import_text(mem, io.BytesIO(lines), "jsonl") == 3
    assert mem.ids == ["b", "a", "c"]
    assert set(mem.children("a")) == {"b", "c"}
    assert mem.level("b") == 1


def test_into_a_memory_that_has_some() -> None:
    mem = tiny()
    mem.add("Drinks", id="drinks")
    assert import_text(mem, io.BytesIO(b"text,id\ntea,tea\n"), "csv", under="drinks") == 1
    assert mem.parent("tea") == "drinks"
    with pytest.raises(ValueError, match=r"^x:3: duplicate id 'tea'"):
        import_text(mem, io.BytesIO(b"text,id\nnew,new\ncoffee,tea\n"), "csv", where="x")
    assert "new" not in mem
    import_text(mem, io.BytesIO(b"text,id\ncoffee,tea\n"), "csv", on_duplicate="ignore")
    assert mem.get("tea").text == "tea"
    import_text(mem, io.BytesIO(b"text,id\ncoffee,tea\n"), "csv", on_duplicate="update")
    assert (mem.get("tea").text, mem.parent("tea")) == ("coffee", "drinks")


WRONG = [
    ("jsonl", '{"text": "a"}\n{"text": }\n', r"^x:2:10: not valid JSON"),
    ("jsonl", '{"text": "a", "t": "soon"}\n', r"^x:1:15: t: expected an ISO 8601 time"),
    ("jsonl", '{"text": "a", "tt": 1}\n', r"^x:1:15: unknown field 'tt'"),
    ("jsonl", '{"text": "a", "text": "b"}\n', r"^x:1:1: .*same key twice"),
    ("jsonl", '{"text": "a", "meta": {"n": NaN}}\n', r"^x:1:1: .*NaN is not JSON"),
    ("jsonl", "[1]\n", r"^x:1:1: expected a JSON object"),
    ("jsonl", '\n{"text": " "}\n', r"^x:2:2: text: expected a string that is not blank"),
    ("csv", "", r"^x:1: expected a first line that names the columns"),
    ("csv", "text,kind\na,b\n", r"^x:1: column 2: unknown name 'kind'.*meta.kind"),
    ("csv", "text,text\na,b\n", r"^x:1: column 2: a second column"),
    ("csv", "text,t\na,\nb,soon\n", r"^x:3: column 't': t: expected an ISO 8601 time"),
    ("csv", "text,t\na,,\n", r"^x:2: expected 2 cells"),
    ("csv", 'text\n"a\nb\n', r"^x:2: not valid CSV"),
    ("csv", "text,meta\na,{\n", r"^x:2: column 'meta': not valid JSON"),
    ("csv", "text,access_count\na,-1\n", r"^x:2: column 'access_count'"),
    ("csv", "text,pinned\na,perhaps\n", r"^x:2: column 'pinned'"),
    ("markdown", "# a\n\n#\n", r"^x:3:1: a heading without text"),
    ("markdown", '- a <!-- {"t": } -->\n', r"^x:1:16: not valid JSON"),
    ("markdown", '- a <!-- {"t": "soon"} -->\n', r"^x:1:10: t: expected an ISO 8601 time"),
    ("markdown", '- a <!-- {"parent": "b"} -->\n', r"^x:1:10: a parent is told by the layout"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text", "message"), WRONG)
def test_errors_name_line_and_column(format: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(text, format)


def test_an_error_does_not_repeat_a_header_of_megabytes() -> None:
    with pytest.raises(ValueError, match="unknown name") as caught:
        read("text," + 100_000 * "x" + "\n", "csv")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_that_are_no_text(format: str) -> None:
    with pytest.raises(ValueError, match=r"^x:2:2: expected UTF-8 text, got the byte 0xff"):
        list(
            read_entries(
                io.BytesIO(b"# text\n-\xff\n" if format == "markdown" else b"\n \xff\n"), format, "x"
            )
        )


def test_unknown_parents_cycles_and_windows_name_their_line() -> None:
    def into(lines: str) -> None:
        mem = tiny()
        try:
            import_text(mem, io.BytesIO(lines.encode()), "csv", where="x")
        finally:
            assert len(mem) == 0, "all or nothing"

    with pytest.raises(KeyError, match="x:3: unknown parent id 'none'"):
        into("id,text,parent\na,A,\nb,B,none\n")
    with pytest.raises(ValueError, match="x:2: cannot link a node under itself"):
        into("id,text,parent\na,A,b\nb,B,a\n")
    with pytest.raises(ValueError, match=r"x:2: .*valid_until"):
        into("text,valid_from,valid_until\na,2026-01-02,2026-01-01\n")


def test_files_and_progress(tmp_path: Path) -> None:
    mem = tiny()
    mem.add_many({"text": f"memory {i}"} for i in range(2500))
    told: list[tuple[int, int]] = []
    export_text(mem, tmp_path / "m.csv", progress=lambda *done: told.append(done))
    assert told[-1] == (2500, 2500)
    told.clear()
    back = tiny()
    import_text(back, tmp_path / "m.csv", progress=lambda *done: told.append(done))
    size = (tmp_path / "m.csv").stat().st_size
    assert told[-1] == (size, size)
    assert back.ids == mem.ids
    with pytest.raises(ValueError, match="format: expected one of"):
        export_text(mem, tmp_path / "m.txt")
    assert format_of("A.NDJSON") == "jsonl"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.csv"]


def test_reading_streams() -> None:
    def endless() -> Any:
        yield b"text\n"
        while True:
            yield b"one more\n"

    entries = read_entries(endless(), "csv", "x")
    assert [next(entries).line for _ in range(3)] == [2, 3, 4]


def test_an_old_clock_and_a_new_one() -> None:
    mem = tiny(clock=lambda: THEN + timedelta(days=1))
    import_text(mem, io.BytesIO(b"- a\n"), "markdown")
    assert next(iter(mem)).t == THEN + timedelta(days=1)
