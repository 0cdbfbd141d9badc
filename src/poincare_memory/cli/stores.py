"""Which store a command is about, and what its arguments mean."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import PROGRAM, standard_input

if TYPE_CHECKING:
    from ..store.memory import Memory

STANDARD_STREAM = "-"
MOST_OFFERED = 200  # ids, where a shell completes one
DUPLICATE_ADVICE = 'on_duplicate="update" or "ignore" would accept it'
OPTION_ADVICE = "--on-duplicate update or ignore would accept it"

AddCommand = Callable[[str, Callable[[argparse.Namespace], "int | None"], str], argparse.ArgumentParser]


# --- arguments ----------------------------------------------------------------------------------------


def add_store(parser: argparse.ArgumentParser, help: str = "SQLite file of a memory") -> None:
    """The store, and what files do not keep of it."""
    parser.add_argument("db", help=help)
    add_parts(parser)


def add_parts(parser: argparse.ArgumentParser) -> None:
    """What files do not keep of a store."""
    parts = parser.add_argument_group("parts that files do not keep")
    parts.add_argument(
        "--embedder",
        metavar="MODULE:NAME",
        help="the embedder the store was made with: an object, or what makes it",
    )
    parts.add_argument("--decay", metavar="MODULE:NAME", help="the decay policy, likewise")


def offers_ids(action: argparse.Action) -> None:
    """A shell that completes this argument is offered ids of the store (argcomplete looks for this attribute)."""
    vars(action)["completer"] = _ids_of_the_store


def _ids_of_the_store(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from ..store.sqlite import ids_from

    db = getattr(parsed_args, "db", None)
    found = ids_from(db, prefix, MOST_OFFERED) if db else []
    return [id for id in found if id.isprintable()]  # it is shown as it is


def at_least_one(text: str) -> int:
    """A whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return number


def moment(text: str) -> datetime:
    """A time in ISO 8601, UTC unless it says otherwise."""
    try:
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a time such as 2026-01-31 or 2026-01-31T12:00:00Z, got {text!r}"
        ) from None


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(
            f'expected a JSON object such as \'{{"kind": "note"}}\', got {text!r}'
        )
    return value


# --- files --------------------------------------------------------------------------------------------


def existing_file(name: str) -> Path:
    """Its path, if there is such a file."""
    if not name:
        raise ValueError("expected the name of a file, got an empty one")
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name} is a directory, expected a file")
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    return path


def refuse_same_file(source: str | Path, target: str | Path) -> None:
    """No command writes over what it reads."""
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise ValueError(f"{target} is the input itself: name another output file")


def refuse_stream(db: str) -> None:
    """A store is read and written at any place in it."""
    if db == STANDARD_STREAM:
        raise ValueError(f"a store cannot be a standard stream: name a file (./{db} is one)")


def remove_new(db: str) -> None:
    """Take away a store that was made for memories that did not come."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{db}{suffix}").unlink(missing_ok=True)


def typed_text() -> str:
    """All of standard input; UTF-8, whatever the terminal's encoding is."""
    data = standard_input().read()
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        byte = data[error.start]
        raise ValueError(
            f"standard input:{line}:{column}: expected UTF-8 text, got the byte {byte:#04x}"
        ) from None


def utf8(text: str) -> str:
    """An argument, if its bytes were UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) & 0xFF
        raise argparse.ArgumentTypeError(f"expected UTF-8 text, got the byte {byte:#04x}") from None
    return text


# --- stores -------------------------------------------------------------------------------------------


def load(arguments: argparse.Namespace, *, embeds: bool = False, weighs: bool = True) -> Memory:
    """The memory of a file, which is only read. What it needs not (embedding, time weights), it need not have."""
    from ..store.memory import Memory
    from ..store.sqlite import settings_of
    from ..store.standins import standin_embedder, standin_policy

    path = existing_file(arguments.db)
    embedder, decay = named_parts(arguments)
    with advice():
        kept = settings_of(path)
        if embedder is None and not embeds:
            embedder = standin_embedder(kept)
        if decay is None and not weighs:
            decay = standin_policy(kept)
        return Memory.load(path, embedder=embedder, decay=decay)


@contextmanager
def opened(arguments: argparse.Namespace, *, embeds: bool = False, create: bool = False) -> Iterator[Memory]:
    """The memory that lives in a file."""
    from ..store.memory import Memory
    from ..store.sqlite import settings_of
    from ..store.standins import standin_embedder, standin_policy

    embedder, decay = named_parts(arguments)
    path = Path(arguments.db)
    if not create or path.exists():
        kept = settings_of(existing_file(arguments.db))
        if embedder is None and not embeds:
            embedder = standin_embedder(kept)
        if decay is None:
            decay = standin_policy(kept)
    with advice():
        blind = embedder is not None and not embeds and not arguments.embedder
        with _silent_log() if blind else _nothing():  # a stand-in cannot be told from another embedder
            memory = Memory.open(path, embedder=embedder, decay=decay, create=create)
    with memory:
        yield memory


def named_parts(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Embedder and policy that options name; None without."""
    embedder = getattr(arguments, "embedder", None)
    decay = getattr(arguments, "decay", None)
    return (
        _named("--embedder", embedder, "embed") if embedder else None,
        _named("--decay", decay, "weight") if decay else None,
    )


def _named(option: str, name: str, method: str) -> Any:
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise ValueError(f"{option}: expected MODULE:NAME, such as mypackage.models:embedder, got {name!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the working directory, as with python -m
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{option}: {module} has no {path}")
        found = getattr(found, part)
    if isinstance(found, type) or not hasattr(found, method):
        if not callable(found):
            raise ValueError(
                f"{option}: {name} has no {method} method, and is nothing that makes one that has"
            )
        found = found()
    return found


@contextmanager
def advice() -> Iterator[None]:
    """Errors of the library name its arguments; here they are options."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        if DUPLICATE_ADVICE in message:
            raise ValueError(message.replace(DUPLICATE_ADVICE, OPTION_ADVICE)) from error
        for argument, option in (("embedder=", "--embedder"), ("decay=", "--decay")):
            if f"pass {argument}" in message:
                head = message.split(f"pass {argument}")[0].rstrip(" :")
                raise ValueError(f"{head}: name it with {option} MODULE:NAME") from error
        if "Pass the one that was used" in message:
            head = message.split(" Pass the one")[0]
            raise ValueError(f"{head} Name the one that was used with --embedder MODULE:NAME") from error
        raise


@contextmanager
def _silent_log() -> Iterator[None]:
    logger = logging.getLogger("poincare_memory")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def unknown_id(id: str, db: str) -> KeyError:
    """For ids that were typed."""
    return KeyError(f"unknown id {id!r}; `{PROGRAM} tree {db}` shows the ids")
