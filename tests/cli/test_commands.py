"""What each command does beyond what the reference's does."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from cli.conftest import Run, assert_one_line_error
from poincare_memory import CallableEmbedder, HalfLife, Memory

OWN_PARTS = """
import numpy as np
from poincare_memory import CallableEmbedder

embedder = CallableEmbedder(lambda texts: [[1.0, len(text)] for text in texts], 2)


class Fading:
    def weight(self, now, times, access_counts, valid_from, valid_until):
        return np.full(len(times), 0.25)
"""


# --- search -------------------------------------------------------------------------------------------


@pytest.fixture
def notes(folder: Path) -> Path:
    mem = Memory(decay=HalfLife(hours=24))
    day = datetime(2026, 1, 1, tzinfo=timezone.utc)
    mem.add("Runs", id="runs")
    mem.add("Long run along the river", id="long", parent="runs", t=day, meta={"km": 21, "kind": "run"})
    mem.add("Short run at noon", id="short", parent="runs", t=day, meta={"km": 5, "kind": "run"})
    mem.add("Swims", id="swims")
    mem.add("Swam in the river", id="swam", parent="swims", t=day + timedelta(days=1), meta={"km": 2})
    mem.save(folder / "notes.db")
    return folder / "notes.db"


def ids(result: tuple[int, str, str]) -> list[str]:
    assert result[0] == 0, result
    assert result[2] == ""
    return [hit["id"] for hit in json.loads(result[1])]


def test_filters_and_modes_without_a_query(notes: Path, command: Run) -> None:
    search = ("search", "notes.db", "--json")
    assert ids(command(*search, "river", "--filter", '{"km": {"$gte": 5}}')) == ["long", "short"]
    assert set(ids(command(*search, "--filter", '{"kind": "run"}'))) == {"long", "short"}
    assert set(ids(command(*search, "--mode", "children", "--root", "runs"))) == {"long", "short"}
    both = ids(command(*search, "--mode", "subtree", "--root", "runs", "--root", "swims"))
    assert set(both) == {"runs", "long", "short", "swims", "swam"}
    assert ids(command(*search, "-", "-k", "1", stdin="Swims\n")) == ["swims"]
    assert_one_line_error(command("search", "notes.db"), "a query is needed")
    assert_one_line_error(
        command(*search, "x", "--mode", "cone", "--root", "runs", "--root", "swims"), "several"
    )


def test_the_moment_of_the_weights_and_of_the_store(notes: Path, command: Run) -> None:
    at = command("search", "notes.db", "run", "--json", "-k", "9", "--at", "2026-01-02T00:00:00Z")
    weights = {hit["id"]: hit["time_weight"] for hit in json.loads(at[1])}
    assert weights["long"] == pytest.approx(0.5)
    assert ids(command("search", "notes.db", "run", "--json", "--as-of", "2020-01-01")) == []
    assert len(ids(command("search", "notes.db", "run", "--json", "--as-of", "2100-01-01"))) == 5


def test_the_past_of_a_store_that_keeps_versions(folder: Path, command: Run) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=timezone.utc)]
    with Memory.open(folder / "live.db", history=True, clock=lambda: clock[0]) as mem:
        mem.add("Lives in Lisbon", id="home")
        clock[0] += timedelta(days=2)
        mem.update("home", text="Lives in Porto")
    before = (folder / "live.db").read_bytes()
    then = command("search", "live.db", "lives", "--json", "--as-of", "2026-01-02")
    assert json.loads(then[1])[0]["text"] == "Lives in Lisbon"
    assert json.loads(command("search", "live.db", "lives", "--json")[1])[0]["text"] == "Lives in Porto"
    assert (folder / "live.db").read_bytes() == before


def test_explained_scores_add_up(notes: Path, command: Run) -> None:
    code, output, _ = command("search", "notes.db", "river", "--explain", "--lexical", "0.3", "-k", "2")
    assert code == 0
    lines = output.splitlines()
    assert len(lines) == 4
    for hit, terms in zip(lines[::2], lines[1::2], strict=True):
        parts = [float(number) for number in re.findall(r"[+-]\d+\.\d+", terms)]
        assert len(parts) == 4
        assert sum(parts) == pytest.approx(float(hit.split()[0]), abs=0.003)
    hits = json.loads(command("search", "notes.db", "river", "--explain", "--json")[1])
    assert set(hits[0]["terms"]) == {"distance", "depth", "time", "lexical"}


@pytest.mark.parametrize(
    ("options", "about"),
    [
        (["-k", "0"], "-k: expected at least 1, got 0"),
        (["-k", "-3"], "-k: expected at least 1, got -3"),
        (["--filter", "{"], "--filter: not valid JSON"),
        (["--filter", "[1]"], "--filter: expected a JSON object"),
        (["--as-of", "soon"], "--as-of: expected a time such as"),
        (["--mode", "zzz"], "invalid choice: 'zzz'"),
    ],
)
def test_wrong_options(options: list[str], about: str, folder: Path, command: Run) -> None:
    assert_one_line_error(command("search", "demo.db", "knee", *options), about, code=2)


def test_unknown_operators(folder: Path, command: Run) -> None:
    assert_one_line_error(command("search", "demo.db", "knee", "--filter", '{"n": {"$near": 3}}'), "$near")


# --- edits --------------------------------------------------------------------------------------------


def test_a_store_from_nothing(folder: Path, command: Run) -> None:
    assert command("add", "new.db", "Drinks", "--id", "drinks") == (
        0, "drinks\n", "poincare-memory: new.db is a new store\n",
    )  # fmt: skip
    options = ["--parent", "drinks", "--meta", '{"hot": true}', "--t", "2026-01-02", "--pin", "--id", "tea"]
    assert command("add", "new.db", "Tea: green, hot", *options) == (0, "tea\n", "")
    code, output, _ = command("add", "new.db", "-", "--parent", "drinks", stdin="Coffee\n\nWater\n")
    assert code == 0 and len(output.splitlines()) == 2
    mem = Memory.load("new.db")
    tea = mem.get("tea")
    assert (tea.meta, tea.t, tea.pinned) == ({"hot": True}, datetime(2026, 1, 2, tzinfo=timezone.utc), True)
    assert [mem.get(id).text for id in mem.children("drinks")] == ["Tea: green, hot", "Coffee", "Water"]
    assert_one_line_error(command("add", "new.db", "Tea", "--id", "tea"), "--on-duplicate update or ignore")
    assert command("add", "new.db", "Tea", "--id", "tea", "--on-duplicate", "update")[0] == 0
    assert Memory.load("new.db").get("tea").text == "Tea"
    assert sorted(path.name for path in folder.iterdir()) == ["demo.db", "new.db"]


def test_edits_that_cannot_be_leave_no_trace(folder: Path, command: Run) -> None:
    assert_one_line_error(command("add", "demo.db", "x", "--parent", "none"), "poincare-memory tree demo.db")
    assert_one_line_error(command("add", "demo.db", " "), "non-empty")
    assert_one_line_error(command("add", "demo.db", "-", "--id", "a", stdin="1\n2\n"), "2 lines")
    assert_one_line_error(command("remove", "demo.db", "bf", "none"), "none")
    assert_one_line_error(command("remove", "demo.db", "bf", "hams"), "--cascade")
    assert_one_line_error(command("link", "demo.db", "body", "hams"), "under itself")
    assert_one_line_error(command("link", "demo.db", "hams"), "--to-root")
    assert_one_line_error(command("remove", "missing.db", "a"), "missing.db")
    assert len(Memory.load("demo.db")) == 32
    assert not (folder / "missing.db").exists()


def test_a_store_that_nothing_could_be_added_to_is_not_made(folder: Path, command: Run) -> None:
    assert_one_line_error(command("add", "new.db", "x", "--parent", "none"), "unknown id 'none'")
    assert_one_line_error(command("add", "new.db", " "), "non-empty")
    assert sorted(path.name for path in folder.iterdir()) == ["demo.db"]


def test_bytes_that_are_no_text(folder: Path, command: Run) -> None:
    latin = "zwei\ncafé\n".encode("latin-1")
    place = "standard input:2:4: expected UTF-8 text, got the byte 0xe9"
    assert_one_line_error(command("add", "new.db", "-", stdin=latin), place)
    assert_one_line_error(command("search", "demo.db", "-", stdin=latin), place)
    argument = "caf\udce9"  # as Python gives the bytes of an argument
    for argv in (
        ("add", "new.db", argument),
        ("search", "demo.db", argument),
        ("inspect", "demo.db", "--query", argument),
    ):
        assert_one_line_error(command(*argv), "expected UTF-8 text, got the byte 0xe9", code=2)
    assert sorted(path.name for path in folder.iterdir()) == ["demo.db"]
    assert command("add", "new.db", "-", stdin="\ufeffzwei\n".encode())[0] == 0
    assert [record.text for record in Memory.load("new.db")] == ["zwei"]


def test_a_store_is_no_stream_and_a_page_may_be_one(folder: Path, command: Run) -> None:
    command("export", "demo.db", "x.json")
    assert_one_line_error(command("import", "x.json", "-"), "a store cannot be a standard stream")
    assert_one_line_error(command("add", "-", "x"), "a store cannot be a standard stream")
    code, page, errors = command("inspect", "demo.db", "-o", "-")
    assert (code, errors) == (0, "")
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    assert_one_line_error(command("inspect", "demo.db", "-o", "-", "--open"), "--open")
    assert sorted(path.name for path in folder.iterdir()) == ["demo.db", "x.json"]


def test_a_root_alone_means_its_branch(folder: Path, command: Run) -> None:
    found = command("search", "demo.db", "knee", "--root", "hams")
    assert found == command("search", "demo.db", "knee", "--root", "hams", "--mode", "subtree")
    assert len(found[1].splitlines()) == 5
    assert command("search", "demo.db", "--root", "hams", "-k", "2")[0] == 0


def test_remove_and_link(folder: Path, command: Run) -> None:
    assert command("link", "demo.db", "hams", "upper") == (0, "body › upper › hams\n", "")
    assert command("link", "demo.db", "hams", "--to-root") == (0, "hams\n", "")
    before = len(Memory.load("demo.db"))
    assert command("remove", "demo.db", "bf", "st")[1] == f"removed 2, {before - 2} left\n"
    assert command("remove", "demo.db", "body", "lower", "--cascade")[0] == 0
    assert Memory.load("demo.db").roots() == ["hams"]


# --- import and export --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.md", "x.csv", "x.tsv", "x.jsonl", "x.json"])
def test_out_and_in_again(name: str, folder: Path, command: Run) -> None:
    code, output, errors = command("export", "demo.db", name)
    assert (code, errors) == (0, "")
    assert output.startswith(f"wrote {name}")
    assert command("import", name, "y.db") == (0, "wrote y.db (32 memories)\n", "")
    assert command("tree", "y.db") == command("tree", "demo.db")
    assert sorted(path.name for path in folder.iterdir()) == sorted(["demo.db", name, "y.db"])


@pytest.mark.parametrize("format", ["json", "jsonl", "csv", "markdown"])
def test_standard_streams(format: str, folder: Path, command: Run) -> None:
    code, output, errors = command("export", "demo.db", "-", "--format", format)
    assert (code, errors) == (0, "")
    assert command("import", "-", "y.db", "--format", format, stdin=output)[:2] == (
        0, "wrote y.db (32 memories)\n",
    )  # fmt: skip
    assert command("tree", "y.db") == command("tree", "demo.db")


def test_an_outline_into_a_branch(folder: Path, command: Run) -> None:
    (folder / "plan.md").write_text("# Plan\n\n- rest\n- stretch\n")
    assert command("import", "plan.md", "demo.db", "--under", "hams") == (
        0, "wrote demo.db (3 memories)\n", "",
    )  # fmt: skip
    mem = Memory.load("demo.db")
    assert len(mem) == 35
    assert "Plan" in [mem.get(id).text for id in mem.children("hams")]


def test_imports_that_fail_leave_nothing(folder: Path, command: Run) -> None:
    (folder / "x.jsonl").write_text('{"text": "a"}\n{"text": }\n')
    assert_one_line_error(command("import", "x.jsonl", "new.db"), "x.jsonl:2:10: not valid JSON")
    assert_one_line_error(
        command("import", "-", "new.db", "--format", "csv", stdin="a\n"), "standard input:1"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["demo.db", "x.jsonl"]
    before = Memory.load("demo.db").ids
    assert_one_line_error(command("import", "x.jsonl", "demo.db"), "x.jsonl:2:10")
    assert Memory.load("demo.db").ids == before
    assert_one_line_error(command("import", "x.json", "y.db"), "no file x.json")
    assert_one_line_error(command("import", "x.jsonl", "./x.jsonl"), "the input itself")


def test_exports_replace_exports_only(folder: Path, command: Run, demo_bytes: bytes) -> None:
    (folder / "mine.md").write_text("# My own notes\n")
    assert_one_line_error(command("export", "demo.db", "mine.md"), "--force")
    assert (folder / "mine.md").read_text() == "# My own notes\n"
    for name in ("x.md", "x.csv", "x.tsv", "x.jsonl"):
        assert command("export", "demo.db", name)[0] == 0
        assert command("export", "demo.db", name)[0] == 0
    assert command("export", "demo.db", "mine.md", "--force", "--bare")[0] == 0
    assert (folder / "mine.md").read_text().startswith("# Human musculoskeletal system\n\n## Lower limb")
    assert_one_line_error(command("export", "demo.db", "demo.db", "--format", "csv", "--force"), "input")
    assert (folder / "demo.db").read_bytes() == demo_bytes


# --- embedders and policies of one's own --------------------------------------------------------------


@pytest.fixture
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose embedder and policy files do not keep."""
    (folder / "own_parts.py").write_text(OWN_PARTS)
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("own_parts", None)
    import own_parts

    with Memory.open("own.db", embedder=own_parts.embedder, decay=own_parts.Fading()) as mem:
        mem.add("One", id="1")
        mem.add("Twenty", id="20", parent="1")
    return folder


def test_what_needs_neither_asks_for_neither(own: Path, command: Run) -> None:
    assert command("tree", "own.db")[0] == 0
    assert command("export", "own.db", "own.json")[0] == 0
    assert json.loads((own / "own.json").read_text())["config"]["embedder"] == {
        "type": "CallableEmbedder", "dim": 2,
    }  # fmt: skip
    assert command("export", "own.db", "own.md")[0] == 0
    assert command("import", "own.json", "copy.db")[0] == 0
    assert command("doctor", "own.db") == (0, "own.db is whole (2 memories)\n", "")
    assert command("link", "own.db", "20", "--to-root") == (0, "20\n", "")
    assert command("remove", "own.db", "20") == (0, "removed 1, 1 left\n", "")


def test_what_needs_them_says_how_to_name_them(own: Path, command: Run) -> None:
    assert_one_line_error(command("search", "own.db", "one"), "--embedder MODULE:NAME")
    assert_one_line_error(command("add", "own.db", "three"), "--embedder MODULE:NAME")
    parts = ["--embedder", "own_parts:embedder"]
    assert_one_line_error(command("search", "own.db", "one", *parts), "--decay MODULE:NAME")
    assert_one_line_error(command("stats", "own.db"), "--decay MODULE:NAME")
    parts += ["--decay", "own_parts:Fading"]
    code, output, _ = command("search", "own.db", "one", "-k", "1", *parts)
    assert code == 0 and "w=0.250" in output
    assert command("add", "own.db", "three", "--id", "3", *parts) == (0, "3\n", "")
    assert json.loads(command("stats", "own.db", *parts)[1])["count"] == 3
    for wrong, about in [
        ("own_parts", "MODULE:NAME"),
        ("own_parts:none", "has no none"),
        ("nowhere:x", "nowhere"),
    ]:
        assert_one_line_error(command("search", "own.db", "one", "--embedder", wrong), about)


def test_parts_are_no_users_business(folder: Path, command: Run) -> None:
    """A store of the default embedder needs no parts, whatever is passed elsewhere."""
    mem = Memory(embedder=CallableEmbedder(lambda texts: [[1.0] for _ in texts], 1))
    mem.add("a")
    mem.save("one.db")
    assert command("inspect", "one.db")[0] == 0
