from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from poincare_memory import Memory
from poincare_memory.integrations.mem0 import Mem0Memory


@pytest.fixture
def mem() -> Mem0Memory:
    mem = Mem0Memory()
    mem.add("I drink green tea", user_id="ada", metadata={"topic": "drinks"})
    mem.add("I run in the morning", user_id="ada", run_id="monday")
    mem.add("I drink coffee", user_id="ben")
    mem.add("Answer in French", agent_id="tutor", user_id="ada")
    return mem


def texts(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [one["memory"] for one in found["results"]]


def test_what_is_added_is_found_within_its_scope(mem: Mem0Memory) -> None:
    assert texts(mem.search("what do I drink", user_id="ada"))[0] == "I drink green tea"
    assert texts(mem.search("what do I drink", user_id="ben")) == ["I drink coffee"]
    assert texts(mem.search("anything", user_id="ada", run_id="monday")) == ["I run in the morning"]
    assert texts(mem.search("anything", agent_id="tutor")) == ["Answer in French"]
    assert texts(mem.search("anything", user_id="nobody")) == []
    found = mem.search("green tea", user_id="ada", filters={"topic": "drinks"}, limit=5)["results"]
    assert [one["metadata"] for one in found] == [{"topic": "drinks", "role": "user"}]
    assert found[0]["user_id"] == "ada"
    assert 0 < found[0]["score"] <= 1
    assert texts(mem.search("I drink green tea", user_id="ada", threshold=0.6)) == ["I drink green tea"]
    assert len(texts(mem.search("I drink green tea", user_id="ada", threshold=0))) == 3


def test_scopes_are_a_hierarchy(mem: Mem0Memory) -> None:
    assert mem.memory.tree().splitlines()[0].startswith("user ada")
    assert [mem.memory.get(id).text for id in mem.memory.roots()] == ["user ada", "user ben"]


def test_messages_of_a_conversation() -> None:
    mem = Mem0Memory()
    talk = [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "content": "I moved to Porto"},
        {"role": "assistant", "content": "How nice"},
        {"role": "user", "content": " "},
    ]
    added = mem.add(talk, user_id="ada")
    assert [one["memory"] for one in added["results"]] == ["I moved to Porto", "How nice"]
    assert {one["event"] for one in added["results"]} == {"ADD"}
    got = mem.get(added["results"][1]["id"])
    assert got is not None
    assert got["metadata"] == {"role": "assistant"}
    for wrong in ([{"role": "user"}], [{"content": "x"}], [{"role": "user", "content": 3}]):
        with pytest.raises(ValueError, match=r"messages\[0\]: expected"):
            mem.add(wrong, user_id="ada")


def test_facts_are_extracted_by_what_is_given() -> None:
    mem = Mem0Memory(extract=lambda messages: [f"Fact: {len(messages)} said", "Another"])
    assert texts(mem.add("hello", user_id="ada")) == ["Fact: 1 said", "Another"]
    assert texts(mem.add("hello", user_id="ada", infer=False)) == ["hello"]
    assert Mem0Memory(extract=lambda messages: []).add("hello", user_id="ada") == {"results": []}


def test_all_of_a_scope(mem: Mem0Memory) -> None:
    assert texts(mem.get_all(user_id="ada")) == [
        "I drink green tea",
        "I run in the morning",
        "Answer in French",
    ]
    assert texts(mem.get_all(user_id="ada", limit=1)) == ["I drink green tea"]
    assert texts(mem.get_all(user_id="ada", filters={"topic": {"$exists": True}})) == ["I drink green tea"]


@pytest.mark.parametrize("method", ["add", "search", "get_all", "delete_all"])
def test_nothing_without_a_scope(mem: Mem0Memory, method: str) -> None:
    arguments = ("text",) if method in ("add", "search") else ()
    with pytest.raises(ValueError, match="expected user_id, agent_id or run_id"):
        getattr(mem, method)(*arguments)
    with pytest.raises(ValueError, match="user_id: expected a non-blank str"):
        getattr(mem, method)(*arguments, user_id=" ")
    assert len(mem.get_all(user_id="ada")["results"]) == 3


def test_updating_and_deleting(mem: Mem0Memory) -> None:
    id = mem.get_all(user_id="ada")["results"][0]["id"]
    mem.update(id, "I drink black tea")
    got = mem.get(id)
    assert got is not None
    assert (got["memory"], got["metadata"]["topic"]) == ("I drink black tea", "drinks")
    assert got["updated_at"] is not None
    mem.delete(id)
    assert mem.get(id) is None
    for method in (lambda: mem.delete(id), lambda: mem.update(id, "x")):
        with pytest.raises(ValueError, match="there is no memory"):
            method()
    scope = mem.memory.roots()[0]
    with pytest.raises(ValueError, match="there is no memory"):
        mem.delete(scope)
    assert mem.get(scope) is None


def test_deleting_a_scope(mem: Mem0Memory) -> None:
    mem.memory.add("not of this", id="own")
    mem.delete_all(user_id="ada", run_id="monday")
    assert len(mem.get_all(user_id="ada")["results"]) == 2
    mem.delete_all(user_id="ada")
    assert mem.get_all(user_id="ada")["results"] == []
    assert len(mem.get_all(user_id="ben")["results"]) == 1
    assert len(mem.memory) == 3  # ben, his memory, and the other one
    mem.reset()
    assert mem.memory.ids == ["own"]


def test_history(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", history=True) as store:
        mem = Mem0Memory(store)
        id = mem.add("I drink tea", user_id="ada")["results"][0]["id"]
        mem.update(id, "I drink coffee")
        assert [(one["event"], one["old_memory"], one["new_memory"]) for one in mem.history(id)] == [
            ("ADD", None, "I drink tea"),
            ("UPDATE", "I drink tea", "I drink coffee"),
        ]
        mem.delete(id)
        assert mem.history(id)[-1]["event"] == "DELETE"
        assert mem.history(id)[-1]["old_memory"] == "I drink coffee"


def test_metadata_may_not_take_our_keys(mem: Mem0Memory) -> None:
    with pytest.raises(ValueError, match="the key 'user_id' is ours"):
        mem.add("x", user_id="ada", metadata={"user_id": "ben"})


def test_adding_is_all_or_nothing(mem: Mem0Memory) -> None:
    before = mem.memory.ids
    with pytest.raises(ValueError, match="JSON"):
        mem.add("x", user_id="new", metadata={"n": float("nan")})
    assert mem.memory.ids == before


def test_facts_below_facts_go_with_them() -> None:
    mem = Mem0Memory()
    ids = [mem.add(text, user_id="ada")["results"][0]["id"] for text in ("tea", "green tea", "sencha")]
    mem.memory.link(ids[1], ids[0])
    mem.memory.link(ids[2], ids[1])
    kept = mem.add("coffee", user_id="ben")["results"][0]["id"]
    mem.delete_all(user_id="ada")
    assert mem.get_all(user_id="ada")["results"] == []
    assert [one["id"] for one in mem.get_all(user_id="ben")["results"]] == [kept]


@pytest.mark.parametrize(
    "messages", [None, 5, [None], ["tea"], [("role", "user")], [{"role": "user"}], b"tea"]
)
def test_messages_of_another_shape(mem: Mem0Memory, messages: Any) -> None:
    before = mem.memory.ids
    with pytest.raises(ValueError, match="messages"):
        mem.add(messages, user_id="ada")
    assert mem.memory.ids == before


def test_what_is_written_for_newer_versions_of_mem0() -> None:
    """They name the scope in the filters, count with top_k, and compare without dollar signs."""
    mem = Mem0Memory()
    mem.add("I love basketball", user_id="alex", metadata={"n": 1, "tags": ["sport"]})
    mem.add("I like sci-fi movies", user_id="alex", metadata={"n": 2})
    mem.add("I love basketball too", user_id="ben", metadata={"n": 3})

    def found(**asked: Any) -> list[str]:
        searched = {hit["memory"] for hit in mem.search("basketball", **asked)["results"]}
        listed = [one["memory"] for one in mem.get_all(**asked)["results"]]
        assert searched == set(listed)
        return listed

    alex = {"user_id": "alex"}
    assert found(filters=alex) == ["I love basketball", "I like sci-fi movies"]
    assert found(filters={"AND": [alex, {"n": {"gte": 2}}]}) == ["I like sci-fi movies"]
    assert found(filters={**alex, "NOT": [{"n": 2}, {"n": 7}]}) == ["I love basketball"]
    assert found(filters={**alex, "OR": [{"n": {"in": [2]}}, {"tags": {"contains": "sport"}}]}) == found(
        **alex
    )
    assert found(filters={**alex, "tags": "*"}) == ["I love basketball"]
    assert found(filters={**alex, "n": {"$lt": 2}}) == ["I love basketball"]
    assert found(user_id="ben", filters=alex) == []
    assert len(mem.search("basketball", filters=alex, top_k=1, rerank=True)["results"]) == 1
    assert len(mem.get_all(filters=alex, top_k=1)["results"]) == 1
    for filters in (
        {"n": 1},
        {"OR": [alex, {"n": 3}]},
        {"NOT": [alex]},
        {"user_id": {"in": ["alex"]}},
        {"user_id": "*"},
    ):
        with pytest.raises(ValueError, match="expected user_id, agent_id or run_id, at least one"):
            mem.search("basketball", filters=filters)
    with pytest.raises(TypeError, match="filters: expected a mapping, got str"):
        mem.search("basketball", user_id="alex", filters="alex")
    deep: Any = {"n": 1}
    for _ in range(5000):
        deep = {"NOT": deep}
    with pytest.raises(ValueError, match="nested deeper than"):
        mem.search("basketball", user_id="alex", filters=deep)
