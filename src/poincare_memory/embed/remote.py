"""Embeddings of any server that speaks the OpenAI protocol (``POST .../v1/embeddings``)."""

from __future__ import annotations

import base64
import email.utils
import http.client
import json
import logging
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from ..arguments import integer, positive_number
from .embedding import as_embeddings, text_list
from .protocol import FloatArray

__all__ = ["EmbeddingServiceError", "OpenAICompatibleEmbedder"]

logger = logging.getLogger("poincare_memory")

_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST_PAUSE: Final = 0.5  # seconds, doubled at every try
_LONGEST_PAUSE: Final = 30.0
_LONGEST_ASKED_PAUSE: Final = 120.0  # what a server's Retry-After may ask


class EmbeddingServiceError(RuntimeError):
    """The server of the embeddings refused, failed or could not be reached, after all tries.

    Attributes
    ----------
    status : int or None
        HTTP status of the last answer; None where there was none.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class OpenAICompatibleEmbedder:
    """Any ``/v1/embeddings`` endpoint: OpenAI, Azure, vLLM, Ollama, LM Studio, text-embeddings-inference.

    Texts go out in batches, several requests at a time. What may pass (a busy server, a broken connection, a slow
    answer) is tried again after pauses that double, or that the server asks for; all else is an error at once.
    Needs no other package.

    Parameters
    ----------
    model : str
        Name of the model, as the server calls it.
    base_url : str, default "https://api.openai.com/v1"
        Where ``/embeddings`` is.
    api_key : str, optional
        Sent as bearer token; by default the environment's ``OPENAI_API_KEY`` for the default `base_url`, and none
        for another.
    dim : int, optional
        Length of an embedding; asked from the server (one request) when it is first needed.
    dimensions : int, optional
        Shorter embeddings, by models that can; becomes `dim`.
    batch_size : int, default 256
        Texts of one request at most.
    batch_characters : int, default 200,000
        Characters of one request at most (a longer text goes alone).
    concurrency : int, default 4
        Requests at a time.
    timeout : float, default 60
        Seconds that the server may be silent.
    retries : int, default 5
        Further tries of a request.
    headers : mapping of str to str, optional
        Further headers.

    Examples
    --------
    >>> embedder = OpenAICompatibleEmbedder("nomic-embed-text", base_url="http://127.0.0.1:11434/v1", dim=768)
    >>> embedder
    OpenAICompatibleEmbedder('nomic-embed-text', base_url='http://127.0.0.1:11434/v1')
    >>> embedder.embed(["green tea"]).shape  # doctest: +SKIP
    (1, 768)
    >>> asyncio.run(embedder.aembed(["green tea"])).shape  # doctest: +SKIP
    (1, 768)
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        dim: int | None = None,
        dimensions: int | None = None,
        batch_size: int = 256,
        batch_characters: int = 200_000,
        concurrency: int = 4,
        timeout: float = 60.0,
        retries: int = 5,
        headers: dict[str, str] | None = None,
    ) -> None:
        if not isinstance(model, str) or not model:
            raise ValueError(f"model: expected the name of a model, got {model!r:.80}")
        address = urllib.parse.urlsplit(base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"base_url: expected an http(s) address, got {base_url!r:.80}")
        if api_key is None and address.hostname == "api.openai.com":
            api_key = os.environ.get("OPENAI_API_KEY")
        self.model_name = model
        self.base_url = base_url.rstrip("/")
        self.dimensions = None if dimensions is None else integer("dimensions", dimensions, least=1)
        self._dim = self.dimensions if dim is None else integer("dim", dim, least=1)
        self.batch_size = integer("batch_size", batch_size, least=1)
        self.batch_characters = integer("batch_characters", batch_characters, least=1)
        self.concurrency = integer("concurrency", concurrency, least=1)
        self.timeout = positive_number("timeout", timeout)
        self.retries = integer("retries", retries, least=0)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        # Without redirections: they would turn the request into another, and carry the key elsewhere.
        self._opener = urllib.request.build_opener(_Stay)

    def __repr__(self) -> str:
        return f"OpenAICompatibleEmbedder({self.model_name!r}, base_url={self.base_url!r})"

    @property
    def dim(self) -> int:
        """Length of an embedding; the server is asked once, unless it was given."""
        if self._dim is None:
            self._dim = self._ask(["a"]).shape[1]
        return self._dim

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of ``texts``, float32 of shape (n, dim).

        Parameters
        ----------
        texts : sequence of str
            In as many requests as batches need; none for no texts.

        Returns
        -------
        float32 array of shape (len(texts), dim)

        Raises
        ------
        EmbeddingServiceError
            If the server refuses, or fails at every try.
        ValueError
            If it answers with something else than n vectors of `dim` finite numbers.
        """
        listed = text_list(texts)
        batches = self._batches(listed)
        if len(batches) == 1:
            found = [self._ask(batches[0])]
        else:
            with ThreadPoolExecutor(self.concurrency, "embeddings") as pool:
                waiting = [pool.submit(self._ask, batch) for batch in batches]
                try:
                    found = [one.result() for one in waiting]
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        if not found:
            return np.empty((0, self.dim), np.float32)
        return np.concatenate(found)

    async def aembed(self, texts: Sequence[str]) -> FloatArray:
        """`embed` while the event loop goes on.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        float32 array of shape (len(texts), dim)

        Raises
        ------
        EmbeddingServiceError, ValueError
            As :meth:`embed`.
        """
        import asyncio

        return await asyncio.to_thread(self.embed, texts)

    # --- requests ---------------------------------------------------------------------------------------

    def _batches(self, texts: list[str]) -> list[list[str]]:
        batches: list[list[str]] = []
        room = 0
        for text in texts:
            if not batches or len(batches[-1]) == self.batch_size or len(text) > room:
                batches.append([])
                room = self.batch_characters
            batches[-1].append(text)
            room -= len(text)
        return batches

    def _ask(self, texts: list[str]) -> FloatArray:
        asked: dict[str, Any] = {"model": self.model_name, "input": texts, "encoding_format": "float"}
        if self.dimensions is not None:
            asked["dimensions"] = self.dimensions
        answer = self._post(json.dumps(asked).encode())
        rows = _vectors(answer, len(texts), self.base_url)
        dim = len(rows[0]) if self._dim is None else self._dim
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
            single = as_embeddings(rows, len(texts), dim, self.base_url).astype(np.float32)
        return as_embeddings(single, len(texts), dim, self.base_url)

    def _post(self, body: bytes) -> Any:
        for tried in range(self.retries + 1):
            try:
                return self._once(body)
            except _MayPassError as failure:
                if tried == self.retries:
                    raise EmbeddingServiceError(
                        f"{self.base_url}: {failure.reason} ({tried + 1} tries)", failure.status
                    ) from failure.__cause__
                pause = _pause(tried, failure.asked_pause)
                logger.info("%s: %s; again in %.1f s", self.base_url, failure.reason, pause)
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _once(self, body: bytes) -> Any:
        request = urllib.request.Request(f"{self.base_url}/embeddings", body, self._headers, method="POST")
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                content = response.read()
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error)
        except OSError as error:  # unreachable, broken or slow
            reason = getattr(error, "reason", None) or error or type(error).__name__
            raise _MayPassError(f"no answer: {reason}") from error
        except http.client.HTTPException as error:  # an answer cut short is no OSError
            raise _MayPassError(f"no whole answer: {error!r}") from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise EmbeddingServiceError(
                f"{self.base_url}: expected JSON, got {content[:80]!r}; is this the address of /v1?"
            ) from error

    def _refused(self, error: urllib.error.HTTPError) -> None:
        try:
            said = error.read(4096).decode("utf-8", "replace")
        except Exception:
            said = ""
        reason = f"HTTP status {error.code}: {_message(said) or error.reason}"
        if error.code in _AGAIN and "insufficient_quota" not in said:
            raise _MayPassError(reason, error.code, _asked_pause(error.headers)) from error
        raise EmbeddingServiceError(f"{self.base_url}: {reason}", error.code) from error


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _MayPassError(Exception):
    def __init__(self, reason: str, status: int | None = None, asked_pause: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.status, self.asked_pause = reason, status, asked_pause


def _pause(tried: int, asked: float | None) -> float:
    """Seconds to wait: what the server asks, or else doubling with chance, so that clients do not come back at once."""
    if asked is not None:
        return min(asked, _LONGEST_ASKED_PAUSE)
    longest = min(_FIRST_PAUSE * 2**tried, _LONGEST_PAUSE)
    return float(longest * random.uniform(0.5, 1.0))


def _asked_pause(headers: Any) -> float | None:
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _message(said: str) -> str:
    """What an error answer says, at most a line of it."""
    try:
        error = json.loads(said)
        error = error.get("error", error) if isinstance(error, dict) else said
        said = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except (ValueError, RecursionError):
        pass
    return " ".join(said.split())[:300]


def _vectors(answer: Any, n: int, source: str) -> list[Any]:
    """The vectors of an answer in the order of the texts: they may come in another, and as base64."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(one, dict) and "embedding" in one for one in data):
        raise ValueError(f'{source}: expected {{"data": [{{"embedding": ...}}, ...]}}, got {answer!r:.80}')
    places = [one.get("index", place) for place, one in enumerate(data)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(n)):
        raise ValueError(
            f"{source}: expected {n} embeddings, one a text, got {len(data)}, of the texts {places!r:.80}"
        )
    rows: list[Any] = [None] * n
    for place, one in zip(places, data, strict=True):
        vector = one["embedding"]
        rows[place] = _decoded(vector, source) if isinstance(vector, str) else vector
    return rows


def _decoded(vector: str, source: str) -> FloatArray:
    try:
        return np.frombuffer(base64.b64decode(vector, validate=True), "<f4")
    except ValueError as error:
        raise ValueError(f"{source}: expected float32 as base64, got {vector!r:.80}: {error}") from error
