"""A memory as plain data."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Ebbinghaus, HalfLife, Memory, NoDecay, Product, ValidityWindow
from poincare_memory.viz import to_dict, to_networkx

NOW = datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=timezone.utc)
KEYS = {"id", "text", "parent", "level", "depth", "x", "y", "t", "t_ms", "weight", "accesses", "meta"}
VALIDITY_KEYS = {"valid_from", "valid_from_ms", "valid_until", "valid_until_ms"}


def small_memory(**settings) -> Memory:
    memory = Memory(clock=lambda: NOW, **settings)
    memory.add("root", id="r", t=NOW - timedelta(hours=3))
    memory.add(
        "child",
        id="c",
        parent="r",
        t=NOW - timedelta(days=2),
        meta={"tags": ["a", "b"]},
        valid_from=NOW - timedelta(days=3),
        valid_until=NOW - timedelta(days=1),
    )
    return memory


def test_nodes_hold_what_the_memory_says() -> None:
    memory = small_memory(decay=HalfLife(hours=24))
    memory.search("child", k=1)
    data = to_dict(memory)
    assert data["config"] == {
        "curvature": 1.0,
        "dim": memory.dim,
        "base_depth": 1.0,
        "depth_step": 0.5,
        "decay": {"type": "half_life", "hours": 24},
        "now_ms": NOW.timestamp() * 1000,
        "count": 2,
        "layout": "structural",
    }
    assert data["edges"] == [{"source": "r", "target": "c"}]
    for node in data["nodes"]:
        record = memory.get(node["id"])
        assert set(node) == KEYS | VALIDITY_KEYS
        assert (node["text"], node["parent"], node["meta"]) == (record.text, record.parent_id, record.meta)
        assert (node["level"], node["depth"]) == (memory.level(record.id), memory.depth(record.id))
        assert node["weight"] == memory.time_weights([record.id])[0]
        assert node["accesses"] == record.access_count
        assert node["t"] == record.t.isoformat()
        assert node["t_ms"] == pytest.approx(record.t.timestamp() * 1000, abs=1e-3)
    child = data["nodes"][1]
    assert child["valid_from"] == (NOW - timedelta(days=3)).isoformat()
    assert child["valid_until_ms"] == pytest.approx((NOW - timedelta(days=1)).timestamp() * 1000, abs=1e-3)
    assert {data["nodes"][0][key] for key in VALIDITY_KEYS} == {None}


@pytest.mark.parametrize(
    "policy",
    [NoDecay(), HalfLife(5), Ebbinghaus(9, 0.3), ValidityWindow(0.2), Product(HalfLife(5), ValidityWindow())],
)
def test_weights_are_those_of_the_asked_moment(policy) -> None:
    memory = small_memory(decay=policy)
    for moment in (NOW, NOW - timedelta(days=1.5), (NOW + timedelta(days=4)).replace(tzinfo=None)):
        weights = [node["weight"] for node in to_dict(memory, at_time=moment)["nodes"]]
        np.testing.assert_array_equal(weights, memory.time_weights(memory.ids, moment))


def test_a_policy_of_the_users_own_gets_lists_and_no_lock() -> None:
    class Half:
        def weight(self, now, times, access_counts, valid_from, valid_until):
            assert now == NOW
            assert all(isinstance(t, datetime) for t in times)
            memory.add("written while the policy runs")
            return np.full(len(times), 0.5)

    memory = Memory(decay=Half(), clock=lambda: NOW)
    memory.add("a", t=NOW)
    data = to_dict(memory)
    assert [node["weight"] for node in data["nodes"]] == [0.5]
    assert data["config"]["decay"] == {"type": "Half"}


@given(st.datetimes(timezones=st.just(timezone.utc)))
def test_times_read_as_datetime_writes_them(moment: datetime) -> None:
    memory = Memory()
    memory.add("a", t=moment)
    node = to_dict(memory)["nodes"][0]
    assert node["t"] == moment.isoformat()
    assert node["t_ms"] * 1000 == pytest.approx(
        (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(microseconds=1), rel=1e-15
    )


def test_layouts() -> None:
    flat = Memory()
    flat.add_many({"text": f"note {i}"} for i in range(4))
    assert to_dict(flat)["config"]["layout"] == "projection"
    assert to_dict(flat, layout="structural")["config"]["layout"] == "structural"
    assert to_dict(small_memory(), layout="projection")["config"]["layout"] == "projection"
    for wrong in ("zzz", "", None, "Structural"):
        with pytest.raises(ValueError, match="'auto', 'structural', 'projection'"):
            to_dict(flat, layout=wrong)


def test_an_empty_memory_is_empty_data() -> None:
    data = to_dict(Memory())
    assert (data["nodes"], data["edges"], data["config"]["count"]) == ([], [], 0)
    assert len(to_networkx(Memory())) == 0


def test_what_is_handed_out_is_a_copy() -> None:
    memory = small_memory()
    to_dict(memory)["nodes"][1]["meta"]["tags"].append("z")
    assert memory.get("c").meta == {"tags": ["a", "b"]}


def test_depth_is_exact_where_the_drawing_saturates() -> None:
    memory = Memory()
    memory.add_many({"text": "t", "id": str(i), "parent": str(i - 1) if i else None} for i in range(120))
    nodes = to_dict(memory)["nodes"]
    np.testing.assert_allclose([node["depth"] for node in nodes], 1.0 + 0.5 * np.arange(120), rtol=1e-14)
    assert all(np.hypot(node["x"], node["y"]) < 1 for node in nodes)


def test_networkx_graph() -> None:
    memory = small_memory()
    memory.add("odd attributes", id="o", parent="c", meta={"id": 1, "node_for_adding": 2})
    graph = to_networkx(memory)
    assert isinstance(graph, networkx.DiGraph)
    assert list(graph.edges) == [("r", "c"), ("c", "o")]
    assert graph.nodes["o"]["meta"] == {"id": 1, "node_for_adding": 2}
    assert set(graph.nodes["r"]) == (KEYS | VALIDITY_KEYS) - {"id"}
    assert networkx.is_arborescence(graph)
