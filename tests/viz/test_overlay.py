"""The query of `inspect`: the hits of the same search, with their terms, and nothing touched."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from poincare_memory import HalfLife, Memory
from poincare_memory.viz import render_html

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=timezone.utc)


@pytest.fixture
def memory() -> Memory:
    memory = Memory(decay=HalfLife(24), clock=lambda: NOW, time_coef=0.5, depth_bias=0.1)
    for i, text in enumerate(("green tea", "black tea", "tax filing", "tea with milk")):
        memory.add(text, id=str(i), t=NOW - timedelta(hours=10 * i), parent="0" if i == 1 else None)
    return memory


def query_in(page: str):
    start = page.index('type="application/json">') + len('type="application/json">')
    return json.loads(page[start : page.index("</script>", start)]).get("query")


def test_a_text_is_searched_for(memory: Memory) -> None:
    found = query_in(memory.inspect(query="tea", k=3))
    expected = memory.search("tea", k=3, explain=True, touch=False)
    assert found["text"] == "tea"
    assert [hit["id"] for hit in found["hits"]] == [result.id for result in expected]
    for hit, result in zip(found["hits"], expected, strict=True):
        assert hit["score"] == result.score
        assert hit["terms"] == result.terms
        assert sum(hit["terms"].values()) == pytest.approx(hit["score"])
    assert memory.stats()["accesses"] == 0


def test_the_moment_of_the_page_is_that_of_the_search(memory: Memory) -> None:
    later = NOW + timedelta(days=3)
    hit = query_in(memory.inspect(query="tea", k=1, at_time=later))["hits"][0]
    assert hit["time_weight"] == memory.time_weights([hit["id"]], later)[0]


def test_results_are_taken_as_they_are(memory: Memory) -> None:
    results = memory.search("tea", mode="children", root="0", explain=True)
    found = query_in(render_html(memory, query=results))
    assert found["text"] is None
    assert [hit["id"] for hit in found["hits"]] == ["1"]
    plain = query_in(render_html(memory, query=memory.search("tea", k=1)))
    assert plain["hits"][0]["terms"] is None
    assert query_in(render_html(memory, query=[]))["hits"] == []


def test_without_a_query_there_is_none(memory: Memory) -> None:
    assert query_in(memory.inspect()) is None


def test_a_prompt_tells_how_long_a_page_is(memory: Memory, tmp_path: Path) -> None:
    page = memory.inspect(tmp_path / "page.html")
    assert repr(page) == f"<inspector page, {len(page):,} characters>"
    assert isinstance(page, str) and (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert repr(page[:3]) == "'<!d'"  # what is made of it is any text


def test_neither_text_nor_results(memory: Memory) -> None:
    with pytest.raises(TypeError, match="query must be a text or results"):
        memory.inspect(query=[3])
    with pytest.raises(ValueError, match=r"blank|empty"):
        memory.inspect(query="  ")


def test_hostile_query_text_stays_text(memory: Memory) -> None:
    page = memory.inspect(query="</script><script>tea")
    assert query_in(page)["text"] == "</script><script>tea"
