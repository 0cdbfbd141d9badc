"""What a Qdrant cluster answers over REST, for as much of it as a memory asks: a local Qdrant for every shard."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models

OPERATION: Any = TypeAdapter(models.UpdateOperation)


class RefusedError(Exception):
    """What the server says of a request it does not do."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Collection:
    """Shards by their key; without custom sharding one, whose key is None."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.method = asked.get("sharding_method") or "auto"
        self.size = asked["vectors"]["size"]
        self.shards: dict[str | None, QdrantClient] = {}
        if self.method == "auto":
            self.add(None)

    def add(self, key: str | None) -> None:
        if key in self.shards:
            raise RefusedError(400, f"Bad request: Shard key {key} already exists")
        client = QdrantClient(":memory:")
        vectors = models.VectorParams(size=self.size, distance=models.Distance.DOT)
        client.create_collection("c", vectors_config=vectors)
        self.shards[key] = client

    def reads(self, keys: Any) -> list[QdrantClient]:
        if keys is None:
            return list(self.shards.values())
        return [self.one(key) for key in (keys if isinstance(keys, list) else [keys])]

    def writes(self, key: Any) -> QdrantClient:
        if isinstance(key, list):
            (key,) = key
        if key is None and self.method == "custom":
            raise RefusedError(400, "Bad request: Shard key not specified")
        return self.one(key)

    def one(self, key: str | None) -> QdrantClient:
        if key not in self.shards:
            raise RefusedError(404, f"Not found: Shard key {key} not found")
        return self.shards[key]


class Cluster(ThreadingHTTPServer):
    """Serves on a port of its own until `stop`; `requests` are method, path and body of all it was asked."""

    daemon_threads = True

    def __init__(self, *, distributed: bool = True, largest: int = 32 << 20) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.distributed, self.largest = distributed, largest
        self.collections: dict[str, Collection] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.guard = threading.Lock()
        self.before_operation: Callable[[int, Any], None] = lambda number, operation: None
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"qdrant://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def asked(self, ending: str) -> list[Any]:
        return [body for _, path, body in self.requests if path.endswith(ending)]

    # --- what it can be asked ---------------------------------------------------------------------------

    def answer(self, method: str, path: list[str], body: Any) -> Any:
        if path[:1] != ["collections"] or len(path) < 2:
            raise RefusedError(404, "Not found")
        name, rest = path[1], "/".join(path[2:])
        if rest == "exists":
            return {"exists": name in self.collections}
        if method == "PUT" and not rest:
            self.collections[name] = Collection(body)
            return True
        if method == "DELETE" and not rest:
            return self.collections.pop(name, None) is not None
        if name not in self.collections:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        found = self.collections[name]
        answers: dict[tuple[str, str], Callable[[Collection, Any], Any]] = {
            ("GET", ""): _told,
            ("GET", "cluster"): _cluster,
            ("PUT", "shards"): self._add_key,
            ("PUT", "index"): lambda *_: _DONE,
            ("PUT", "points"): lambda one, asked: _update(one, {"upsert": asked}),
            ("POST", "points"): _retrieve,
            ("POST", "points/batch"): self._batch,
            ("POST", "points/query"): _query,
            ("POST", "points/scroll"): _scroll,
            ("POST", "points/count"): _count,
            ("POST", "facet"): _facet,
        }
        if (method, rest) not in answers:
            raise RefusedError(404, f"Not found: {method} {rest}")
        return answers[method, rest](found, body)

    def _add_key(self, found: Collection, asked: Any) -> bool:
        if not self.distributed:
            raise RefusedError(400, "Bad request: Distributed mode disabled")
        if found.method != "custom":
            raise RefusedError(400, "Bad request: Shard Key cannot be created with Auto sharding method")
        found.add(asked["shard_key"])
        return True

    def _batch(self, found: Collection, asked: Any) -> Any:
        done = []
        for number, operation in enumerate(asked["operations"]):  # one after the other; no transaction
            self.before_operation(number, operation)
            done.append(_update(found, operation))
        return done


_DONE = {"operation_id": 0, "status": "completed"}


def _told(found: Collection, _: Any) -> Any:
    params = {"vectors": {"size": found.size, "distance": "Dot"}, "sharding_method": found.method}
    optimizers = {
        "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0,
        "flush_interval_sec": 5,
    }  # fmt: skip
    config = {
        "params": params,
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
        "optimizer_config": optimizers,
    }
    return {
        "status": "green", "optimizer_status": "ok", "segments_count": 1, "config": config, "payload_schema": {},
    }  # fmt: skip


def _cluster(found: Collection, _: Any) -> Any:
    """Every other shard is on another node."""
    keys = [key for key in found.shards if key is not None]
    local = [
        {"shard_id": number, "shard_key": key, "points_count": 0, "state": "Active"}
        for number, key in enumerate(keys)
        if number % 2 == 0
    ]
    remote = [
        {"shard_id": number, "shard_key": key, "peer_id": 2, "state": "Active"}
        for number, key in enumerate(keys)
        if number % 2
    ]
    counts = {"peer_id": 1, "shard_count": len(keys), "shard_transfers": []}
    return {**counts, "local_shards": local, "remote_shards": remote}


def _update(found: Collection, asked: Any) -> Any:
    operation = OPERATION.validate_python(asked)
    (part,) = (value for value in vars(operation).values() if value is not None)
    client = found.writes(part.shard_key)
    client.batch_update_points("c", [operation])
    return _DONE


def _retrieve(found: Collection, asked: Any) -> Any:
    return [
        point
        for client in found.reads(asked.get("shard_key"))
        for point in client.retrieve("c", asked["ids"], with_payload=True)
    ]


def _query(found: Collection, asked: Any) -> Any:
    request = models.QueryRequest(**asked)
    points = [
        point
        for client in found.reads(asked.get("shard_key"))
        for point in client.query_points(
            "c", query=request.query, query_filter=request.filter, limit=asked["limit"], with_payload=True
        ).points
    ]
    return {"points": sorted(points, key=lambda point: -point.score)[: asked["limit"]]}


def _scroll(found: Collection, asked: Any) -> Any:
    request = models.ScrollRequest(**asked)
    points = []
    for client in found.reads(asked.get("shard_key")):
        points += client.scroll("c", scroll_filter=request.filter, limit=10**6, with_payload=True)[0]
    points.sort(key=lambda point: str(point.id))
    points = [point for point in points if asked.get("offset") is None or str(point.id) >= asked["offset"]]
    rest = points[asked["limit"] :]
    return {"points": points[: asked["limit"]], "next_page_offset": rest[0].id if rest else None}


def _count(found: Collection, asked: Any) -> Any:
    return {
        "count": sum(client.count("c", exact=True).count for client in found.reads(asked.get("shard_key")))
    }


def _facet(found: Collection, asked: Any) -> Any:
    request = models.FacetRequest(**asked)
    counts: dict[Any, int] = {}
    for client in found.reads(asked.get("shard_key")):
        answer = client.facet("c", key=asked["key"], facet_filter=request.filter, limit=asked["limit"])
        for hit in answer.hits:
            counts[hit.value] = counts.get(hit.value, 0) + hit.count
    return {"hits": [{"value": value, "count": count} for value, count in counts.items()]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Cluster

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        if length > self.server.largest:
            return self._say(413, {"error": f"JSON payload ({length} bytes) is larger than allowed"})
        path = self.path.partition("?")[0]
        body = json.loads(sent) if sent else None
        with self.server.guard:
            self.server.requests.append((self.command, path, body))
            try:
                result = self.server.answer(self.command, path.strip("/").split("/"), body)
            except RefusedError as error:
                return self._say(error.status, {"error": str(error)})
            except ConnectionResetError:  # what tests raise: the server is gone
                self.close_connection = True
                return None
        return self._say(200, "ok", result)

    def _say(self, code: int, status: Any, result: Any = None) -> None:
        answer = {"result": result, "status": status, "time": 0.0}
        data = json.dumps(answer, default=lambda model: model.model_dump(mode="json")).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # names of the base class

    def log_message(self, *_: Any) -> None: ...
