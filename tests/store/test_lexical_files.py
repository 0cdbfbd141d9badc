"""The words of a large live store, in a file beside it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from poincare_memory import Memory
from poincare_memory.retrieval import lexical
from poincare_memory.retrieval.lexical import WordTable
from poincare_memory.store import words
from store.lexical_oracle import check, edits, texts, write, write_and_fail


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each step put into a table, which is in a file from the first text on."""
    monkeypatch.setattr(words, "IN_FILE_FROM", 0)
    put: list[int] = []

    class Counted(WordTable):
        def put(self, rows: Any) -> None:
            listed = list(rows)
            put.append(len(listed))
            super().put(listed)

    monkeypatch.setattr(words, "WordTable", Counted)
    return put


def test_words_survive_closing_and_are_not_read_again(tmp_path: Path, in_files: list[int]) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, lexical_coef=1.0) as mem:
        mem.add_many({"text": f"filler {i}", "id": str(i)} for i in range(30))
        mem.add("Zyx 緑茶", id="zyx")
        assert mem.search("zyx", k=1)[0].id == "zyx"
        mem.remove("3")
        mem.update("7", text="Abc")
        assert mem.search("abc", k=1)[0].id == "7"
        mem.add("never asked for", id="last")
    assert in_files == [31, 1]
    assert (tmp_path / "a.db-words").stat().st_mode & 0o777 == path.stat().st_mode & 0o777
    with Memory.open(path) as mem:
        check(mem, "filler 7 zyx abc 緑", 1.0)
        assert in_files == [31, 1, 1]  # the last one only
        (tmp_path / "a.db-words").unlink()
    with Memory.open(path) as mem:
        assert mem.search("zyx", k=1)[0].id == "zyx"
    assert in_files[-1] == len(mem_texts(path))


def mem_texts(path: Path) -> list[str]:
    return [record.text for record in Memory.load(path)]


def test_words_of_a_file_that_others_changed(tmp_path: Path, in_files: list[int]) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, lexical_coef=1.0) as mem:
        mem.add_many({"text": f"filler {i}", "id": str(i)} for i in range(5))
        mem.search("filler")
        with Memory.open(path) as other:  # the file of words is taken: it makes do with memory
            other.remove("0")
            other.add("Zyx", id="zyx")
            other.update("2", text="Abc")
            for each in (other, mem):
                check(each, "zyx abc filler 0", 1.0)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE records SET text = 'Knee' WHERE id = '4'")
        connection.execute("DELETE FROM records WHERE id = '1'")
        connection.commit()
    with Memory.open(path) as mem:
        check(mem, "knee zyx filler", 1.0)
        with pytest.raises(RuntimeError):
            write_and_fail(mem, "2", "Zyx knee")
        check(mem, "knee zyx filler", 1.0)
        mem.compact()
        check(mem, "knee zyx filler", 1.0)


@given(edits, texts)
@settings(max_examples=15, deadline=None)
def test_every_write_is_taken_into_the_file(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]], query: str
) -> None:
    path = tmp_path_factory.mktemp("live") / "a.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "IN_FILE_FROM", 0)
        for part in (steps[:10], steps[10:]):
            with Memory.open(path, synchronous="off") as mem:
                write(mem, part)
                check(mem, query, 0.3)


@pytest.mark.parametrize("damage", ["not a database" * 100, "", "pages"])
def test_a_damaged_file_of_words_is_no_obstacle(tmp_path: Path, in_files: list[int], damage: str) -> None:
    path, beside = tmp_path / "a.db", tmp_path / "a.db-words"
    with Memory.open(path, lexical_coef=1.0) as mem:
        mem.add_many({"text": f"filler {i} word{i % 7}", "id": str(i)} for i in range(300))
        mem.search("filler")
    if damage == "pages":
        content = bytearray(beside.read_bytes())
        content[4096:] = bytes(len(content) - 4096)
        beside.write_bytes(content)
    else:
        beside.write_text(damage)
    with Memory.open(path) as mem:
        check(mem, "word3 filler 9", 1.0)
        mem.add("Zyx", id="zyx")
        assert mem.search("zyx", k=1)[0].id == "zyx"


def test_another_applications_database_is_left_alone(tmp_path: Path, in_files: list[int]) -> None:
    path, beside = tmp_path / "a.db", tmp_path / "a.db-words"
    with contextlib.closing(sqlite3.connect(beside)) as connection:
        connection.execute("CREATE TABLE words (mine)")
    before = beside.read_bytes()
    with Memory.open(path, lexical_coef=1.0) as mem:
        mem.add("tea", id="tea")
        assert mem.search("tea", explain=True)[0].terms == {
            "distance": 0.0, "depth": 0.0, "time": 0.0, "lexical": 1.0
        }  # fmt: skip
    assert beside.read_bytes() == before


def test_words_made_by_another_version_are_made_anew(
    tmp_path: Path, in_files: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, lexical_coef=1.0) as mem:
        mem.add("tea", id="tea")
        mem.search("tea")
    monkeypatch.setattr(lexical, "WORDS_VERSION", 99)
    for _ in range(2):
        with Memory.open(path) as mem:
            check(mem, "tea", 1.0)
    assert in_files == [1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_leaves_its_parents_file_of_words_alone(tmp_path: Path, in_files: list[int]) -> None:
    path = tmp_path / "a.db"
    program = f"""
import os, sys
from poincare_memory import Memory
from poincare_memory.store import words
words.IN_FILE_FROM = 0
mem = Memory.open({str(path)!r}, lexical_coef=1.0)
mem.add("tea", id="tea")
mem.search("tea")
child = os.fork()
if child == 0:
    sys.exit(0)  # everything is taken down
os.waitpid(child, 0)
assert os.path.exists({str(path) + "-words-wal"!r})
mem.add("knee", id="knee")
assert mem.search("knee", k=1)[0].id == "knee"
mem.close()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    with Memory.open(path) as mem:
        check(mem, "knee tea", 1.0)
    assert sum(in_files) == 0
