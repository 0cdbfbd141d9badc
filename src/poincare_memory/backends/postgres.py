"""PostgreSQL with pgvector (``pip install "poincare-memory[postgres]"``)."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .connections import Connections, told
from .errors import BackendError, TryAgainError
from .postgres_conditions import holdable, where_sql
from .postgres_schema import CREATED, GRAPH, MIGRATIONS, RADII
from .rows import SCHEMA, TIMES, Row, Where, micros, optional, schema_of
from .silence import SilenceError

try:
    import psycopg
    from psycopg import errors, sql
except ImportError as error:
    raise ImportError(
        'Memory.connect("postgresql://...") needs the "postgres" extra: pip install "poincare-memory[postgres]"'
    ) from error

__all__ = ["PostgresEngine"]

COLUMNS: Final = (
    "id text parent path branch ord level radius exact embedding t valid_from valid_until access_count "
    "last_accessed recorded_at pinned meta"
).split()
_AGAIN: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.ForeignKeyViolation,
)
_LARGEST_EF: Final = 1000  # of pgvector
SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
Value = TypeVar("Value")


class PostgresEngine:
    """Rows in a table of PostgreSQL.

    Parameters
    ----------
    url : str
        Of libpq.
    name : str
        Of the table; ``{name}_info`` and the sequence ``{name}_order`` stand beside it.
    timeout : float
        Seconds that a statement, or connecting, may take.
    connections : int
        Open at once at most.
    exact : bool
        False: a graph index (HNSW, made where it is missing) finds the nearest where nothing is filtered.
    """

    def __init__(
        self, url: str, name: str, timeout: float, *, connections: int = 8, exact: bool = True
    ) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", name):
            raise ValueError(f"name: expected lower-case letters, digits and underscores, got {name!r:.80}")
        self._name, self._exact = name, exact
        self._goes_on = True  # the graph does, where a filter leaves too few of what it found first
        self._connections = Connections(url, timeout, connections)
        self._here = threading.local()  # the connection of this thread's transaction
        self._run(lambda cursor: None)

    def __repr__(self) -> str:
        return f"PostgreSQL table {self._name!r}"

    # --- the connection ---------------------------------------------------------------------------------

    def _run(self, work: Callable[[Any], Value]) -> Value:
        """Do some work: in this thread's transaction; or by itself, and once more where the connection broke."""
        connection = getattr(self._here, "connection", None)
        if connection is not None:
            return self._worked(connection, work)
        for tried in range(2):
            try:
                with self._connections.lease() as connection:
                    return self._worked(connection, work)
            except _BrokenError as error:
                self._connections.close()  # whatever broke one has broken the others
                if tried:
                    raise BackendError(str(error)) from error
        raise AssertionError("unreachable")

    def _worked(self, connection: Any, work: Callable[[Any], Value]) -> Value:
        try:
            with connection.cursor() as cursor:
                return work(cursor)
        except psycopg.Error as error:
            self._explain(connection, error)
        except ValueError as error:
            raise ValueError(f"PostgreSQL cannot hold this: {told(error)}") from error

    def _explain(self, connection: Any, error: psycopg.Error) -> NoReturn:
        if isinstance(error, _AGAIN):
            raise TryAgainError(told(error)) from error
        if isinstance(error, errors.QueryCanceled | errors.LockNotAvailable):
            seconds = self._connections.timeout
            raise BackendError(f"PostgreSQL took longer than {seconds:g} s: {told(error)}") from error
        if isinstance(error, errors.InsufficientPrivilege):
            raise BackendError(f"{self!r}: PostgreSQL does not allow this: {told(error)}") from error
        if isinstance(error, psycopg.DataError):
            raise ValueError(f"PostgreSQL cannot hold this: {told(error)}") from error
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            connection.close()
            raise _BrokenError(f"the connection to PostgreSQL broke: {told(error)}") from error
        raise BackendError(f"{self!r}: {told(error)}") from error

    def close(self) -> None:
        self._connections.close()

    def reading(self, work: Callable[[], Value]) -> Value:
        """One snapshot; done again, on another connection, where the first broke."""
        if self._begun():
            return work()
        for tried in range(2):
            try:
                with self._connections.lease() as connection:
                    self._worked(connection, lambda cursor: cursor.execute(SNAPSHOT))
                    with self._on(connection):
                        try:
                            return work()
                        finally:
                            _roll_back(connection)
            except _BrokenError as error:
                self._connections.close()
                if tried:
                    raise BackendError(str(error)) from error
        raise AssertionError("unreachable")

    def _begun(self) -> bool:
        """Whether this thread is in a transaction."""
        return getattr(self._here, "connection", None) is not None

    @contextmanager
    def _on(self, connection: Any) -> Iterator[None]:
        """A transaction of this thread; an edit may stand within a search, whose filters are anybody's code."""
        before = getattr(self._here, "connection", None)
        self._here.connection = connection
        try:
            yield
        finally:
            self._here.connection = before

    @contextmanager
    def writing(self) -> Iterator[None]:
        for tried in range(2):
            try:
                with self._connections.lease() as connection:
                    self._worked(connection, lambda cursor: cursor.execute("BEGIN"))
                    with self._in_transaction(connection):
                        yield
                    return
            except _BrokenError as error:
                self._connections.close()
                if tried or error.begun:  # where nothing had begun, it broke while nobody looked
                    raise BackendError(str(error)) from error

    @contextmanager
    def _in_transaction(self, connection: Any) -> Iterator[None]:
        try:
            with self._on(connection):
                yield
        except BaseException as error:
            if isinstance(error, _BrokenError):
                error.begun = True
            _roll_back(connection)
            raise
        try:
            connection.execute("COMMIT")
        except _AGAIN as error:
            _roll_back(connection)
            raise TryAgainError(told(error)) from error
        except (psycopg.Error, SilenceError) as error:
            connection.close()
            raise BackendError(
                f"the connection broke while PostgreSQL committed ({told(error)}): the edit has happened whole or not "
                "at all; look before you repeat it"
            ) from error

    def _sql(self, text: str, **parts: Any) -> Any:
        names = {"table": self._name} | {
            part: f"{self._name}_{ending}"
            for part, ending in (
                ("info", "info"), ("order", "order"), ("by_path", "path"), ("by_parent", "parent"),
                ("facts", "facts"), ("by_facts", "by_facts"), ("graph", "hnsw"), ("by_radius", "by_radius"),
            )
        }  # fmt: skip
        return sql.SQL(text).format(**{name: sql.Identifier(value) for name, value in names.items()}, **parts)

    # --- schema -----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any] | None:
        kept = self._run(self._kept)
        if kept is None:
            return None
        if schema_of(kept, repr(self)) < SCHEMA:
            with self._long_writing():
                self._run(self._migrate)
            kept = self._run(self._kept)
        self._prepare_graph()
        settings: dict[str, Any] = kept["settings"]
        return settings

    def _kept(self, cursor: Any) -> Any:
        if cursor.execute("SELECT to_regclass(%s)", [f"{self._name}_info"]).fetchone()[0] is None:
            return None
        row = cursor.execute(self._sql("SELECT value FROM {info} WHERE key = 'memory'")).fetchone()
        return None if row is None else row[0]

    def _migrate(self, cursor: Any) -> None:
        """From the schema that is there to this version's, in one transaction; other processes may try it too."""
        schema = schema_of(self._kept(cursor), repr(self))
        for number in range(schema, SCHEMA):
            for statement in MIGRATIONS[number]:
                cursor.execute(self._sql(statement))
        cursor.execute(
            self._sql(
                "UPDATE {info} SET value = jsonb_set(value, '{{schema}}', %s::jsonb) WHERE key = 'memory'"
            ),
            [str(SCHEMA)],
        )

    def prepare(self, settings: dict[str, Any], dim: int) -> None:
        kept = json.dumps({"schema": SCHEMA, "settings": settings})

        def work(cursor: Any) -> None:
            if self._kept(cursor) is not None:  # another process was quicker
                return
            for statement in CREATED:
                cursor.execute(self._sql(statement, dim=sql.Literal(dim)))
            cursor.execute(self._sql("INSERT INTO {info} VALUES ('memory', %s)"), [kept])

        with self._long_writing():
            self._run(work)
        self._prepare_graph()

    def _prepare_graph(self) -> None:
        if self._exact:
            return
        self._goes_on = self._run(_goes_on)
        graph = f"{self._name}_hnsw"
        if self._run(lambda cursor: cursor.execute("SELECT to_regclass(%s)", [graph]).fetchone()[0]):
            return
        with self._long_writing():
            for statement in GRAPH:
                self._run(methodcaller("execute", self._sql(statement)))

    @contextmanager
    def _long_writing(self) -> Iterator[None]:
        """A transaction that may take its time and that one process at a time is in."""
        with self.writing():
            connection = self._here.connection
            connection.is_alive = self._connections.answers
            try:
                self._run(lambda cursor: cursor.execute("SET LOCAL statement_timeout = 0"))
                self._run(
                    lambda cursor: cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._name])
                )
                yield
            finally:
                connection.is_alive = None

    # --- rows -------------------------------------------------------------------------------------------

    def lock(self, ids: Sequence[str], shared: bool) -> None:
        if not ids:
            return
        mode = sql.SQL("SHARE" if shared else "UPDATE")
        statement = self._sql("SELECT 1 FROM {table} WHERE id = ANY(%s) ORDER BY id FOR {mode}", mode=mode)
        self._run(lambda cursor: cursor.execute(statement, [holdable(ids)]).fetchall())

    def serials(self, count: int) -> int:
        statement = self._sql(
            "SELECT setval({name}, nextval({name}) + %s)", name=sql.Literal(f"{self._name}_order")
        )

        def work(cursor: Any) -> int:
            # Another writer may draw a number between the two: numbers come from one statement under a lock.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"{self._name}_order"])
            return int(cursor.execute(statement, [count]).fetchone()[0]) - count

        return self._run(work)

    def count(self) -> int:
        statement = self._sql("SELECT count(*) FROM {table}")
        return int(self._run(lambda cursor: cursor.execute(statement).fetchone()[0]))

    def fetch(self, where: Where) -> list[Row]:
        return self._rows(where, self._sql("ORDER BY ord"), [])

    def nearest(self, where: Where, direction: NDArray[np.float64], limit: int) -> list[Row]:
        # What a filter leaves may be far from where a graph looks: it is read whole, by the filter's own indexes.
        if not self._exact and where == Where(radius=where.radius, known_by=where.known_by):
            found = self._run(lambda cursor: self._nearly_nearest(cursor, where, direction, limit))
            if len(found) == limit:
                return found
        # The sum keeps a graph index out: its answers are not exact.
        order = self._sql("ORDER BY (direction <#> %s::vector) + 0, ord LIMIT %s")
        return self._rows(where, order, [_vector(direction), limit])

    def _nearly_nearest(
        self, cursor: Any, where: Where, direction: NDArray[np.float64], limit: int
    ) -> list[Row]:
        order = self._sql("ORDER BY direction <#> %s::vector LIMIT %s")
        statement, values = self._select(where, order, [_vector(direction), limit])
        with cursor.connection.transaction():
            if self._goes_on:
                cursor.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
            cursor.execute(f"SET LOCAL hnsw.ef_search = {min(_LARGEST_EF, max(40, limit))}")
            return [_row(*row) for row in cursor.execute(statement, values).fetchall()]

    def radii(self, where: Where) -> list[float]:
        if not self._exact and where == Where():
            found = self._run(lambda cursor: cursor.execute(self._sql(RADII)).fetchall())
            return [row[0] for row in found]
        asked = where_sql(where)
        statement = self._sql("SELECT DISTINCT radius FROM {table} WHERE ") + sql.SQL(asked.text)
        found = self._run(lambda cursor: cursor.execute(statement, asked.values).fetchall())
        return sorted(row[0] for row in found)

    def _rows(self, where: Where, order: Any, more: list[Any]) -> list[Row]:
        statement, values = self._select(where, order, more)
        return [_row(*row) for row in self._run(lambda cursor: cursor.execute(statement, values).fetchall())]

    def _select(self, where: Where, order: Any, more: list[Any]) -> tuple[Any, list[Any]]:
        asked = where_sql(where)
        columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        start = self._sql("SELECT {columns} FROM {table} WHERE", columns=columns)
        return sql.SQL(" ").join([start, sql.SQL(asked.text), order]), [*asked.values, *more]

    def save(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        names = [*COLUMNS, "direction"]
        statement = self._sql(
            "INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}",
            columns=sql.SQL(", ").join(map(sql.Identifier, names)),
            values=sql.SQL(", ").join(
                sql.SQL("%s::vector") if name == "direction" else sql.SQL("%s") for name in names
            ),
            changes=sql.SQL(", ").join(
                sql.SQL("{name} = excluded.{name}").format(name=sql.Identifier(name)) for name in names[1:]
            ),
        )
        self._run(lambda cursor: cursor.executemany(statement, [_values(row) for row in rows]))

    def delete(self, ids: Sequence[str]) -> None:
        if ids:
            statement = self._sql("DELETE FROM {table} WHERE id = ANY(%s)")
            self._run(lambda cursor: cursor.execute(statement, [list(ids)]))

    def touch(self, ids: Sequence[str], now: int) -> None:
        # In the order of their ids, so that two searches do not wait for each other.
        statement = self._sql(
            "UPDATE {table} SET access_count = access_count + 1, last_accessed = greatest(last_accessed, %s) "
            "WHERE id IN (SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR UPDATE SKIP LOCKED)"
        )
        self._run(lambda cursor: cursor.execute(statement, [now, list(ids)]))


class _BrokenError(Exception):
    """A connection broke; `begun` where that was in a transaction."""

    begun = False


def _goes_on(cursor: Any) -> bool:
    """Whether graphs are scanned iteratively: from pgvector 0.8 on."""
    version = cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
    return [int(part) for part in re.findall(r"\d+", version)[:2]] >= [0, 8]


def _roll_back(connection: Any) -> None:
    try:
        if not connection.closed:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()  # the server rolls back what has no connection


def _vector(direction: NDArray[np.float64]) -> str:
    return "[" + ",".join(map(repr, direction.astype(np.float32).tolist())) + "]"


def _values(row: Row) -> list[Any]:
    times = {name: optional(getattr(row, name)) for name in TIMES}
    kind = b"f" if row.embedding.dtype == np.float32 else b"d"
    return [
        row.id, row.text, row.parent, row.path, row.branch, row.order, row.level, row.radius,
        row.direction.astype("<f8").tobytes(), kind + row.embedding.astype(f"<{kind.decode()}").tobytes(),
        row.t, times["valid_from"], times["valid_until"], row.access_count, times["last_accessed"],
        times["recorded_at"], row.pinned, json.dumps(row.meta), _vector(row.direction),
    ]  # fmt: skip


def _row(id: str, text: str, parent: str | None, path: list[str], branch: list[int], order: int, level: int,
         radius: float, exact: bytes, embedding: bytes, t: int, valid_from: int | None, valid_until: int | None,
         access_count: int, last_accessed: int | None, recorded_at: int | None, pinned: bool,
         meta: Any) -> Row:  # fmt: skip
    return Row(
        id, text, parent, path, branch, order, level, radius, np.frombuffer(exact, "<f8").copy(),
        np.frombuffer(embedding, f"<{embedding[:1].decode()}", offset=1).copy(), t, micros(valid_from),
        micros(valid_until), access_count, micros(last_accessed), micros(recorded_at), pinned, meta,
    )  # fmt: skip
