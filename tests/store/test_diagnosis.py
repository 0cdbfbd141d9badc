"""What `doctor` finds in a damaged file, and what it saves of one."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crash.damage import damages
from poincare_memory import CallableEmbedder, HashingEmbedder, Memory, MemoryRecord
from poincare_memory.store.diagnosis import NOTHING, diagnose, repair


def saved(folder: Path, count: int = 6) -> Path:
    """A chain of two and some roots, n0 above n1."""
    memory = Memory(embedder=HashingEmbedder(dim=8))
    for i in range(count):
        memory.add(f"note number {i}", id=f"n{i}", parent="n0" if i == 1 else None, meta={"i": i}, pin=i == 2)
    path = folder / "m.db"
    memory.save(path)
    return path


def run(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def run_query(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_whole_file_has_no_findings(tmp_path: Path) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()
    found = diagnose(path)
    assert (found.findings, found.count, found.versions) == ([], 6, 0)
    with Memory.open(tmp_path / "live.db") as live:
        live.add("a live one")
        assert diagnose(tmp_path / "live.db").findings == []
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["live.db", "m.db"]


NAN = np.full(8, np.nan).tobytes()
DAMAGE = [
    ("UPDATE records SET text = NULL WHERE id = 'n3'", (), "its text is None", {"count": 5}),
    ("UPDATE records SET text = CAST(x'6eff' AS TEXT) WHERE id = 'n3'", (), "no UTF-8", {"n3": "n\ufffd"}),
    ("UPDATE records SET id = NULL WHERE id = 'n3'", (), "its id is None", {"count": 6}),
    ("UPDATE records SET parent_id = 'none' WHERE id = 'n3'", (), "parent 'none' is not in", {"root": "n3"}),
    ("UPDATE records SET parent_id = 'n1' WHERE id = 'n0'", (), "comes back to itself", {"count": 6}),
    ("UPDATE records SET t = 'soon' WHERE id = 'n3'", (), "t is 'soon'", {"count": 6}),
    ("UPDATE records SET valid_until = 7 WHERE id = 'n3'", (), "valid_until is '7'", {"count": 6}),
    ("UPDATE records SET access_count = -1 WHERE id = 'n3'", (), "access_count is -1", {"count": 6}),
    ("UPDATE records SET meta = '[' WHERE id = 'n3'", (), "no JSON object", {"meta": {"damaged_metadata": "["}}),
    ("UPDATE records SET embedding = ? WHERE id = 'n3'", (NAN,), "embedding is damaged", {"count": 6}),
    ("UPDATE records SET embedding = x'00' WHERE id = 'n1'", (), "embedding is damaged", {"count": 6}),
    ("UPDATE records SET point = ? WHERE id = 'n1'", (NAN,), "point is damaged", {"count": 6}),
    ("UPDATE records SET point = ? WHERE id = 'n1'", (np.ones(8).tobytes(),), "point is damaged", {"count": 6}),
    ("UPDATE config SET value = 'x' WHERE key = 'inherit'", (), "inherit does not hold JSON", {"count": 6}),
    ("UPDATE config SET value = '-1' WHERE key = 'curvature'", (), "curvature cannot be -1", {"count": 6}),
    ("DELETE FROM config WHERE key = 'metric'", (), "no metric", {"count": 6}),
    ("UPDATE config SET value = '9' WHERE key = 'dim'", (), "dim cannot be 9", {"count": 6}),
    ("DELETE FROM config", (), "no embedder", {"count": 6}),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "values", "problem", "kept"), DAMAGE)
def test_findings_and_what_is_saved(
    statement: str, values: tuple[Any, ...], problem: str, kept: dict[str, Any], tmp_path: Path
) -> None:
    path = saved(tmp_path)
    run(path, statement, *values)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"m\.db"):
        Memory.load(path)
    found = diagnose(path)
    assert any(problem in finding.problem for finding in found.findings), found.findings
    assert repair(path, tmp_path / "new.db") == found or "gets the id" in str(found)
    assert path.read_bytes() == before
    assert diagnose(tmp_path / "new.db").findings == []
    whole = Memory.load(tmp_path / "new.db")
    assert len(whole) == kept.get("count", 6)
    if "n3" in kept:
        assert whole.get("n3").text == kept["n3"]
    if "root" in kept:
        assert kept["root"] in whole.roots()
    if "meta" in kept:
        assert whole.get("n3").meta == kept["meta"]
    assert whole.get("n2").pinned


def test_what_can_be_placed_and_embedded_anew_is_as_before(tmp_path: Path) -> None:
    path = saved(tmp_path)
    good = Memory.load(path)
    for name in ("point", "embedding"):
        run(path, f"UPDATE records SET {name} = ? WHERE id IN ('n1', 'n4')", NAN)
    repair(path, tmp_path / "new.db")
    mended = Memory.load(tmp_path / "new.db")
    assert np.allclose(mended.points, good.points, atol=1e-12)


def test_flipped_bits_that_sqlite_does_not_see(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"note number 3", b"note number Z"))
    assert [str(finding) for finding in diagnose(path).findings] == [
        "record 'n3' at position 3: does not match its digest: it was damaged → kept as it reads"
    ]
    path.write_bytes(path.read_bytes().replace(b"time_coef1.0", b"time_coef1.5"))
    assert "settings: config does not match its digest → kept as they read" in [
        str(finding) for finding in diagnose(path).findings
    ]


class Clock:
    """A minute later every time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def with_a_past(folder: Path, count: int = 6) -> Path:
    """A live file: each of root was rewritten, n3 twice and moved below n0 as n1 was; "gone" is."""
    path = folder / "live.db"
    with Memory.open(path, embedder=HashingEmbedder(dim=8), history=True, clock=Clock()) as memory:
        for i in range(count):
            memory.add(f"first text {i}", id=f"n{i}", meta={"i": i}, pin=i == 2)
        memory.add("will be gone", id="gone", parent="n0")
        for i in (*range(count), 3):
            memory.update(f"n{i}", text=f"{memory.get(f'n{i}').text}, again")
        memory.link("n3", "n0")
        memory.link("n1", "n0")
        memory.remove("gone")
        memory.search("text", touch=True)
    return path


def all_of(path: Path) -> dict[str, Any]:
    """What there is, and what there was."""
    with Memory.open(path, clock=Clock(), embedder=HashingEmbedder(dim=8)) as memory:
        records = {id: vars(MemoryRecord(**vars(memory.get(id)))) for id in memory.ids}
        history = {
            id: [(v.record, v.recorded_at, v.replaced_at) for v in memory.history(id)]
            for id in [*memory.ids, "gone"]
        }
        start = datetime(2026, 1, 1, tzinfo=timezone.utc)
        then = [
            sorted((hit.id, hit.text, hit.record.parent_id, round(hit.score, 9)) for hit in found)
            for minutes in range(0, 90, 3)
            for found in [memory.search("again", k=99, as_of=start + timedelta(minutes=minutes))]
        ]
        return {
            "records": records, "history": history, "then": then, "points": memory.points.round(12).tolist(),
            "children": memory.children("n0"), "ids": memory.ids,
        }  # fmt: skip


def test_a_whole_file_goes_over_with_everything(tmp_path: Path) -> None:
    path = with_a_past(tmp_path)
    before = all_of(path)
    found = repair(path, tmp_path / "new.db")
    assert (found.findings, found.count) == ([], 6)
    assert found.versions == len(run_query(path, "SELECT 1 FROM pm_history")) > 7
    assert diagnose(tmp_path / "new.db") == found
    assert all_of(tmp_path / "new.db") == before
    assert before["children"] == ["n3", "n1"]
    embedder = "SELECT value FROM pm_info WHERE key = 'embedder'"
    assert run_query(tmp_path / "new.db", embedder) == run_query(path, embedder)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE pm_history SET text = NULL WHERE serial = 3", "past version 3 of 'n1': its text is None"),
        ("UPDATE pm_history SET replaced = 'x' WHERE serial = 3", "when it was replaced is 'x'"),
        ("UPDATE pm_history SET began = 2e300 WHERE serial = 3", "when it began is 2e+300"),
        ("UPDATE pm_history SET t = 7 WHERE serial = 3", "t is '7'"),
        ("UPDATE pm_history SET meta = '[' WHERE serial = 3", "its metadata is no JSON object"),
        ("UPDATE pm_history SET id = NULL WHERE serial = 3", "its id is None → that of its record, 'n1'"),
        ("UPDATE pm_history SET pos = -5 WHERE serial = 3", "its position is -5 → that of its id"),
        ("UPDATE pm_history SET pos = NULL WHERE id = 'gone'", "its position is None → that of its id"),
        ("UPDATE pm_history SET embedding = x'00' WHERE serial = 3", "its embedding is damaged → embedded anew"),
        ("UPDATE pm_history SET point = NULL WHERE serial = 3", "its point is damaged"),
        ("UPDATE pm_history SET access_count = -1, pinned = 'x' WHERE serial = 3", "access_count is -1"),
        ("UPDATE pm_info SET value = '[' WHERE key = 'embedder'", "which embedder was used cannot be read"),
    ],
)  # fmt: skip
def test_damaged_versions_are_mended_and_the_others_are_as_they_were(
    statement: str, problem: str, tmp_path: Path
) -> None:
    path = with_a_past(tmp_path)
    before = all_of(path)
    run(path, statement)
    found = diagnose(path)
    assert any(problem in str(finding) for finding in found.findings), found.findings
    assert repair(path, tmp_path / "new.db") == found
    assert diagnose(tmp_path / "new.db").findings == []
    after = all_of(tmp_path / "new.db")
    assert after["records"] == before["records"]
    for id in ("n0", "n2", "n3", "n4"):
        assert after["history"][id] == before["history"][id]
    if "→ left out" not in str(found.findings[0]):
        assert [v[0].text for v in after["history"]["n1"]] == [v[0].text for v in before["history"]["n1"]]
        assert [v[0].text for v in after["history"]["gone"]] == ["will be gone"]


def test_versions_of_a_lost_record_are_kept(tmp_path: Path) -> None:
    path = with_a_past(tmp_path)
    run(path, "UPDATE records SET text = NULL WHERE id = 'n4'")
    assert repair(path, tmp_path / "new.db").count == 5
    with Memory.open(tmp_path / "new.db", clock=Clock()) as memory:
        assert [version.record.text for version in memory.history("n4")] == ["first text 4"]


def test_pages_of_versions_that_cannot_be_read_lose_only_their_own(tmp_path: Path) -> None:
    path = with_a_past(tmp_path, 400)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = diagnose(path)
    assert before.findings == []
    data = bytearray(path.read_bytes())
    past = re.search(rb"first text 200(?!, again)", data)
    assert past is not None
    at = past.start() // 4096 * 4096
    data[at : at + 4096] = bytes(4096)
    path.write_bytes(data)
    found = repair(path, tmp_path / "new.db")
    assert "past versions after number" in str(found.findings[-1])
    assert found.count == 400
    assert before.versions - 60 < found.versions < before.versions
    assert diagnose(tmp_path / "new.db").findings == []
    with Memory.open(tmp_path / "new.db") as memory:
        assert [v.record.text for v in memory.history("n0")] == ["first text 0", "first text 0, again"]
        assert len(memory.history("n399")) == 2


@pytest.mark.parametrize("damaged", ["text", "id"])
def test_what_was_noted_of_a_damaged_record_is_not_lost(damaged: str, tmp_path: Path) -> None:
    """Another text by a program's hand makes notes void; by a flipped bit, not."""
    path = saved(tmp_path)
    good = Memory.load(path).get("n2")
    old = b"note number 2" if damaged == "text" else b"n2note number 2"
    new = b"note number Z" if damaged == "text" else b"nZnote number 2"
    assert path.read_bytes().count(old) == 1
    path.write_bytes(path.read_bytes().replace(old, new))
    found = repair(path, tmp_path / "new.db")
    assert "it was damaged" in str(found.findings)
    mended = Memory.load(tmp_path / "new.db").get("n2")
    assert mended.pinned and mended.recorded_at == good.recorded_at


def test_any_byte_of_a_live_file_with_a_past(tmp_path: Path) -> None:
    path = with_a_past(tmp_path, 60)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    count = versions = 0
    for _, data in damages(path.read_bytes(), 40, seed=11):
        broken = tmp_path / "broken.db"
        broken.write_bytes(data)
        found = diagnose(broken)
        if any(NOTHING in finding.remedy for finding in found.findings):
            continue
        target = tmp_path / "new.db"
        assert repair(broken, target).count == found.count
        assert diagnose(target).findings == []
        with Memory.open(target) as memory:
            for id in memory.ids[:5]:
                memory.history(id)
            memory.search("again", as_of=datetime(2026, 1, 1, 0, 40, tzinfo=timezone.utc))
        count, versions = count + found.count, versions + found.versions
        target.unlink()
    assert count > 20 * 60 and versions > 20 * 60


def test_pages_that_cannot_be_read_lose_only_their_own_records(tmp_path: Path) -> None:
    memory = Memory(embedder=HashingEmbedder(dim=64))
    memory.add_many({"text": f"note number {i}", "id": f"n{i}"} for i in range(2000))
    path = tmp_path / "big.db"
    memory.save(path)
    data = bytearray(path.read_bytes())
    at = data.index(b"note number 1000") // 32768 * 32768
    data[at : at + 32768] = bytes(32768)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"big\.db"):
        Memory.load(path)
    found = repair(path, tmp_path / "new.db")
    assert 1900 < found.count < 2000
    assert any("cannot be read" in finding.problem for finding in found.findings)
    kept = Memory.load(tmp_path / "new.db")
    assert len(kept) == found.count and "n0" in kept and "n1999" in kept


def test_files_of_which_nothing_can_be_saved(tmp_path: Path) -> None:
    for name, content in (("a", b""), ("b", b"hello"), ("c", b"SQLite format 3\x00" + bytes(100))):
        (tmp_path / name).write_bytes(content)
        assert [finding.where for finding in diagnose(tmp_path / name).findings] == ["file"]
        with pytest.raises(ValueError, match="nothing can be saved"):
            repair(tmp_path / name, tmp_path / "new.db")
    with pytest.raises(FileNotFoundError):
        diagnose(tmp_path / "none")
    assert not (tmp_path / "new.db").exists()


def test_the_copy_is_another_file(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(ValueError, match="another file"):
        repair(path, path)


def test_embedders_of_ones_own(tmp_path: Path) -> None:
    embedder = CallableEmbedder(lambda texts: [[1.0, len(text)] for text in texts], 2)
    memory = Memory(embedder=embedder)
    memory.add_many([{"text": "a", "id": "a"}, {"text": "bb", "id": "b"}])
    memory.save(tmp_path / "m.db")
    assert diagnose(tmp_path / "m.db").findings == []
    run(tmp_path / "m.db", "UPDATE records SET embedding = x'' WHERE id = 'a'")
    assert "pass the embedder" in diagnose(tmp_path / "m.db").findings[0].remedy
    repair(tmp_path / "m.db", tmp_path / "blind.db")
    assert not Memory.load(tmp_path / "blind.db", embedder=embedder).point("a").any()
    repair(tmp_path / "m.db", tmp_path / "new.db", embedder)
    mended = Memory.load(tmp_path / "new.db", embedder=embedder)
    assert np.allclose(mended.points, memory.points)


def test_whatever_is_damaged_it_answers_and_finds_what_load_refuses(tmp_path: Path) -> None:
    path = saved(tmp_path, 300)
    good = path.read_bytes()
    refused = mended = 0
    for _, data in damages(good, 60, seed=5):
        path.write_bytes(data)
        try:
            Memory.load(path)
            refuses = False
        except (ValueError, OSError):
            refuses = True
        found = diagnose(path)
        refused += refuses
        assert bool(found.findings) >= refuses
        target = tmp_path / "new.db"
        if any(NOTHING in finding.remedy for finding in found.findings):
            with pytest.raises(ValueError, match=NOTHING):
                repair(path, target)
        else:
            repair(path, target)
            mended += refuses
            assert diagnose(target).findings == []
            Memory.load(target)
            target.unlink()
    assert mended > refused / 2 > 5
