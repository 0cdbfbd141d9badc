"""PostgreSQL with pgvector (``pip install "poincare-memory[postgres]"``)."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import BackendError, TryAgainError
from .rows import SCHEMA, TIMES, Row, Where, micros, optional, settings_kept

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
    """

    def __init__(self, url: str, name: str, timeout: float) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", name):
            raise ValueError(f"name: expected lower-case letters, digits and underscores, got {name!r:.80}")
        self._url, self._name, self._timeout = url, name, timeout
        self._lock = threading.RLock()
        self._connection: Any = None
        self._inside = False
        self._run(lambda cursor: None)

    def __repr__(self) -> str:
        return f"PostgreSQL table {self._name!r}"

    # --- the connection ---------------------------------------------------------------------------------

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            milliseconds = max(1, int(self._timeout * 1000))
            try:
                self._connection = psycopg.connect(
                    self._url,
                    autocommit=True,
                    connect_timeout=max(1, int(self._timeout)),
                    options=f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds}",
                )
            except psycopg.OperationalError as error:
                raise BackendError(f"no connection to PostgreSQL: {str(error).strip()}") from error
        return self._connection

    def _run(self, work: Callable[[Any], Value]) -> Value:
        """Do some reading; once more on a new connection where the old one broke."""
        with self._lock:
            for tried in range(2):
                connection = self._connected()
                try:
                    with connection.cursor() as cursor:
                        return work(cursor)
                except (errors.QueryCanceled, errors.LockNotAvailable) as error:
                    raise BackendError(
                        f"PostgreSQL took longer than {self._timeout:g} s: {_told(error)}"
                    ) from error
                except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                    if isinstance(error, _AGAIN):
                        raise TryAgainError(_told(error)) from error
                    self._let_go()
                    if self._inside or tried:
                        raise BackendError(f"the connection to PostgreSQL broke: {_told(error)}") from error
                except _AGAIN as error:
                    raise TryAgainError(_told(error)) from error
                except (psycopg.DataError, ValueError) as error:
                    raise ValueError(f"PostgreSQL cannot hold this: {_told(error)}") from error
        raise AssertionError("unreachable")

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        with self._lock:
            self._let_go()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._lock:
            for tried in range(2):
                try:
                    self._connected().execute("BEGIN")
                    break
                except psycopg.Error as error:  # it broke while nobody looked: nothing is lost
                    self._let_go()
                    if tried:
                        raise BackendError(f"the connection to PostgreSQL broke: {_told(error)}") from error
            self._inside = True
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._inside = False
            self._commit()

    def _roll_back(self) -> None:
        try:
            if self._connection is not None:
                self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._let_go()  # the server rolls back what has no connection

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except _AGAIN as error:
            self._roll_back()
            raise TryAgainError(_told(error)) from error
        except psycopg.Error as error:
            self._let_go()
            raise BackendError(
                f"the connection broke while PostgreSQL committed ({_told(error)}): the edit has happened whole or not "
                "at all; look before you repeat it"
            ) from error

    def _sql(self, text: str, **parts: Any) -> Any:
        names = {"table": self._name, "info": f"{self._name}_info", "order": f"{self._name}_order"}
        names |= {"by_path": f"{self._name}_path", "by_parent": f"{self._name}_parent"}
        return sql.SQL(text).format(**{name: sql.Identifier(value) for name, value in names.items()}, **parts)

    # --- schema -----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any] | None:
        def work(cursor: Any) -> Any:
            if cursor.execute("SELECT to_regclass(%s)", [f"{self._name}_info"]).fetchone()[0] is None:
                return None
            row = cursor.execute(self._sql("SELECT value FROM {info} WHERE key = 'memory'")).fetchone()
            return None if row is None else row[0]

        kept = self._run(work)
        if kept is None:
            return None
        return settings_kept(kept, repr(self))

    def prepare(self, settings: dict[str, Any], dim: int) -> None:
        def work(cursor: Any) -> None:
            for statement in _STATEMENTS:
                cursor.execute(self._sql(statement, dim=sql.Literal(dim)))
            kept = json.dumps({"schema": SCHEMA, "settings": settings})
            cursor.execute(
                self._sql("INSERT INTO {info} VALUES ('memory', %s) ON CONFLICT (key) DO NOTHING"), [kept]
            )

        with self.writing():
            self._run(
                lambda cursor: cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._name])
            )
            self._run(work)

    # --- rows -------------------------------------------------------------------------------------------

    def lock(self, ids: Sequence[str], shared: bool) -> None:
        if not ids:
            return
        mode = sql.SQL("SHARE" if shared else "UPDATE")
        statement = self._sql("SELECT 1 FROM {table} WHERE id = ANY(%s) ORDER BY id FOR {mode}", mode=mode)
        self._run(lambda cursor: cursor.execute(statement, [list(ids)]).fetchall())

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
        # The sum keeps a graph index out: its answers are not exact.
        order = self._sql("ORDER BY (direction <#> %s::vector) + 0, ord LIMIT %s")
        return self._rows(where, order, [_vector(direction), limit])

    def radii(self, where: Where) -> list[float]:
        conditions, values = _conditions(where)
        statement = self._sql("SELECT DISTINCT radius FROM {table} WHERE ") + conditions
        return sorted(
            row[0] for row in self._run(lambda cursor: cursor.execute(statement, values).fetchall())
        )

    def _rows(self, where: Where, order: Any, more: list[Any]) -> list[Row]:
        conditions, values = _conditions(where)
        columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        statement = sql.SQL(" ").join(
            [self._sql("SELECT {columns} FROM {table} WHERE", columns=columns), conditions, order]
        )
        found = self._run(lambda cursor: cursor.execute(statement, values + more).fetchall())
        return [_row(*row) for row in found]

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


_STATEMENTS: Final = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "CREATE TABLE IF NOT EXISTS {info} (key text PRIMARY KEY, value jsonb NOT NULL)",
    "CREATE SEQUENCE IF NOT EXISTS {order}",
    """CREATE TABLE IF NOT EXISTS {table} (
        id text PRIMARY KEY, text text NOT NULL,
        parent text REFERENCES {table} (id) DEFERRABLE INITIALLY DEFERRED,
        path text[] NOT NULL, branch bigint[] NOT NULL, ord bigint NOT NULL, level integer NOT NULL,
        radius double precision NOT NULL, direction vector({dim}) NOT NULL, exact bytea NOT NULL,
        embedding bytea NOT NULL, t bigint NOT NULL, valid_from bigint, valid_until bigint,
        access_count bigint NOT NULL, last_accessed bigint, recorded_at bigint, pinned boolean NOT NULL,
        meta json NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS {by_path} ON {table} USING gin (path)",
    "CREATE INDEX IF NOT EXISTS {by_parent} ON {table} (parent)",
)


def _conditions(where: Where) -> tuple[Any, list[Any]]:
    parts: list[str] = ["true"]
    values: list[Any] = []
    if where.below is not None:
        parts.append("path && %s")
        values.append(where.below)
    if where.parents is not None:
        known = [parent for parent in where.parents if parent is not None]
        parts.append("(parent = ANY(%s) OR (parent IS NULL AND %s))")
        values += [known, None in where.parents]
    if where.ids is not None:
        parts.append("id = ANY(%s)")
        values.append(where.ids)
    if where.but is not None:
        parts.append("id <> %s")
        values.append(where.but)
    if where.radius is not None:
        parts.append("radius = %s")
        values.append(where.radius)
    for key, words in where.words:
        parts.append("meta ->> %s = ANY(%s)")
        values += [key, words]
    return sql.SQL(" AND ").join(map(sql.SQL, parts)), values


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


def _told(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
