from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from embed.local_server import (
    Server,
    after,
    answering,
    backwards,
    cut_short,
    hanging_up,
    in_base64,
    running,
    status,
)
from poincare_memory import HashingEmbedder
from poincare_memory.embed import EmbeddingServiceError, OpenAICompatibleEmbedder, remote


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which are not waited for."""
    taken: list[float] = []
    monkeypatch.setattr(remote.time, "sleep", taken.append)
    return taken


def expected(texts: list[str], dim: int = 16) -> np.ndarray[Any, Any]:
    return HashingEmbedder(dim).embed(texts).astype(np.float32)


TEXTS = [f"text number {i}" for i in range(23)]


def test_what_is_asked_and_answered(server: Server) -> None:
    embedder = OpenAICompatibleEmbedder(
        "some-model", base_url=server.url + "/", api_key="secret", headers={"X-A": "b"}
    )
    assert embedder.dim == 16
    assert embedder.dim == 16
    assert len(server.asked) == 1
    assert np.array_equal(embedder.embed(["green tea"]), expected(["green tea"]))
    assert server.asked[1] == {"model": "some-model", "input": ["green tea"], "encoding_format": "float"}
    assert server.headers[1]["Authorization"] == "Bearer secret"
    assert server.headers[1]["X-A"] == "b"
    assert "secret" not in repr(embedder)


def test_batches_by_count_and_by_length_keep_their_order(server: Server) -> None:
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, batch_size=4, batch_characters=40)
    texts = [*TEXTS, "long " * 20, "short"]
    assert np.array_equal(embedder.embed(texts), expected(texts))
    assert all(len(asked["input"]) <= 4 for asked in server.asked)
    assert all(sum(map(len, asked["input"])) <= 40 for asked in server.asked if len(asked["input"]) > 1)
    assert sorted(text for asked in server.asked for text in asked["input"]) == sorted(texts)


def test_several_requests_at_a_time_but_not_all(server: Server) -> None:
    server.script = [after(0.05)] * 12
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, batch_size=2, concurrency=3)
    assert np.array_equal(embedder.embed(TEXTS), expected(TEXTS))
    assert server.busiest == 3


def test_shorter_embeddings_are_asked_for(server: Server) -> None:
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dimensions=8)
    assert embedder.dim == 8
    assert embedder.embed(["a"]).shape == (1, 8)
    assert [asked["dimensions"] for asked in server.asked] == [8]


@pytest.mark.parametrize("answer", [backwards, in_base64])
def test_other_orders_and_encodings_of_answers(server: Server, answer: Any) -> None:
    server.script = [answer]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16)
    np.testing.assert_allclose(embedder.embed(TEXTS), expected(TEXTS), rtol=1e-6)


@pytest.mark.parametrize("fault", [status(429), status(500), status(503), status(529), cut_short, hanging_up])
def test_what_may_pass_is_tried_again(server: Server, pauses: list[float], fault: Any) -> None:
    server.script = [fault, fault, fault]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16)
    assert np.array_equal(embedder.embed(["a"]), expected(["a"]))
    assert len(server.asked) == 4
    assert all(0.25 * 2**i <= pause <= 0.5 * 2**i for i, pause in enumerate(pauses))


def test_a_server_that_never_comes_back(server: Server, pauses: list[float]) -> None:
    server.script = [status(503, {"error": {"message": "over capacity"}})] * 3
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, retries=2, api_key="secret")
    with pytest.raises(EmbeddingServiceError, match=r"HTTP status 503: over capacity \(3 tries\)") as caught:
        embedder.embed(["a"])
    assert caught.value.status == 503
    assert "secret" not in str(caught.value)


def test_a_server_that_hangs_up_without_a_word(server: Server) -> None:
    server.script = [lambda handler, asked: None]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, retries=0)
    with pytest.raises(EmbeddingServiceError, match=r"no (whole )?answer"):
        embedder.embed(["a"])


def test_silence_is_a_time_out(server: Server) -> None:
    server.script = [after(1.0)]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, timeout=0.1, retries=0)
    begun = time.monotonic()
    with pytest.raises(EmbeddingServiceError, match="timed out"):
        embedder.embed(["a"])
    assert time.monotonic() - begun < 0.9


def test_no_server_at_all(pauses: list[float]) -> None:
    with running() as server:
        url = server.url
    embedder = OpenAICompatibleEmbedder("m", base_url=url, dim=16, retries=1)
    with pytest.raises(EmbeddingServiceError, match=r"no answer: .*refused.* \(2 tries\)") as caught:
        embedder.embed(["a"])
    assert caught.value.status is None


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7),
        ("0", 0, 0),
        ("3600", 120, 120),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0),
        ("soon", 0.25, 0.5),
    ],
)
def test_the_pause_that_a_server_asks_for(
    server: Server, pauses: list[float], asked: str, least: float, most: float
) -> None:
    server.script = [status(429, headers={"Retry-After": asked})]
    OpenAICompatibleEmbedder("m", base_url=server.url, dim=16).embed(["a"])
    assert len(pauses) == 1
    assert least <= pauses[0] <= most


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(401, {"error": {"message": "bad key"}}), "HTTP status 401: bad key"),
        (status(400, {"error": "too long"}), "HTTP status 400: too long"),
        (status(404, b"<html>nothing</html>"), "HTTP status 404: <html>nothing"),
        (status(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), "HTTP status 429: pay"),
        (status(302, headers={"Location": "http://127.0.0.1:1/"}), "HTTP status 302"),
        (status(200, b"<html>"), "expected JSON, got .* is this the address"),
        (status(200, 200_000 * b"["), r"expected JSON, got .*\[\["),
        (status(400, 200_000 * b"["), r"HTTP status 400: \[\["),
    ],
)
def test_what_will_not_pass_is_an_error_at_once(
    server: Server, pauses: list[float], answer: Any, message: str
) -> None:
    server.script = [answer]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16)
    with pytest.raises(EmbeddingServiceError, match=message):
        embedder.embed(["a"])
    assert pauses == []
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(200, {"error": "hm"}), "expected .*data"),
        (status(200, []), "expected .*data"),
        (answering(lambda data: data[:1]), "expected 2 embeddings, one a text, got 1"),
        (answering(lambda data: [data[0], data[0]]), r"expected 2 embeddings, .* of the texts \[0, 0\]"),
        (answering(lambda data: [one | {"embedding": [1.0]} for one in data]), r"returned shape \(2, 1\)"),
        (answering(lambda data: [one | {"embedding": [None] * 16} for one in data]), "returned"),
        (
            answering(lambda data: [one | {"embedding": [1e999] * 16} for one in data]),
            "returned inf at place 0",
        ),
        (
            answering(lambda data: [one | {"embedding": [1e300] * 16} for one in data]),
            "returned inf at place 0",
        ),
        (
            answering(lambda data: [one | {"index": None} for one in data]),
            "expected 2 embeddings",
        ),
        (
            answering(lambda data: [data[0] | {"index": "0"}, data[1]]),
            "expected 2 embeddings",
        ),
        (answering(lambda data: [one | {"embedding": "@@@"} for one in data]), "expected float32 as base64"),
        (answering(lambda data: [one | {"embedding": "AAAA"} for one in data]), "expected float32 as base64"),
        (answering(lambda data: [one | {"embedding": {"0": 1}} for one in data]), "returned"),
    ],
)
def test_answers_that_are_no_embeddings(server: Server, answer: Any, message: str) -> None:
    server.script = [answer]
    with pytest.raises(ValueError, match=message):
        OpenAICompatibleEmbedder("m", base_url=server.url, dim=16).embed(["a", "b"])


def test_one_failed_batch_fails_the_call(server: Server) -> None:
    server.script = [status(400, {"error": "no"})]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, batch_size=1)
    with pytest.raises(EmbeddingServiceError, match="no"):
        embedder.embed(TEXTS)


def test_the_event_loop_goes_on(server: Server) -> None:
    server.script = [after(0.3)]
    embedder = OpenAICompatibleEmbedder("m", base_url=server.url, dim=16)

    async def work() -> tuple[np.ndarray[Any, Any], int]:
        waiting = asyncio.create_task(embedder.aembed(["a"]))
        ticks = 0
        while not waiting.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return await waiting, ticks

    rows, ticks = asyncio.run(work())
    assert np.array_equal(rows, expected(["a"]))
    assert ticks >= 5


def test_the_key_of_the_environment_is_for_its_own_server_only(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    OpenAICompatibleEmbedder("m", base_url=server.url, dim=16).embed(["a"])
    assert "Authorization" not in server.headers[0]
    assert OpenAICompatibleEmbedder("m")._headers["Authorization"] == "Bearer secret"


def test_tries_are_logged_without_texts_and_keys(
    server: Server, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [status(503)]
    with caplog.at_level(logging.INFO, "poincare_memory"):
        OpenAICompatibleEmbedder("m", base_url=server.url, dim=16, api_key="secret").embed(["private words"])
    assert "HTTP status 503" in caplog.text
    assert "secret" not in caplog.text
    assert "private" not in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "127.0.0.1:80/v1"}, r"base_url: expected an http\(s\) address"),
        ({"base_url": "file:///etc/passwd"}, r"base_url: expected an http\(s\) address"),
        ({"dim": 0}, "dim must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"timeout": 0}, "timeout must be positive"),
        ({"retries": -1}, "retries must be at least 0"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpenAICompatibleEmbedder("m", **options)
    with pytest.raises(ValueError, match="model: expected the name"):
        OpenAICompatibleEmbedder("")
