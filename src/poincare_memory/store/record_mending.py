"""What can be made of the records of a damaged file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from datetime import datetime, timezone
from typing import Any, Final, TypeAlias

from ..arguments import number_within
from .archive import EXTRAS
from .checked_records import parse_instant
from .metadata import check_unicode, copy_metadata
from .salvage import Broken
from .sql import digest, record_digest
from .state import LARGEST_DEPTH

Note: TypeAlias = Callable[[str, str, str], None]  # where, the problem, its remedy
NO_EXTRAS: Final = (None,) * (1 + len(EXTRAS))
LAST_POSITION: Final = 2**61  # room above it for those that are given anew


def _place_among_siblings(value: Any) -> None:
    if not is_position(value):
        raise ValueError(value)


def _truth(value: Any) -> None:
    if value not in (0, 1):
        raise ValueError(value)


CHECKED: Final[dict[str, Callable[[Any], object]]] = {
    "recorded_at": parse_instant,
    "pinned": _truth,
    "attached": _place_among_siblings,
    "learned_depth": lambda value: number_within("learned_depth", value, 0, LARGEST_DEPTH),
}


class RecordMending:
    """Settles what each record is to be; `note` is told where it is wrong, what is, and the remedy.

    `extras` are the rows of pm_extra by id, `digests` those of pm_digest by position; `ids` all that records have.
    """

    def __init__(
        self,
        note: Note,
        extras: dict[str, tuple[Any, ...]],
        digests: dict[int, int],
        ids: Collection[Any],
    ) -> None:
        self._note = note
        self._extras = extras
        self._digests = digests
        self._ids_by_text = {values[0]: id for id, values in extras.items() if id not in ids and is_id(id)}
        self._seen: set[str] = set()

    def settle(self, record: dict[str, Any]) -> bool:
        """Make of a record what can be; False where it is nothing."""
        damaged = self._is_damaged(record)
        if not settle_text(record, named_in_file(record), self._note):
            return False
        self._settle_id(record, damaged)
        named = named_in_file(record)
        settle_times(record, named, self._note, "the time of the repair", datetime.now(timezone.utc))
        settle_values(record, named, self._note)
        self._settle_extras(record, damaged)
        self._seen.add(record["id"])
        return True

    def _is_damaged(self, record: dict[str, Any]) -> bool:
        """Whether it is not what was written: what a program changes on purpose, has no digest any more."""
        noted = self._digests.pop(record["pos"], None)
        if noted is None:
            return False
        try:
            same = record_digest(record, self._extras.get(record["id"], NO_EXTRAS)) == noted
        except TypeError:
            same = False
        if not same:
            self._note(named_in_file(record), "does not match its digest: it was damaged", "kept as it reads")
        return not same

    def _settle_id(self, record: dict[str, Any], damaged: bool) -> None:
        id = record["id"]
        good = is_id(id) and id not in self._seen
        known = None
        if id not in self._extras and (damaged or not good):
            known = self._ids_by_text.pop(digest(record["text"]), None)
        if good and known is None:
            return
        taken = isinstance(id, str) and id in self._seen
        problem = "its id is taken" if taken else f"its id is {id!r:.80}"
        record["id"] = os.urandom(6).hex() if known is None else known
        verb = "gets the id" if known is None else "gets back the id"
        self._note(named_in_file(record | {"id": id}), problem, f"{verb} {record['id']}")

    def _settle_extras(self, record: dict[str, Any], damaged: bool) -> None:
        """What was noted for it; not where another program has written another text since."""
        text_digest, *values = self._extras.get(record["id"], NO_EXTRAS)
        if not damaged and (text_digest is None or text_digest != digest(record["text"])):
            values = [None] * len(EXTRAS)
        record.update(zip(EXTRAS, values, strict=True))
        settle_extras(record)

    def settle_parents(self, records: list[dict[str, Any]]) -> None:
        """Every parent is there, and no chain of parents comes back to itself."""
        by_id = {record["id"]: record for record in records}
        done: set[str] = set()
        for record in records:
            parent = record["parent"]
            if parent is not None and parent not in by_id:
                self._note(named_in_file(record), f"its parent {parent!r:.80} is not in the file", "a root")
                record["parent"] = None
        for record in records:
            chain: dict[str, None] = {}
            at = record
            while at["id"] not in done:
                chain[at["id"]] = None
                done.add(at["id"])
                if at["parent"] is None:
                    break
                if at["parent"] in chain:
                    self._note(named_in_file(at), "its chain of parents comes back to itself", "a root")
                    at["parent"] = None
                    break
                at = by_id[at["parent"]]


def is_position(value: Any) -> bool:
    return type(value) is int and 0 <= value < LAST_POSITION


def in_order(records: list[dict[str, Any]], note: Note) -> list[dict[str, Any]]:
    """By position; a record whose position cannot be, or is taken, gets one behind all others."""
    taken: set[int] = set()
    late = []
    for record in records:
        if is_position(record["pos"]) and record["pos"] not in taken:
            taken.add(record["pos"])
        else:
            late.append(record)
    for pos, record in enumerate(late, max(taken, default=-1) + 1):
        note(named_in_file(record), "its position cannot be or is taken", f"moves to position {pos}")
        record["pos"] = pos
    return sorted(records, key=lambda record: record["pos"])


def is_id(value: Any) -> bool:
    return isinstance(value, str) and value != "" and not isinstance(value, Broken)


def settle_text(record: dict[str, Any], named: str, note: Note) -> bool:
    """A text that can be kept; False where there is none."""
    text = record["text"]
    if not isinstance(text, str) or not passes(check_unicode, text, "text"):
        note(named, f"its text is {text!r:.80}", "left out")
        return False
    if isinstance(text, Broken):
        note(named, "its text is no UTF-8", "kept, with stand-ins")
    record["text"] = str(text)
    return True


def settle_times(record: dict[str, Any], named: str, note: Note, remedy: str, else_t: datetime) -> None:
    """Times that can be read; `else_t`, which `remedy` names, for an event's that cannot."""
    for name in ("t", "valid_from", "valid_until", "last_accessed"):
        value = record[name]
        missing = value is None and name != "t"
        if missing or passes(parse_instant, value):
            continue
        record[name] = else_t.isoformat() if name == "t" else None
        note(named, f"{name} is {value!r:.80}", remedy if name == "t" else "none")


def settle_values(record: dict[str, Any], named: str, note: Note) -> None:
    """A count of uses, and metadata as an object."""
    count, meta = record["access_count"], record["meta"]
    if type(count) is not int or not 0 <= count < 2**63:
        note(named, f"access_count is {count!r:.80}", "0")
        record["access_count"] = 0
    try:
        record["meta"] = copy_metadata(None if meta is None else json.loads(meta)) or {}
    except (TypeError, ValueError, RecursionError):
        note(named, "its metadata is no JSON object", 'kept as text under "damaged_metadata"')
        record["meta"] = {"damaged_metadata": str(meta)}


def settle_extras(record: dict[str, Any]) -> None:
    """What cannot be, is nothing."""
    for name in EXTRAS:
        value = record[name]
        record[name] = value if value is None or passes(CHECKED[name], value) else None


def named_in_file(record: dict[str, Any]) -> str:
    """A record, as findings name it."""
    return f"record {record['id']!r:.80} at position {record['pos']}"


def passes(check: Callable[..., object], *arguments: Any) -> bool:
    """Whether a check raises nothing that a wrong value makes it raise."""
    try:
        check(*arguments)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return True
