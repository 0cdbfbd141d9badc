"""What the command prints, and how: safe for any terminal, coloured on those that are ones."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final, TextIO

PROGRAM: Final = "poincare-memory"

_BOX_DRAWING = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-", "…": "~", "→": ">"})
# Terminals obey control characters, and a memory's text is no command to anyone's terminal.
# Of the terminal, and of the direction of writing, which show an id as another one.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLES: Final = {"plain": "", "strong": "1", "dim": "2", "good": "32", "bad": "31", "name": "36"}

Piece = str | tuple[str, str]  # a text, or one with the name of its style


def tell(*pieces: Piece, stream: TextIO | None = None) -> None:
    """Print a line, with stand-ins for what the terminal's encoding lacks or would obey."""
    output = sys.stdout if stream is None else stream
    coloured = is_coloured(output)
    shown = "".join(_styled(piece, output, coloured) for piece in pieces)
    print(shown, file=output)


def tell_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON in ASCII, which every terminal shows and none obeys."""
    if sys.stdout is not None:
        sys.stdout.write(json.dumps(value, indent=indent, default=str).replace("\x7f", "\\u007f") + "\n")


def complain(text: str) -> None:
    """One line on standard error, where there is one: it is no part of the output."""
    if sys.stderr is not None:
        tell(f"{PROGRAM}: ", text, stream=sys.stderr)


def standard_input() -> BinaryIO:
    """As bytes; a process may be started without."""
    if sys.stdin is None:
        raise ValueError("-: there is no standard input, it is closed")
    return sys.stdin.buffer


def standard_output() -> BinaryIO:
    """As bytes; a process may be started without."""
    if sys.stdout is None:
        raise ValueError("-: there is no standard output, it is closed")
    return sys.stdout.buffer


def is_coloured(stream: TextIO) -> bool:
    """Whether the stream is a terminal whose user has not asked for no colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: Any) -> bool:
    """Whether somebody is looking."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # none, or closed
        return False


def _styled(piece: Piece, output: TextIO, coloured: bool) -> str:
    text, style = (piece, "plain") if isinstance(piece, str) else piece
    shown = _CONTROL.sub(_escaped, text)
    encoding = getattr(output, "encoding", None) or "utf-8"
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = shown.translate(_BOX_DRAWING).encode(encoding, "backslashreplace").decode(encoding)
    code = _STYLES[style]
    return f"\x1b[{code}m{shown}\x1b[0m" if coloured and code and shown else shown


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def one_line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.splitlines())


def counted(memories: int) -> str:
    """How many there are, in words."""
    return "1 memory" if memories == 1 else f"{memories} memories"


def reason(error: BaseException) -> str:
    """An exception in one line."""
    if isinstance(error, OSError) and error.strerror:
        words = error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    elif isinstance(error, KeyError) and error.args:
        words = str(error.args[0])  # str(KeyError) would quote it
    else:
        words = str(error)
    line = " ".join(words.split())
    known = isinstance(error, (OSError, ValueError, KeyError, TypeError, ImportError))
    return line if line and known else f"{type(error).__name__}: {line} (run with --debug for the traceback)"


class Meter:
    """A line on standard error that tells how far long work has come, if somebody is looking; a ``progress=``."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._last = 0.0
        self._width = 0
        self._began = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._began < 0.5 or now - self._last < 0.1:  # nothing for what is quick
            return
        self._last = now
        share = f"{100 * done // total:3d} %" if total else f"{done:,}"
        self._show(f"{self._label} {share}")

    def _show(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._show("")
            sys.stderr.write("\r")
            sys.stderr.flush()
            self._width = 0


class Metered:
    """Context of long work: gives what to pass as ``progress=``, and leaves no line behind."""

    def __init__(self, label: str) -> None:
        self._meter = Meter(label) if is_terminal(sys.stderr) else None

    def __enter__(self) -> Callable[[int, int], object] | None:
        return self._meter

    def __exit__(self, *_: object) -> None:
        if self._meter is not None:
            self._meter.clear()
