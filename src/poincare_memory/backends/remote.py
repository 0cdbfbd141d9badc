"""`RemoteMemory`: a memory whose rows are in a database server; scores and placement are those of this process."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..embed.embedding import check_embedder, embed_texts
from ..embed.hashing import HashingEmbedder
from ..embed.protocol import Embedder, FloatArray
from ..retrieval.filters import MetadataFilter, compile_filter
from ..retrieval.scoring import MIN_WEIGHT
from ..store.diversity import pool_size
from ..store.memory import Memory
from ..store.records import MemoryRecord, SearchResult
from ..store.search import direction_of
from ..store.twins import AsyncTwins
from ..temporal.instants import to_micros
from ..temporal.policies import DecayPolicy
from .errors import BackendError, TryAgainError
from .rows import Engine, Row, Where, load, record_of, rows_of

__all__ = ["RemoteMemory", "connect"]

SETTINGS: Final = (
    "curvature base_depth depth_step inherit cone_constrained cone_k metric time_coef depth_bias".split()
)
FIRST_PAGE: Final = 64
GROWTH: Final = 4
SLACK: Final = 1e-6
TRIES: Final = 8
Value = TypeVar("Value")


class RemoteMemory(AsyncTwins):
    """A memory in a database server, with the methods of `Memory` that need not hold all of it.

    What is stored is the unit direction and the radius of each memory, its text, times, metadata and path. A search
    asks the server for the nearest directions (in pages, until nothing that was not seen can score more), and scores
    them here: the answer is that of an exact search of a `Memory`. Edits fetch the branch they touch, change it here
    by the code of `Memory`, and write what changed in one transaction.

    Get one by ``Memory.connect(...)``.
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
        self._engine = engine
        self._embedder = HashingEmbedder() if embedder is None else check_embedder(embedder)
        self._decay, self._clock = decay, clock
        self._writing = threading.RLock()
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
        """As `Memory.add`."""
        item: dict[str, Any] = {"text": text, "parent": parent, "t": t, "id": id, "meta": meta}
        item |= {"valid_from": valid_from, "valid_until": valid_until}
        if pin:
            item["pin"] = pin
        return self.add_many([item], on_duplicate=on_duplicate)[0]

    def add_many(self, items: Iterable[Mapping[str, Any]], *, on_duplicate: Any = "error") -> list[str]:
        """As `Memory.add_many`: all or none."""
        listed = [dict(item) for item in items]
        if not listed:
            return []
        known = _Known(self._embedder)
        known.embed([item["text"] for item in listed if isinstance(item.get("text"), str)])
        parents = [item["parent"] for item in listed if isinstance(item.get("parent"), str)]
        own = [item["id"] for item in listed if isinstance(item.get("id"), str)]
        return self._edit(known, own, parents, lambda mem: mem.add_many(listed, on_duplicate=on_duplicate))

    def update(
        self, id: str, text: str | None = None, meta: Mapping[str, Any] | None = None, **changes: Any
    ) -> None:
        """As `Memory.update`."""
        known = _Known(self._embedder)
        if isinstance(text, str) and text.strip():
            known.embed([text])
        self._edit(known, [id], [], lambda mem: mem.update(id, text=text, meta=meta, **changes))

    def link(self, child: str, parent: str | None) -> None:
        """As `Memory.link`."""
        others = [] if parent is None else [parent]
        self._edit(_Known(self._embedder), [child], others, lambda mem: mem.link(child, parent))

    def remove(self, id: str, cascade: bool = False) -> None:
        """As `Memory.remove`."""
        self._edit(_Known(self._embedder), [id], [], lambda mem: mem.remove(id, cascade=cascade))

    def _edit(
        self, known: _Known, own: list[str], others: list[str], change: Callable[[Memory], Value]
    ) -> Value:
        """Fetch the subtrees of `own` and the ancestors of all, change them here, write what is another."""
        for tried in range(TRIES):
            try:
                with self._writing, self._engine.writing():
                    return self._edited(known, own, others, change)
            except TryAgainError as error:
                if tried == TRIES - 1:
                    raise BackendError(
                        f"{self._engine!r}: other writers were in the way {TRIES} times: {error}"
                    ) from error
        raise AssertionError("unreachable")

    def _edited(
        self, known: _Known, own: list[str], others: list[str], change: Callable[[Memory], Value]
    ) -> Value:
        engine = self._engine
        engine.lock(own, shared=False)
        there = engine.fetch(Where(ids=list({*own, *others})))
        above = {id for row in there for id in row.path}
        engine.lock(sorted(above - set(own)), shared=True)
        rows = {row.id: row for row in engine.fetch(Where(ids=sorted(above)))}
        if any(row.id not in rows or rows[row.id].path != row.path for row in there):
            raise TryAgainError("a branch was moved")
        tops = [row.id for row in there if row.id in own]
        if tops:
            rows |= {row.id: row for row in engine.fetch(Where(below=tops))}
        mem = self._empty(known)
        before = sorted(rows.values(), key=lambda row: row.branch)
        load(mem, before, linked=True)
        result = change(mem)
        self._write(mem, rows)
        return result

    def _write(self, mem: Memory, rows: Mapping[str, Row]) -> None:
        engine = self._engine
        after = rows_of(mem)
        new = [row for row in after if row.id not in rows or rows[row.id].parent != row.parent]
        first = engine.serials(len(new)) if new else 0
        attached = {row.id: row.branch[-1] for row in rows.values()}
        serials = {row.id: first + number for number, row in enumerate(new)}
        attached |= serials
        changed = []
        for row in after:
            old = rows.get(row.id)
            row.branch = [attached[id] for id in row.path]
            row.order = serials[row.id] if old is None else old.order
            if old is None or not _same(old, row):
                changed.append(row)
        left = {row.id for row in after}
        engine.delete([id for id in rows if id not in left])
        engine.save(sorted(changed, key=lambda row: row.level))

    # --- looking up -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._engine.count()

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self._engine.fetch(Where(ids=[id])))

    def __iter__(self) -> Iterator[MemoryRecord]:
        """Records in order of insertion; all are fetched."""
        return iter([record_of(row) for row in self._engine.fetch(Where())])

    @property
    def ids(self) -> list[str]:
        """All ids in order of insertion."""
        return [row.id for row in self._engine.fetch(Where())]

    def _row(self, id: str) -> Row:
        found = self._engine.fetch(Where(ids=[id])) if isinstance(id, str) else []
        if not found:
            raise KeyError(id)
        return found[0]

    def get(self, id: str) -> MemoryRecord:
        """A copy of a memory's record; KeyError for an unknown id."""
        return record_of(self._row(id))

    def depth(self, id: str) -> float:
        """As `Memory.depth`."""
        return self._row(id).radius

    def level(self, id: str) -> int:
        """As `Memory.level`."""
        return self._row(id).level

    def path(self, id: str) -> list[str]:
        """As `Memory.path`."""
        return self._row(id).path

    def parent(self, id: str) -> str | None:
        """As `Memory.parent`."""
        return self._row(id).parent

    def ancestors(self, id: str) -> list[str]:
        """As `Memory.ancestors`."""
        return self._row(id).path[-2::-1]

    def children(self, id: str) -> list[str]:
        """As `Memory.children`."""
        self._row(id)
        return [row.id for row in _by_branch(self._engine.fetch(Where(parents=[id])))]

    def descendants(self, id: str) -> list[str]:
        """As `Memory.descendants`."""
        self._row(id)
        return [row.id for row in sorted(self._engine.fetch(Where(below=[id])), key=_in_the_tree)[1:]]

    def siblings(self, id: str) -> list[str]:
        """As `Memory.siblings`."""
        parent = self._row(id).parent
        return [row.id for row in self._ordered(Where(parents=[parent], but=id), "siblings")]

    def roots(self) -> list[str]:
        """As `Memory.roots`."""
        return [row.id for row in self._ordered(Where(parents=[None]), "nearest")]

    def _ordered(self, where: Where, mode: str) -> list[Row]:
        return sorted(self._engine.fetch(where), key=lambda row: _position(row, mode, []))

    # --- searching --------------------------------------------------------------------------------------

    def search(self, query: str | None = None, k: int = 5, mode: str = "nearest", root: Any = None,
               at_time: datetime | None = None, filters: Any = None, metric: str | None = None,
               query_depth: float | None = None, touch: bool = True, use_index: bool | None = None,
               oversample: int = 8, *, lexical_coef: float | None = None,
               **options: Any) -> list[SearchResult]:  # fmt: skip
        """As `Memory.search`, and with the same answer; but for words: `lexical_coef` is an error here."""
        if lexical_coef:
            raise ValueError("lexical_coef: a memory in a server does not weigh words")
        embedding = None if query is None else self._embed_query(query)
        asked = _Asked(self, embedding, query, k, mode, root, filters, metric, query_depth)
        options |= {"at_time": at_time, "query_depth": query_depth, "metric": metric}
        results = asked.answer(options)
        if touch and results:
            self._engine.touch([hit.id for hit in results], to_micros(self._now()))
        return results

    def search_many(self, queries: Iterable[str], k: int = 5, **options: Any) -> list[list[SearchResult]]:
        """What `search` finds for each query."""
        return [self.search(query, k, **options) for query in queries]

    def _embed_query(self, query: str) -> FloatArray:
        if not isinstance(query, str) or not query.strip():
            raise ValueError(f"query must be a non-empty string or None, got {query!r:.80}")
        return embed_texts(self._embedder, [query])[0]

    def _now(self) -> datetime:
        return Memory(embedder=_Known(self._embedder), clock=self._clock).clock()

    # --- keeping ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let the connection go."""
        self._engine.close()

    def __enter__(self) -> RemoteMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Known:
    """Embeds each text once, however often an edit is tried."""

    def __init__(self, embedder: Embedder) -> None:
        self.inner, self.dim = embedder, int(embedder.dim)
        self._vectors: dict[str, NDArray[Any]] = {}

    def embed(self, texts: Sequence[str]) -> FloatArray:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, embed_texts(self.inner, missing), strict=True))
        return np.stack([self._vectors[text] for text in texts]) if texts else np.empty((0, self.dim))


class _Fixed:
    """The embedding of one query."""

    def __init__(self, dim: int, embedding: FloatArray | None) -> None:
        self.dim, self._embedding = dim, embedding

    def embed(self, texts: Sequence[str]) -> FloatArray:
        assert self._embedding is not None
        return np.stack([self._embedding for _ in texts])


class _Asked:
    """One search: which rows the server is asked for, and until when."""

    def __init__(self, remote: RemoteMemory, embedding: FloatArray | None, query: str | None, k: Any, mode: Any,
                 root: Any, filters: Any, metric: Any, query_depth: Any) -> None:  # fmt: skip
        self.remote, self.embedding, self.query, self.k = remote, embedding, query, k
        self.engine, self.settings = remote._engine, remote._settings
        # The arguments are checked as those of any search.
        checking = remote._empty(_Fixed(remote.dim, embedding))
        stand_ins = [root] if isinstance(root, str) else list(root or ())
        for id in dict.fromkeys(one for one in stand_ins if isinstance(one, str)):
            if id not in remote:
                raise KeyError(f"unknown id {id!r:.80}")
        self.roots = stand_ins
        if mode == "nearest" or not stand_ins:
            checking.search(
                None, k=k, mode=mode, root=None, filters=filters, metric=metric, query_depth=query_depth
            )
        elif len(stand_ins) > 1 and mode != "subtree":
            raise ValueError(f"root: several ids are for mode='subtree' only, not for mode={mode!r}")
        elif mode not in ("subtree", "children", "ancestors", "siblings", "cone"):
            raise ValueError(f"unknown mode {mode!r:.80}")
        self.mode = mode
        self.wanted = compile_filter(filters)
        self.function = filters if callable(filters) else None
        self.metric = self.settings["metric"] if metric is None else metric
        self.query_depth = self.settings["base_depth"] if query_depth is None else float(query_depth)
        self.where = self._where(filters)

    def answer(self, options: dict[str, Any]) -> list[SearchResult]:
        if self.k < 1:
            return []
        direction = None if self.embedding is None else direction_of(self.embedding)
        if direction is None or self.mode == "cone":
            return self._scored(self.engine.fetch(self.where), options, self.k)
        groups: list[float | None] = [None]
        if self.metric == "hyperbolic":  # within one radius the order is that of the cosine
            groups = list(self.engine.radii(self.where))
        seen: dict[float | None, list[Row]] = {}
        limits = dict.fromkeys(groups, max(FIRST_PAGE, 2 * self.k))
        need = pool_size(self.k) if options.get("diversity") else self.k
        open_groups = set(groups)
        while True:
            for group in open_groups:
                where = Where(**{**vars(self.where), "radius": group})
                seen[group] = self.engine.nearest(where, direction, limits[group])
            open_groups = {group for group in open_groups if len(seen[group]) >= limits[group]}
            rows = [row for group in groups for row in seen[group]]
            if not open_groups:
                return self._scored(rows, options, self.k)
            plain = {**options, "diversity": 0.0, "min_score": None}
            hits = self._scored(rows, plain, need)
            worst = hits[-1].score if len(hits) >= need else -math.inf
            open_groups = {
                group
                for group in open_groups
                if self._best_unseen(seen[group][-1], direction, group) >= worst
            }
            if not open_groups:
                return self._scored(rows, options, self.k)
            for group in open_groups:
                limits[group] *= GROWTH

    def _best_unseen(self, last: Row, direction: NDArray[np.float64], radius: float | None) -> float:
        """No row that was not seen scores more."""
        c = math.sqrt(self.settings["curvature"])
        # Servers order by float32 products, whose error grows with the number of terms; it is one of the square.
        error = SLACK + len(direction) * 1.2e-7
        half = math.sqrt(max(0.0, float(np.sum((last.direction - direction) ** 2)) / 4 - error))
        bias, coef = self.settings["depth_bias"], self.settings["time_coef"]
        if radius is None:
            distance = 2 / c * math.asinh(math.sinh(c * self.settings["base_depth"]) * half)
            radii = self.engine.radii(Where()) if bias else [0.0]
            depth = max(bias * one for one in radii) if radii else 0.0
        else:
            distance = _hyperbolic(self.query_depth * c, radius * c, half) / c
            depth = bias * radius
        return -distance + depth + max(0.0, coef * math.log(MIN_WEIGHT)) + SLACK

    def _scored(self, rows: list[Row], options: dict[str, Any], k: int) -> list[SearchResult]:
        """What a `Memory` that holds these rows answers."""
        rows = self._passing(sorted(rows, key=lambda row: _position(row, self.mode, self.roots)))
        mem = self.remote._empty(_Fixed(self.remote.dim, self.embedding))
        mode: dict[str, Any] = {}
        if self.mode == "cone":
            apex = self.roots[0]
            if all(row.id != apex for row in rows):
                rows = [self.remote._row(apex), *rows]
            mode = {"mode": "cone", "root": apex}
        load(mem, rows, linked=False)
        hits = mem.search(self.query, k, touch=False, **mode, **options)
        by_id = {row.id: row for row in rows}
        for hit in hits:
            hit.record = record_of(by_id[hit.id])
        return hits

    def _passing(self, rows: list[Row]) -> list[Row]:
        if self.wanted is None or not rows:
            return rows
        if isinstance(self.wanted, MetadataFilter):

            def values(name: str) -> Any:
                found = [getattr(row, name) for row in rows]
                return np.array(found) if name in ("t", "level", "access_count") else found

            mask = self.wanted.mask([row.meta for row in rows], values)
        else:
            mask = self.wanted.mask(record_of(row) for row in rows)
        return [row for row, passes in zip(rows, mask, strict=True) if passes]

    def _where(self, filters: Any) -> Where:
        words = _pushed(filters)
        if self.mode in ("nearest", "cone"):
            return Where(words=words if self.mode == "nearest" else [])
        if self.mode == "subtree":
            return Where(below=self.roots, words=words)
        if self.mode == "children":
            return Where(parents=[self.roots[0]], words=words)
        row = self.remote._row(self.roots[0])
        if self.mode == "ancestors":
            return Where(ids=row.path[:-1], words=words)
        return Where(parents=[row.parent], but=row.id, words=words)


def _position(row: Row, mode: str, roots: Sequence[str]) -> Any:
    """What breaks ties: the order in which a `Memory` lists the candidates of a mode."""
    if mode == "subtree":
        first = next(i for i, root in enumerate(roots) if root in row.path)
        return first, _in_the_tree(row)
    if mode == "ancestors":
        return -row.level
    if mode in ("children", "siblings") and row.parent is not None:
        return row.branch
    return row.order


def _in_the_tree(row: Row) -> list[int]:
    """Parents first, the youngest child's branch before the elder's."""
    return [-serial for serial in row.branch]


def _by_branch(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.branch)


def _pushed(filters: Any) -> list[tuple[str, list[str]]]:
    """Conditions that any server understands alike: a key of the metadata is one of these strings."""
    if not isinstance(filters, Mapping):
        return []
    pushed: list[tuple[str, list[str]]] = []
    for key, wanted in filters.items():
        if not isinstance(key, str) or not key.isidentifier() or not key.isascii() or key in _FIELDS:
            continue
        if isinstance(wanted, str):
            pushed.append((key, [wanted]))
        elif isinstance(wanted, Mapping) and isinstance(wanted.get("$eq"), str):
            pushed.append((key, [wanted["$eq"]]))
        elif isinstance(wanted, Mapping) and "$in" in wanted:
            among = list(wanted["$in"])
            if among and all(isinstance(one, str) for one in among):
                pushed.append((key, among))
    return [(key, values) for key, values in pushed if not any("\x00" in value for value in values)]


_FIELDS: Final = frozenset({"t", "level", "parent", "access_count", "id", "text"})


def _hyperbolic(r: float, s: float, half: float) -> float:
    """Distance of points at radii r and s whose directions are a chord of 2·half apart, curvature 1."""
    low, gap = min(r, s), abs(r - s)
    if r + s < 600:
        return 2 * math.asinh(math.sqrt(math.sinh(gap / 2) ** 2 + math.sinh(r) * math.sinh(s) * half * half))
    inner = (1 - math.exp(-gap)) ** 2 * math.exp(-2 * low)
    inner += (1 - math.exp(-2 * r)) * (1 - math.exp(-2 * s)) * half * half
    return max(gap, gap + 2 * low + math.log(max(inner, 1e-300)))


def _same(a: Row, b: Row) -> bool:
    for name, value in vars(a).items():
        other = getattr(b, name)
        if isinstance(value, np.ndarray):
            if not np.array_equal(value, other):
                return False
        elif value != other:
            return False
    return True


def connect(url: str, *, name: str = "memory", timeout: float = 30.0, **options: Any) -> RemoteMemory:
    """A memory in a server; see `Memory.connect`."""
    scheme = url.partition(":")[0] if isinstance(url, str) else ""
    engine: Engine
    if scheme in ("postgresql", "postgres"):
        from .postgres import PostgresEngine

        engine = PostgresEngine(url, name, timeout)
    elif scheme in ("qdrant", "qdrants"):
        from .qdrant import QdrantEngine

        engine = QdrantEngine.at(url, name, timeout)
    else:
        raise ValueError(f"url: expected postgresql://... or qdrant://..., got {url!r:.80}")
    try:
        return RemoteMemory(engine, **options)
    except BaseException:
        engine.close()
        raise
