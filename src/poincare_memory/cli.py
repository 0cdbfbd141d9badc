"""The ``poincare-memory`` command: look at a saved memory, search it, convert it."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from . import __version__

if TYPE_CHECKING:
    from .store.memory import Memory

PROGRAM = "poincare-memory"
MODES = ("nearest", "subtree", "children", "ancestors", "siblings", "cone")
DEMO_HALF_LIFE_HOURS = 24 * 30

FAILED = 1
INTERRUPTED = 130

_STORE_SUFFIXES = {".db", ".sqlite", ".sqlite3"}
_BOX_DRAWING = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-", "…": "~"})
# Terminals obey control characters, and a memory's text is no command to anyone's terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0, or 1 after an error that was told in one line on standard error. Wrong usage raises
        ``SystemExit(2)``, as :mod:`argparse` does.
    """
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], None] = arguments.command
    try:
        command(arguments)
        if sys.stdout is not None:  # a process may be started without
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough. Nothing may be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if arguments.debug:
            traceback.print_exc()
        else:
            _tell(f"{PROGRAM}: error: {_reason(error)}", sys.stderr)
        return FAILED
    return 0


def inspect(arguments: argparse.Namespace) -> None:
    """Write the inspector page of a store."""
    memory = _load(arguments.db)
    page = Path(arguments.out) if arguments.out else _page_beside(arguments.db)
    _refuse_same_file(arguments.db, page)
    memory.inspect(page, open_browser=arguments.open)
    _tell(f"wrote {page} ({len(memory)} memories)")


def tree(arguments: argparse.Namespace) -> None:
    """Print the hierarchy."""
    _tell(_load(arguments.db).tree())


def search(arguments: argparse.Namespace) -> None:
    """Print the best matches, one a line. The store is only read."""
    memory = _load(arguments.db)
    if arguments.root is not None and arguments.root not in memory:
        raise KeyError(f"unknown id {arguments.root!r}; `{PROGRAM} tree {arguments.db}` shows the ids")
    hits = memory.search(
        arguments.query, k=arguments.k, mode=arguments.mode, root=arguments.root, touch=False
    )
    for hit in hits:
        id, text = " ".join(hit.id.splitlines()), " ".join(hit.text.splitlines())
        _tell(
            f"{hit.score:8.3f}  d={hit.distance:5.2f}  w={hit.time_weight:.3f}  depth={hit.depth:.2f}  "
            f"{id}  {text}"
        )


def stats(arguments: argparse.Namespace) -> None:
    """Print summary numbers as JSON."""
    import json

    _tell(json.dumps(_load(arguments.db).stats(), indent=2))


def export(arguments: argparse.Namespace) -> None:
    """Write a store as JSON."""
    memory = _load(arguments.db)
    _refuse_same_file(arguments.db, arguments.out)
    memory.to_json(Path(arguments.out), indent=1)
    _tell(f"wrote {arguments.out}")


def import_(arguments: argparse.Namespace) -> None:
    """Write a store from JSON."""
    from .store.memory import Memory

    source = _existing_file(arguments.json)
    _refuse_same_file(source, arguments.db)
    memory = Memory.from_json(source)
    memory.save(arguments.db)
    _tell(f"wrote {arguments.db} ({len(memory)} memories)")


def demo(arguments: argparse.Namespace) -> None:
    """Build the anatomy demo, print it, and write its store and its page."""
    from .demo import build_demo_memory
    from .temporal import HalfLife

    memory = build_demo_memory(decay=HalfLife(hours=DEMO_HALF_LIFE_HOURS))
    store, page = Path(f"{arguments.out}.db"), Path(f"{arguments.out}.html")
    memory.save(store)
    memory.inspect(page, open_browser=arguments.open, title="poincare-memory · anatomy demo")
    _tell(memory.tree())
    _tell(f"\nsaved {store} and {page}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Hierarchy-aware, time-aware memory on the Poincaré ball."
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    # After the command too; absent there, it keeps what stood before the command.
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="cmd", required=True)

    def add(
        name: str, command: Callable[[argparse.Namespace], None], summary: str
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary, parents=[common])
        added.set_defaults(command=command)
        return added

    looking = add("inspect", inspect, "write an interactive HTML inspector for a saved memory")
    _add_store(looking)
    looking.add_argument("-o", "--out", help="output .html (default: beside the store)")
    looking.add_argument("--open", action="store_true", help="open in the default browser")

    _add_store(add("tree", tree, "print the hierarchy as a tree"))

    searching = add("search", search, "search a saved memory")
    _add_store(searching)
    searching.add_argument("query", help="what to look for")
    searching.add_argument("-k", type=int, default=5, help="how many results (default: %(default)s)")
    searching.add_argument(
        "--mode", choices=MODES, default="nearest", help="which memories (default: %(default)s)"
    )
    searching.add_argument("--root", help="id of the memory that the mode is about")

    _add_store(add("stats", stats, "print summary statistics of a saved memory as JSON"))

    exporting = add("export", export, "export a saved memory to portable JSON")
    _add_store(exporting)
    exporting.add_argument("out", help="JSON file to write")

    importing = add("import", import_, "import a JSON export into a SQLite file")
    importing.add_argument("json", help="JSON file to read")
    importing.add_argument("db", help="SQLite file to write")

    showing = add("demo", demo, "build the anatomy demo, save it, and write its inspector")
    showing.add_argument("-o", "--out", default="demo", help="output prefix (default: %(default)s)")
    showing.add_argument("--open", action="store_true", help="open in the default browser")
    return parser


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("db", help="SQLite file of a memory")


def _load(path: str) -> Memory:
    from .store.memory import Memory

    return Memory.load(_existing_file(path))


def _existing_file(name: str) -> Path:
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name} is a directory, expected a file")
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    return path


def _page_beside(store: str) -> Path:
    path = Path(store)
    name = path.stem if path.suffix.lower() in _STORE_SUFFIXES else path.name
    return path.with_name(f"{name}.html")


def _refuse_same_file(source: str | Path, target: str | Path) -> None:
    same = os.path.exists(target) and os.path.samefile(source, target)
    if same:
        raise ValueError(f"{target} is the input itself: name another output file")


def _reason(error: Exception) -> str:
    """An exception in one line."""
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    elif isinstance(error, KeyError) and error.args:
        reason = str(error.args[0])  # str(KeyError) would quote it
    else:
        reason = str(error)
    line = " ".join(reason.split())
    known = isinstance(error, (OSError, ValueError, KeyError, TypeError, ImportError))
    return line if line and known else f"{type(error).__name__}: {line} (run with --debug for the traceback)"


def _tell(text: str, stream: TextIO | None = None) -> None:
    """Print, with stand-ins for what the terminal's encoding lacks or would obey."""
    output = sys.stdout if stream is None else stream
    shown = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    encoding = getattr(output, "encoding", None) or "utf-8"
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = shown.translate(_BOX_DRAWING).encode(encoding, "backslashreplace").decode(encoding)
    print(shown, file=output)


if __name__ == "__main__":
    sys.exit(main())
