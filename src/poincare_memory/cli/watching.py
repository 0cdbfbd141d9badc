"""``watch``: what is committed to a live store, line by line, whoever does it."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from .stores import AddCommand, at_least_one, existing_file
from .terminal import one_line, tell, tell_json

STYLES = {"added": "good", "removed": "bad", "changed": "strong", "used": "dim"}


def register(add: AddCommand) -> None:
    """Add this command to the parser."""
    watching = add("watch", watch, "tell what is committed to a live store, until Ctrl-C")
    watching.add_argument("db", help="SQLite file of a live memory")
    watching.add_argument(
        "--interval",
        type=_seconds,
        default=0.5,
        metavar="SECONDS",
        help="between two looks (default: %(default)s)",
    )
    watching.add_argument("--count", type=at_least_one, metavar="N", help="stop after so many events")
    watching.add_argument("--json", action="store_true", help="print a JSON object a line")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.01 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds from 0.01 to 3600, got {text!r}")
    return seconds


def watch(arguments: argparse.Namespace) -> None:
    """Print events as they come."""
    from ..store.watching import watch as events

    left: int | None = arguments.count
    for event in events(existing_file(arguments.db), arguments.interval):
        if event is None:
            if sys.stdout is not None:  # a process may be started without
                sys.stdout.flush()
            continue
        now = datetime.now()
        if arguments.json:
            tell_json({"at": now.astimezone().isoformat(), **vars(event)}, indent=None)
        else:
            tell(
                (f"{now:%H:%M:%S}  ", "dim"),
                (f"{event.kind:8}", STYLES.get(event.kind, "plain")),
                ("  " + one_line(event.id), "name"),
                "  " + one_line(event.text or ""),
            )
        if left is not None:
            left -= 1
            if left == 0:
                return
