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
    from .base import Path


class Exchanging(Facade):
    """Texts and tables that other programs read and write."""

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
        """Portable, strict JSON (config, records, points, embeddings); also written to `path` where given."""
        from .. import portable

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
        from .. import portable

        return cls._of(portable.from_json(source, embedder=embedder, decay=decay, clock=clock))
