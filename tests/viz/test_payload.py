"""The page's data block: the same data as to_dict, strict, and unable to end its own element."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory.viz import payload, to_dict
from poincare_memory.viz.payload import data_block
from poincare_memory.viz.snapshot import take_snapshot


def refuse(token: str) -> None:
    raise AssertionError(f"not JSON: {token}")


def block_of(memory: Memory) -> str:
    return data_block(take_snapshot(memory))


def parsed(text: str):
    return json.loads(text, parse_constant=refuse)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
metas = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@given(st.lists(st.tuples(texts, metas), max_size=5))
def test_it_says_what_to_dict_says(items) -> None:
    memory = Memory()
    try:
        memory.add_many({"text": text, "meta": meta, "id": f"<{i}>"} for i, (text, meta) in enumerate(items))
    except ValueError:
        return  # text or metadata that the store refuses
    text = block_of(memory)
    data = parsed(text)
    assert data == json.loads(json.dumps(to_dict(memory) | {"config": data["config"]}))
    assert text.isascii()
    assert "<" not in text


@pytest.mark.parametrize(
    "hostile",
    ["</script>", "100 % %s %%", "<!-- <script>", "]]>", "\u2028\u2029", "\x00\x1f\"'\\", "é\U0001f9b5"],
)
def test_hostile_texts_survive_unharmed(hostile: str) -> None:
    memory = Memory()
    memory.add(
        f"x{hostile}", id=f"i{hostile}" if "\x00" not in hostile else "i", meta={f"k{hostile}": [hostile]}
    )
    node = parsed(block_of(memory))["nodes"][0]
    assert node["text"] == f"x{hostile}"
    assert node["meta"] == {f"k{hostile}": [hostile]}


def test_many_memories_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    memory.add_many(
        {"text": f"n {i}", "id": str(i), "parent": str((i - 1) // 3) if i else None} for i in range(9)
    )
    nodes = parsed(block_of(memory))
    monkeypatch.setattr(payload, "LARGEST_NODE_LIST", 8)
    columns = parsed(block_of(memory))
    assert set(columns) == {"config", "columns", "edges"}
    assert columns["edges"] == nodes["edges"]
    rows = zip(*columns["columns"].values(), strict=True)
    assert [dict(zip(columns["columns"], row, strict=True)) for row in rows] == nodes["nodes"]


def test_the_border_between_the_forms_is_twenty_thousand() -> None:
    assert payload.LARGEST_NODE_LIST == 20_000


def nested(levels: int) -> dict:
    top: dict = {}
    inner = top
    for _ in range(levels):
        inner["x"] = {}
        inner = inner["x"]
    return top


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (np.float64("nan"), "nan"),
        (np.int64(3), 3),
        ((1, 2), [1, 2]),
        (b"raw", "b'raw'"),
        ({3: {"y": float("inf")}}, {"3": {"y": "inf"}}),
    ],
)
def test_metadata_changed_behind_the_stores_back_cannot_break_the_page(value, shown) -> None:
    memory = Memory()
    memory.add("a", id="a")
    memory.get("a").meta["odd"] = value
    assert parsed(block_of(memory))["nodes"][0]["meta"] == {"odd": shown}


def test_endless_metadata_is_cut() -> None:
    memory = Memory()
    memory.add("a", id="a")
    memory.get("a").meta.update(circle=memory.get("a").meta, deep=nested(100_000))
    assert "…" in json.dumps(parsed(block_of(memory)), ensure_ascii=False)
