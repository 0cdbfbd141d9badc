"""A server of embeddings on this machine: `/v1/embeddings` over the hashing embedder, and what servers do wrong."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from poincare_memory import HashingEmbedder

Answer = Callable[["Handler", dict[str, Any]], None]


class Server(ThreadingHTTPServer):
    """Answers as `script` says, one entry a request, and rightly when that is used up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Answer] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.busy = self.busiest = 0
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none of our business."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        """In silence."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.guard:
            server.asked.append(asked)
            server.headers.append(dict(self.headers))
            answer = server.script.pop(0) if server.script else rightly
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
            self.in_work = True
        try:
            if self.path != "/v1/embeddings":
                answer = status(404, {"error": {"message": f"no {self.path}"}})
            answer(self, asked)
        finally:
            self.no_longer_in_work()

    def no_longer_in_work(self) -> None:
        with self.server.guard:
            self.server.busy -= self.in_work
            self.in_work = False

    def send(self, code: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self.no_longer_in_work()  # a client that has its answer may ask again before this thread runs on
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def data_of(asked: dict[str, Any]) -> list[dict[str, Any]]:
    rows = HashingEmbedder(dim=asked.get("dimensions", 16)).embed(asked["input"])
    return [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]


def rightly(handler: Handler, asked: dict[str, Any]) -> None:
    handler.send(200, {"object": "list", "data": data_of(asked), "model": asked["model"]})


def backwards(handler: Handler, asked: dict[str, Any]) -> None:
    handler.send(200, {"data": data_of(asked)[::-1]})


def in_base64(handler: Handler, asked: dict[str, Any]) -> None:
    data = data_of(asked)
    for one in data:
        one["embedding"] = base64.b64encode(np.array(one["embedding"], "<f4").tobytes()).decode()
    handler.send(200, {"data": data})


def status(code: int, content: Any = b"", headers: dict[str, str] | None = None) -> Answer:
    return lambda handler, asked: handler.send(code, content, headers)


def answering(change: Callable[[list[dict[str, Any]]], Any]) -> Answer:
    return lambda handler, asked: handler.send(200, {"data": change(data_of(asked))})


def cut_short(handler: Handler, asked: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data"')


def hanging_up(handler: Handler, asked: dict[str, Any]) -> None:
    handler.connection.close()


def after(seconds: float) -> Answer:
    def answer(handler: Handler, asked: dict[str, Any]) -> None:
        time.sleep(seconds)
        with contextlib.suppress(OSError):
            rightly(handler, asked)

    return answer


@contextlib.contextmanager
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
