"""GraphML, Mermaid and data frames: what is there can be read back, and no text becomes markup."""

from __future__ import annotations

import io
import json
import re
import sys
from datetime import datetime, timezone

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory.demo import build_demo_memory
from poincare_memory.viz import to_dict, to_graphml, to_mermaid

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=timezone.utc)


def read(document: str) -> networkx.DiGraph:
    return networkx.read_graphml(io.BytesIO(document.encode("utf-8")))


def test_graphml_says_what_to_dict_says() -> None:
    memory = build_demo_memory(clock=lambda: NOW)
    memory.add("until then", id="v", valid_until=NOW, meta={"n": [1, None]})
    graph = read(to_graphml(memory))
    data = to_dict(memory)
    assert list(graph.nodes) == [node["id"] for node in data["nodes"]]
    assert set(graph.edges) == {(edge["source"], edge["target"]) for edge in data["edges"]}
    for node in data["nodes"]:
        kept = dict(graph.nodes[node["id"]])
        assert json.loads(kept.pop("meta")) == node["meta"]
        assert kept == {key: node[key] for key in kept}
        assert kept.keys() >= {"text", "level", "depth", "x", "y", "t", "weight", "accesses"}
    assert graph.nodes["v"]["valid_until"] == NOW.isoformat()


# XML readers normalise line ends, and no document can hold most control characters.
xml_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r<>&\"']"),
    min_size=1,
).filter(str.strip)


@given(xml_texts, xml_texts)
def test_texts_and_ids_come_back(id: str, text: str) -> None:
    memory = Memory()
    try:
        memory.add(text, id=id)
    except ValueError:
        return  # an id that the store refuses
    graph = read(memory.to_graphml())
    assert dict(graph.nodes(data="text")) == {id: text}


def test_what_xml_cannot_hold_is_spelt_out() -> None:
    memory = Memory()
    memory.add("bell \x07 ]]> <!-- \uffff", id="a")
    assert read(memory.to_graphml()).nodes["a"]["text"] == "bell \\u0007 ]]> <!-- \\uffff"


def test_graphml_is_written(tmp_path) -> None:
    memory = build_demo_memory()
    document = memory.to_graphml(tmp_path / "memory.graphml")
    assert (tmp_path / "memory.graphml").read_text(encoding="utf-8") == document


def test_a_mermaid_chart_has_every_memory_and_edge() -> None:
    memory = build_demo_memory()
    lines = to_mermaid(memory).splitlines()
    assert lines[0] == "flowchart LR"
    labels = dict(re.fullmatch(r'  (n\d+)\["(.*)"\]', line).groups() for line in lines[1:33])
    edges = [re.fullmatch(r"  (n\d+) --> (n\d+)", line).groups() for line in lines[33:]]
    assert len(labels) == 32
    assert len(edges) == 31
    assert {child for _, child in edges} | {"n0"} == set(labels)
    assert labels["n0"] == "Human musculoskeletal system"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
def test_no_text_is_markup(text: str) -> None:
    memory = Memory()
    memory.add(text, id="a")
    chart = memory.to_mermaid(max_text=10**6)
    line = re.fullmatch(r'flowchart LR\n  n0\["([^"\[\]<>`&{}|\\]*)"\]', chart)
    assert line
    assert re.sub(r"#(\d+);", lambda code: chr(int(code[1])), line[1]).strip() == " ".join(text.split())


def test_a_branch_and_a_limit() -> None:
    memory = build_demo_memory()
    below = len(memory.descendants("lower"))
    assert memory.to_mermaid("lower").count("-->") == below
    chart = memory.to_mermaid(limit=3, direction="TD")
    assert chart.splitlines()[:4] == [
        "flowchart TD",
        '  n0["Human musculoskeletal system"]',
        '  n1["Lower limb musculature"]',
        '  n2["Upper limb musculature"]',
    ]
    assert '  n0 -.- m0["… 1 more"]' in chart
    assert '  n1 -.- m1["… 4 more"]' in chart
    roots = Memory()
    roots.add_many({"text": f"r {i}"} for i in range(5))
    assert roots.to_mermaid(limit=2).endswith('m["… 3 more roots"]')
    assert Memory().to_mermaid() == "flowchart LR"


def test_a_chain_of_five_thousand_levels() -> None:
    memory = Memory()
    memory.add_many({"text": "link", "id": str(i), "parent": str(i - 1) if i else None} for i in range(5000))
    assert memory.to_mermaid(limit=5000).count("-->") == 4999
    assert memory.to_graphml().count("<edge ") == 4999


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"direction": "up"}, "direction must be one of"),
        ({"limit": 0}, "limit"),
        ({"max_text": 0}, "max_text"),
    ],
)
def test_wrong_options_of_mermaid(options, error) -> None:
    with pytest.raises(ValueError, match=error):
        Memory().to_mermaid(**options)


def test_unknown_roots_of_mermaid() -> None:
    with pytest.raises(KeyError):
        Memory().to_mermaid("nowhere")


def test_a_polars_frame() -> None:
    polars = pytest.importorskip("polars", reason="the extra polars is not installed")
    memory = build_demo_memory(clock=lambda: NOW)
    memory.add("odd", meta={"n": 1, "x": [1, "two"]})
    frame = memory.to_dataframe(library="polars")
    rows = memory.table()
    assert frame.columns == list(rows[0])
    assert frame.drop("meta").to_dicts() == [
        {key: value for key, value in row.items() if key != "meta"} for row in rows
    ]
    assert [json.loads(meta) for meta in frame["meta"]] == [row["meta"] for row in rows]
    assert Memory().to_dataframe(library="polars").schema == frame.schema
    assert frame["level"].dtype == polars.Int64


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_the_library_the_error_names_the_extra(library, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"poincare-memory\[{library}\]"):
        Memory().to_dataframe(library=library)


def test_another_library_is_an_error() -> None:
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'"):
        Memory().to_dataframe(library="arrow")
