"""Roots in shards of a Qdrant cluster: who is asked what, what moves between them, what a failure leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from optional import needs

needs("qdrant_client", "qdrant_edge")

from backends.qdrant_cluster import Cluster
from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends import BackendError
from poincare_memory.backends.qdrant_shards import Shards
from poincare_memory.backends.rows import Where

EMBEDDER = HashingEmbedder(dim=16)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    started = Cluster()
    yield started
    started.stop()


def connected(at: Cluster | str, **options: Any) -> Any:
    url = at.url if isinstance(at, Cluster) else at
    return Memory.connect(url, name="memory", embedder=EMBEDDER, timeout=5, **options)


def two_roots(shards: int = 4) -> tuple[str, str]:
    """Roots of different shards."""
    keys = Shards(shards)
    first = "ada"
    return first, next(one for one in ("ben", "cy", "di", "eve", "flo") if keys.of(one) != keys.of(first))


def keys_of_points(cluster: Cluster) -> dict[str, list[str | None]]:
    """In which shards each memory is."""
    found: dict[str, list[str | None]] = {}
    for key, client in cluster.collections["memory"].shards.items():
        for point in client.scroll("c", limit=1000)[0]:
            found.setdefault(point.payload["id"], []).append(key)
    return found


def filled(mem: Any) -> tuple[str, str]:
    ada, ben = two_roots()
    mem.add_many(
        [{"text": "Ada", "id": ada}, {"text": "Ben", "id": ben}]
        + [{"text": "green tea", "id": f"{who}-tea", "parent": who, "meta": {"n": 1}} for who in (ada, ben)]
        + [{"text": "sencha", "id": "sencha", "parent": f"{ada}-tea"}]
    )
    return ada, ben


def test_the_collection_is_sharded_by_root(cluster: Cluster) -> None:
    with connected(cluster, shards=4) as mem:
        ada, ben = filled(mem)
        made = dict(zip(("memory", "memory_info"), cluster.asked("collections/memory"), strict=False))[
            "memory"
        ]
        assert (made["sharding_method"], made["shard_number"]) == ("custom", 1)
        assert [asked["shard_key"] for asked in cluster.asked("memory/shards")] == [
            "roots-0", "roots-1", "roots-2", "roots-3",
        ]  # fmt: skip
        assert "recorded_at" in [asked["field_name"] for asked in cluster.asked("memory/index")]
        keys = Shards(4)
        assert keys_of_points(cluster) == {
            id: [keys.of(mem.path(id)[0])] for id in (ada, ben, f"{ada}-tea", f"{ben}-tea", "sencha")
        }
        assert len(mem) == 5


def test_what_stays_below_a_root_asks_one_shard(cluster: Cluster) -> None:
    with connected(cluster, shards=4) as mem:
        ada, ben = filled(mem)
        keys = Shards(4)

        def selected(ending: str, work: Any) -> Any:
            cluster.requests.clear()
            work()
            return cluster.asked(ending)[-1].get("shard_key")

        below = {"mode": "subtree", "root": f"{ada}-tea", "touch": False}
        assert selected("points/query", lambda: mem.search("tea", **below)) == [keys.of(ada)]
        assert selected("points/query", lambda: mem.search("tea", metric="hyperbolic", **below)) == [
            keys.of(ada)
        ]
        assert selected("facet", lambda: mem.search("tea", metric="hyperbolic", **below)) == [keys.of(ada)]
        both = {**below, "root": [ada, ben]}
        assert selected("points/query", lambda: mem.search("tea", **both)) == sorted(
            {keys.of(ada), keys.of(ben)}
        )
        for mode in ("children", "ancestors", "siblings"):
            asked = {**below, "mode": mode}
            assert selected("points/query", lambda asked=asked: mem.search("tea", **asked)) == [keys.of(ada)]
        for relation in (mem.children, mem.descendants, mem.siblings):
            assert selected("points/scroll", lambda relation=relation: relation(f"{ben}-tea")) == [
                keys.of(ben)
            ]
        for everywhere in (
            lambda: mem.search("tea", touch=False),
            lambda: mem.search("tea", mode="siblings", root=ada, touch=False),
        ):
            assert selected("points/query", everywhere) is None
        assert selected("points/scroll", lambda: mem.siblings(ada)) is None
        assert [hit.id for hit in mem.search("green tea", mode="subtree", root=ben, k=1)] == [f"{ben}-tea"]
        assert mem.get(f"{ben}-tea").access_count == 1  # counted in its shard


def test_what_moves_to_another_root_changes_its_shard(cluster: Cluster) -> None:
    with connected(cluster, shards=4) as mem:
        ada, ben = filled(mem)
        keys = Shards(4)
        cluster.requests.clear()
        mem.link(f"{ada}-tea", ben)
        (sent,) = cluster.asked("points/batch")
        assert [next(iter(operation)) for operation in sent["operations"]] == ["upsert", "delete"]
        assert sent["operations"][0]["upsert"]["shard_key"] == keys.of(ben)
        assert sent["operations"][1]["delete"]["shard_key"] == keys.of(ada)
        assert keys_of_points(cluster)["sencha"] == [keys.of(ben)]
        assert mem.path("sencha") == [ben, f"{ada}-tea", "sencha"]
        mem.remove(ben, cascade=True)
        assert mem.ids == [ada]
        assert keys_of_points(cluster) == {ada: [keys.of(ada)]}


def test_a_server_that_stops_between_two_shards(cluster: Cluster) -> None:
    """A move that was half done is seen as done, and is done by the next attempt."""
    with connected(cluster, shards=4) as mem:
        ada, ben = filled(mem)

        def stopping(number: int, operation: Any) -> None:
            if "delete" in operation:
                raise ConnectionResetError

        cluster.before_operation = stopping
        with pytest.raises(BackendError, match="may have happened, or the first part of it"):
            mem.link(f"{ada}-tea", ben)
        cluster.before_operation = lambda number, operation: None
        assert len(keys_of_points(cluster)["sencha"]) == 2
        assert mem.path("sencha") == [ben, f"{ada}-tea", "sencha"]
        assert mem.ids == [ada, ben, f"{ada}-tea", f"{ben}-tea", "sencha"]
        for metric in ("shell", "hyperbolic"):
            found = [hit.id for hit in mem.search("sencha", k=9, metric=metric, touch=False)]
            assert sorted(found) == sorted(mem.ids)
        mem.link(f"{ada}-tea", ben)
        assert len(keys_of_points(cluster)["sencha"]) == 1
        assert mem.path("sencha") == [ben, f"{ada}-tea", "sencha"]


def test_the_number_of_shards_stays(cluster: Cluster) -> None:
    connected(cluster, shards=4).close()
    with connected(cluster) as mem:  # it knows
        ada, _ = filled(mem)
        assert keys_of_points(cluster)["sencha"] == [Shards(4).of(ada)]
    with pytest.raises(ValueError, match="shards: the memory was made with 4, got 8"):
        connected(cluster, shards=8)
    with pytest.raises(ValueError, match="shards: expected an int from 1"):
        connected(cluster, shards=0)


def test_a_memory_without_shards_gets_none(cluster: Cluster) -> None:
    with connected(cluster) as mem:
        filled(mem)
        assert all("shard_key" not in str(body) for _, _, body in cluster.requests)
    with pytest.raises(ValueError, match="shards: the memory was made with None, got 4"):
        connected(cluster, shards=4)


def test_a_collection_that_was_made_beforehand(cluster: Cluster) -> None:
    """With replicas, or shards on chosen nodes."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url=cluster.url.replace("qdrant", "http"), check_compatibility=False)
    vectors = models.VectorParams(size=16, distance=models.Distance.DOT)
    client.create_collection("memory", vectors_config=vectors)
    with pytest.raises(BackendError, match="sharding_method 'auto': shards= needs one made with 'custom'"):
        connected(cluster, shards=2)
    client.delete_collection("memory")
    client.create_collection("memory", vectors_config=vectors, sharding_method=models.ShardingMethod.CUSTOM)
    client.create_shard_key("memory", "roots-1")
    client.close()
    with connected(cluster, shards=2) as mem:
        assert list(cluster.collections["memory"].shards) == ["roots-1", "roots-0"]
        mem.add("tea", id="tea")
        assert mem.ids == ["tea"]


def test_a_server_that_is_no_cluster_says_so(cluster: Cluster) -> None:
    cluster.distributed = False
    with pytest.raises(BackendError, match="Distributed mode disabled"):
        connected(cluster, shards=2)
    with connected(cluster) as mem:  # nothing is in the way of a memory without shards
        mem.add("tea", id="tea")
        assert mem.ids == ["tea"]


def test_an_edit_that_is_too_large_changes_nothing(cluster: Cluster) -> None:
    with connected(cluster, shards=2) as mem:
        mem.add("tea", id="tea")
        cluster.largest = 20_000
        with pytest.raises(BackendError, match=r"413.*larger than allowed"):
            mem.add_many({"text": f"note {i}"} for i in range(100))
        assert mem.ids == ["tea"]


def test_engines_in_this_process_have_one_shard(tmp_path: Any) -> None:
    for url in ("qdrant:///:memory:", f"qdrant-edge://{tmp_path}"):
        with connected(url, shards=4) as mem:
            ada, ben = filled(mem)
            mem.link(f"{ada}-tea", ben)
            assert [hit.id for hit in mem.search("sencha", mode="subtree", root=ben, k=1)] == ["sencha"]
            assert len(mem._engine.fetch(Where())) == 5
    with connected(f"qdrant-edge://{tmp_path}") as mem:
        assert len(mem) == 5
    with pytest.raises(ValueError, match="shards: a Qdrant cluster has such"):
        connected("postgresql://127.0.0.1:1/x", shards=4)
