"""``inspect``, ``tree``, ``stats``, ``search`` and ``demo``: stores are only read."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from .stores import (
    STANDARD_STREAM,
    AddCommand,
    add_store,
    at_least_one,
    json_object,
    load,
    moment,
    offers_ids,
    refuse_same_file,
    typed_text,
    unknown_id,
    utf8,
)
from .terminal import Piece, counted, is_coloured, one_line, standard_output, tell, tell_json

MODES = ("nearest", "subtree", "children", "ancestors", "siblings", "cone")
DEMO_HALF_LIFE_HOURS = 24 * 30

_STORE_SUFFIXES = {".db", ".sqlite", ".sqlite3"}
_LABEL = re.compile(r"^([│ ├└─|`-]*)(.*?)(  \[.* d=\d+\.\d\d\])$")


def register(add: AddCommand) -> None:
    """Add these commands to the parser."""
    looking = add("inspect", inspect, "write an interactive HTML inspector for a saved memory")
    add_store(looking)
    looking.add_argument(
        "-o", "--out", help="output .html (default: beside the store); - for standard output"
    )
    looking.add_argument("--open", action="store_true", help="open in the default browser")
    looking.add_argument("--force", action="store_true", help="replace a file that is no page")
    looking.add_argument(
        "--query", metavar="TEXT", type=utf8, help="mark what a search finds, with the terms of its scores"
    )
    looking.add_argument("-k", type=at_least_one, default=10, help="how many hits (default: %(default)s)")
    looking.add_argument("--at", type=moment, metavar="TIME", help="the moment at which the page opens")

    add_store(add("tree", tree, "print the hierarchy as a tree"))
    add_store(add("stats", stats, "print summary statistics of a saved memory as JSON"))
    _register_search(add)

    showing = add("demo", demo, "build the anatomy demo, save it, and write its inspector")
    showing.add_argument("-o", "--out", default="demo", help="output prefix (default: %(default)s)")
    showing.add_argument("--open", action="store_true", help="open in the default browser")


def _register_search(add: AddCommand) -> None:
    searching = add("search", search, "search a saved memory")
    add_store(searching)
    searching.set_defaults(may_come_late="query")
    searching.add_argument(
        "query",
        type=utf8,
        nargs="?",
        help="what to look for; - reads it from standard input; not needed with --mode or --filter",
    )
    option = searching.add_argument
    option("-k", type=at_least_one, default=5, help="how many results (default: %(default)s)")
    option("--mode", choices=MODES, help="which memories (default: nearest; with --root: subtree)")
    offers_ids(
        option(
            "--root",
            action="append",
            metavar="ID",
            help="memory the mode is about; several times with --mode subtree",
        )
    )
    option(
        "--filter",
        type=json_object,
        metavar="JSON",
        help='on metadata: \'{"kind": "run", "km": {"$gte": 10}}\'',
    )
    option("--as-of", type=moment, metavar="TIME", help="what the store knew then")
    option("--at", type=moment, metavar="TIME", help="the moment of the time weights (default: now)")
    option("--lexical", type=float, metavar="COEF", help="what matching words (BM25) add, such as 0.3")
    option("--min-score", type=float, metavar="SCORE", help="leave out what scores less")
    option("--explain", action="store_true", help="show the parts of each score")
    option("--json", action="store_true", help="print a JSON array")


def inspect(arguments: argparse.Namespace) -> None:
    """Write the inspector page of a store."""
    memory = load(arguments)
    look: dict[str, Any] = {"query": arguments.query, "k": arguments.k, "at_time": arguments.at}
    if arguments.out == STANDARD_STREAM:
        if arguments.open:
            raise ValueError("--open: a browser opens files, not standard output")
        standard_output().write(memory.inspect(**look).encode())
        return
    page = Path(arguments.out) if arguments.out else _page_beside(arguments.db)
    refuse_same_file(arguments.db, page)
    if not arguments.force:
        _refuse_what_is_no_page(page)
    memory.inspect(page, open_browser=arguments.open, **look)
    tell(f"wrote {page} ({counted(len(memory))})")


def tree(arguments: argparse.Namespace) -> None:
    """Print the hierarchy."""
    drawing = load(arguments, weighs=False).tree()
    if not is_coloured(sys.stdout):
        tell(drawing)
        return
    for line in drawing.split("\n"):
        label = _LABEL.match(line)
        tell(*((label[1], "dim"), label[2], (label[3], "dim")) if label else (line,))


def stats(arguments: argparse.Namespace) -> None:
    """Print summary numbers as JSON."""
    tell_json(load(arguments).stats())


def search(arguments: argparse.Namespace) -> None:
    """Print the best matches, one a line. The store is only read."""
    roots = arguments.root or []
    if arguments.mode is None:
        arguments.mode = "subtree" if roots else "nearest"
    query = _query(arguments)
    if len(roots) > 1 and arguments.mode != "subtree":
        raise ValueError("--root: several are for --mode subtree only")
    memory = _searched(arguments)
    with memory:
        for id in roots:
            if id not in memory and arguments.as_of is None:
                raise unknown_id(id, arguments.db)
        hits = memory.search(
            query,
            k=arguments.k,
            mode=arguments.mode,
            root=None if not roots else roots[0] if len(roots) == 1 else roots,
            at_time=arguments.at,
            filters=arguments.filter,
            touch=False,
            lexical_coef=arguments.lexical,
            min_score=arguments.min_score,
            explain=arguments.explain,
            as_of=arguments.as_of,
        )
    if arguments.json:
        tell_json([hit.to_dict() for hit in hits])
        return
    for hit in hits:
        tell(*_line_of(hit))
        if hit.terms:
            terms = "  ".join(f"{name} {value:+.3f}" for name, value in hit.terms.items())
            tell((f"          {terms}", "dim"))


def _query(arguments: argparse.Namespace) -> str | None:
    query: str | None = arguments.query
    if query == STANDARD_STREAM:
        query = typed_text().strip()
    if query is None and arguments.mode == "nearest" and arguments.filter is None:
        raise ValueError("search: a query is needed, unless there is a --mode or a --filter")
    return query


def _searched(arguments: argparse.Namespace) -> Any:
    """The memory that is searched: of a live store that keeps versions itself, if it is asked for the past."""
    from ..store.memory import Memory
    from ..store.sqlite import holds_versions
    from .stores import existing_file, named_parts

    embeds = arguments.query is not None
    if arguments.as_of is not None and holds_versions(existing_file(arguments.db)):
        embedder, decay = named_parts(arguments)
        return Memory.open(arguments.db, embedder=embedder, decay=decay, create=False)
    return load(arguments, embeds=embeds)


def _line_of(hit: Any) -> tuple[Piece, ...]:
    return (
        (f"{hit.score:8.3f}", "strong"),
        (f"  d={hit.distance:5.2f}  w={hit.time_weight:.3f}  depth={hit.depth:.2f}  ", "dim"),
        (one_line(hit.id), "name"),
        f"  {one_line(hit.text)}",
    )


def demo(arguments: argparse.Namespace) -> None:
    """Build the anatomy demo, print it, and write its store and its page."""
    from ..demo import build_demo_memory
    from ..temporal import HalfLife

    memory = build_demo_memory(decay=HalfLife(hours=DEMO_HALF_LIFE_HOURS))
    store, page = Path(f"{arguments.out}.db"), Path(f"{arguments.out}.html")
    memory.save(store)
    memory.inspect(page, open_browser=arguments.open, title="poincare-memory · anatomy demo")
    tell(memory.tree())
    tell(f"\nsaved {store} and {page}")


def _refuse_what_is_no_page(target: Path) -> None:
    """Somebody's notes are not written over by a slip of the keyboard."""
    if not target.is_file():
        return
    with open(target, "rb") as file:
        start = file.read(200).lstrip().lower()
    if start and not start.startswith((b"<!doctype html", b"<html")):
        raise ValueError(f"{target}: not replaced, because it is no page; --force replaces it")


def _page_beside(store: str) -> Path:
    path = Path(store)
    name = path.stem if path.suffix.lower() in _STORE_SUFFIXES else path.name
    return path.with_name(f"{name}.html")
