"""Qdrant's engine in this process (``pip install "poincare-memory[qdrant-edge]"``), with the client's methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

try:
    import qdrant_edge as edge
    from qdrant_client import models
except ImportError as error:
    raise ImportError(
        'Memory.connect("qdrant-edge://...") needs the "qdrant-edge" extra: pip install "poincare-memory[qdrant-edge]"'
    ) from error

__all__ = ["EdgeClient"]

_KINDS: Final = {"keyword": edge.PayloadSchemaType.Keyword, "integer": edge.PayloadSchemaType.Integer}


class EdgeClient:
    """What of `QdrantClient` a memory needs, over shards of ``qdrant_edge``: a folder of collections.

    One process at a time may have a collection open.

    Parameters
    ----------
    folder : path
        Made where it is missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._shards: dict[str, Any] = {}

    def close(self) -> None:
        while self._shards:
            _, shard = self._shards.popitem()
            shard.flush()
            shard.close()

    # --- collections ------------------------------------------------------------------------------------

    def collection_exists(self, name: str) -> bool:
        return name in self._shards or (self._folder / name / "edge_config.json").exists()

    def create_collection(self, name: str, *, vectors_config: models.VectorParams) -> None:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        vectors = edge.EdgeVectorParams(size=vectors_config.size, distance=edge.Distance.Dot)
        self._shards[name] = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors))

    def create_payload_index(self, name: str, field: str, kind: str) -> None:
        self._shard(name).update(edge.UpdateOperation.create_field_index(field, _KINDS[kind]))

    def optimize(self, name: str) -> None:
        """Build the graphs of what has been written: servers do so by themselves."""
        self._shard(name).optimize()

    def _shard(self, name: str) -> Any:
        if name not in self._shards:
            self._shards[name] = edge.EdgeShard.load(str(self._folder / name))
        return self._shards[name]

    # --- writing ----------------------------------------------------------------------------------------

    def upsert(self, name: str, points: Sequence[models.PointStruct], *, wait: bool = True) -> None:
        self._update(name, [models.UpsertOperation(upsert=models.PointsList(points=list(points)))])

    def batch_update_points(self, name: str, operations: Sequence[Any], *, wait: bool = True) -> None:
        self._update(name, operations)

    def _update(self, name: str, operations: Sequence[Any]) -> None:
        shard = self._shard(name)
        for operation in operations:
            shard.update(_operation(operation))  # its log keeps what is not flushed

    # --- reading ----------------------------------------------------------------------------------------

    def count(self, name: str, *, exact: bool) -> Any:
        return SimpleNamespace(count=self._shard(name).count(edge.CountRequest(exact=exact)))

    def retrieve(self, name: str, ids: Sequence[Any], *, with_payload: bool) -> list[Any]:
        return list(self._shard(name).retrieve(list(ids), with_payload=with_payload, with_vector=False))

    def scroll(
        self, name: str, *, scroll_filter: Any, limit: int, offset: Any, with_payload: bool
    ) -> tuple[list[Any], Any]:
        asked = edge.ScrollRequest(
            limit=limit, offset=offset, filter=_filter(scroll_filter), with_payload=with_payload
        )
        found: tuple[list[Any], Any] = self._shard(name).scroll(asked)
        return found

    def query_points(self, name: str, *, query: list[float], query_filter: Any, search_params: Any, limit: int,
                     with_payload: bool) -> Any:  # fmt: skip
        asked = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(query),
            filter=_filter(query_filter),
            params=edge.SearchParams(exact=bool(search_params and search_params.exact)),
            with_payload=with_payload,
        )
        return SimpleNamespace(points=self._shard(name).query(asked))

    def facet(self, name: str, *, key: str, facet_filter: Any, limit: int, exact: bool) -> Any:
        return self._shard(name).facet(edge.FacetRequest(key, limit, exact, _filter(facet_filter)))


def _operation(operation: Any) -> Any:
    if isinstance(operation, models.UpsertOperation):
        points = [edge.Point(point.id, point.vector, point.payload) for point in operation.upsert.points]
        return edge.UpdateOperation.upsert_points(points)
    if isinstance(operation, models.DeleteOperation):
        return edge.UpdateOperation.delete_points(list(operation.delete.points))
    assert isinstance(operation, models.SetPayloadOperation)
    change = operation.set_payload
    return edge.UpdateOperation.set_payload(list(change.points), change.payload)


def _filter(condition: Any) -> Any:
    """A condition of the client as one of the engine."""
    if condition is None:
        return None
    if isinstance(condition, models.Filter):
        return edge.Filter(
            must=_filters(condition.must),
            should=_filters(condition.should),
            must_not=_filters(condition.must_not),
        )
    if condition.range is not None:
        bounds = {name: getattr(condition.range, name) for name in ("gt", "gte", "lt", "lte")}
        return edge.FieldCondition(condition.key, range=edge.RangeFloat(**bounds))
    return edge.FieldCondition(condition.key, match=edge.MatchAny(list(condition.match.any)))


def _filters(conditions: Any) -> Any:
    return None if conditions is None else [_filter(part) for part in conditions]
