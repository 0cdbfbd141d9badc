"""Qdrant (``pip install "poincare-memory[qdrant]"``): a server, a cluster, or the client's own local mode."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import urllib.parse
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import BackendError
from .rows import SCHEMA, TIMES, Row, Where, micros, optional, settings_kept

try:
    from qdrant_client import QdrantClient, models
except ImportError as error:
    raise ImportError(
        'Memory.connect("qdrant://...") needs the "qdrant" extra: pip install "poincare-memory[qdrant]"'
    ) from error

__all__ = ["QdrantEngine"]

PAGE: Final = 1000
INDEXED: Final = {
    "id": "keyword",
    "up": "keyword",
    "path": "keyword",
    "radius_key": "keyword",
    "order": "integer",
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
    """

    def __init__(self, client: Any, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name):
            raise ValueError(f"name: expected letters, digits, - and _, got {name!r:.80}")
        self._client, self._name, self._info = client, name, f"{name}_info"
        self._close = weakref.finalize(self, client.close)
        self._lock = threading.RLock()
        self._waiting: list[Any] | None = None
        self._last = 0

    @classmethod
    def at(cls, url: str, name: str, timeout: float) -> QdrantEngine:
        """``qdrant://[:KEY@]HOST[:PORT]`` (``qdrants`` for TLS), ``qdrant:///FOLDER`` or ``qdrant:///:memory:``."""
        address = urllib.parse.urlsplit(url)
        if address.hostname:
            scheme = "https" if address.scheme == "qdrants" else "http"
            port = address.port or 6333
            client = QdrantClient(
                url=f"{scheme}://{address.hostname}:{port}",
                api_key=urllib.parse.unquote(address.password) if address.password else None,
                timeout=max(1, int(timeout)),
                check_compatibility=False,
            )
        elif address.path == "/:memory:":
            client = QdrantClient(":memory:")
        else:
            client = QdrantClient(path=urllib.parse.unquote(address.path))
        return cls(client, name)

    def __repr__(self) -> str:
        return f"Qdrant collection {self._name!r}"

    def _ask(self, work: Callable[[], Value]) -> Value:
        with self._lock:
            try:
                return work()
            except (AssertionError, NotImplementedError):  # a fault of ours, not of the engine
                raise
            except Exception as error:  # of the client, of HTTP, of gRPC: many classes
                raise BackendError(f"{self!r}: {' '.join(str(error).split())[:300]}") from error

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
        return settings_kept(kept, repr(self))

    def prepare(self, settings: dict[str, Any], dim: int) -> None:
        kept = json.dumps({"schema": SCHEMA, "settings": settings})
        self._ask(lambda: self._prepare(kept, dim))

    def _prepare(self, kept: str, dim: int) -> None:
        client = self._client
        for name, size in ((self._name, dim), (self._info, 1)):
            if not client.collection_exists(name):
                vectors = models.VectorParams(size=size, distance=models.Distance.DOT)
                client.create_collection(name, vectors_config=vectors)
        if not _is_local(client):  # the local mode has no indexes, and warns
            for field, kind in INDEXED.items():
                client.create_payload_index(self._name, field, kind)
        client.upsert(
            self._info, [models.PointStruct(id=1, vector=[1.0], payload={"memory": kept})], wait=True
        )

    # --- writing ----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._lock:
            self._waiting = []
            try:
                yield
                waiting = self._waiting
            finally:
                self._waiting = None
            if waiting:
                self._ask(lambda: self._client.batch_update_points(self._name, waiting, wait=True))

    def _later(self, operation: Any) -> None:
        if self._waiting is None:
            self._ask(lambda: self._client.batch_update_points(self._name, [operation], wait=True))
        else:
            self._waiting.append(operation)

    def lock(self, ids: Sequence[str], shared: bool) -> None:
        """There are no locks of points."""

    def serials(self, count: int) -> int:
        with self._lock:
            first = max(time.time_ns(), self._last + 1)
            self._last = first + count
            return first

    def save(self, rows: Sequence[Row]) -> None:
        if rows:
            self._later(
                models.UpsertOperation(upsert=models.PointsList(points=[_point(row) for row in rows]))
            )

    def delete(self, ids: Sequence[str]) -> None:
        if ids:
            points = models.PointIdsList(points=[_point_id(id) for id in ids])
            self._later(models.DeleteOperation(delete=points))

    def touch(self, ids: Sequence[str], now: int) -> None:
        operations = [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(
                    payload={
                        "access_count": row.access_count + 1,
                        "last_accessed": max(row.last_accessed, now),
                    },
                    points=[_point_id(row.id)],
                )
            )
            for row in self.fetch(Where(ids=list(ids)))
        ]
        if operations:
            self._ask(lambda: self._client.batch_update_points(self._name, operations, wait=True))

    # --- reading ----------------------------------------------------------------------------------------

    def count(self) -> int:
        return int(self._ask(lambda: self._client.count(self._name, exact=True)).count)

    def fetch(self, where: Where) -> list[Row]:
        found: list[Row] = []
        offset = None
        while True:
            points, offset = self._ask(
                lambda at=offset: self._client.scroll(  # type: ignore[misc]  # a default in a lambda
                    self._name, scroll_filter=_filter(where), limit=PAGE, offset=at, with_payload=True
                )
            )
            found += [_row(point.payload) for point in points]
            if offset is None:
                return sorted(found, key=lambda row: row.order)

    def nearest(self, where: Where, direction: NDArray[np.float64], limit: int) -> list[Row]:
        answer = self._ask(
            lambda: self._client.query_points(
                self._name,
                query=direction.astype(np.float32).tolist(),
                query_filter=_filter(where),
                search_params=None if _is_local(self._client) else models.SearchParams(exact=True),
                limit=limit,
                with_payload=True,
            )
        )
        return [_row(point.payload) for point in answer.points]

    def radii(self, where: Where) -> list[float]:
        answer = self._ask(
            lambda: self._client.facet(
                self._name, key="radius_key", facet_filter=_filter(where), limit=10_000, exact=True
            )
        )
        return sorted(float(hit.value) for hit in answer.hits)


def _is_local(client: Any) -> bool:
    """Its own local mode always is exact, and warns of what it is told about that."""
    return type(client._client).__name__ == "QdrantLocal"


def _point_id(id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, id))


def _filter(where: Where) -> Any:
    def among(key: str, values: Sequence[str]) -> Any:
        return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))

    must, without = [], []
    if where.below is not None:
        must.append(among("path", where.below))
    if where.parents is not None:
        must.append(among("up", [parent or "" for parent in where.parents]))
    if where.ids is not None:
        must.append(among("id", where.ids))
    if where.but is not None:
        without.append(among("id", [where.but]))
    if where.radius is not None:
        must.append(among("radius_key", [repr(where.radius)]))
    must += [among(f"words.{key}", words) for key, words in where.words]
    return models.Filter(must=must, must_not=without) if must or without else None


def _point(row: Row) -> Any:
    kind = "f" if row.embedding.dtype == np.float32 else "d"
    payload = {
        "id": row.id,
        "text": row.text,
        "up": row.parent or "",
        "path": row.path,
        "branch": row.branch,
        "order": row.order,
        "level": row.level,
        "radius_key": repr(row.radius),
        "exact": _text(row.direction.astype("<f8").tobytes()),
        "embedding": kind + _text(row.embedding.astype(f"<{kind}").tobytes()),
        "access_count": row.access_count,
        "pinned": row.pinned,
        "meta": json.dumps(row.meta),
        "words": {key: value for key, value in row.meta.items() if isinstance(value, str)},
        **{name: optional(getattr(row, name)) for name in TIMES},
    }
    return models.PointStruct(
        id=_point_id(row.id), vector=row.direction.astype(np.float32).tolist(), payload=payload
    )


def _row(payload: Any) -> Row:
    times = {name: micros(payload.get(name)) for name in TIMES}
    kind, embedding = payload["embedding"][0], base64.b64decode(payload["embedding"][1:])
    return Row(
        id=payload["id"],
        text=payload["text"],
        parent=payload["up"] or None,
        path=list(payload["path"]),
        branch=list(payload["branch"]),
        order=payload["order"],
        level=payload["level"],
        radius=float(payload["radius_key"]),
        direction=np.frombuffer(base64.b64decode(payload["exact"]), "<f8").copy(),
        embedding=np.frombuffer(embedding, f"<{kind}").copy(),
        access_count=payload["access_count"],
        pinned=payload["pinned"],
        meta=json.loads(payload["meta"]),
        **times,
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
