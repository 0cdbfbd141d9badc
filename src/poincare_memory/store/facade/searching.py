"""Methods of `Memory` that search it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...geometry.numerics import FloatArray
from ...progress import Progress
from .. import reporting
from ..gathering import checked_text
from ..records import MemoryRecord, SearchResult
from ..state import Metric
from ..twins import in_a_thread
from ..weights import TimeColumns
from .base import Facade

if TYPE_CHECKING:
    from ...index import MIPSIndex

SearchMode = Literal["nearest", "subtree", "children", "ancestors", "siblings", "cone"]
Backend = Literal["auto", "numpy", "hnsw", "faiss"]
Filter = Mapping[str, Any] | Callable[[MemoryRecord], bool] | None


@cache
def _search() -> Callable[..., list[SearchResult]]:
    """The module behind, loaded by the first search: an import that finds it loaded still takes microseconds."""
    from ..search import search

    return search


class Searching(Facade):
    """Ranking memories for a query, and what ranks them."""

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
            Id that every mode but "nearest" needs; ``mode="subtree"`` takes several. "nearest", the default mode,
            leaves it aside.
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
            True: through the index, built where there is none (`build_index`); False: exact scan; None: whatever is
            there.
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

        Returns
        -------
        list of SearchResult
            The best first; of equal scores, the one that was stored first.

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
            from ..past import standing_at

            store, options = standing_at(store, {**options, "as_of": as_of})
        return _search()(store, query, embed_query=self._own_embed_query(), **options)

    def search_many(self, queries: Iterable[str], k: int = 5, **options: Any) -> list[list[SearchResult]]:
        """What `search` finds for each query, with one call of the embedder and one pass over the memories.

        All are answered at one moment; accesses are counted once all are. `options` are those of `search`.

        Parameters
        ----------
        queries : iterable of str
            Texts to search for.
        k : int, default 5
            How many results each.
        **options
            Of `search`.

        Returns
        -------
        list of list of SearchResult
            One list a query, in their order.

        Raises
        ------
        ValueError, KeyError, TypeError
            As `search`.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> ids = mem.add_many([{"text": "green tea", "id": "tea"}, {"text": "tax filing", "id": "tax"}])
        >>> [[hit.id for hit in hits] for hits in mem.search_many(["tea", "tax"], k=1)]
        [['tea'], ['tax']]
        """
        from ..batches import search_many
        from ..past import standing_at

        store, options = standing_at(self._store, options)
        return search_many(store, queries, k=k, embed_query=self._own_embed_query(), **options)

    def _own_embed_query(self) -> Callable[..., FloatArray] | None:
        return None if type(self).embed_query is Searching.embed_query else self.embed_query

    def context(self, query: str | None = None, budget: int = 2000, k: int = 10, **options: Any) -> str:
        """Matches under their ancestors as a block for a prompt, at most `budget` characters long.

        A nested list: every ancestor stands once, over what was found below it; a match begins with its date; what
        happened earlier comes first. The best matches are taken in first, as many as fit; line breaks in texts
        become spaces. `options` are those of `search`.

        Parameters
        ----------
        query : str, optional
            As for `search`.
        budget : int, default 2000
            Characters of the block at most.
        k : int, default 10
            How many matches at most.
        **options
            Of `search`.

        Returns
        -------
        str
            Markdown; empty where nothing is found.

        Raises
        ------
        ValueError, KeyError, TypeError
            As `search`.

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
        from ..relations import context, refuse_unknown_options

        refuse_unknown_options(options, self.search)
        return context(self._store, self.search(query, k, **options), budget)

    async def acontext(self, query: str | None = None, *args: Any, **kwargs: Any) -> str:
        """`context` in a worker thread, as the other asynchronous twins.

        Parameters
        ----------
        query, *args, **kwargs
            As of `context`.

        Returns
        -------
        str

        Examples
        --------
        >>> import asyncio
        >>> from datetime import datetime
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> _ = mem.add("Prefers tea", t=datetime(2026, 5, 1))
        >>> asyncio.run(mem.acontext("tea"))
        '- [2026-05-01] Prefers tea'
        """
        return await in_a_thread(self.context, query, *args, **kwargs)

    def embed_query(self, query: str, depth: float | None = None) -> FloatArray:
        """The point of a free-text query, (dim,): direction from the embedder, `base_depth` deep by default.

        A subclass may override it: `search` places queries by it.

        Parameters
        ----------
        query : str
            Not blank.
        depth : float, optional
            In hyperbolic units; `base_depth` by default.

        Returns
        -------
        float64 array of shape (dim,)

        Raises
        ------
        ValueError
            For a blank query.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> round(float(mem.ball.distance_to_origin(mem.embed_query("tea", depth=2.0))), 9)
        2.0
        """
        store = self._store
        embedding = store.embed([checked_text(query)])[0]
        return store.projector.at_depth(embedding, store.base_depth if depth is None else depth)

    def build_index(self, backend: Backend = "auto", *, progress: Progress = None) -> MIPSIndex:
        """Build (or rebuild) the nearest-neighbour index over all memories.

        Every write is taken into it afterwards. A live store keeps its graph in ``<file>.graph``, written here and
        by `close`, and has its index again when it is opened. `progress` is True for a bar (extra ``progress``), or a
        function of how many memories of a graph are in and how many there are; what needs no graph is at once.

        Parameters
        ----------
        backend : {"auto", "numpy", "hnsw", "faiss"}, default "auto"
            As for `MIPSIndex`: "auto" makes a graph where there are 50,000 memories, and below stays with the exact
            scan, which is quick there; "hnsw" makes a graph of any number.
        progress : bool or callable, optional
            See above.

        Returns
        -------
        MIPSIndex

        Raises
        ------
        ValueError
            For another backend, or one that is not there.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> _ = mem.add("Prefers tea")
        >>> mem.build_index().size
        1
        """
        from ..graph_file import keep_graphs
        from ..search import build_index

        index = build_index(self._store, backend, progress)
        keep_graphs(self._store)
        return index

    @property
    def index(self) -> MIPSIndex | None:
        """The index that `build_index` made, or that came back with a live store; None where there is none.

        Its `repr` tells what it is: backend, memories, graphs and their parameters.
        """
        found: MIPSIndex | None = self._store.index
        return found

    def time_weights(self, ids: Sequence[str], at_time: datetime | None = None) -> FloatArray:
        """Time weights of memories by the decay policy, each in [1e-6, 1].

        Parameters
        ----------
        ids : sequence of str
            Memories.
        at_time : datetime, optional
            The moment (naive: UTC); the clock's time by default.

        Returns
        -------
        float64 array of shape (len(ids),)

        Raises
        ------
        KeyError
            For an unknown id.

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
