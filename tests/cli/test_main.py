"""The command line: what it prints, how it fails, and that it harms no file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import poincare_memory
from cli.conftest import process
from poincare_memory import Memory
from poincare_memory.cli import main


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    try:
        code = main(list(argv))
    except SystemExit as stop:
        code = int(stop.code or 0)
    output, errors = capsys.readouterr()
    return code, output, errors


def assert_clean_error(result: tuple[int, str, str], about: str) -> None:
    code, output, errors = result
    assert code != 0
    assert output == ""
    assert about in errors
    assert "Traceback" not in errors


def assert_one_line_error(result: tuple[int, str, str], about: str) -> None:
    assert_clean_error(result, about)
    assert result[2].startswith("poincare-memory: error: ")
    assert result[2].count("\n") == 1


def test_normal_use(folder: Path, capsys) -> None:
    code, output, errors = run(capsys, "search", "demo.db", "knee 膝", "-k", "2")
    assert (code, errors) == (0, "")
    line = re.compile(r" *-?\d+\.\d{3}  d= ?\d+\.\d\d  w=\d\.\d{3}  depth=\d\.\d\d  \S+  .+")
    assert len(output.splitlines()) == 2
    assert all(line.fullmatch(printed) for printed in output.splitlines())
    assert run(capsys, "export", "demo.db", "x.json") == (0, "wrote x.json\n", "")
    assert run(capsys, "import", "x.json", "y.db") == (0, "wrote y.db (32 memories)\n", "")
    assert run(capsys, "inspect", "y.db") == (0, "wrote y.html (32 memories)\n", "")
    assert json.loads(run(capsys, "stats", "y.db")[1])["count"] == 32
    assert run(capsys, "tree", "y.db")[1] == Memory.load("demo.db").tree() + "\n"


def test_searching_only_reads(folder: Path, capsys, demo_bytes: bytes) -> None:
    assert run(capsys, "search", "demo.db", "hamstring", "--mode", "subtree", "--root", "hams")[0] == 0
    assert (folder / "demo.db").read_bytes() == demo_bytes
    assert [path.name for path in folder.iterdir()] == ["demo.db"]


def test_demo_writes_both_files_and_prints_the_tree(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    code, output, _ = run(capsys, "demo", "-o", "some.name.v1")
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"some.name.v1.db", "some.name.v1.html"}
    assert output.startswith("Human musculoskeletal system")
    assert output.endswith("saved some.name.v1.db and some.name.v1.html\n")


@pytest.mark.parametrize("command", ["stats", "tree", "inspect", "search", "export"])
def test_a_missing_store_is_an_error_and_stays_missing(
    command: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    more = {"search": ["q"], "export": ["x.json"]}.get(command, [])
    assert_one_line_error(run(capsys, command, "missing.db", *more), "missing.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_store(folder: Path, capsys) -> None:
    (folder / "here").mkdir()
    assert_one_line_error(run(capsys, "stats", "here"), "directory")


@pytest.mark.parametrize(
    "content", [b"hello", b"", b"SQLite format 3\x00 and then nothing", os.urandom(5000)]
)
def test_a_foreign_file_is_no_store_and_is_left_alone(content: bytes, folder: Path, capsys) -> None:
    (folder / "x.db").write_bytes(content)
    assert_one_line_error(run(capsys, "tree", "x.db"), "")
    assert (folder / "x.db").read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"hello", b"", b"[1, 2]", b'{"config": {}}', b'"\xed\xa0\x80"', b"[" * 99_999]
)
def test_import_of_what_is_no_export(content: bytes, folder: Path, capsys) -> None:
    (folder / "x.json").write_bytes(content)
    assert_one_line_error(run(capsys, "import", "x.json", "out.db"), "")
    assert not (folder / "out.db").exists()


def test_import_of_a_missing_file(folder: Path, capsys) -> None:
    assert_one_line_error(run(capsys, "import", "none.json", "out.db"), "none.json")
    assert not (folder / "out.db").exists()


def test_wrong_searches(folder: Path, capsys) -> None:
    search = ("search", "demo.db")
    assert_clean_error(run(capsys, *search, "knee", "--mode", "zzz"), "invalid choice: 'zzz'")
    assert_clean_error(run(capsys, *search, "knee", "-k", "many"), "-k")
    assert_one_line_error(
        run(capsys, *search, "knee", "--mode", "subtree", "--root", "nope"), "poincare-memory tree demo.db"
    )
    assert_one_line_error(run(capsys, *search, "knee", "--mode", "subtree"), "root")
    assert_one_line_error(run(capsys, *search, ""), "query")


def outputs_of(command: str, target: str) -> list[str]:
    return ["inspect", "demo.db", "-o", target] if command == "inspect" else ["export", "demo.db", target]


@pytest.mark.parametrize("command", ["inspect", "export"])
@pytest.mark.parametrize("way", ["name", "path", "symlink", "hardlink"])
def test_the_store_is_never_overwritten(
    command: str, way: str, folder: Path, capsys, demo_bytes: bytes
) -> None:
    target = {"name": "demo.db", "path": str(folder / "." / "demo.db")}.get(way, "other")
    if way == "symlink":
        (folder / target).symlink_to("demo.db")
    elif way == "hardlink":
        os.link("demo.db", target)
    assert_one_line_error(run(capsys, *outputs_of(command, target)), "input")
    assert (folder / "demo.db").read_bytes() == demo_bytes


def test_import_onto_itself(folder: Path, capsys) -> None:
    run(capsys, "export", "demo.db", "x.json")
    before = (folder / "x.json").read_bytes()
    assert_one_line_error(run(capsys, "import", "x.json", "./x.json"), "input")
    assert (folder / "x.json").read_bytes() == before


def test_a_page_with_a_query(folder: Path, capsys) -> None:
    options = ["--query", "hamstring", "-k", "3", "--at", "2026-01-01T00:00:00+00:00"]
    assert run(capsys, "inspect", "demo.db", *options)[:2] == (0, "wrote demo.html (32 memories)\n")
    page = (folder / "demo.html").read_text(encoding="utf-8")
    start = page.index('type="application/json">') + len('type="application/json">')
    data = json.loads(page[start : page.index("</script>", start)])
    hits = Memory.load("demo.db").search("hamstring", k=3)
    assert [hit["id"] for hit in data["query"]["hits"]] == [hit.id for hit in hits]
    assert data["config"]["now_ms"] == 1767225600000
    assert_one_line_error(run(capsys, "inspect", "demo.db", "--query", " "), "query")


@pytest.mark.parametrize(
    ("store", "page"),
    [
        ("a.db", "a.html"),
        ("a.sqlite", "a.html"),
        ("a.b.v1.db", "a.b.v1.html"),
        ("a.v1", "a.v1.html"),
        ("a", "a.html"),
    ],
)
def test_the_page_lies_beside_the_store(store: str, page: str, folder: Path, capsys) -> None:
    (folder / "demo.db").rename(folder / store)
    assert run(capsys, "inspect", store)[:2] == (0, f"wrote {page} (32 memories)\n")
    assert (folder / page).exists()


def test_a_store_called_html_is_safe_too(folder: Path, capsys, demo_bytes: bytes) -> None:
    (folder / "demo.db").rename(folder / "store.html")
    run(capsys, "inspect", "store.html")
    assert (folder / "store.html").read_bytes() == demo_bytes


def test_a_page_replaces_pages_only(folder: Path, capsys) -> None:
    notes, page = folder / "notes.txt", folder / "page.html"
    notes.write_text("precious")
    assert main(["inspect", "demo.db", "-o", "notes.txt"]) == 1
    assert "not replaced, because it is no page" in capsys.readouterr().err
    assert notes.read_text() == "precious"
    page.write_text("<!DOCTYPE html>\n<p>of another version</p>")
    (folder / "empty.html").touch()
    for name in ("page.html", "page.html", "empty.html"):
        assert main(["inspect", "demo.db", "-o", name]) == 0
    assert main(["inspect", "demo.db", "-o", "notes.txt", "--force"]) == 0
    assert notes.read_text().startswith("<!doctype html>")


def test_an_output_that_cannot_be_written(folder: Path, capsys) -> None:
    assert_one_line_error(run(capsys, "export", "demo.db", "no/such/folder/x.json"), "x.json")


def test_debug_shows_the_traceback(folder: Path, capsys) -> None:
    for argv in (["--debug", "stats", "none.db"], ["stats", "none.db", "--debug"]):
        code, _, errors = run(capsys, *argv)
        assert code != 0
        assert errors.startswith("Traceback")


def test_version_and_usage(capsys) -> None:
    assert run(capsys, "--version") == (0, f"poincare-memory {poincare_memory.__version__}\n", "")
    assert run(capsys)[0] == 2
    assert run(capsys, "bogus")[0] == 2


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_terminal_can_show_a_tree(encoding: str, folder: Path) -> None:
    memory = Memory.load("demo.db")
    memory.add("Größe 膝 \U0001f9b5", id="wide", parent="body")
    memory.save("demo.db")
    done = process("tree", "demo.db", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    printed = done.stdout.decode(encoding)
    assert len(printed.splitlines()) == 33
    assert ("├── " in printed) == (encoding == "utf-8")
    assert ("|-- " in printed) == (encoding != "utf-8")


def test_texts_cannot_command_the_terminal(folder: Path, capsys) -> None:
    memory = Memory()
    memory.add("red \x1b[31m alert \x07 \r\x9b2J\nsecond line", id="a\nb\u2028c")
    memory.save("x.db")
    for argv in (["tree", "x.db"], ["search", "x.db", "alert"]):
        code, output, _ = run(capsys, *argv)
        assert code == 0
        assert len(output.splitlines()) == 1
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", output)
        assert "\\x1b[31m" in output
