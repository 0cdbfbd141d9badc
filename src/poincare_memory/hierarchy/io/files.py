"""Files that may be hostile: lines of bounded length and number, decoded, with their numbers."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

from ...arguments import integer

MOST_BYTES: Final = 1 << 30  # of a file, unpacked, unless the caller says otherwise
LONGEST_LINE: Final = 1 << 20

Path = str | os.PathLike[str]


def fail(path: Path, line: int, message: str) -> ValueError:
    return ValueError(f"{os.fspath(path)}:{line}: {message}")


def lines_of(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Numbers, from 1, and texts of the lines of a UTF-8 file, without their ends; ``.gz`` is unpacked on the way."""
    most = integer("max_bytes", max_bytes, least=1)
    size, number = 0, 0
    with opened(path) as stream:
        while raw := _read(path, stream, LONGEST_LINE + 1):
            number += 1
            size += len(raw)
            if size > most:
                raise fail(path, number, f"the file is larger than max_bytes={most}")
            if len(raw) > LONGEST_LINE:
                raise fail(path, number, f"the line is longer than {LONGEST_LINE} bytes")
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise fail(path, number, f"expected UTF-8: {error.reason} at byte {error.start}") from None
            if "\0" in text:
                raise fail(path, number, "expected text, got a NUL character")
            text = text.rstrip("\r\n")
            if "\r" in text:
                raise fail(path, number, "expected lines that end in a line feed, got a lone carriage return")
            yield number, text


def contents(path: Path, max_bytes: int) -> bytes:
    """The whole file, unpacked."""
    most = integer("max_bytes", max_bytes, least=1)
    parts, size = [], 0
    with opened(path) as stream:
        while part := _read(path, stream, 1 << 20, whole_lines=False):
            parts.append(part)
            size += len(part)
            if size > most:
                raise ValueError(f"{os.fspath(path)}: the file is larger than max_bytes={most}")
    return b"".join(parts)


def opened(path: Path) -> BinaryIO:
    if os.fspath(path).lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return open(path, "rb")


def _read(path: Path, stream: BinaryIO, size: int, whole_lines: bool = True) -> bytes:
    try:
        return stream.readline(size) if whole_lines else stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{os.fspath(path)}: damaged gzip file: {error}") from None
