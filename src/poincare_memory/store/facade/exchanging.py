"""Methods of `Memory` that exchange it with other programs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from ...progress import Progress
from ..upserting import OnDuplicate
from .base import Facade

if TYPE_CHECKING:
    from ...embed.base import Embedder
    from ...temporal.policies import DecayPolicy
    from ..exchange import TextFormat
    from ..memory import Memory
    from ..room import Precision
    from .base import Path


class Exchanging(Facade):
    """Texts and tables that other programs read and write."""

    def export_vectors(self, path: Path) -> int:
        """Write directions, Lorentz vectors and payload as Parquet (extra ``parquet``); how many memories there are.

        For vector databases of any kind: the column ``direction`` (float32, of length 1; zeros where there is none) is
        what a cosine or dot index of one depth is made of, ``lorentz`` (float64) what `to_mips_vectors` gives of the
        points, for exact inner-product indexes. Beside them: id, text, parent, path, level, radius, times,
        access_count, pinned and meta (JSON).

        Parameters
        ----------
        path : path
            The Parquet file to write.

        Returns
        -------
        int

        Raises
        ------
        ImportError
            Where pyarrow is not installed.
        ValueError
            For memories so deep that float64 holds no Lorentz vector (√c·depth above 700).

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> tea = mem.add("tea")
        >>> mem.export_vectors("vectors.parquet")  # doctest: +SKIP
        1
        """
        from ..vectors import export_vectors

        return export_vectors(self._store, path)

    def export_file(
        self, path: Path, format: TextFormat | None = None, *, bare: bool = False, progress: Progress = None
    ) -> int:
        """Write the memories as JSON Lines, CSV or a Markdown outline; how many there are.

        By default the name of the file tells which: ``.jsonl``, ``.csv``, ``.tsv`` or ``.md``. Texts, tree, times,
        accesses, pins and metadata are written, vectors and settings are not (`save` and `to_json` write those); see
        `poincare_memory.store.exchange.export_text`.

        Parameters
        ----------
        path : path
            The file to write, in one step.
        format : {"jsonl", "csv", "tsv", "markdown"}, optional
            Where the name of the file does not tell.
        bare : bool, default False
            Of an outline: texts only, without ids, times and metadata.
        progress : bool or callable, optional
            True: a bar (extra ``progress``); or a function of how many memories are written and how many there are.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            Where neither the name nor `format` tells a format.
        OSError
            Where the file cannot be written; what was there is there still.

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
        from ..exchange import export_text

        return export_text(self._memory, path, format, bare=bare, progress=progress)

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

        Parameters
        ----------
        path : path
            The file to read, UTF-8.
        format : {"jsonl", "csv", "tsv", "markdown"}, optional
            Where the name of the file does not tell.
        on_duplicate : {"error", "ignore", "update"}, default "error"
            As for `add`.
        under : str, optional
            Id of the memory that takes those without parent.
        progress : bool or callable, optional
            True: a bar (extra ``progress``); or a function of how many texts are embedded and how many there are.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            For what is no such file, with its line and column. Nothing is added then.
        KeyError
            For an unknown `under`.

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
        from ..exchange import import_text

        return import_text(
            self._memory, path, format, on_duplicate=on_duplicate, under=under, progress=progress
        )

    def to_json(self, path: Path | None = None, indent: int | None = None) -> str:
        """Portable, strict JSON (config, records, points, embeddings); also written to `path` where given.

        Parameters
        ----------
        path : path, optional
            A file to write it to as well, in one step.
        indent : int, optional
            Spaces a level; one line by default.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            Where `path` holds something that is no such JSON.

        Examples
        --------
        >>> import json
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> _ = mem.add("Prefers tea", id="tea")
        >>> [record["text"] for record in json.loads(mem.to_json())["records"]]
        ['Prefers tea']
        """
        from .. import portable

        return portable.to_json(self._store, path, indent)

    @classmethod
    def from_json(
        cls,
        source: Path,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
        *,
        precision: Precision = "full",
    ) -> Memory:
        """Inverse of `to_json`; `source` is a path or the JSON text itself.

        Parameters
        ----------
        source : path, str or bytes
            A path, or the JSON itself.
        embedder, decay, clock : optional
            As for `load`.
        precision : {"full", "compact"}, keyword-only, default "full"
            Where vectors are, as in `Memory`.

        Returns
        -------
        Memory

        Raises
        ------
        ValueError
            For what is no such JSON, or holds a value that is not allowed; it names record and field.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> _ = mem.add("Prefers tea", id="tea")
        >>> Memory.from_json(mem.to_json()).get("tea").text
        'Prefers tea'
        """
        from .. import portable

        return cls._of(
            portable.from_json(source, embedder=embedder, decay=decay, clock=clock, precision=precision)
        )
