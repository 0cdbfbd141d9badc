"""A sample of a big memory: even, the same every time, and never a child without its parent."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import CallableEmbedder, Memory
from poincare_memory.viz import render_html, to_dict
from poincare_memory.viz.payload import data_block
from poincare_memory.viz.sampling import sample
from poincare_memory.viz.snapshot import take_snapshot


def memory_of(parents: list[int | None]) -> Memory:
    memory = Memory(embedder=CallableEmbedder(lambda texts: np.ones((len(texts), 2)), 2))
    memory.add_many(
        {"text": f"n {i}", "id": str(i), "parent": None if parent is None else str(parent)}
        for i, parent in enumerate(parents)
    )
    return memory


@st.composite
def forests(draw: st.DrawFn) -> list[int | None]:
    count = draw(st.integers(1, 40))
    return [None if i == 0 else draw(st.none() | st.integers(0, i - 1)) for i in range(count)]


@given(forests(), st.integers(1, 45), st.data())
def test_parents_come_with_their_children(parents, limit, data) -> None:
    memory = memory_of(parents)
    whole = take_snapshot(memory)
    wanted = data.draw(st.integers(0, len(parents) - 1))
    part = sample(whole, limit, [wanted])
    assert len(part) == min(limit, len(whole))
    assert part.total == len(whole)
    place_of = {id: place for place, id in enumerate(whole.ids)}
    assert [place_of[id] for id in part.ids] == sorted(place_of[id] for id in part.ids)
    for i, id in enumerate(part.ids):
        up = memory.parent(id)
        assert (part.ids[part.parents[i]] if part.parents[i] >= 0 else None) == up
        assert part.texts[i] == memory.get(id).text
        np.testing.assert_array_equal(part.coordinates[i], whole.coordinates[place_of[id]])
        if part.child_counts is not None:
            assert part.child_counts[i] == len(memory.children(id))
    if limit > memory.level(str(wanted)):
        assert str(wanted) in part.ids


def test_what_fits_is_left_alone() -> None:
    whole = take_snapshot(memory_of([None, 0]))
    assert sample(whole, 2) is whole
    assert whole.child_counts is None


def test_a_sample_is_even_and_repeats() -> None:
    whole = take_snapshot(memory_of([None] * 10_000))
    part = sample(whole, 1000)
    places = np.array([int(id) for id in part.ids])
    counts = np.histogram(places, bins=10, range=(0, 10_000))[0]
    assert counts.min() > 60
    assert counts.max() < 140
    assert sample(whole, 1000).ids == part.ids


def test_a_chain_is_cut_at_its_end() -> None:
    part = sample(take_snapshot(memory_of([None, *range(2999)])), 100)
    assert part.ids == [str(i) for i in range(100)]


def test_the_page_says_that_it_is_a_sample() -> None:
    memory = memory_of([None, 0, 0, 1, 1, 2, 2])
    data = json.loads(data_block(sample(take_snapshot(memory), 4)))
    assert data["config"]["count"] == 7
    assert len(data["nodes"]) == len(data["sampled"]["children"]) == 4
    whole = to_dict(memory)
    kept = [node["id"] for node in data["nodes"]]
    assert [node for node in whole["nodes"] if node["id"] in kept] == data["nodes"]
    assert data["edges"] == [edge for edge in whole["edges"] if edge["target"] in kept]


def test_hits_are_in_the_sample() -> None:
    memory = Memory()
    memory.add_many({"text": f"note {i}", "id": str(i)} for i in range(300))
    memory.add("a purple cow", id="cow", parent="7")
    page = render_html(memory, query="purple cow", k=1, limit=3)
    start = page.index('type="application/json">') + len('type="application/json">')
    data = json.loads(page[start : page.index("</script>", start)])
    assert len(data["nodes"]) == 3
    assert {"cow", "7"} <= {node["id"] for node in data["nodes"]}
    assert [hit["id"] for hit in data["query"]["hits"]] == ["cow"]


@pytest.mark.parametrize("limit", [0, -1, 2.5, "many"])
def test_a_limit_is_a_positive_integer(limit) -> None:
    with pytest.raises((TypeError, ValueError), match="limit"):
        render_html(Memory(), limit=limit)


def test_notebooks_stay_small() -> None:
    memory = memory_of([None, *(i // 6 for i in range(4999))])
    assert len(memory._repr_html_()) < 600_000
    assert len(memory_of([None])._repr_html_()) < 300_000


def test_a_notebook_frame_is_named_and_has_an_origin_of_its_own() -> None:
    frame = memory_of([None])._repr_html_()
    assert frame.startswith('<iframe title="Memory" ')
    assert 'sandbox="allow-scripts allow-downloads"' in frame
