"""The anatomy demo."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from poincare_memory import HalfLife
from poincare_memory.demo import DEMO_EVENTS, DEMO_TREE, build_demo_memory
from reference.harness import Reference

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=timezone.utc)


def demo_data(payload):
    from poincare_memory.demo import DEMO_EVENTS, DEMO_TREE, build_demo_memory

    memory = build_demo_memory(inherit=payload)
    newest = max(record.t for record in memory)
    return {
        "tree": DEMO_TREE,
        "events": DEMO_EVENTS,
        "records": [(r.text, r.parent_id, (newest - r.t).days, r.meta) for r in memory],
        "depths": [round(memory.depth(id), 9) for id in memory.ids],
        "points": memory.points,
        "best": [hit.text for hit in memory.search("hamstring tightness", k=5, touch=False)],
    }


def test_it_is_the_demo_of_the_reference(reference: Reference) -> None:
    ours, theirs = demo_data(0.25), reference.call(demo_data, 0.25)
    assert abs(ours.pop("points") - theirs.pop("points")).max() < 1e-9
    assert ours == theirs


def test_ages_count_from_the_memorys_clock() -> None:
    memory = build_demo_memory(clock=lambda: NOW, decay=HalfLife(hours=24 * 30))
    assert memory.get("body").t == NOW - timedelta(days=120)
    ages = [(NOW - record.t).days for record in memory if record.meta == {"kind": "event"}]
    assert ages == [days for _, _, days in DEMO_EVENTS]
    assert len(memory) == len(DEMO_TREE) + len(DEMO_EVENTS)
