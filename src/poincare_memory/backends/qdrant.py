"""Qdrant (``pip install "poincare-memory[qdrant]"``): a server, a cluster, or the client's own local mode."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.parse
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import BackendError
from .qdrant_conditions import where_filter
from .qdrant_points import facts_of, point_id, point_of, row_of
from .qdrant_shards import Shards, shard_count
from .rows import SCHEMA, Row, Where, newest, schema_of

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.http.exceptions import ResponseHandlingException
except ImportError as error:
    raise ImportError(
        'Memory.connect("qdrant://...") needs the "qdrant" extra: pip install "poincare-memory[qdrant]"'
    ) from error

__all__ = ["QdrantEngine"]

PAGE: Final = 1000
MOST_RADII: Final = 10_000
INDEXED: Final = {
    "id": "keyword",
    "up": "keyword",
    "path": "keyword",
    "facts": "keyword",
    "radius_key": "keyword",
    "order": "integer",
    "level": "integer",
    "t": "integer",
    "recorded_at": "integer",
}
Value = TypeVar("Value")


class QdrantEngine:
    """Points of a Qdrant collection.

    There are no transactions: what an edit changes goes out in one request, and two processes that edit one branch at
    the same time may each undo the other's move. Let one process write a tree.

    Parameters
    ----------
    client : QdrantClient
    name : str
        Of the collection; ``{name}_info`` stands beside it.
    exact : bool
        False: the graphs of its shards find the nearest.
    shards : int, optional
        Groups of roots with a shard of their own, of a new memory on a cluster.
    """

    def __init__(self, client: Any, name: str, *, exact: bool = True, shards: int | None = None) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name):
            raise ValueError(f"name: expected letters, digits, - and _, got {name!r:.80}")
        self._client, self._name, self._info = client, name, f"{name}_info"
        self._exact = exact
        wanted = shard_count(shards)  # what is in this process has no shards
        self._shards = Shards(wanted) if wanted is not None and _is_server(client) else None
        self._close = weakref.finalize(self, client.close)
        self._lock = threading.RLock()
        # What is in this process does one thing at a time; a server does many.
        self._alone = nullcontext() if _is_server(client) else self._lock
        self._waiting: list[Any] | None = None
        self._homes: dict[str, set[str]] = {}  # of memories that this edit has seen: the keys of their shards
        self._last = 0

    @classmethod
    def at(
        cls, url: str, name: str, timeout: float, *, exact: bool = True, shards: int | None = None
    ) -> QdrantEngine:
        """An engine from an address.

        ``qdrant://[:KEY@]HOST[:PORT]`` (``qdrants`` for TLS), ``qdrant-edge:///FOLDER``, ``qdrant:///FOLDER`` or
        ``qdrant:///:memory:``.
        """
        address = urllib.parse.urlsplit(url)
        path = urllib.parse.unquote(address.path)
        if not address.hostname and len(path) < 2:
            raise ValueError(f"url: expected qdrant://HOST or a folder (qdrant:///FOLDER), got {url!r:.80}")
        if address.scheme == "qdrant-edge":
            if address.hostname:
                raise ValueError(f"url: expected a folder (qdrant-edge:///FOLDER), got {url!r:.80}")
            from .edge import EdgeClient

            return cls(EdgeClient(path), name, exact=exact, shards=shards)
        if not address.hostname:
            client = QdrantClient(":memory:") if path == "/:memory:" else QdrantClient(path=path)
            return cls(client, name, exact=exact, shards=shards)
        scheme = "https" if address.scheme == "qdrants" else "http"
        client = QdrantClient(
            url=f"{scheme}://{address.hostname}:{address.port or 6333}",
            api_key=urllib.parse.unquote(address.password) if address.password else None,
            timeout=max(1, int(timeout)),
            check_compatibility=False,
        )
        return cls(client, name, exact=exact, shards=shards)

    def __repr__(self) -> str:
        return f"Qdrant collection {self._name!r}"

    def _ask(self, work: Callable[[], Value]) -> Value:
        """Ask, and once more where the connection broke: all that is asked may be done twice."""
        for tried in range(2):
            try:
                with self._alone:
                    return work()
            except (AssertionError, NotImplementedError, BackendError):  # ours, not the engine's
                raise
            except Exception as error:  # of the client, of HTTP, of gRPC: many classes
                if tried or not isinstance(error, ResponseHandlingException) or "timed out" in str(error):
                    raise BackendError(f"{self!r}: {' '.join(str(error).split())[:300]}") from error
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._close()

    # --- schema -----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any] | None:
        if not self._ask(lambda: self._client.collection_exists(self._info)):
            return None
        found = self._ask(lambda: self._client.retrieve(self._info, [1], with_payload=True))
        if not found:
            return None
        kept = json.loads(found[0].payload["memory"])
        self._take_shards(kept.get("shards"))
        if schema_of(kept, repr(self)) < SCHEMA:
            self._migrate()
            self._ask(lambda: self._keep(kept["settings"]))
        if not self._exact and hasattr(self._client, "optimize"):
            self._ask(lambda: self._client.optimize(self._name))
        settings: dict[str, Any] = kept["settings"]
        return settings

    def _take_shards(self, kept: int | None) -> None:
        """Those that the memory was made with."""
        if self._shards is not None and self._shards.count != kept:
            raise ValueError(f"shards: the memory was made with {kept!r}, got {self._shards.count!r}")
        self._shards = None if kept is None else Shards(kept)

    def prepare(self, settings: dict[str, Any], dim: int) -> None:
        self._ask(lambda: self._prepare(settings, dim))

    def _prepare(self, settings: dict[str, Any], dim: int) -> None:
        client = self._client
        for name, size in ((self._name, dim), (self._info, 1)):
            vectors = models.VectorParams(size=size, distance=models.Distance.DOT)
            if self._shards is not None and name == self._name:
                self._shards.prepare(client, name, vectors)
            elif not client.collection_exists(name):
                client.create_collection(name, vectors_config=vectors)
        self._index()
        self._keep(settings)

    def _index(self) -> None:
        if _is_local(self._client):  # it has no indexes, and warns
            return
        for field, kind in INDEXED.items():
            self._client.create_payload_index(self._name, field, kind)

    def _keep(self, settings: dict[str, Any]) -> None:
        shards = {} if self._shards is None else {"shards": self._shards.count}
        kept = json.dumps({"schema": SCHEMA, "settings": settings, **shards})
        point = models.PointStruct(id=1, vector=[1.0], payload={"memory": kept})
        self._client.upsert(self._info, [point], wait=True)

    def _migrate(self) -> None:
        """From schema 1, whose points have no facts: again from the beginning where that was interrupted."""
        for rows in self._pages(Where()):
            changes = [
                models.SetPayloadOperation(
                    set_payload=models.SetPayload(
                        payload=facts_of(row.meta), points=[point_id(row.id)], shard_key=self._home(row)
                    )
                )
                for row in rows
            ]
            self._ask(partial(self._client.batch_update_points, self._name, changes, wait=True))
        self._ask(self._index)

    # --- writing ----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._lock:
            self._waiting, self._homes = [], {}
            try:
                yield
                # What is deleted goes last: rather twice for a moment (the newer place counts) than nowhere.
                waiting = sorted(self._waiting, key=lambda one: isinstance(one, models.DeleteOperation))
            finally:
                self._waiting, self._homes = None, {}
            if waiting:
                self._change(waiting)

    def _change(self, operations: list[Any]) -> None:
        try:
            self._ask(lambda: self._client.batch_update_points(self._name, operations, wait=True))
        except BackendError as error:
            if _may_have_happened(error):
                raise BackendError(
                    f"{error}: the edit may have happened, or the first part of it; look before you repeat it"
                ) from error
            raise

    def _later(self, operation: Any) -> None:
        if self._waiting is None:
            self._change([operation])
        else:
            self._waiting.append(operation)

    def _home(self, row: Row) -> str | None:
        return None if self._shards is None else self._shards.home(row)

    def lock(self, ids: Sequence[str], shared: bool) -> None:
        """There are no locks of points."""

    def serials(self, count: int) -> int:
        with self._lock:
            first = max(time.time_ns(), self._last + 1)
            self._last = first + count
            return first

    def save(self, rows: Sequence[Row]) -> None:
        groups: dict[str | None, list[Row]] = {}
        for row in rows:
            groups.setdefault(self._home(row), []).append(row)
        for key, group in groups.items():
            points = models.PointsList(points=[point_of(row) for row in group], shard_key=key)
            self._later(models.UpsertOperation(upsert=points))
        if self._shards is not None:  # what comes from below another root leaves its shard
            self._delete_from((key, row.id) for row in rows for key in self._left_by(row, self._shards))

    def _left_by(self, row: Row, shards: Shards) -> set[str]:
        return self._homes.get(row.id, set()) - {shards.home(row)}

    def delete(self, ids: Sequence[str]) -> None:
        if self._shards is None:
            self._delete_from((None, id) for id in ids)
        else:
            everywhere = self._shards.keys
            self._delete_from((key, id) for id in ids for key in self._homes.get(id, everywhere))

    def _delete_from(self, places: Iterable[tuple[str | None, str]]) -> None:
        """Memories, each from the shard of a key."""
        groups: dict[str | None, list[Any]] = {}
        for key, id in places:
            groups.setdefault(key, []).append(point_id(id))
        for key, points in groups.items():
            gone = models.PointIdsList(points=points, shard_key=key)
            self._later(models.DeleteOperation(delete=gone))

    def touch(self, ids: Sequence[str], now: int) -> None:
        operations = [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(
                    payload={
                        "access_count": row.access_count + 1,
                        "last_accessed": max(row.last_accessed, now),
                    },
                    points=[point_id(row.id)],
                    shard_key=self._home(row),
                )
            )
            for row in self.fetch(Where(ids=list(ids)))
        ]
        if operations:
            self._ask(lambda: self._client.batch_update_points(self._name, operations, wait=True))

    # --- reading ----------------------------------------------------------------------------------------

    def reading(self, work: Callable[[], Value]) -> Value:
        """There are no snapshots to read from: each request sees what is there when it comes."""
        return work()

    def count(self) -> int:
        return int(self._ask(lambda: self._client.count(self._name, exact=True)).count)

    def fetch(self, where: Where) -> list[Row]:
        found = [row for rows in self._pages(where) for row in rows]
        if self._shards is not None:
            every, found = found, newest(found)
            if self._waiting is not None:
                self._note_homes(every, found, self._shards)
        return sorted(found, key=lambda row: row.order)

    def _note_homes(self, every: list[Row], kept: list[Row], shards: Shards) -> None:
        """Where an edit has seen memories; what a move that was broken off has left behind goes with it."""
        for row in every:
            self._homes.setdefault(row.id, set()).add(shards.home(row))
        here = {row.id: shards.home(row) for row in kept}
        places = ((shards.home(row), row.id) for row in every)
        self._delete_from((key, id) for key, id in places if key != here[id])

    def _of_shards(self, where: Where) -> dict[str, Any]:
        return {} if self._shards is None else self._shards.asked(where)

    def _pages(self, where: Where) -> Iterator[list[Row]]:
        offset = None
        while True:
            points, offset = self._ask(
                partial(
                    self._client.scroll,
                    self._name,
                    scroll_filter=where_filter(where),
                    limit=PAGE,
                    offset=offset,
                    with_payload=True,
                    **self._of_shards(where),
                )
            )
            yield [row_of(point.payload) for point in points]
            if offset is None:
                return

    def nearest(self, where: Where, direction: NDArray[np.float64], limit: int) -> list[Row]:
        found = self._nearest(where, direction, limit, self._exact)
        if len(found) < limit and not self._exact:  # a graph may lose some
            return self._nearest(where, direction, limit, True)
        return found

    def _nearest(self, where: Where, direction: NDArray[np.float64], limit: int, exact: bool) -> list[Row]:
        answer = self._ask(
            lambda: self._client.query_points(
                self._name,
                query=direction.astype(np.float32).tolist(),
                query_filter=where_filter(where),
                search_params=None if _is_local(self._client) else models.SearchParams(exact=exact),
                limit=limit,
                with_payload=True,
                **self._of_shards(where),
            )
        )
        return [row_of(point.payload) for point in answer.points]

    def radii(self, where: Where) -> list[float]:
        answer = self._ask(
            lambda: self._client.facet(
                self._name,
                key="radius_key",
                facet_filter=where_filter(where),
                limit=MOST_RADII,
                exact=True,
                **self._of_shards(where),
            )
        )
        if len(answer.hits) == MOST_RADII:  # perhaps not all of them
            return sorted({row.radius for rows in self._pages(where) for row in rows})
        return sorted(float(hit.value) for hit in answer.hits)


def _may_have_happened(error: BaseException) -> bool:
    """The server may have got a request that brought no answer; one that it has refused changed nothing."""
    return isinstance(error.__cause__, ResponseHandlingException)


def _is_server(client: Any) -> bool:
    return isinstance(client, QdrantClient) and not _is_local(client)


def _is_local(client: Any) -> bool:
    """Its own local mode always is exact, and warns of what it is told about that."""
    return type(getattr(client, "_client", None)).__name__ == "QdrantLocal"
