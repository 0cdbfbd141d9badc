"""``import`` and ``export``: JSON, JSON Lines, CSV and Markdown outlines."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .stores import (
    STANDARD_STREAM,
    AddCommand,
    add_parts,
    add_store,
    advice,
    existing_file,
    load,
    named_parts,
    offers_ids,
    opened,
    refuse_same_file,
    refuse_stream,
    remove_new,
)
from .terminal import Metered, counted, standard_input, standard_output, tell

FORMATS = ("json", "jsonl", "csv", "tsv", "markdown")
BY_NAME = "by the end of the file's name: .jsonl, .csv, .tsv, .md; JSON otherwise"


def register(add: AddCommand) -> None:
    """Add these commands to the parser."""
    exporting = add("export", export, "export a saved memory as JSON, JSON Lines, CSV or a Markdown outline")
    add_store(exporting)
    exporting.add_argument("out", help="file to write; - for standard output")
    exporting.add_argument("--format", choices=FORMATS, help=f"default: {BY_NAME}")
    exporting.add_argument(
        "--bare", action="store_true", help="an outline of texts only, without ids and times"
    )
    exporting.add_argument("--force", action="store_true", help="replace a file that is no such export")

    importing = add(
        "import", import_, "import JSON into a new store, or other formats into a new or existing one"
    )
    importing.add_argument("source", metavar="file", help="file to read; - for standard input")
    importing.add_argument(
        "db", help="SQLite file to write; JSON replaces what is in it, other formats add to it"
    )
    add_parts(importing)
    importing.add_argument("--format", choices=FORMATS, help=f"default: {BY_NAME}")
    offers_ids(
        importing.add_argument("--under", metavar="ID", help="the memory that takes those without parent")
    )
    importing.add_argument(
        "--on-duplicate",
        choices=("error", "ignore", "update"),
        default="error",
        help="where an id is in use (default: %(default)s)",
    )


def export(arguments: argparse.Namespace) -> None:
    """Write a store as text."""
    from ..store.exchange import export_text

    format = _format(arguments.format, arguments.out)
    to_stream = arguments.out == STANDARD_STREAM
    memory = load(arguments, weighs=False)
    if not to_stream:
        refuse_same_file(arguments.db, arguments.out)
    if format == "json":
        if to_stream:
            standard_output().write(memory.to_json(indent=1).encode() + b"\n")
        else:
            memory.to_json(Path(arguments.out), indent=1)
            tell(f"wrote {arguments.out}")
        return
    if not to_stream and not arguments.force:
        _refuse_foreign(Path(arguments.out), format)
    target = standard_output() if to_stream else Path(arguments.out)
    with Metered("exporting") as progress:
        count = export_text(memory, target, format, bare=arguments.bare, progress=progress)
    if not to_stream:
        tell(f"wrote {arguments.out} ({counted(count)})")


def import_(arguments: argparse.Namespace) -> None:
    """Write a store from text."""
    format = _format(arguments.format, arguments.source)
    from_stream = arguments.source == STANDARD_STREAM
    refuse_stream(arguments.db)
    if not from_stream:
        refuse_same_file(existing_file(arguments.source), arguments.db)
    with advice():
        write = _import_json if format == "json" else _import_text
        count = write(arguments, format, from_stream)
    tell(f"wrote {arguments.db} ({counted(count)})")


def _import_json(arguments: argparse.Namespace, _: Any, from_stream: bool) -> int:
    from ..store.memory import Memory
    from ..store.portable import parts_of_json

    if arguments.under is not None or arguments.on_duplicate != "error":
        raise ValueError("--under and --on-duplicate: JSON replaces the store; other formats add to it")
    source: Any = standard_input().read() if from_stream else Path(arguments.source)
    embedder, decay = named_parts(arguments)
    try:
        memory = Memory.from_json(source, embedder=embedder, decay=decay)
    except ValueError:  # for want of parts that files do not keep? Nothing is asked of them here
        embedder_like, decay_like = parts_of_json(source)
        if embedder_like is None and decay_like is None:
            raise
        memory = Memory.from_json(source, embedder=embedder or embedder_like, decay=decay or decay_like)
    memory.save(arguments.db)
    return len(memory)


def _import_text(arguments: argparse.Namespace, format: Any, from_stream: bool) -> int:
    from ..store.exchange import import_text

    source = standard_input() if from_stream else Path(arguments.source)
    name = "standard input" if from_stream else arguments.source
    made = not Path(arguments.db).exists()
    try:
        with opened(arguments, embeds=True, create=True) as memory, Metered("importing") as progress:
            return import_text(
                memory,
                source,
                format,
                on_duplicate=arguments.on_duplicate,
                under=arguments.under,
                where=name,
                progress=progress,
            )
    except BaseException:
        if made:
            remove_new(arguments.db)
        raise


def _format(named: str | None, file: str) -> Any:
    from ..store.exchange import format_of

    return named or format_of(file) or "json"


def _refuse_foreign(target: Path, format: Any) -> None:
    from ..store.exchange import is_export

    if target.is_file() and target.stat().st_size and not is_export(target, format):
        raise ValueError(f"{target}: not replaced, because it is no such export; --force replaces it")
