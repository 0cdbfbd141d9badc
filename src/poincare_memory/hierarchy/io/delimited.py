"""Edges out of tables: TSV, CSV and their like."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from ...arguments import integer
from .files import MOST_BYTES, Path, fail, lines_of
from .taxonomy import Taxonomy

__all__ = ["read_edges"]

_COMMA_SUFFIXES = (".csv", ".csv.gz")


def read_edges(
    path: Path,
    parent: int | str = 0,
    child: int | str = 1,
    text: int | str | None = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    comment: str | None = None,
    max_bytes: int = MOST_BYTES,
) -> Taxonomy[str]:
    """Read one edge a row.

    Parameters
    ----------
    path : path
        A UTF-8 file; ``.gz`` is unpacked on the way.
    parent, child : int or str, default 0 and 1
        Columns, by number from 0 or by the name in the header. A file of (child, ancestor) pairs, as the papers on
        hierarchy embeddings use them, is read with ``parent=1, child=0``.
    text : int or str, optional
        Column that says what the child is called.
    delimiter : str, optional
        Between columns; a comma for ``.csv``, a tab otherwise. Where it is no tab, fields may be quoted (``"``).
    header : bool, optional
        Whether the first row names the columns; by default, where a column is given by name.
    comment : str, optional
        Lines that begin with it are skipped, as blank ones are.
    max_bytes : int, default 2**30
        Larger files, unpacked, are refused.

    Returns
    -------
    Taxonomy
        Nodes are the cells' texts, stripped; edges in the order of the file.

    Raises
    ------
    ValueError
        Naming file and line: for a row without these columns, a blank node, one that is its own parent, quotes that
        do not match, or what is no text in UTF-8.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("pets.csv").write_text("name,kind of,says\\ndog,animal,woof\\npoodle,dog,yap\\n")
    >>> read_edges("pets.csv", "kind of", "name", "says")
    Taxonomy(edges=[('animal', 'dog'), ('dog', 'poodle')], texts={'dog': 'woof', 'poodle': 'yap'})
    """
    separator = _separator(path) if delimiter is None else delimiter
    if not isinstance(separator, str) or len(separator) != 1 or separator in '\r\n"':
        raise ValueError(f"delimiter: expected one character, got {delimiter!r}")
    wanted = {"parent": parent, "child": child} | ({} if text is None else {"text": text})
    named = any(isinstance(column, str) for column in wanted.values())
    rows = _rows(path, separator, comment, max_bytes)
    if header or (header is None and named):
        line, names = next(rows, (1, []))
        places = {name: _place(path, line, names, column) for name, column in wanted.items()}
    elif named:
        raise ValueError("header: a column that is given by name needs a header")
    else:
        places = {name: integer(name, column, least=0) for name, column in wanted.items()}
    if places["parent"] == places["child"]:
        raise ValueError(f"parent, child: expected two columns, got {parent!r} and {child!r}")
    edges: list[tuple[str, str]] = []
    texts: dict[str, str] = {}
    least = max(places.values()) + 1
    for line, row in rows:
        if len(row) < least:
            raise fail(
                path,
                line,
                f"expected at least {least} columns ({separator!r} between), got {len(row)}: {row!r:.80}",
            )
        above, below = row[places["parent"]].strip(), row[places["child"]].strip()
        if not above or not below:
            raise fail(path, line, f"expected two nodes, got a blank one: {row!r:.80}")
        if above == below:
            raise fail(path, line, f"node {above!r:.80} is its own parent")
        edges.append((above, below))
        if text is not None and row[places["text"]].strip():
            texts.setdefault(below, row[places["text"]].strip())
    return Taxonomy(edges, texts)


def _separator(path: Path) -> str:
    return "," if os.fspath(path).lower().endswith(_COMMA_SUFFIXES) else "\t"


def _rows(path: Path, delimiter: str, comment: str | None, max_bytes: int) -> Iterator[tuple[int, list[str]]]:
    lines = (
        "" if comment and text.startswith(comment) else text + "\n" for _, text in lines_of(path, max_bytes)
    )
    if delimiter == "\t":
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise fail(path, reader.line_num, str(error)) from None
        if any(row):
            yield reader.line_num, row


def _place(path: Path, line: int, names: list[str], column: int | str) -> int:
    if not isinstance(column, str):
        return integer("column", column, least=0)
    stripped = [name.strip() for name in names]
    if stripped.count(column) != 1:
        found = "none" if column not in stripped else "several"
        raise fail(path, line, f"expected one column {column!r:.80}, got {found} among {stripped!r:.200}")
    return stripped.index(column)
