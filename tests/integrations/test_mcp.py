"""The MCP server: in this process, over standard streams and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optional import needs

needs("mcp")

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from integrations.mcp_process import served
from poincare_memory import Memory
from poincare_memory.integrations.mcp_server import build_server
from poincare_memory.integrations.scope import Scope

READING = {"search", "get", "list", "tree", "context", "stats"}


WRITING = {"add", "add_many", "update", "remove", "move"}


def filled() -> Memory:
    mem = Memory()
    mem.add_many(
        [
            {"text": "Ada", "id": "ada"},
            {"text": "Ada drinks green tea", "id": "tea", "parent": "ada", "meta": {"kind": "drink", "n": 1}},
            {"text": "Sencha from Uji", "id": "sencha", "parent": "tea", "meta": {"kind": "drink", "n": 2}},
            {"text": "Ben", "id": "ben"},
            {
                "text": "Ben drinks green tea too",
                "id": "bens",
                "parent": "ben",
                "meta": {"id": "tea", "n": 3},
            },
        ]
    )
    return mem


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    """The structured result of a tool; what it says of an error as ValueError."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise ValueError(result.content[0].text)
    structured = result.structured_content
    return structured["result"] if structured is not None and set(structured) == {"result"} else structured


async def test_every_tool() -> None:
    mem = filled()
    async with Client(build_server(mem)) as client:
        assert (await call(client, "add", text="Oolong", parent="tea", id="oolong", meta={"n": 5}))[
            "id"
        ] == "oolong"
        added = await call(
            client, "add_many", memories=[{"text": "x", "id": "x"}, {"text": "y", "parent": "x"}]
        )
        assert len(added["ids"]) == 2
        hits = await call(client, "search", query="Sencha from Uji", k=2, explain=True)
        assert hits[0]["id"] == "sencha"
        assert hits[0]["path"] == ["Ada", "Ada drinks green tea"]
        assert sum(hits[0]["terms"].values()) == pytest.approx(hits[0]["score"])
        found = await call(client, "search", query="tea", filters={"$or": [{"n": {"$gte": 5}}, {"n": 2}]})
        assert {hit["id"] for hit in found} == {"oolong", "sencha"}
        assert [hit["id"] for hit in await call(client, "search", mode="ancestors", root="oolong")] == [
            "tea",
            "ada",
        ]
        got = await call(client, "get", id="tea")
        assert (got["parent"], got["children"], got["meta"]) == ("ada", 2, {"kind": "drink", "n": 1})
        page = await call(client, "list", parent="tea", limit=1)
        assert ([one["id"] for one in page["memories"]], page["total"], page["next_offset"]) == (
            ["sencha"],
            2,
            1,
        )
        assert [one["id"] for one in (await call(client, "list"))["memories"]] == ["ada", "ben", "x"]
        await call(
            client, "update", id="oolong", text="Oolong from Taiwan", meta={"n": 6}, t="2026-05-01T12:00:00Z"
        )
        assert mem.get("oolong").meta == {"n": 6}
        await call(client, "move", id="oolong", parent="ben")
        assert mem.parent("oolong") == "ben"
        await call(client, "move", id="oolong")
        assert mem.parent("oolong") is None
        assert (await call(client, "tree", root="ada")).splitlines() == [
            "- Ada [ada]",
            "  - Ada drinks green tea [tea]",
            "    - Sencha from Uji [sencha]",
        ]
        assert "Sencha" in await call(client, "context", query="Sencha", k=1)
        await call(client, "remove", id="oolong")
        assert (await call(client, "stats"))["count"] == 7


async def test_errors_say_what_to_do() -> None:
    mem = filled()
    async with Client(build_server(mem)) as client:
        for tool, arguments, message in (
            ("get", {"id": "nobody"}, "there is no memory 'nobody'"),
            ("add", {"text": " "}, "empty|blank"),
            ("add", {"text": "x", "id": "tea"}, "tea"),
            ("add", {"text": "x" * 100_001}, "100000"),
            ("add", {"text": "x", "meta": {"x": "y" * 70_000}}, "at most 65536"),
            ("remove", {"id": "tea"}, "cascade"),
            ("move", {"id": "ada", "parent": "sencha"}, "under itself"),
            ("search", {"query": "tea", "filters": {"n": {"$above": 3}}}, "unknown operator"),
            ("search", {"query": "tea", "mode": "subtree"}, "root"),
            ("search", {"query": "tea", "k": 101}, "100"),
            ("search", {"query": "tea", "mode": "everything"}, "nearest"),
        ):
            with pytest.raises(ValueError, match=message):
                await call(client, tool, **arguments)
    assert mem.ids == ["ada", "tea", "sencha", "ben", "bens"]


async def test_tools_say_what_they_are() -> None:
    async with Client(build_server(filled())) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == READING | WRITING
        for name, tool in tools.items():
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False
            assert tool.annotations.read_only_hint is (name in READING)
            assert tool.annotations.destructive_hint is (
                None if name in READING else name in ("update", "remove", "move")
            )
        assert "$gte" in json.dumps(tools["search"].input_schema["properties"]["filters"])
        assert tools["search"].output_schema is not None
    async with Client(build_server(filled(), read_only=True)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING


async def test_reading_alone_leaves_no_trace() -> None:
    mem = filled()
    async with Client(build_server(mem, read_only=True)) as client:
        await call(client, "search", query="tea")
        await call(client, "context", query="tea")
    assert mem.stats()["accesses"] == 0


async def test_subtrees_are_resources() -> None:
    mem = filled()
    mem.add("odd id", id="a/b c%", parent="ben")
    async with Client(build_server(mem)) as client:
        whole = (await client.read_resource("memory://tree")).contents[0].text
        assert [line.strip().split("[")[1] for line in whole.splitlines()] == [
            f"{id}]" for id in mem.descendants("ada") and ["ada", "tea", "sencha", "ben", "bens", "a/b c%"]
        ]
        assert "odd id" in (await client.read_resource("memory://subtree/a%2Fb%20c%25")).contents[0].text
        with pytest.raises(Exception, match="there is no memory"):
            await client.read_resource("memory://subtree/nobody")
    async with Client(build_server(mem, root="ada")) as client:
        assert "Ben" not in (await client.read_resource("memory://tree")).contents[0].text
        with pytest.raises(Exception, match="there is no memory"):
            await client.read_resource("memory://subtree/ben")


async def test_calls_at_once() -> None:
    mem = filled()
    async with Client(build_server(mem)) as client:
        await asyncio.gather(
            *(call(client, "add", text=f"note {i}", parent="ben", id=f"n{i}") for i in range(30)),
            *(call(client, "search", query="note", k=5) for _ in range(30)),
        )
    assert len(mem.children("ben")) == 31


# --- a branch -----------------------------------------------------------------------------------------------------


ids = st.sampled_from(["ada", "tea", "sencha", "ben", "bens", "new", "nobody"])


maybe = st.one_of(st.none(), ids)


modes = st.sampled_from(["nearest", "subtree", "children", "ancestors", "siblings", "cone"])


wanted = st.sampled_from([None, {"n": {"$gte": 1}}, {"id": "tea"}, {"$not": {"kind": "drink"}}])


def step(tool: str, **arguments: Any) -> Any:
    return st.tuples(st.just(tool), st.fixed_dictionaries(arguments))


green, duplicates = st.just("green tea"), st.sampled_from(["error", "ignore", "update"])


new = st.fixed_dictionaries({"text": green, "parent": maybe, "id": ids})


steps = st.one_of(
    step("search", query=st.one_of(st.none(), green), mode=modes, root=maybe, filters=wanted, k=st.just(9)),
    step("get", id=ids),
    step("list", parent=maybe),
    step("tree", root=maybe),
    step("context", query=green, budget=st.sampled_from([100, 2000])),
    step("stats"),
    step("add", text=green, parent=maybe, id=maybe, on_duplicate=duplicates),
    step("add_many", memories=st.lists(new, min_size=1, max_size=3), on_duplicate=duplicates),
    step("update", id=ids, text=st.just("black tea")),
    step("remove", id=ids, cascade=st.booleans()),
    step("move", id=ids, parent=maybe),
)


def outside(mem: Memory) -> list[Any]:
    inside = {"ada", *mem.descendants("ada")}
    return [(vars(record) | {"order": mem.children(record.id)}) for record in mem if record.id not in inside]


@settings(max_examples=60)
@given(st.lists(steps, max_size=8))
def test_no_client_leaves_its_branch(calls: list[tuple[str, dict[str, Any]]]) -> None:
    async def work() -> None:
        mem = filled()
        before = outside(mem)
        async with Client(build_server(mem, root="ada")) as client:
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                told = json.dumps(result.structured_content) if not result.is_error else ""
                assert "Ben" not in told
                assert '"ben' not in told
                assert outside(mem) == before
                assert mem.parent("ada") is None

    asyncio.run(work())


def test_a_branch_searches_as_the_memory_does_below_it() -> None:
    mem = filled()
    scope = Scope(mem, "ada")
    expected = mem.search("green tea", mode="subtree", root="ada", touch=False)
    assert scope.search("green tea", touch=False) == expected
    assert [hit.id for hit in scope.search(mode="ancestors", root="sencha")] == ["tea", "ada"]
    assert [hit.id for hit in scope.search(mode="cone", root="ada", filters={"n": 2})] in ([], ["sencha"])
    assert (
        scope.search(mode="ancestors", root="sencha", filters=lambda record: record.id == "ada")[0].id
        == "ada"
    )
    inner = Scope(mem, "tea")
    assert inner.context("Sencha", 2000, 1).splitlines()[0] == "- Ada drinks green tea"
    assert "Sencha" in inner.context("Sencha", 40, 1)
    assert (inner.path("sencha"), inner.parent("tea")) == (["tea", "sencha"], None)
    with pytest.raises(KeyError, match="there is no memory 'nobody'"):
        Scope(mem, "nobody")


def test_conditions_do_not_tell_what_is_above_a_branch() -> None:
    mem = filled()
    scope = Scope(mem, "tea")
    for guess in (
        "ada",
        {"$eq": "ada"},
        {"$gt": "aaa"},
        {"$exists": True},
        {"$contains": "a"},
        {"$in": ["ada"]},
    ):
        for filters in (
            {"parent": guess},
            {"$or": [{"parent": guess}, {"n": 99}]},
            {"$not": {"parent": guess}},
        ):
            found = {hit.id for hit in scope.search(filters=filters, k=9, touch=False)}
            assert ("tea" in found) is ("$not" in filters), filters
            assert {hit.id for hit in scope.search(mode="ancestors", root="sencha", filters=filters)} <= {
                "tea"
            }
    assert [
        hit.id for hit in scope.search(filters={"parent": "tea", "level": 2, "t": {"$gt": "2000-01-01"}})
    ] == ["sencha"]
    assert [hit.id for hit in scope.search(filters={"parent": None, "access_count": {"$gte": 0}})] == ["tea"]
    with pytest.raises(ValueError, match="unknown operator"):
        scope.search(filters={"parent": {"$above": 1}})


# --- standard streams -----------------------------------------------------------------------------------------------


NOISY = """
import sys, logging
from poincare_memory import HashingEmbedder
class Noisy(HashingEmbedder):
    def embed(self, texts, **options):
        print("noise on standard output")
        sys.stdout.flush()
        return super().embed(texts, **options)
"""


async def test_over_standard_streams(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    command = [
        "-m", "poincare_memory.cli", "mcp", str(tmp_path / "m.db"), "--embedder", "noisy:Noisy"
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=tmp_path)
    async with Client(server) as client:
        await call(client, "add", text="Prefers tea", id="tea")
        assert [hit["id"] for hit in await call(client, "search", query="tea")] == ["tea"]
    async with Client(server) as client:  # it is in the file
        assert (await call(client, "get", id="tea"))["text"] == "Prefers tea"


async def test_over_http_with_a_client(tmp_path: Path) -> None:
    with served(tmp_path / "m.db", token=None) as port:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            await call(client, "add", text="Prefers tea", id="tea")
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            assert [hit["id"] for hit in await call(client, "search", query="tea")] == ["tea"]
    with Memory.open(tmp_path / "m.db") as mem:
        assert mem.ids == ["tea"]
