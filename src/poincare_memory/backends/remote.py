"""`RemoteMemory`: a memory whose rows are in a database server; scores and placement are those of this process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from ..embed.embedding import check_embedder
from ..embed.hashing import HashingEmbedder
from ..embed.protocol import Embedder
from ..store.memory import Memory
from ..store.records import SearchResult
from ..store.requests import checked_query
from ..store.twins import AsyncTwins
from ..temporal.instants import to_micros
from ..temporal.policies import DecayPolicy
from .asked import Asked
from .conditions import sendable
from .edits import edit
from .errors import Closed
from .given import Known
from .lookup import RemoteLookup
from .rows import Engine

__all__ = ["RemoteMemory", "connect"]

SETTINGS: Final = (
    "curvature base_depth depth_step inherit cone_constrained cone_k metric time_coef depth_bias".split()
)
ELSEWHERE: Final = {"lexical_coef": 0.0, "precision": "full"}  # settings of memories in this process
OPTIONS: Final = frozenset(inspect.signature(Memory.search).parameters) - {"self", "query"}
Value = TypeVar("Value")


class RemoteMemory(RemoteLookup, AsyncTwins):
    """A memory in a database server, with the methods of `Memory` that need not hold all of it.

    What is stored is the unit direction and the radius of each memory, its text, times, metadata and path. A search
    asks the server for the nearest directions (in pages, until nothing that was not seen can score more), and scores
    them here: the answer is that of an exact search of a `Memory`. Edits fetch the branch they touch, change it here
    by the code of `Memory`, and write what changed in one transaction.

    Get one by ``Memory.connect(...)``.

    Parameters
    ----------
    engine : Engine
        The database; :func:`connect` makes it.
    embedder, decay, clock, **settings
        As of `Memory`. What the database was made with must agree.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> with Memory.connect("postgresql://localhost/notes") as mem:  # doctest: +SKIP
    ...     mem.add("green tea", id="tea")
    ...     [hit.text for hit in mem.search("tea")]
    ['green tea']
    """

    def __init__(
        self,
        engine: Engine,
        *,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
        **settings: Any,
    ) -> None:
        for name, only in ELSEWHERE.items():
            if settings.pop(name, only) != only:
                raise ValueError(f"{name}: a memory in a server has {only!r}, and nothing else")
        self._engine = engine
        self._embedder = HashingEmbedder() if embedder is None else check_embedder(embedder)
        self._decay, self._clock = decay, clock
        kept = engine.settings()
        wanted = {
            name: getattr(Memory(embedder=self._embedder, **settings), name, None) for name in SETTINGS[1:]
        }
        wanted["curvature"] = Memory(embedder=self._embedder, **settings).ball.c
        wanted |= {"dim": self._embedder.dim, "embedder": type(self._embedder).__name__}
        if kept is None:
            engine.prepare(wanted, self._embedder.dim)
            kept = wanted
        for name in ("dim", "embedder", *settings):
            if kept.get(name) != wanted[name]:
                raise ValueError(f"{name}: the memory was made with {kept.get(name)!r}, got {wanted[name]!r}")
        self._settings = {name: kept[name] for name in SETTINGS}

    # --- settings ---------------------------------------------------------------------------------------

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        return self._embedder

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._embedder.dim

    def __repr__(self) -> str:
        return f"RemoteMemory({self._engine!r}, dim={self.dim}, metric={self._settings['metric']!r})"

    def _empty(self, embedder: Embedder) -> Memory:
        return Memory(embedder=embedder, decay=self._decay, clock=self._clock, **self._settings)

    # --- edits ------------------------------------------------------------------------------------------

    def add(self, text: str, parent: str | None = None, t: datetime | None = None, id: str | None = None,
            meta: Mapping[str, Any] | None = None, valid_from: datetime | None = None,
            valid_until: datetime | None = None, *, on_duplicate: Any = "error", pin: bool = False) -> str:  # fmt: skip
        """As `Memory.add`.

        Parameters
        ----------
        text, parent, t, id, meta, valid_from, valid_until, on_duplicate, pin
            As of `Memory.add`.

        Returns
        -------
        str
            The id.
        """
        item: dict[str, Any] = {"text": text, "parent": parent, "t": t, "id": id, "meta": meta}
        item |= {"valid_from": valid_from, "valid_until": valid_until}
        if pin:
            item["pin"] = pin
        return self.add_many([item], on_duplicate=on_duplicate)[0]

    def add_many(self, items: Iterable[Mapping[str, Any]], *, on_duplicate: Any = "error") -> list[str]:
        """As `Memory.add_many`: all or none.

        Parameters
        ----------
        items, on_duplicate
            As of `Memory.add_many`.

        Returns
        -------
        list of str
            The ids.
        """
        listed = list(items)
        if not listed:
            return []
        known = Known(self._embedder)
        mappings = [item for item in listed if isinstance(item, Mapping)]
        known.embed([text for text in sendable(item.get("text") for item in mappings) if text.strip()])
        parents, own = (sendable(item.get(name) for item in mappings) for name in ("parent", "id"))
        return self._edit(known, own, parents, lambda mem: mem.add_many(listed, on_duplicate=on_duplicate))

    def update(
        self, id: str, text: str | None = None, meta: Mapping[str, Any] | None = None, **changes: Any
    ) -> None:
        """As `Memory.update`.

        Parameters
        ----------
        id, text, meta, **changes
            As of `Memory.update`.
        """
        known = Known(self._embedder)
        if isinstance(text, str) and text.strip():
            known.embed([text])
        self._edit(known, [id], [], lambda mem: mem.update(id, text=text, meta=meta, **changes))

    def link(self, child: str, parent: str | None) -> None:
        """As `Memory.link`.

        Parameters
        ----------
        child, parent
            As of `Memory.link`.
        """
        others = [] if parent is None else [parent]
        self._edit(Known(self._embedder), [child], others, lambda mem: mem.link(child, parent))

    def remove(self, id: str, cascade: bool = False) -> None:
        """As `Memory.remove`.

        Parameters
        ----------
        id, cascade
            As of `Memory.remove`.
        """
        self._edit(Known(self._embedder), [id], [], lambda mem: mem.remove(id, cascade=cascade))

    def _edit(
        self, known: Known, own: list[Any], others: list[Any], change: Callable[[Memory], Value]
    ) -> Value:
        own, others = sendable(own), sendable(others)  # `change` says what is wrong with the rest
        return edit(self._engine, lambda: self._empty(known), own, others, change)

    # --- searching --------------------------------------------------------------------------------------

    def search(self, query: str | None = None, k: int = 5, mode: str = "nearest", root: Any = None,
               at_time: datetime | None = None, filters: Any = None, metric: str | None = None,
               query_depth: float | None = None, touch: bool = True, use_index: bool | None = None,
               oversample: int = 8, *, lexical_coef: float | None = None,
               **options: Any) -> list[SearchResult]:  # fmt: skip
        """As `Memory.search`, and with the same answer; but for words: `lexical_coef` is an error here.

        Parameters
        ----------
        query, k, mode, root, at_time, filters, metric, query_depth, touch, **options
            As of `Memory.search`.
        use_index, oversample
            Taken, and without effect: the server has its own index.
        lexical_coef : float, optional
            0 or None.

        Returns
        -------
        list of SearchResult

        Raises
        ------
        ValueError
            For a `lexical_coef` but 0; and as `Memory.search`.
        BackendError
            If the server fails.
        """
        options |= {
            "k": k,
            "mode": mode,
            "root": root,
            "filters": filters,
            "at_time": at_time,
            "metric": metric,
        }
        options |= {
            "query_depth": query_depth,
            "touch": touch,
            "use_index": use_index,
            "oversample": oversample,
        }
        return self._answers([query], {**options, "lexical_coef": lexical_coef})[0]

    def search_many(self, queries: Iterable[str], k: int = 5, **options: Any) -> list[list[SearchResult]]:
        """As `Memory.search_many`: what `search` finds for each query; they are embedded together.

        Parameters
        ----------
        queries, k, **options
            As of `Memory.search_many`.

        Returns
        -------
        list of list of SearchResult
        """
        return self._answers([checked_query(query) for query in queries], {**options, "k": k})

    def _answers(self, queries: list[str | None], options: dict[str, Any]) -> list[list[SearchResult]]:
        """What each query finds in one state of the memory; only then are the hits touched."""
        if options.pop("lexical_coef", None):
            raise ValueError("lexical_coef: a memory in a server does not weigh words")
        unknown = sorted(options.keys() - OPTIONS)
        if unknown:
            raise TypeError(f"Memory.search() got an unexpected keyword argument {unknown[0]!r}")
        if not queries:
            return []
        Asked(
            self, queries[0], options
        )  # what is wrong with the arguments is said before anything is embedded
        known = Known(self._embedder)  # outside of `reading`: embedders may be slow
        embedded = iter(known.embed([query for query in queries if query is not None]))
        vectors = [None if query is None else next(embedded) for query in queries]
        now = self._now()
        if options.get("at_time") is None and options.get("as_of") is None:  # one now for all
            options = {**options, "at_time": now}
        found = self._engine.reading(
            lambda: [
                Asked(self, query, options).answer(vector)
                for query, vector in zip(queries, vectors, strict=True)
            ]
        )
        if options.get("touch", True):
            for hits in filter(None, found):
                self._engine.touch([hit.id for hit in hits], to_micros(now))
        return found

    def _now(self) -> datetime:
        return Memory(embedder=Known(self._embedder), clock=self._clock).clock()

    # --- keeping ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let the connection go, as `Memory.close` does; what is asked afterwards is an error."""
        self._engine.close()
        self._engine = Closed(repr(self._engine))  # it answers nothing

    def __enter__(self) -> RemoteMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    url: str,
    *,
    name: str = "memory",
    timeout: float = 30.0,
    exact: bool = True,
    connections: int = 8,
    shards: int | None = None,
    **options: Any,
) -> RemoteMemory:
    """A memory in a server, as `Memory.connect` gives it.

    Parameters
    ----------
    url : str
        ``postgresql://...``, ``qdrant://...``, ``qdrants://...`` or ``qdrant-edge:///folder``.
    name, timeout, exact, connections, shards, **options
        As of `Memory.connect`.

    Returns
    -------
    RemoteMemory

    Raises
    ------
    ValueError
        For another kind of address, or settings that are not those of the database.
    ImportError
        Without the extra of the server.
    """
    scheme = url.partition(":")[0] if isinstance(url, str) else ""
    engine: Engine
    if scheme in ("postgresql", "postgres"):
        if shards is not None:
            raise ValueError("shards: a Qdrant cluster has such; for PostgreSQL see Citus in the guide")
        from .postgres import PostgresEngine

        engine = PostgresEngine(url, name, timeout, connections=connections, exact=exact)
    elif scheme in ("qdrant", "qdrants", "qdrant-edge"):
        from .qdrant import QdrantEngine

        engine = QdrantEngine.at(url, name, timeout, exact=exact, shards=shards)
    else:
        raise ValueError(
            f"url: expected postgresql://..., qdrant://... or qdrant-edge:///..., got {url!r:.80}"
        )
    try:
        return RemoteMemory(engine, **options)
    except BaseException:
        engine.close()
        raise
