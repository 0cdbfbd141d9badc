"""Memories as rows: CSV with a header, and JSON Lines.

Neither holds vectors: what is read is embedded anew. Fields that say nothing are left out (JSON Lines) or empty (CSV).
CSV has metadata in the column ``meta``, a JSON object, or in columns ``meta.NAME``: JSON values, or any other text as
it is.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

from .entries import NAMES, Entry, Source, entry_of, numbered_lines, parsed_json, values_of

__all__ = ["csv_rows", "jsonl_rows", "read_csv", "read_jsonl"]

Told = Callable[[int], object] | None
LONGEST_CELL: Final = 2**31 - 1  # characters; csv refuses more than 131,072 unless told otherwise
META: Final = "meta."
TRUTHS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def read_jsonl(source: Source, where: str = "JSON Lines", told: Told = None) -> Iterator[Entry]:
    """Entries of a file with a JSON object a line; blank lines are passed over.

    Examples
    --------
    >>> import io
    >>> from poincare_memory.store.tabular import read_jsonl
    >>> [entry.text for entry in read_jsonl(io.BytesIO(b'{"text": "green tea", "id": "tea"}'))]
    ['green tea']
    """
    for number, line in numbered_lines(source, where, told):
        if not line.strip():
            continue

        def fail(at: int, message: str, number: int = number) -> NoReturn:
            raise ValueError(f"{where}:{number}:{at + 1}: {message}")

        def fail_field(
            name: str,
            message: str,
            line: str = line,
            fail: Callable[[int, str], NoReturn] = fail,
        ) -> NoReturn:
            fail(max(0, line.find(json.dumps(name))), message)

        values = parsed_json(line, fail)
        if not isinstance(values, dict):
            fail(0, f"expected a JSON object with a text, got {type(values).__name__}")
        yield entry_of(values, number, fail_field)


def jsonl_rows(fields: Mapping[str, list[Any]]) -> Iterator[str]:
    """Lines of JSON Lines, from the fields of an archive."""
    for i in range(len(fields["id"])):
        yield json.dumps(values_of(fields, i), ensure_ascii=False, allow_nan=False) + "\n"


def read_csv(source: Source, where: str = "CSV", told: Told = None, delimiter: str = ",") -> Iterator[Entry]:
    """Entries of a CSV file; its first line names the columns.

    Examples
    --------
    >>> import io
    >>> from poincare_memory.store.tabular import read_csv
    >>> lines = b"id,text,parent,meta.kind\\ndrinks,Drinks,,\\ntea,green tea,drinks,hot\\n"
    >>> [(entry.id, entry.parent, entry.meta) for entry in read_csv(io.BytesIO(lines))]
    [('drinks', None, None), ('tea', 'drinks', {'kind': 'hot'})]
    """
    if csv.field_size_limit() < LONGEST_CELL:
        csv.field_size_limit(LONGEST_CELL)  # of the process: there is no other
    reader = csv.reader(
        (line for _, line in numbered_lines(source, where, told)), delimiter=delimiter, strict=True
    )
    rows = _rows(reader, where)
    names = _header(next(rows, (1, []))[1], where)
    for number, row in rows:
        if len(row) > len(names):
            raise ValueError(
                f"{where}:{number}: expected {len(names)} cells as in the first line, got {len(row)}"
            )
        yield _entry(dict(zip(names, row, strict=False)), number, where)


def _rows(reader: Any, where: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of its first line."""
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"{where}:{number}: not valid CSV: {error}") from None
        if row is None:
            return
        if any(row):
            yield number, row


def _header(cells: list[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    for place, name in enumerate(names):
        if name not in NAMES and not (name.startswith(META) and len(name) > len(META)):
            raise ValueError(
                f"{where}:1: column {place + 1}: unknown name {name!r:.80}; known are {', '.join(NAMES)}, and "
                f"{META}NAME for metadata, such as {META}{name[:40] or 'kind'}"
            )
        if name in names[:place]:
            raise ValueError(f"{where}:1: column {place + 1}: a second column {name!r:.80}")
    if "text" not in names:
        raise ValueError(f"{where}:1: expected a first line that names the columns, 'text' among them")
    return names


def _entry(cells: dict[str, str], number: int, where: str) -> Entry:
    def fail(name: str, message: str) -> NoReturn:
        raise ValueError(f"{where}:{number}: column {name!r}: {message}")

    values: dict[str, Any] = {
        name: cell for name, cell in cells.items() if cell and not name.startswith(META)
    }
    if "meta" in values:
        values["meta"] = parsed_json(values["meta"], lambda at, message: fail("meta", message))
        if not isinstance(values["meta"], dict):
            fail("meta", f"expected a JSON object, got {cells['meta']!r:.80}")
    if "pinned" in values:
        values["pinned"] = TRUTHS.get(values["pinned"].strip().lower(), values["pinned"])
    if "access_count" in values:
        try:
            values["access_count"] = int(values["access_count"])
        except ValueError:
            fail("access_count", f"expected an integer of at least 0, got {values['access_count']!r:.80}")
    for name, cell in cells.items():
        if name.startswith(META) and cell:
            values.setdefault("meta", {})[name[len(META) :]] = _value(cell)
    return entry_of(values, number, fail)


def _value(cell: str) -> Any:
    """A JSON value, or the text itself."""

    def none(at: int, message: str) -> NoReturn:
        raise ValueError(message)

    try:
        return parsed_json(cell, none)
    except ValueError:
        return cell


def csv_rows(fields: Mapping[str, list[Any]], delimiter: str = ",") -> Iterator[str]:
    """Lines of CSV, from the fields of an archive."""
    line = io.StringIO()
    writer = csv.writer(line, delimiter=delimiter)
    writer.writerow(NAMES)
    for i in range(len(fields["id"])):
        yield _taken(line)
        values = values_of(fields, i)
        if "meta" in values:
            values["meta"] = json.dumps(values["meta"], ensure_ascii=False, allow_nan=False)
        if "pinned" in values:
            values["pinned"] = "true"
        writer.writerow([values.get(name, "") for name in NAMES])
    yield _taken(line)


def _taken(line: io.StringIO) -> str:
    text = line.getvalue()
    line.seek(0)
    line.truncate()
    return text
