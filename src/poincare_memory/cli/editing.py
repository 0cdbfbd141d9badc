"""``add``, ``remove`` and ``link``: edits of a live store, each on disk when the command ends."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .stores import (
    STANDARD_STREAM,
    AddCommand,
    add_store,
    advice,
    json_object,
    moment,
    offers_ids,
    opened,
    refuse_stream,
    remove_new,
    typed_text,
    unknown_id,
    utf8,
)
from .terminal import Metered, complain, tell

if TYPE_CHECKING:
    from ..store.memory import Memory


def register(add: AddCommand) -> None:
    """Add these commands to the parser."""
    adding = add("add", add_memory, "add a memory; makes the store where there is none; prints the id")
    add_store(adding, "SQLite file of a memory, made where there is none")
    adding.add_argument("text", type=utf8, help="what to remember; - reads standard input, a memory a line")
    option = adding.add_argument
    offers_ids(option("--parent", metavar="ID", help="the memory it belongs under"))
    option("--id", help="its id (default: 12 random hex digits)")
    option("--t", type=moment, metavar="TIME", help="when it happened (default: now)")
    option("--meta", type=json_object, metavar="JSON", help='metadata, such as \'{"kind": "note"}\'')
    option("--valid-from", type=moment, metavar="TIME", help="from when on it is true")
    option("--valid-until", type=moment, metavar="TIME", help="until when it is true")
    option("--pin", action="store_true", help="exempt it from decay")
    option(
        "--on-duplicate",
        choices=("error", "ignore", "update"),
        default="error",
        help="where the id is in use (default: %(default)s)",
    )

    removing = add("remove", remove, "forget memories")
    add_store(removing)
    offers_ids(removing.add_argument("id", nargs="+", help="which"))
    removing.add_argument("--cascade", action="store_true", help="and everything below")

    linking = add("link", link, "move a memory, with all below it, under another")
    add_store(linking)
    linking.set_defaults(may_come_late="parent")
    offers_ids(linking.add_argument("child", help="id of the memory that moves"))
    offers_ids(linking.add_argument("parent", nargs="?", help="id of its new parent"))
    linking.add_argument("--to-root", action="store_true", help="make it a root instead")


def add_memory(arguments: argparse.Namespace) -> None:
    """Add what was passed, or each line of standard input, all or none."""
    texts = [arguments.text]
    if arguments.text == STANDARD_STREAM:
        texts = [line for line in typed_text().splitlines() if line.strip()]
        if arguments.id is not None and len(texts) != 1:
            raise ValueError(f"--id: one id, but {len(texts)} lines on standard input")
    item: dict[str, Any] = {
        "parent": arguments.parent,
        "id": arguments.id,
        "t": arguments.t,
        "meta": arguments.meta,
        "valid_from": arguments.valid_from,
        "valid_until": arguments.valid_until,
    }
    if arguments.pin:
        item["pin"] = True
    refuse_stream(arguments.db)
    is_new = not Path(arguments.db).exists()
    try:
        with advice(), opened(arguments, embeds=True, create=True) as memory:
            _check_known(memory, [arguments.parent], arguments.db)
            items = [{**item, "text": text} for text in texts]
            with Metered("embedding") as progress:
                ids = memory.add_many(items, on_duplicate=arguments.on_duplicate, progress=progress)
    except BaseException:
        if is_new:
            remove_new(arguments.db)
        raise
    if is_new:
        complain(f"{arguments.db} is a new store")
    for id in ids:
        tell(id)


def remove(arguments: argparse.Namespace) -> None:
    """Remove memories, all or none."""
    with opened(arguments) as memory:
        _check_known(memory, arguments.id, arguments.db)
        before = len(memory)
        with memory.transaction():
            for id in arguments.id:
                if id in memory:  # not below one that is gone by now
                    _remove(memory, id, arguments.cascade)
        tell(f"removed {before - len(memory)}, {len(memory)} left")


def _remove(memory: Memory, id: str, cascade: bool) -> None:
    if not cascade and memory.children(id):
        raise ValueError(f"{id!r} has {len(memory.children(id))} children; --cascade removes them too")
    memory.remove(id, cascade=cascade)


def link(arguments: argparse.Namespace) -> None:
    """Move a memory."""
    if (arguments.parent is None) != arguments.to_root:
        raise ValueError("link: expected a parent or --to-root")
    with opened(arguments) as memory:
        _check_known(memory, [arguments.child, arguments.parent], arguments.db)
        memory.link(arguments.child, arguments.parent)
        path = " › ".join(memory.path(arguments.child))
    tell(path)


def _check_known(memory: Memory, ids: list[str | None], db: str) -> None:
    for id in ids:
        if id is not None and id not in memory:
            raise unknown_id(id, db)
