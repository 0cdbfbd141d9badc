"""Methods of `Memory` that show what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from .. import inspection, reporting
from ..records import SearchResult
from .base import Facade

if TYPE_CHECKING:
    import pandas
    import polars

    from .base import Path


class Showing(Facade):
    """Numbers, tables, texts, drawings and pages of a memory."""

    def stats(self, at_time: datetime | None = None) -> dict[str, Any]:
        """Summary numbers: counts, levels, depths, times, mean time weight.

        Keys: count, roots, max_level, levels, dim, curvature, metric, decay, depth_min, depth_max, oldest,
        newest, mean_time_weight, accesses; None where an empty memory has none.

        Parameters
        ----------
        at_time : datetime, optional
            The moment of the time weights (naive: UTC); the clock's time by default.

        Returns
        -------
        dict

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
        """Plain rows: id, text, parent, level, depth (4 places), t, weight (6 places), accesses, meta.

        Parameters
        ----------
        at_time : datetime, optional
            The moment of the time weights (naive: UTC); the clock's time by default.

        Returns
        -------
        list of dict
            In order of insertion.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
        >>> [(row["id"], row["parent"], row["depth"]) for row in mem.table()]
        [('drinks', None, 1.0), ('tea', 'drinks', 1.5)]
        """
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

        Returns
        -------
        pandas.DataFrame or polars.DataFrame

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

        Parameters
        ----------
        path : path, optional
            A file to write it to as well.
        at_time : datetime, optional
            The moment of the time weights (naive: UTC); the clock's time by default.

        Returns
        -------
        str

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
        >>> mem.to_graphml().count("<node ")
        2
        """
        from ...viz.graphml import to_graphml

        document = to_graphml(self._memory, at_time)
        if path is not None:
            from ..atomic import write_text

            write_text(path, document)
        return document

    def to_mermaid(
        self, root: str | None = None, *, direction: str = "LR", limit: int = 200, max_text: int = 40
    ) -> str:
        """The hierarchy, or what is below `root`, as a Mermaid flowchart; see `viz.to_mermaid`.

        Parameters
        ----------
        root : str, optional
            Id of the branch; everything by default.
        direction : {"LR", "RL", "TD", "BT"}, default "LR"
            Where the chart grows.
        limit : int, default 200
            At most so many memories; the chart says what is left out.
        max_text : int, default 40
            Characters of a text.

        Returns
        -------
        str

        Raises
        ------
        KeyError
            For an unknown root.
        ValueError
            For another direction, or limits below 1.

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
        from ...viz.mermaid import to_mermaid

        return to_mermaid(self._memory, root, direction=direction, limit=limit, max_text=max_text)

    def tree(self, root: str | None = None, max_text: int = 60) -> str:
        """The hierarchy as text, one line a memory, texts cut at `max_text` characters.

        Parameters
        ----------
        root : str, optional
            Id of the branch; everything by default.
        max_text : int, default 60
            Characters of a text.

        Returns
        -------
        str

        Raises
        ------
        KeyError
            For an unknown root.
        ValueError
            For a hierarchy so deep that its indents alone would be hundreds of millions of characters.

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

        Returns
        -------
        str
            The HTML. Its ``repr`` says how long it is: a notebook whose cell ends in this call does not keep the page.

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
        return inspection.inspect(self._memory, path, open_browser, options)

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

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from poincare_memory.demo import build_demo_memory
        >>> ax = build_demo_memory().plot(color="kind", labels=True)
        >>> ax.get_legend().get_title().get_text()
        'kind'
        """
        from ...viz.mpl import plot_memory

        return plot_memory(
            self._memory,
            ax=ax,
            labels=labels,
            at_time=at_time,
            color=color,
            layout=layout,
            center=center,
            legend=legend,
        )

    def _repr_html_(self) -> str:
        return inspection.frame(self._memory)
