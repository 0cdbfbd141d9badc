"""`Memory`: the facade. It holds no algorithm; every method checks nothing and delegates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..embed.base import HashingEmbedder
from ..embed.embedding import check_embedder
from ..embed.projection import BallProjector
from ..geometry.numerics import FloatArray
from ..geometry.poincare import PoincareBall
from ..progress import Progress
from ..retrieval.cones import DEFAULT_K
from ..temporal.instants import utcnow
from ..temporal.policies import NoDecay
from . import editing, inspection, reporting
from .changes import Change
from .editing import UNSET, Unset
from .placement import points
from .records import MemoryRecord, SearchResult
from .state import FORMAT_VERSION as FORMAT_VERSION
from .state import SETTINGS, Metric, Store
from .twins import AsyncTwins
from .upserting import OnDuplicate, add_many_or_keep, add_or_keep, checked_choice
from .weights import TimeColumns

if TYPE_CHECKING:
    import os

    import pandas
    import polars

    from ..embed.base import Embedder
    from ..index import MIPSIndex
    from ..temporal.policies import DecayPolicy
    from .exchange import TextFormat
    from .past import MemoryVersion

    Path = str | os.PathLike[str]

SearchMode = Literal["nearest", "subtree", "children", "ancestors", "siblings", "cone"]
Backend = Literal["auto", "numpy", "hnsw", "faiss"]
Filter = Mapping[str, Any] | Callable[[MemoryRecord], bool] | None


class Memory(AsyncTwins):
    """Hierarchy-aware, time-aware memory for agents and RAG.

    Every memory has a place in the Poincaré ball: its direction comes from the embedding of its text (drawn
    towards its parent's), its depth, the hyperbolic distance from the origin, from its level in the hierarchy
    that ``parent=`` declares. `search` ranks by

        ``-distance + depth_bias * depth + time_coef * log(time_weight) + lexical_coef * lexical``

    With ``metric="shell"`` (the default) the distance is measured after query and memory were both moved to
    `base_depth`: semantic mismatch in hyperbolic units, comparable across levels. With
    ``metric="hyperbolic"`` it is the distance to the memory's own point, which favours shallow, general ones.

    Threads may share a `Memory`. Searches and reads run side by side, changes alone; each change happens
    whole or not at all. Embedder, clock, filters and a policy of your own run with no lock held and may use
    the memory themselves; they must bear being called from several threads if you do. A forked child may use
    what it inherits.

    Parameters
    ----------
    embedder : Embedder, optional
        Anything with `dim` and ``embed(texts) -> (n, dim)``; `HashingEmbedder()` by default.
    curvature : float, default 1.0
        Magnitude c of the ball's curvature -c; positive.
    decay : DecayPolicy, optional
        Weight of a memory by its age; `NoDecay()` by default.
    base_depth : float, default 1.0
        Depth of roots in hyperbolic units; positive.
    depth_step : float, default 0.5
        Depth added by every level; positive. ``depth = base_depth + level * depth_step`` at any level.
    inherit : float, default 0.25
        How much of its parent's direction a child takes: 0 none, 1 all.
    cone_constrained : bool, default False
        Keep every child inside its parent's entailment cone (Ganea, Bécigneul & Hofmann, ICML 2018), so that
        ``mode="cone"`` finds exactly the declared descendants among others that happen to lie there.
    cone_k : float, default 0.1
        The K of those cones; positive.
    metric : {"shell", "hyperbolic"}, default "shell"
        Distance of `search`.
    time_coef : float, default 1.0
        Weight of time in the score; may be negative, which prefers the old.
    depth_bias : float, default 0.0
        Above 0 prefers deep, specific memories; below 0 general ones.
    clock : callable, optional
        Returns "now" as a `datetime` (naive: UTC); the system's time by default.
    lexical_coef : float, default 0.0
        What the best match of the query's words (BM25) adds to its score; see `search`.

    Raises
    ------
    ValueError
        For numbers out of range or not finite, or an unknown metric.
    TypeError
        For an embedder, policy or clock that is none.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> mem = Memory()
    >>> body = mem.add("Human body", id="body")
    >>> leg = mem.add("Leg muscles", id="leg", parent=body)
    >>> knee = mem.add("Hamstring group: knee flexion", id="knee", parent=leg)
    >>> [hit.id for hit in mem.search("hamstring", k=1)]
    ['knee']
    >>> mem.depth("knee"), mem.ancestors("knee")
    (2.0, ['leg', 'body'])
    """

    _store: Store

    def __init__(
        self,
        embedder: Embedder | None = None,
        curvature: float = 1.0,
        decay: DecayPolicy | None = None,
        base_depth: float = 1.0,
        depth_step: float = 0.5,
        inherit: float = 0.25,
        cone_constrained: bool = False,
        cone_k: float = DEFAULT_K,
        metric: Metric = "shell",
        time_coef: float = 1.0,
        depth_bias: float = 0.0,
        clock: Callable[[], datetime] | None = None,
        *,
        lexical_coef: float = 0.0,
    ) -> None:
        self._store = Store(
            HashingEmbedder() if embedder is None else check_embedder(embedder),
            BallProjector(PoincareBall(curvature)),
            decay=NoDecay() if decay is None else decay,
            base_depth=base_depth,
            depth_step=depth_step,
            inherit=inherit,
            cone_constrained=cone_constrained,
            cone_k=cone_k,
            metric=metric,
            time_coef=time_coef,
            depth_bias=depth_bias,
            lexical_coef=lexical_coef,
            clock=utcnow if clock is None else clock,
        )

    @classmethod
    def _of(cls, store: Store) -> Memory:
        """A memory around a store; a subclass with a constructor of its own is constructed."""
        if cls.__init__ is Memory.__init__:
            memory = cls.__new__(cls)
        else:
            settings = {name: getattr(store, name) for name in SETTINGS}
            memory = cls(embedder=store.embedder, curvature=store.ball.c, **settings)
        memory._store = store
        return memory

    @classmethod
    def from_hierarchy(
        cls,
        points: Mapping[Any, Any],
        edges: Iterable[tuple[Any, Any]],
        texts: Mapping[Any, str] | None = None,
        *,
        embedder: Embedder | None = None,
        **settings: Any,
    ) -> Memory:
        """A memory of a learnt or laid-out taxonomy: a node a memory, at the very place it was given.

        Children, subtrees, ancestors and siblings follow `edges`; depths and directions, and with them distances and
        cones, follow `points`. Queries find their way by the texts: the memory's embedder is a
        :class:`~poincare_memory.embed.LearnedEmbedder`. What is added later under a node is placed from there, as ever.

        Parameters
        ----------
        points : mapping of node to array of shape (dim,), or PreciseLayout
            Points of a ball with the memory's `curvature` (a `PreciseLayout` sets it), such as
            `fit_poincare_embeddings` and `sarkar_layout` give. Nodes without an edge become roots.
        edges : iterable of (parent, child)
            A forest; `hierarchy.tree_of_dag` makes one where nodes have several parents.
        texts : mapping of node to str, optional
            What each node says; ``str(node)``, which is its id, where a node is missing.
        embedder : Embedder, optional
            Tells which texts are alike; `HashingEmbedder()` by default. A `LearnedEmbedder` is used as it is.
        **settings
            As of `Memory`. `base_depth` is the median depth of the points by default: that is where searches with
            ``metric="hyperbolic"`` begin, unless their `query_depth` says otherwise.

        Raises
        ------
        KeyError
            If a node of `edges` has no point.
        ValueError
            If the edges are no forest, two nodes have one ``str``, or a point is not strictly inside the ball.

        Examples
        --------
        >>> from poincare_memory import Memory, sarkar_layout
        >>> edges = [("animal", "dog"), ("animal", "cat"), ("dog", "poodle")]
        >>> mem = Memory.from_hierarchy(sarkar_layout(edges, dim=3), edges, metric="hyperbolic")
        >>> mem.depth("animal"), round(mem.depth("dog"), 9), mem.ancestors("poodle")
        (0.0, 1.0, ['dog', 'animal'])
        >>> [hit.id for hit in mem.search("poodle", k=2, query_depth=mem.depth("poodle"))]
        ['poodle', 'dog']
        """
        from ..embed.learned import LearnedEmbedder
        from .learned import by_id, items_of, suitable

        items = items_of(points, edges, texts)
        settings = suitable(points, settings.get("curvature")) | settings
        if not isinstance(embedder, LearnedEmbedder):
            embedder = LearnedEmbedder(points, texts, embedder)
        memory = cls(embedder=embedder, **settings)
        memory.add_many(items)
        memory.place_learned(by_id(points))
        return memory

    # --- settings -------------------------------------------------------------------------------------

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors.

        A new one, of the same `dim`, embeds what is added, updated or searched from then on; stored memories
        keep their vectors.
        """
        return self._store.embedder

    @embedder.setter
    def embedder(self, value: Embedder) -> None:
        self._store.set_embedder(value)

    @property
    def ball(self) -> PoincareBall:
        """The ball of this memory's curvature; fixed."""
        return self._store.ball

    @property
    def projector(self) -> BallProjector:
        """Places embeddings in the ball; fixed."""
        return self._store.projector

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._store.columns.dim

    @property
    def base_depth(self) -> float:
        """Depth of roots; a new value holds for what is placed afterwards."""
        return self._store.base_depth

    @base_depth.setter
    def base_depth(self, value: float) -> None:
        self._store.set("base_depth", value)

    @property
    def depth_step(self) -> float:
        """Depth added by every level; a new value holds for what is placed afterwards."""
        return self._store.depth_step

    @depth_step.setter
    def depth_step(self, value: float) -> None:
        self._store.set("depth_step", value)

    @property
    def inherit(self) -> float:
        """Share of its parent's direction that a child takes, in [0, 1]."""
        return self._store.inherit

    @inherit.setter
    def inherit(self, value: float) -> None:
        self._store.set("inherit", value)

    @property
    def cone_constrained(self) -> bool:
        """Whether children are kept inside their parent's entailment cone."""
        return self._store.cone_constrained

    @cone_constrained.setter
    def cone_constrained(self, value: bool) -> None:
        self._store.set("cone_constrained", value)

    @property
    def cone_k(self) -> float:
        """The K of the entailment cones."""
        return self._store.cone_k

    @cone_k.setter
    def cone_k(self, value: float) -> None:
        self._store.set("cone_k", value)

    @property
    def metric(self) -> Metric:
        """Distance of `search`: "shell" or "hyperbolic"."""
        return self._store.metric

    @metric.setter
    def metric(self, value: Metric) -> None:
        self._store.set("metric", value)

    @property
    def time_coef(self) -> float:
        """Weight of time in the score."""
        return self._store.time_coef

    @time_coef.setter
    def time_coef(self, value: float) -> None:
        self._store.set("time_coef", value)

    @property
    def depth_bias(self) -> float:
        """Weight of depth in the score."""
        return self._store.depth_bias

    @depth_bias.setter
    def depth_bias(self, value: float) -> None:
        self._store.set("depth_bias", value)

    @property
    def lexical_coef(self) -> float:
        """Weight of the query's words in the score."""
        return self._store.lexical_coef

    @lexical_coef.setter
    def lexical_coef(self, value: float) -> None:
        self._store.set("lexical_coef", value)

    @property
    def decay(self) -> DecayPolicy:
        """The temporal policy."""
        return self._store.decay

    @decay.setter
    def decay(self, value: DecayPolicy) -> None:
        self._store.set("decay", value)

    @property
    def clock(self) -> Callable[[], datetime]:
        """What "now" is."""
        return self._store.clock

    @clock.setter
    def clock(self, value: Callable[[], datetime]) -> None:
        self._store.set("clock", value)

    # --- remembering ----------------------------------------------------------------------------------

    def add(
        self,
        text: str,
        parent: str | None = None,
        t: datetime | None = None,
        id: str | None = None,
        meta: Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        *,
        on_duplicate: OnDuplicate = "error",
        pin: bool = False,
    ) -> str:
        """Store a memory; returns its id.

        Parameters
        ----------
        text : str
            What to remember; not blank.
        parent : str, optional
            Id of the memory it belongs under; a root without.
        t : datetime, optional
            When it happened (naive: UTC); the clock's time by default.
        id : str, optional
            Unique, not blank; 12 random hex digits by default.
        meta : mapping, optional
            JSON-like data of your own; copied.
        valid_from, valid_until : datetime, optional
            Bounds of validity, inclusive; None leaves a side open.
        on_duplicate : {"error", "ignore", "update"}, default "error"
            What happens where the id is in use: an error; nothing; or the memory takes what is passed (text,
            parent, t, meta, bounds, pin) and keeps the rest.
        pin : bool, default False
            Exempt it from decay: it is always as new. Its bounds of validity still count.

        Raises
        ------
        KeyError
            For an unknown parent.
        ValueError
            For a blank text or id, an id in use, an inverted validity window, metadata that JSON cannot write
            (NaN), or embeddings of the wrong shape or not finite. Nothing is stored then.
        TypeError
            For times that are no datetimes and metadata of other types.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.add("Prefers tea", id="tea", meta={"kind": "preference"})
        'tea'
        """
        if checked_choice(on_duplicate) == "error":
            return editing.add(self._store, text, parent, t, id, meta, valid_from, valid_until, pin)
        item: dict[str, Any] = {"text": text, "parent": parent, "t": t, "id": id, "meta": meta}
        item |= {"valid_from": valid_from, "valid_until": valid_until}
        if pin:
            item["pin"] = pin
        return add_or_keep(self._store, item, on_duplicate)

    def place_learned(self, points: Mapping[str, Any]) -> None:
        """Move memories to places that were learnt for them, all or none.

        A memory placed so keeps direction and depth, whatever becomes of its text and parent, in this memory and in
        files; memories below it are placed from there. None gives a memory back the place of its text and level.

        Parameters
        ----------
        points : mapping of id to array of shape (dim,) or None, or PreciseLayout
            Points of this memory's ball; `dim` is that of the embedder (`embed.LearnedEmbedder` embeds queries in
            the space of such points).

        Raises
        ------
        KeyError
            For an unknown id.
        ValueError
            For points of another length, not finite, or not strictly inside the ball.

        Examples
        --------
        >>> import numpy as np
        >>> from poincare_memory import Memory
        >>> from poincare_memory.embed import LearnedEmbedder
        >>> points = {"animal": [0.1, 0.0], "dog": [0.5, 0.2]}
        >>> mem = Memory(embedder=LearnedEmbedder(points))
        >>> ids = mem.add_many([{"text": "animal", "id": "animal"}, {"text": "dog", "id": "dog", "parent": "animal"}])
        >>> mem.place_learned(points)
        >>> mem.point("dog").round(9).tolist()
        [0.5, 0.2]
        """
        from .learned import place_learned

        place_learned(self._store, points)

    def history(self, id: str) -> list[MemoryVersion]:
        """The versions of a memory, the oldest first, the present one last; of a removed one those it had.

        Past ones are kept where the store was opened with ``history=True``; KeyError for an id that is unknown to
        them too.
        """
        from .past import history

        return history(self._store, id)

    def add_many(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        on_duplicate: OnDuplicate = "error",
        progress: Progress = None,
    ) -> list[str]:
        """Store many memories with one call of the embedder, all or none; returns their ids in order.

        Parameters
        ----------
        items : iterable of mappings
            Arguments of `add`, one mapping a memory; a parent comes before its children.
        on_duplicate : {"error", "ignore", "update"}, default "error"
            As for `add`, item by item in their order: of two with one new id the first is added.
        progress : bool or callable, optional
            True: a bar (``pip install "poincare-memory[progress]"``); or a function of how many texts are embedded
            and how many there are. The embedder is then called with 256 texts at a time.

        Raises
        ------
        KeyError, TypeError, ValueError
            As `add`, naming the item; also for a key that is no argument of `add`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.add_many([{"text": "Trips", "id": "trips"}, {"text": "Lisbon", "id": "l", "parent": "trips"}])
        ['trips', 'l']
        """
        if checked_choice(on_duplicate) == "error":
            return editing.add_many(self._store, items, progress)
        return add_many_or_keep(self._store, items, on_duplicate, progress)

    def update(
        self,
        id: str,
        text: str | None = None,
        meta: Mapping[str, Any] | None = None,
        t: datetime | None = None,
        valid_from: datetime | Unset | None = UNSET,
        valid_until: datetime | Unset | None = UNSET,
        *,
        pin: bool | None = None,
    ) -> None:
        """Change a memory in place, wholly or not at all.

        A new text is embedded and moves the memory and all below it (a learnt place stays: see `place_learned`); the
        same text moves nothing. `meta`
        replaces the metadata. `valid_from` and `valid_until` may be set to None. `pin` exempts it from decay, or
        not any more.

        Raises
        ------
        KeyError
            For an unknown id.
        ValueError, TypeError
            As `add`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> note = mem.add("Prefers tea")
        >>> mem.update(note, text="Prefers coffee", meta={"checked": True})
        >>> mem.get(note).text
        'Prefers coffee'
        """
        editing.update(self._store, id, text, meta, t, valid_from, valid_until, pin)

    def remove(self, id: str, cascade: bool = False) -> None:
        """Forget a memory; with `cascade` everything below it too.

        Raises
        ------
        KeyError
            For an unknown id.
        ValueError
            Where it has children and `cascade` is False.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.remove(mem.add("Out of date"))
        >>> len(mem)
        0
        """
        editing.remove(self._store, id, cascade)

    def link(self, child: str, parent: str | None) -> None:
        """Move a memory, with all below it, under another parent; None makes it a root.

        Linked to the parent it has, nothing changes; otherwise it becomes the last of the children there. A learnt
        place stays as it is.

        Raises
        ------
        KeyError
            For an unknown child or parent.
        ValueError
            Where `parent` is `child` itself or below it.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> a, b = mem.add("Animals", id="a"), mem.add("Birds", id="b")
        >>> mem.link("b", "a")
        >>> mem.children("a"), mem.depth("b")
        (['b'], 1.5)
        """
        editing.link(self._store, child, parent)

    # --- looking up -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        self._store.look()
        return self._store.columns.n

    def __contains__(self, id: object) -> bool:
        self._store.look()
        return id in self._store.columns.row_of

    def __iter__(self) -> Iterator[MemoryRecord]:
        """Live records in order of insertion, those that are there now."""
        with self._store.reading() as columns:
            records: list[MemoryRecord] = list(columns.records(columns.live_rows()))
        return iter(records)

    @property
    def ids(self) -> list[str]:
        """All ids in order of insertion."""
        with self._store.reading() as columns:
            return list(columns.row_of)

    def get(self, id: str) -> MemoryRecord:
        """The live record of a memory; KeyError for an unknown id.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> record = mem.get(mem.add("Prefers tea"))
        >>> record.meta["checked"] = True
        >>> record.text, record.meta
        ('Prefers tea', {'checked': True})
        """
        with self._store.reading() as columns:
            return columns.record(columns.row_of[id])

    def point(self, id: str) -> FloatArray:
        """The point of a memory in the ball, (dim,) float64: a copy.

        Its norm is always below ``1 / sqrt(curvature)``. float64 tells points apart to about depth 36;
        `depth` stays exact beyond. A memory without direction (its text embeds to zero) is at the origin.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> note = mem.add("Prefers tea")
        >>> round(float(mem.ball.distance_to_origin(mem.point(note))), 9)
        1.0
        """
        store = self._store
        with store.reading():
            row = np.array([store.columns.row_of[id]], np.int32)
            point: FloatArray = points(store.columns, row, store.ball.sqrt_c)[0]
        return point

    @property
    def points(self) -> FloatArray:
        """All points in order of insertion, (n, dim) float64: a copy."""
        store = self._store
        with store.reading():
            return points(store.columns, store.columns.live_rows(), store.ball.sqrt_c)

    def depth(self, id: str) -> float:
        """Hyperbolic distance from the origin, ``base_depth + level * depth_step``, exact at any level."""
        with self._store.reading() as columns:
            return float(columns.radius[columns.row_of[id]])

    def level(self, id: str) -> int:
        """Steps from the root: 0 at a root."""
        with self._store.reading() as columns:
            return int(columns.level[columns.row_of[id]])

    def parent(self, id: str) -> str | None:
        """Id of the parent, None for a root."""
        with self._store.reading() as columns:
            row = int(columns.parent[columns.row_of[id]])
            return columns.ids[row] if row >= 0 else None

    def children(self, id: str) -> list[str]:
        """Ids of the children in the order they came."""
        with self._store.reading() as columns:
            return columns.names(columns.children_rows(columns.row_of[id]))

    def ancestors(self, id: str) -> list[str]:
        """Parent, grandparent, ..., root."""
        with self._store.reading() as columns:
            return columns.names(columns.ancestor_rows(columns.row_of[id]))

    def descendants(self, id: str) -> list[str]:
        """Everything below, parents before children."""
        with self._store.reading() as columns:
            return columns.names(columns.subtree_rows(columns.row_of[id])[1:])

    def siblings(self, id: str) -> list[str]:
        """The other children of its parent; of a root the other roots."""
        with self._store.reading() as columns:
            return columns.names(columns.sibling_rows(columns.row_of[id]))

    def roots(self) -> list[str]:
        """Ids of all roots in order of insertion."""
        with self._store.reading() as columns:
            return columns.names(columns.root_rows())

    def path(self, id: str) -> list[str]:
        """Ids from the root down to this memory, itself included; KeyError for an unknown id.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.path(mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks")))
        ['drinks', 'tea']
        """
        from .relations import path

        return path(self._store, id)

    def lca(self, a: str, b: str) -> str | None:
        """Lowest common ancestor: the deepest memory that both are or are below; None in different trees.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> drinks = mem.add("drinks", id="drinks")
        >>> tea, coffee = mem.add("tea", parent=drinks), mem.add("coffee", parent=drinks)
        >>> mem.lca(tea, coffee)
        'drinks'
        """
        from .relations import lowest_common_ancestor

        return lowest_common_ancestor(self._store, a, b)

    # --- searching ------------------------------------------------------------------------------------

    def search(
        self,
        query: str | None = None,
        k: int = 5,
        mode: SearchMode = "nearest",
        root: str | Sequence[str] | None = None,
        at_time: datetime | None = None,
        filters: Filter = None,
        metric: Metric | None = None,
        query_depth: float | None = None,
        touch: bool = True,
        use_index: bool | None = None,
        oversample: int = 8,
        *,
        lexical_coef: float | None = None,
        min_score: float | None = None,
        diversity: float = 0.0,
        explain: bool = False,
        as_of: datetime | None = None,
    ) -> list[SearchResult]:
        """The k best memories by score.

        ``-distance + depth_bias * depth + time_coef * log(time_weight) + lexical_coef * lexical``

        Parameters
        ----------
        query : str, optional
            Free text; without it distances are 0, and time weight and depth alone rank.
        k : int, default 5
            At most so many results; below 1 none.
        mode : {"nearest", "subtree", "children", "ancestors", "siblings", "cone"}
            Which memories compete: all; those below `root` and itself; its children, ancestors or siblings;
            those inside its entailment cone but itself.
        root : str or sequence of str, optional
            Id that every mode but "nearest" needs; ``mode="subtree"`` takes several.
        at_time : datetime, optional
            The moment of the time weights (naive: UTC); the clock's time by default.
        filters : mapping or callable, optional
            Metadata keys with the values they must have or with operators, ``{"n": {"$gte": 3}, "$or": [...]}``
            (see `poincare_memory.retrieval.filters.compile_filter`), or a function of the record that tells.
        metric : {"shell", "hyperbolic"}, optional
            Instead of the memory's own.
        query_depth : float, optional
            Depth of the query for ``metric="hyperbolic"``; `base_depth` by default.
        touch : bool, default True
            Raise `access_count` and set `last_accessed` of what is returned.
        use_index : bool, optional
            True: through the graph index, built where needed; False: exact scan; None: whatever is there.
        oversample : int, default 8
            Candidates fetched from the index, in multiples of k, before scoring.
        lexical_coef : float, optional
            Instead of the memory's own: what the best match of the query's words (BM25) among the memories that pass
            mode and filter adds to its score; others get less, in proportion.
        min_score : float, optional
            Leave out results that score less.
        diversity : float, default 0.0
            Above 0, up to 1: maximal marginal relevance. Of the ``max(5 * k, 50)`` best, each next one has the
            largest ``(1 - diversity) * exp(score - best score) - diversity * exp(-d)``, d being its distance on the
            shell to the nearest of those before it. Results come in that order.
        explain : bool, default False
            Give each result its `terms`: the parts of its score.
        as_of : datetime, optional
            Search what the store knew at that moment (naive: UTC): memories recorded later are hidden, and time
            weights are those of the moment, unless `at_time` tells another. Where the store keeps versions
            (``Memory.open(..., history=True)``) it answers with the texts, parents and metadata that stood then, of
            memories removed since too; such results are copies and count no access.

        Raises
        ------
        KeyError
            For an unknown root.
        ValueError
            For an unknown mode or metric, a structural mode without root, a blank query, or an unknown operator.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> ids = mem.add_many([{"text": "green tea", "id": "tea"}, {"text": "tax filing", "id": "tax"}])
        >>> [hit.id for hit in mem.search("tea")]
        ['tea', 'tax']
        >>> mem.search("tax", k=1, lexical_coef=0.3, explain=True)[0].terms["lexical"]
        0.3
        """
        from .past import standing_at
        from .search import search

        options: dict[str, Any] = {
            "k": k,
            "mode": mode,
            "root": root,
            "at_time": at_time,
            "filters": filters,
            "metric": metric,
            "query_depth": query_depth,
            "touch": touch,
            "use_index": use_index,
            "oversample": oversample,
            "lexical_coef": lexical_coef,
            "min_score": min_score,
            "diversity": diversity,
            "explain": explain,
        }
        store = self._store
        if as_of is not None:
            store, options = standing_at(store, {**options, "as_of": as_of})
        return search(store, query, embed_query=self._own_embed_query(), **options)

    def search_many(self, queries: Iterable[str], k: int = 5, **options: Any) -> list[list[SearchResult]]:
        """What `search` finds for each query, with one call of the embedder and one pass over the memories.

        All are answered at one moment; accesses are counted once all are. `options` are those of `search`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> ids = mem.add_many([{"text": "green tea", "id": "tea"}, {"text": "tax filing", "id": "tax"}])
        >>> [[hit.id for hit in hits] for hits in mem.search_many(["tea", "tax"], k=1)]
        [['tea'], ['tax']]
        """
        from .batches import search_many
        from .past import standing_at

        store, options = standing_at(self._store, options)
        return search_many(store, queries, k=k, embed_query=self._own_embed_query(), **options)

    def _own_embed_query(self) -> Callable[..., FloatArray] | None:
        return None if type(self).embed_query is Memory.embed_query else self.embed_query

    def context(self, query: str | None = None, budget: int = 2000, k: int = 10, **options: Any) -> str:
        """Matches under their ancestors as a block for a prompt, at most `budget` characters long.

        A nested list: every ancestor stands once, over what was found below it; a match begins with its date; what
        happened earlier comes first. The best matches are taken in first, as many as fit; line breaks in texts
        become spaces. `options` are those of `search`.

        Examples
        --------
        >>> from datetime import datetime
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> trip = mem.add("Trip to Lisbon")
        >>> hotel = mem.add("Hotel near the river", parent=trip, t=datetime(2026, 5, 1))
        >>> print(mem.context("hotel", k=1))
        - Trip to Lisbon
          - [2026-05-01] Hotel near the river
        """
        from .relations import context

        return context(self._store, self.search(query, k, **options), budget)

    def embed_query(self, query: str, depth: float | None = None) -> FloatArray:
        """The point of a free-text query, (dim,): direction from the embedder, `base_depth` deep by default.

        A subclass may override it: `search` places queries by it.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> round(float(mem.ball.distance_to_origin(mem.embed_query("tea", depth=2.0))), 9)
        2.0
        """
        store = self._store
        embedding = store.embed([editing.checked_text(query)])[0]
        return store.projector.at_depth(embedding, store.base_depth if depth is None else depth)

    def build_index(self, backend: Backend = "auto", *, progress: Progress = None) -> MIPSIndex:
        """Build (or rebuild) the nearest-neighbour index over all memories.

        Every write is taken into it afterwards. A live store keeps its graph in ``<file>.graph``, written here and
        by `close`, and has its index again when it is opened. `progress` is True for a bar (extra ``progress``), or a
        function of how many memories of a graph are in and how many there are; what needs no graph is at once.
        """
        from .graph_file import keep_graphs
        from .search import build_index

        index = build_index(self._store, backend, progress)
        keep_graphs(self._store)
        return index

    def time_weights(self, ids: Sequence[str], at_time: datetime | None = None) -> FloatArray:
        """Time weights of memories by the decay policy, each in [1e-6, 1].

        Examples
        --------
        >>> from datetime import datetime, timedelta, timezone
        >>> from poincare_memory import HalfLife, Memory
        >>> now = datetime(2026, 1, 2, tzinfo=timezone.utc)
        >>> mem = Memory(decay=HalfLife(hours=24), clock=lambda: now)
        >>> mem.time_weights([mem.add("yesterday", t=now - timedelta(days=1))])
        array([0.5])
        """
        store = self._store
        now = reporting.moment_of(store, at_time)
        with store.reading():
            rows = np.array([store.columns.row_of[id] for id in ids], np.int32)
            times = TimeColumns.of(store, rows)
        return times.weights(now)

    # --- looking at it --------------------------------------------------------------------------------

    def stats(self, at_time: datetime | None = None) -> dict[str, Any]:
        """Summary numbers: counts, levels, depths, times, mean time weight.

        Keys: count, roots, max_level, levels, dim, curvature, metric, decay, depth_min, depth_max, oldest,
        newest, mean_time_weight, accesses; None where an empty memory has none.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> child = mem.add("tea", parent=mem.add("drinks"))
        >>> mem.stats()["levels"]
        {0: 1, 1: 1}
        """
        return reporting.stats(self._store, at_time)

    def table(self, at_time: datetime | None = None) -> list[dict[str, Any]]:
        """Plain rows: id, text, parent, level, depth (4 places), t, weight (6 places), accesses, meta."""
        return reporting.table(self._store, at_time)

    @overload
    def to_dataframe(
        self, at_time: datetime | None = None, *, library: Literal["pandas"] = "pandas"
    ) -> pandas.DataFrame: ...

    @overload
    def to_dataframe(
        self, at_time: datetime | None = None, *, library: Literal["polars"]
    ) -> polars.DataFrame: ...

    def to_dataframe(self, at_time: datetime | None = None, *, library: str = "pandas") -> Any:
        """`table` as a data frame of pandas or of polars (``pip install "poincare-memory[pandas]"``, ``[polars]``).

        Parameters
        ----------
        at_time : datetime, optional
            The moment of the time weights (naive: UTC); the clock's time by default.
        library : {"pandas", "polars"}
            In polars, whose columns have one type each, ``meta`` is JSON text.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
        >>> mem.to_dataframe().groupby("level")["id"].count().to_dict()
        {0: 1, 1: 1}
        """
        return reporting.dataframe(self._store, at_time, library)

    def to_graphml(self, path: Path | None = None, at_time: datetime | None = None) -> str:
        """The hierarchy as GraphML, a node a memory; also written to `path` where given (UTF-8).

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
        >>> mem.to_graphml().count("<node ")
        2
        """
        from ..viz.graphml import to_graphml

        document = to_graphml(self, at_time)
        if path is not None:
            from .atomic import write_text

            write_text(path, document)
        return document

    def to_mermaid(
        self, root: str | None = None, *, direction: str = "LR", limit: int = 200, max_text: int = 40
    ) -> str:
        """The hierarchy, or what is below `root`, as a Mermaid flowchart; see `viz.to_mermaid`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
        >>> print(mem.to_mermaid(direction="TD"))
        flowchart TD
          n0["drinks"]
          n1["tea"]
          n0 --> n1
        """
        from ..viz.mermaid import to_mermaid

        return to_mermaid(self, root, direction=direction, limit=limit, max_text=max_text)

    def tree(self, root: str | None = None, max_text: int = 60) -> str:
        """The hierarchy as text, one line a memory, texts cut at `max_text` characters.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
        >>> print(mem.tree())
        drinks  [drinks d=1.00]
        └── tea  [tea d=1.50]
        """
        return reporting.tree(self._store, root, max_text)

    def inspect(
        self,
        path: Path | None = None,
        open_browser: bool = False,
        title: str | None = None,
        layout: str = "auto",
        *,
        query: str | Sequence[SearchResult] | None = None,
        k: int = 10,
        at_time: datetime | None = None,
        limit: int = 200_000,
    ) -> str:
        """Self-contained interactive HTML page (disk, table, tree); also written to `path` where given.

        Parameters
        ----------
        path : path, optional
            File to write, UTF-8.
        open_browser : bool, default False
            Show it; needs `path`, or uses a temporary file.
        title : str, optional
            Of the page.
        layout : {"auto", "structural", "projection"}
            The declared hierarchy as a radial tree (the default where there is one), or the directions.
        query : str or sequence of SearchResult, optional
            A text to search for, or results of `search`: the page marks the hits and lists the terms of their scores.
            Nothing is touched.
        k : int, default 10
            How many hits a text may have.
        at_time : datetime, optional
            The moment at which the page opens (naive: UTC); the clock's time by default.
        limit : int, default 200,000
            The page holds at most so many memories; of a larger store an even sample, which it says.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> ids = mem.add_many([{"text": "green tea"}, {"text": "tax filing"}])
        >>> page = mem.inspect(query="tea")
        >>> "</html>" in page
        True
        """
        options = {
            "title": title,
            "layout": layout,
            "query": query,
            "k": k,
            "at_time": at_time,
            "limit": limit,
        }
        return inspection.inspect(self, path, open_browser, options)

    def plot(
        self,
        ax: Any = None,
        labels: bool = False,
        at_time: datetime | None = None,
        *,
        color: str | Sequence[Any] = "level",
        layout: str = "auto",
        center: str | None = None,
        legend: bool = True,
    ) -> Any:
        """Matplotlib drawing of the disk (``pip install "poincare-memory[viz]"``); returns the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        labels : bool, default False
            Write the beginning of each text where there is room for it.
        at_time : datetime, optional
            The moment of the time weights (naive: UTC); the clock's time by default.
        color : str or sequence
            "level", "depth", "weight", "age", "accesses", "root", a key of the metadata, or one value a memory.
        layout : {"auto", "structural", "projection"}
            As for `inspect`.
        center : str, optional
            Id of the memory in the middle.
        legend : bool, default True
            Draw a colour bar or a legend.

        Examples
        --------
        >>> from poincare_memory.demo import build_demo_memory
        >>> ax = build_demo_memory().plot(color="kind", labels=True)
        >>> ax.get_legend().get_title().get_text()
        'kind'
        """
        from ..viz.mpl import plot_memory

        return plot_memory(
            self,
            ax=ax,
            labels=labels,
            at_time=at_time,
            color=color,
            layout=layout,
            center=center,
            legend=legend,
        )

    def __repr__(self) -> str:
        store = self._store
        return (
            f"Memory(n={store.columns.n}, dim={self.dim}, curvature={store.ball.c:g}, "
            f"decay={store.decay!r}, metric={store.metric!r})"
        )

    def _repr_html_(self) -> str:
        return inspection.frame(self)

    # --- keeping --------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write everything to an SQLite file, in one step: an older file stays until the new one is whole."""
        from . import sqlite

        sqlite.save(self._store, path)

    def backup(self, path: Path) -> None:
        """Copy a live store's file, whole and consistent, while threads and processes go on using it.

        The copy takes the place of `path` in one step; `load` and `open` read it. Of a memory without a file: `save`.
        """
        from . import sqlite

        sqlite.backup(self._store, path)

    def compact(self) -> None:
        """Give back the room that removed memories took, on disk and in memory."""
        self._store.compact()

    @classmethod
    def load(
        cls,
        path: Path,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> Memory:
        """Read a file that `save` wrote.

        The hashing embedder and built-in policies are restored; pass any other embedder or policy again.

        Raises
        ------
        FileNotFoundError
            Where there is no file.
        ValueError
            For a file that is none of ours, damaged, or of another dimension.
        """
        from . import sqlite

        return cls._of(sqlite.load(path, embedder=embedder, decay=decay, clock=clock))

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
        create: bool = True,
        synchronous: Literal["off", "normal", "full"] = "normal",
        busy_timeout: float = 5.0,
        history: bool = False,
        reembed: bool = False,
        progress: Progress = None,
        **settings: Any,
    ) -> Memory:
        """A memory that lives in a file: what an edit returned from, is on disk.

        Several processes may have the same file open: writers queue, and each sees what the others wrote at its
        next call. The file is one of format 1 with tables of ours beside it, so `load` reads it too. A file that is
        no good store, or another than was asked for, is left as it is.

        A record's `meta` that is changed in place is written at the next call of anything (where thousands of such
        dicts are held: some calls later). If another process wrote that memory's metadata first, its change stands.

        Parameters
        ----------
        path : path
            An SQLite file, made where there is none; one that `save` wrote is welcome.
        embedder, decay, clock : optional
            As for `load`. The file tells whose its vectors are (class, parameters and the embedding of a fixed
            text); another embedder is an error. A decay policy that is passed holds for this memory, whatever
            the file says.
        create : bool, default True
            False: FileNotFoundError where there is no file.
        synchronous : {"normal", "full", "off"}, default "normal"
            "normal": what was written survives the death of the process (SIGKILL); "full": and of the machine
            (power loss), at the price of waiting for the disk in every edit; "off": neither is promised.
        busy_timeout : float, default 5.0
            Seconds that an edit waits while other processes write.
        history : bool, default False
            From now on keep what memories were before they were changed or removed, for `history` and
            ``search(as_of=...)``. A file that does so goes on doing it.
        reembed : bool, default False
            Where the memories were embedded by another embedder, embed all texts anew and place them, instead of
            raising: all of them or, on an error, none.
        progress : callable or bool, optional
            Of `reembed`: True for a bar (``pip install "poincare-memory[progress]"``), or a function of how many texts
            are done and how many there are. By default a bar where it is installed and errors go to a terminal.
        **settings
            Of a new store: curvature, base_depth, depth_step, inherit, cone_constrained, cone_k, metric,
            time_coef, depth_bias, lexical_coef, as in `Memory`. For a store that exists they must be those it has.

        Raises
        ------
        FileNotFoundError
            Where there is no such folder, or no file and `create` is False.
        ValueError
            For a file that is none of ours, damaged, or made with other settings or another embedder.
        StoreWriteError
            Where the file cannot be written (an OSError).

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> with Memory.open(path) as mem:
        ...     _ = mem.add("Prefers tea", id="tea")
        >>> with Memory.open(path) as mem:
        ...     mem.get("tea").text
        'Prefers tea'
        """
        from . import live
        from .graph_file import restore_index

        store = live.open_store(
            path,
            embedder=embedder,
            decay=decay,
            clock=clock,
            create=create,
            synchronous=synchronous,
            busy_timeout=busy_timeout,
            history=history,
            reembed=reembed,
            progress=progress,
            settings=settings,
        )
        restore_index(store)
        return cls._of(store)

    def transaction(self) -> AbstractContextManager[None]:
        """Group edits: all of them happen, in memory and on disk, or (where the block raises) none.

        Other threads and processes wait, and see nothing of it before its end. Blocks may nest: an inner one that
        raises takes back its own edits only, if the outer one catches the exception.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> with mem.transaction():
        ...     trip = mem.add("Trip to Lisbon")
        ...     _ = mem.add("Hotel near the river", parent=trip)
        """
        return Change(self._store.columns)

    def close(self) -> None:
        """Write what waits (counted accesses, metadata changed in place) and let the file go.

        Whatever is called afterwards raises `StoreClosedError`, but for `close`, which does nothing then.
        """
        if self._store.index is not None and not self._store.columns.lock.held_by_me():
            from .graph_file import keep_graphs

            keep_graphs(self._store)
        self._store.close()

    def __copy__(self) -> Memory:
        """A memory of its own, without a file; embedder, policy and clock are shared."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._store = copy.copy(self._store)
        return twin

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def export_file(
        self, path: Path, format: TextFormat | None = None, *, bare: bool = False, progress: Progress = None
    ) -> int:
        """Write the memories as JSON Lines, CSV or a Markdown outline; how many there are.

        By default the name of the file tells which: ``.jsonl``, ``.csv``, ``.tsv`` or ``.md``. Texts, tree, times,
        accesses, pins and metadata are written, vectors and settings are not (`save` and `to_json` write those); see
        `poincare_memory.store.exchange.export_text`.

        Examples
        --------
        >>> import pathlib
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("green tea", parent=mem.add("Drinks"))
        >>> mem.export_file("drinks.md", bare=True)
        2
        >>> print(pathlib.Path("drinks.md").read_text())
        # Drinks
        <BLANKLINE>
        - green tea
        <BLANKLINE>
        """
        from .exchange import export_text

        return export_text(self, path, format, bare=bare, progress=progress)

    def import_file(
        self,
        path: Path,
        format: TextFormat | None = None,
        *,
        on_duplicate: OnDuplicate = "error",
        under: str | None = None,
        progress: Progress = None,
    ) -> int:
        """Add the memories of a JSON Lines, CSV or Markdown file, all or none; how many there were.

        Headings and nested lists of an outline become the hierarchy; `under` is the id of a memory that takes those
        without parent. Errors name line and column; see `poincare_memory.store.exchange.import_text`.

        Examples
        --------
        >>> import pathlib
        >>> from poincare_memory import Memory
        >>> _ = pathlib.Path("notes.md").write_text("# Drinks\\n- green tea\\n- coffee\\n")
        >>> mem = Memory()
        >>> mem.import_file("notes.md")
        3
        >>> [mem.get(id).text for id in mem.children(mem.roots()[0])]
        ['green tea', 'coffee']
        """
        from .exchange import import_text

        return import_text(self, path, format, on_duplicate=on_duplicate, under=under, progress=progress)

    def to_json(self, path: Path | None = None, indent: int | None = None) -> str:
        """Portable, strict JSON (config, records, points, embeddings); also written to `path` where given."""
        from . import portable

        return portable.to_json(self._store, path, indent)

    @classmethod
    def from_json(
        cls,
        source: Path,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> Memory:
        """Inverse of `to_json`; `source` is a path or the JSON text itself."""
        from . import portable

        return cls._of(portable.from_json(source, embedder=embedder, decay=decay, clock=clock))
