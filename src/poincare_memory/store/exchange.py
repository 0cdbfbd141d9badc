"""Memories in and out of text files: JSON Lines, CSV, Markdown outlines.

(JSON, which holds the vectors too, is `portable`.) Reading streams: a file may be larger than memory, though what is
imported is all added or nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal, get_args

from ..progress import Progress, checked_progress, metered
from .archive import texts_of
from .atomic import is_special, replacing
from .entries import NAMES, Entry, Source
from .outline import read_outline
from .outlining import outline_rows
from .tabular import csv_rows, jsonl_rows, read_csv, read_jsonl

if TYPE_CHECKING:
    from .memory import Memory
    from .upserting import OnDuplicate

__all__ = ["TextFormat", "export_text", "format_of", "import_text", "is_export", "read_entries"]

TextFormat = Literal["jsonl", "csv", "tsv", "markdown"]
BATCH: Final = 1000  # memories that are embedded and added at once
SUFFIXES: Final[dict[str, TextFormat]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".md": "markdown",
    ".markdown": "markdown",
}
ITEM: Final = re.compile(r"item (\d+): ")


def format_of(path: str | os.PathLike[str]) -> TextFormat | None:
    """The format that the end of a file's name tells, if it tells one.

    Parameters
    ----------
    path : path
        Nobody looks whether there is such a file.

    Returns
    -------
    {"jsonl", "csv", "tsv", "markdown"} or None

    Examples
    --------
    >>> from poincare_memory.store.exchange import format_of
    >>> format_of("notes.md"), format_of("memory.json")
    ('markdown', None)
    """
    return SUFFIXES.get(Path(path).suffix.lower())


def read_entries(
    source: Source,
    format: TextFormat | None = None,
    where: str | None = None,
    told: Callable[[int], object] | None = None,
) -> Iterator[Entry]:
    """Entries of a file or binary stream, one after the other.

    Parameters
    ----------
    source : path or binary stream
        UTF-8 text.
    format : {"jsonl", "csv", "tsv", "markdown"}, optional
        By default what the name of the file ends with.
    where : str, optional
        What errors call the file.
    told : callable, optional
        Called with the number of bytes that were read since the last call.

    Yields
    ------
    Entry
        With ``text``, ``id``, ``parent``, ``t``, ``meta``, ..., as the file has them, and its ``line``.

    Raises
    ------
    ValueError
        Where the file says what cannot be, beginning with ``file:line``; or where the format is not known.

    Examples
    --------
    >>> import io
    >>> from poincare_memory.store.exchange import read_entries
    >>> [entry.text for entry in read_entries(io.BytesIO(b'{"text": "green tea"}'), "jsonl")]
    ['green tea']
    """
    format = _checked_format(source, format)
    name = where if where is not None else str(getattr(source, "name", source))
    if format == "jsonl":
        return read_jsonl(source, name, told)
    if format == "markdown":
        return read_outline(source, name, told)
    return read_csv(source, name, told, delimiter="\t" if format == "tsv" else ",")


def import_text(
    memory: Memory,
    source: Source,
    format: TextFormat | None = None,
    *,
    on_duplicate: OnDuplicate = "error",
    under: str | None = None,
    where: str | None = None,
    progress: Progress = None,
) -> int:
    """Add the memories of a file to a memory, all or none.

    A parent may come after its children, or be in the memory already. Texts are embedded anew.

    Parameters
    ----------
    memory : Memory
        Where to.
    source : path or binary stream
        UTF-8 text.
    format : {"jsonl", "csv", "tsv", "markdown"}, optional
        By default what the name of the file ends with.
    on_duplicate : {"error", "ignore", "update"}, default "error"
        As for `Memory.add`.
    under : str, optional
        Id of a memory that takes those without parent.
    where : str, optional
        What errors call the file.
    progress : bool or callable, optional
        True: a bar (needs tqdm); a function of how many bytes are read and how many there are (0: not known).

    Returns
    -------
    int
        How many memories the file has.

    Raises
    ------
    ValueError
        As `read_entries`; and as `Memory.add_many`, naming the line.
    KeyError
        For a parent that is neither in the file nor in the memory.

    Examples
    --------
    >>> import io
    >>> from poincare_memory import Memory
    >>> from poincare_memory.store.exchange import import_text
    >>> mem = Memory()
    >>> import_text(mem, io.BytesIO(b"# Drinks\\n- green tea\\n- coffee\\n"), "markdown")
    3
    >>> [mem.get(id).text for id in mem.children(mem.roots()[0])]
    ['green tea', 'coffee']
    """
    checked_progress(progress)
    name = where if where is not None else str(getattr(source, "name", source))
    if under is not None and under not in memory:
        raise KeyError(f"unknown parent id {under!r:.80}")
    with metered(progress, _size(source), "importing", "B") as meter, memory.transaction():
        entries = read_entries(source, format, name, meter.update)
        return _Import(memory, name, on_duplicate, under).all(entries)


def export_text(
    memory: Memory,
    target: str | os.PathLike[str] | IO[bytes],
    format: TextFormat | None = None,
    *,
    bare: bool = False,
    progress: Progress = None,
) -> int:
    """Write the memories to a file, in one step, or to a binary stream.

    What is written holds texts, tree, times, accesses, pins and metadata, but no vectors and settings (`Memory.to_json`
    does). An outline orders memories by their tree, the others keep the order of insertion.

    Parameters
    ----------
    memory : Memory
        Where from.
    target : path or binary stream
        A file that exists is replaced.
    format : {"jsonl", "csv", "tsv", "markdown"}, optional
        By default what the name of the file ends with.
    bare : bool, default False
        Of an outline: texts only, without the comments that hold everything else.
    progress : bool or callable, optional
        True: a bar (needs tqdm); a function of how many memories are written and how many there are.

    Returns
    -------
    int
        How many memories were written.

    Raises
    ------
    ValueError
        Where the format is not known.
    OSError
        Where the file cannot be written; one that was there is as it was.

    Examples
    --------
    >>> import io
    >>> from poincare_memory import Memory
    >>> from poincare_memory.store.exchange import export_text
    >>> mem = Memory()
    >>> tea = mem.add("green tea", parent=mem.add("Drinks"))
    >>> page = io.BytesIO()
    >>> export_text(mem, page, "markdown", bare=True)
    2
    >>> page.getvalue()
    b'# Drinks\\n\\n- green tea\\n'
    """
    format = _checked_format(target, format)
    fields = texts_of(memory._store)
    if format == "jsonl":
        rows = jsonl_rows(fields)
    elif format == "markdown":
        rows = outline_rows(fields, bare)
    else:
        rows = csv_rows(fields, delimiter="\t" if format == "tsv" else ",")
    count = len(fields["id"])
    with metered(progress, count, "exporting", "memory") as meter:
        if not isinstance(target, str | os.PathLike):
            _write(rows, target, count, meter.update)
        elif (
            is_special(Path(target)) and not Path(target).is_dir()
        ):  # a device or a pipe, which nothing can replace
            with open(target, "wb") as stream:
                _write(rows, stream, count, meter.update)
        else:
            with replacing(target) as temporary, open(temporary, "wb") as stream:
                _write(rows, stream, count, meter.update)
    return count


def is_export(path: str | os.PathLike[str], format: TextFormat) -> bool:
    """Whether a file begins as `export_text` writes it: anything else may be somebody's."""
    with open(path, "rb") as file:
        start = file.read(10_000).decode("utf-8", "replace")
    if format == "jsonl":
        return start.startswith('{"id": ')
    if format == "markdown":
        return start.startswith("# ") and '<!-- {"id": ' in start
    return start.startswith(("\t" if format == "tsv" else ",").join(NAMES))


def _write(rows: Iterable[str], stream: IO[bytes], count: int, told: Callable[[int], object]) -> None:
    written = 0
    for row in rows:
        stream.write(row.encode("utf-8"))
        if written < count:  # an outline has more lines than memories
            written += 1
            told(1)


def _checked_format(file: object, format: TextFormat | None) -> TextFormat:
    if format is None and isinstance(file, str | os.PathLike):
        format = format_of(file)
    if format is None or format not in get_args(TextFormat):
        wanted = ", ".join(get_args(TextFormat))
        found = f"got {format!r:.80}" if format is not None else f"the name {str(file)!r:.80} tells none"
        raise ValueError(f"format: expected one of {wanted}; {found}")
    return format


def _size(source: Source) -> int:
    if isinstance(source, str | os.PathLike) and os.path.isfile(source):
        return os.path.getsize(source)
    return 0


class _Import:
    """Entries on their way into a memory, inside a transaction."""

    def __init__(self, memory: Memory, where: str, on_duplicate: OnDuplicate, under: str | None) -> None:
        self._memory = memory
        self._where = where
        self._on_duplicate: OnDuplicate = on_duplicate
        self._under = under
        self._early: list[tuple[str, str, int]] = []  # child, parent still to come, line

    def all(self, entries: Iterator[Entry]) -> int:
        count = 0
        while batch := list(islice(entries, BATCH)):
            self._add(batch)
            count += len(batch)
        for child, parent, line in self._early:
            self._link(child, parent, line)
        return count

    def _add(self, batch: list[Entry]) -> None:
        memory, coming = self._memory, set[str]()
        kept = (
            {entry.id for entry in batch if entry.id in memory} if self._on_duplicate == "ignore" else set()
        )
        items = []
        early = []
        for number, entry in enumerate(batch):
            item: dict[str, Any] = {"text": entry.text, "id": entry.id, "meta": entry.meta, "t": entry.t}
            item |= {"valid_from": entry.valid_from, "valid_until": entry.valid_until}
            if entry.pinned:
                item["pin"] = True
            parent = self._under if entry.parent is None else entry.parent
            if parent is None or parent in coming or parent in memory:
                item["parent"] = parent
            elif entry.id not in kept:
                early.append((number, parent))
            items.append(item)
            if entry.id is not None:
                coming.add(entry.id)
        ids = self._added(batch, items)
        self._early += [(ids[number], parent, batch[number].line) for number, parent in early]
        for id, entry in zip(ids, batch, strict=True):
            if (entry.access_count or entry.last_accessed) and id not in kept:
                record = memory.get(id)
                record.access_count, record.last_accessed = entry.access_count, entry.last_accessed

    def _added(self, batch: list[Entry], items: list[dict[str, Any]]) -> list[str]:
        try:
            return self._memory.add_many(items, on_duplicate=self._on_duplicate)
        except (KeyError, TypeError, ValueError) as error:
            message = str(error.args[0]) if error.args else ""
            found = ITEM.match(message)
            if found is None:
                raise
            line = batch[int(found[1])].line
            raise type(error)(f"{self._where}:{line}: {message[found.end() :]}") from None

    def _link(self, child: str, parent: str, line: int) -> None:
        try:
            self._memory.link(child, parent)
        except (KeyError, ValueError) as error:
            raise type(error)(f"{self._where}:{line}: {error.args[0]}") from None
