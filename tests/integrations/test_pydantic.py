"""Records and results pass through pydantic and back."""

from __future__ import annotations

from datetime import datetime, timezone

from optional import needs

needs("pydantic")

from pydantic import BaseModel, TypeAdapter

from poincare_memory import Memory, MemoryRecord, SearchResult

RECORDS = TypeAdapter(MemoryRecord)
RESULTS = TypeAdapter(list[SearchResult])
WHEN = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=timezone.utc)


def filled() -> Memory:
    mem = Memory()
    mem.add("Trips", id="trips", meta={"n": 1, "tags": ["a", {"b": None}]}, pin=True)
    mem.add("Lisbon", id="lisbon", parent="trips", t=WHEN, valid_from=WHEN, valid_until=datetime(2027, 1, 1))
    return mem


def same(a: MemoryRecord, b: MemoryRecord) -> bool:
    return a == b and (a.recorded_at, a.pinned) == (b.recorded_at, b.pinned)


def test_records_round_trip() -> None:
    for record in filled():
        free = RECORDS.validate_python(RECORDS.dump_python(record))
        assert type(free) is MemoryRecord
        assert same(free, record)
        assert same(RECORDS.validate_json(RECORDS.dump_json(record)), record)


def test_results_round_trip() -> None:
    mem = filled()
    for options in (
        {"explain": True},
        {"mode": "cone", "root": "trips"},
        {"mode": "children", "root": "trips"},
    ):
        hits = mem.search("trip to Lisbon", **options)  # type: ignore[arg-type]
        again = RESULTS.validate_json(RESULTS.dump_json(hits))
        assert [vars(hit) | {"record": None} for hit in again] == [
            vars(hit) | {"record": None} for hit in hits
        ]
        assert all(same(a.record, b.record) for a, b in zip(again, hits, strict=True))


def test_a_result_in_a_model_of_ones_own_leaves_the_memory_alone() -> None:
    class Answer(BaseModel):
        text: str
        because: list[SearchResult]

    mem = filled()
    answer = Answer(text="Lisbon", because=mem.search("Lisbon", k=1))
    copy = Answer.model_validate_json(answer.model_dump_json())
    copy.because[0].record.meta["changed"] = True
    assert "changed" not in mem.get("lisbon").meta
    assert "MemoryRecord" in Answer.model_json_schema()["$defs"]
