"""`Memory`: the facade, put together from its parts in `facade`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..embed.base import HashingEmbedder
from ..embed.embedding import check_embedder
from ..embed.projection import BallProjector
from ..geometry.poincare import PoincareBall
from ..retrieval.cones import DEFAULT_K
from ..temporal.instants import utcnow
from ..temporal.policies import NoDecay
from .facade.base import as_one
from .facade.exchanging import Exchanging
from .facade.keeping import Keeping
from .facade.lookup import Lookup
from .facade.relatives import Relatives
from .facade.remembering import Remembering
from .facade.searching import Backend as Backend
from .facade.searching import Filter as Filter
from .facade.searching import Searching
from .facade.searching import SearchMode as SearchMode
from .facade.settings import Settings
from .facade.showing import Showing
from .room import Precision, room_of
from .state import FORMAT_VERSION as FORMAT_VERSION
from .state import SETTINGS, Metric, Store
from .twins import AsyncTwins

if TYPE_CHECKING:
    from ..backends.remote import RemoteMemory
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy


@as_one
class Memory(Settings, Remembering, Lookup, Relatives, Searching, Showing, Keeping, Exchanging, AsyncTwins):
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
    precision : {"full", "compact"}, default "full"
        "compact": exact vectors are in a file. A search reads those few of them that codes in eight bits, which stay
        in memory with their proven errors, cannot exclude: the same ids, and scores to the last bit, from a quarter of
        the memory. The file has no name and vanishes with the memory; `TMPDIR` says in which folder it is.

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
        precision: Precision = "full",
    ) -> None:
        self._store = Store(
            HashingEmbedder() if embedder is None else check_embedder(embedder),
            BallProjector(PoincareBall(curvature)),
            room_of(precision),
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
    def connect(
        cls,
        url: str,
        *,
        name: str = "memory",
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
        timeout: float = 30.0,
        exact: bool = True,
        connections: int = 8,
        shards: int | None = None,
        **settings: Any,
    ) -> RemoteMemory:
        """A memory in a database server that many processes share: the same methods, the same scores.

        Parameters
        ----------
        url : str
            ``postgresql://user@host/database`` (PostgreSQL with pgvector; extra ``postgres``), or
            ``qdrant://host:6333`` (extra ``qdrant``; ``qdrants`` with TLS, ``qdrant://:KEY@host`` with a key,
            ``qdrant-edge:///folder`` for its engine in this process, extra ``qdrant-edge``; ``qdrant:///folder`` and
            ``qdrant:///:memory:`` for the client's local mode).
        name : str, default "memory"
            Of the table or collection; made where there is none.
        embedder, decay, clock : optional
            As for `load`.
        timeout : float, default 30
            Seconds that the server may take for one thing.
        exact : bool, default True
            False: the server's graph index (HNSW; PostgreSQL makes it then) finds the nearest, which is faster and may
            miss some.
        connections : int, default 8
            To PostgreSQL, at most: so many threads are served at once.
        shards : int, optional
            For a new memory on a Qdrant cluster: groups of roots, each with a shard of its own (custom sharding). What
            is below one root stays together, and a search below it asks one shard. Engines in this process have one.
        **settings
            Of a new memory, as of `Memory`; for one that exists they must be those it has.

        Returns
        -------
        Memory
            A context manager, which closes the connection.

        Raises
        ------
        backends.BackendError
            Where the server cannot be reached, takes too long, or has another schema (an OSError).
        ValueError
            For a memory made with other settings, or another kind or length of embedder.

        Examples
        --------
        >>> mem = Memory.connect("postgresql://ada@db.example/memories")  # doctest: +SKIP
        >>> [hit.id for hit in mem.search("green tea", k=1)]  # doctest: +SKIP
        ['tea']
        """
        import importlib  # not by name: what is built around a `Memory` comes after it

        connect = importlib.import_module("poincare_memory.backends").connect
        remote: RemoteMemory = connect(
            url,
            name=name,
            timeout=timeout,
            exact=exact,
            connections=connections,
            shards=shards,
            embedder=embedder,
            decay=decay,
            clock=clock,
            **settings,
        )
        return remote

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

        Returns
        -------
        Memory

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

    def __repr__(self) -> str:
        store = self._store
        return (
            f"Memory(n={store.columns.n}, dim={self.dim}, curvature={store.ball.c:g}, "
            f"decay={store.decay!r}, metric={store.metric!r})"
        )

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
