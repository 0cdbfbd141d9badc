"""`SearchResult`: a dataclass like any other, though a search makes its results natively."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import weakref
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from poincare_memory import Memory, MemoryRecord, SearchResult
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NAMES = ["record", "score", "distance", "time_weight", "depth", "cone_energy", "terms"]


@pytest.fixture
def mem() -> Memory:
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    mem.add("alpha", id="a")
    mem.add("beta", id="b", parent="a", meta={"k": [1]})
    return mem


@pytest.fixture
def found(mem: Memory) -> SearchResult:
    return mem.search("beta", k=1, explain=True, touch=False)[0]


def made(found: SearchResult) -> SearchResult:
    """The same by hand."""
    return SearchResult(
        found.record, found.score, found.distance, found.time_weight, found.depth, terms=found.terms
    )


def test_a_found_result_is_one_made_by_hand(found: SearchResult) -> None:
    assert type(found) is SearchResult
    assert found == made(found)
    assert repr(found) == repr(made(found))
    assert vars(found) == vars(made(found))
    assert found != dataclasses.replace(found, score=1.0)
    assert found != "b"
    with pytest.raises(TypeError):
        hash(found)


def test_its_values_are_plain_python(found: SearchResult) -> None:
    assert [type(getattr(found, name)) for name in NAMES[1:]] == [float] * 4 + [type(None), dict]


def test_the_fields_are_those_of_a_dataclass(found: SearchResult) -> None:
    assert dataclasses.is_dataclass(SearchResult)
    assert [field.name for field in dataclasses.fields(found)] == NAMES == list(vars(found))
    assert SearchResult.__match_args__ == tuple(NAMES[:-1])
    assert str(inspect.signature(SearchResult)) == (
        "(record: 'MemoryRecord', score: 'float', distance: 'float', time_weight: 'float', depth: 'float', "
        "cone_energy: 'float | None' = None, *, terms: 'dict[str, float] | None' = None) -> None"
    )
    plain = dataclasses.asdict(found)
    assert plain["record"]["id"] == "b"
    assert plain["depth"] == found.depth
    match found:
        case SearchResult(MemoryRecord(id=id), score):
            assert (id, score) == ("b", found.score)
        case _:
            pytest.fail("a result matches its class")


def pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda result: pickle.loads(pickle.dumps(result, protocol))


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, dataclasses.replace, *map(pickled, range(pickle.HIGHEST_PROTOCOL + 1))]
)
def test_copies_are_equal_and_apart(found: SearchResult, twin: Callable[[Any], Any]) -> None:
    again = twin(found)
    assert type(again) is SearchResult
    assert again == found
    assert again is not found
    again.score = 7.0
    assert found.score != 7.0


def test_a_result_takes_attributes_of_ones_own(found: SearchResult) -> None:
    found.rank = 3  # type: ignore[attr-defined]
    assert vars(found)["rank"] == 3
    assert pickle.loads(pickle.dumps(found)).rank == 3
    assert copy.copy(found).rank == 3
    del found.rank  # type: ignore[attr-defined]
    assert list(vars(found)) == NAMES
    found.__dict__ = {"score": 2.0, "seen": True}
    assert (found.score, found.seen) == (2.0, True)  # type: ignore[attr-defined]


def test_a_class_of_ones_own_may_build_on_it(found: SearchResult) -> None:
    @dataclasses.dataclass
    class Ranked(SearchResult):
        rank: int = 0

    ranked = Ranked(*(getattr(found, name) for name in NAMES[:-1]), rank=2)
    assert (ranked.id, ranked.rank, vars(ranked)["rank"]) == ("b", 2, 2)
    assert dataclasses.replace(ranked, rank=3).rank == 3


def test_results_in_a_cycle_are_collected(mem: Memory) -> None:
    (result,) = mem.search("beta", k=1, touch=False)
    gone = weakref.ref(result)
    result.record.found_by = result  # type: ignore[attr-defined]
    del result
    gc.collect()
    assert gone() is None
    assert len(mem._store.columns._records) == 0


def test_results_share_the_record_that_is_held(mem: Memory) -> None:
    record = mem.get("b")
    (first,), (second,) = mem.search_many(["beta", "beta"], k=1)
    assert first.record is second.record is record
    assert record.access_count == 2
