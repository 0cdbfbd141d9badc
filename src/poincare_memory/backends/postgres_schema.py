"""Tables of a memory in PostgreSQL, and how older ones become what they are now."""

from __future__ import annotations

from typing import Final

__all__ = ["CREATED", "GRAPH", "MIGRATIONS", "RADII"]

# Schema 2: `facts` is the metadata as searchable JSON; "*" where PostgreSQL cannot hold it so (a NUL in a string).
_FACTS: Final = (
    """CREATE OR REPLACE FUNCTION {facts}(meta json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
    BEGIN
        RETURN meta::jsonb;
    EXCEPTION WHEN OTHERS THEN
        RETURN '"*"';
    END $$""",
    "ALTER TABLE {table} ADD COLUMN facts jsonb GENERATED ALWAYS AS ({facts}(meta)) STORED",
    "CREATE INDEX {by_facts} ON {table} USING gin (facts jsonb_path_ops)",
)

_SCHEMA_1: Final = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "CREATE TABLE {info} (key text PRIMARY KEY, value jsonb NOT NULL)",
    "CREATE SEQUENCE {order}",
    """CREATE TABLE {table} (
        id text PRIMARY KEY, text text NOT NULL,
        parent text REFERENCES {table} (id) DEFERRABLE INITIALLY DEFERRED,
        path text[] NOT NULL, branch bigint[] NOT NULL, ord bigint NOT NULL, level integer NOT NULL,
        radius double precision NOT NULL, direction vector({dim}) NOT NULL, exact bytea NOT NULL,
        embedding bytea NOT NULL, t bigint NOT NULL, valid_from bigint, valid_until bigint,
        access_count bigint NOT NULL, last_accessed bigint, recorded_at bigint, pinned boolean NOT NULL,
        meta json NOT NULL)""",
    "CREATE INDEX {by_path} ON {table} USING gin (path)",
    "CREATE INDEX {by_parent} ON {table} (parent)",
)

CREATED: Final = (*_SCHEMA_1, *_FACTS)
"""Statements that make the present schema where there is none."""

MIGRATIONS: Final = {1: _FACTS}
"""By the schema that is there: statements that make the next one of it."""

GRAPH: Final = (
    "CREATE INDEX IF NOT EXISTS {graph} ON {table} USING hnsw (direction vector_ip_ops)",
    "CREATE INDEX IF NOT EXISTS {by_radius} ON {table} (radius)",  # a graph would look long for a rare one
    "ANALYZE {table}",  # which radii are rare: without it the planner takes all for it
)
"""For searches that need not be exact."""

RADII: Final = """WITH RECURSIVE found (radius) AS (
        (SELECT radius FROM {table} ORDER BY radius LIMIT 1)
    UNION ALL
        SELECT (SELECT radius FROM {table} AS other WHERE other.radius > found.radius ORDER BY radius LIMIT 1)
        FROM found WHERE found.radius IS NOT NULL
    )
    SELECT radius FROM found WHERE radius IS NOT NULL"""
"""All radii, from one to the next by their index: DISTINCT would read the whole table."""
