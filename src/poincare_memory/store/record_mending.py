"""What can be made of the records of a damaged file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Final

from ..arguments import number_within
from .archive import EXTRAS
from .checked_records import parse_instant
from .metadata import check_unicode, copy_metadata
from .salvage import Broken
from .sql import digest, record_digest
from .state import LARGEST_DEPTH

NO_EXTRAS: Final = (None,) * (1 + len(EXTRAS))


def _place_among_siblings(value: Any) -> None:
    if type(value) is not int or not 0 <= value < 2**62:
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
    """Settles what each record is to be; `note` is told where it is wrong, what is, and the remedy."""

    def __init__(self, note: Callable[[str, str, str], None]) -> None:
        self._note = note

    def check_digest(
        self, record: dict[str, Any], extras: dict[str, tuple[Any, ...]], digests: dict[int, int]
    ) -> None:
        noted = digests.pop(record["pos"], None)
        if noted is None:
            return
        try:
            same = record_digest(record, extras.get(record["id"], NO_EXTRAS)) == noted
        except TypeError:
            same = False
        if not same:
            self._note(named_in_file(record), "does not match its digest: it was damaged", "kept as it reads")

    def settle(self, record: dict[str, Any], extras: dict[str, tuple[Any, ...]], seen: set[str]) -> bool:
        """Make of a record what can be; False where it is nothing."""
        named, note = named_in_file(record), self._note
        text = record["text"]
        if not isinstance(text, str) or not passes(check_unicode, text, "text"):
            note(named, f"its text is {text!r:.80}", "left out")
            return False
        if isinstance(text, Broken):
            note(named, "its text is no UTF-8", "kept, with stand-ins")
        record["text"] = str(text)
        id = record["id"]
        if not isinstance(id, str) or not id or isinstance(id, Broken) or id in seen:
            fresh = os.urandom(6).hex()
            taken = isinstance(id, str) and id in seen
            note(named, "its id is taken" if taken else f"its id is {id!r:.80}", f"gets the id {fresh}")
            record["id"] = fresh
        self._settle_times(record, named)
        self._settle_values(record, named)
        self._settle_extras(record, extras)
        return True

    def _settle_times(self, record: dict[str, Any], named: str) -> None:
        now = datetime.now(timezone.utc).isoformat()
        for name in ("t", "valid_from", "valid_until", "last_accessed"):
            value = record[name]
            missing = value is None and name != "t"
            if missing or passes(parse_instant, value):
                continue
            record[name] = now if name == "t" else None
            self._note(named, f"{name} is {value!r:.80}", "the time of the repair" if name == "t" else "none")

    def _settle_values(self, record: dict[str, Any], named: str) -> None:
        count, meta = record["access_count"], record["meta"]
        if type(count) is not int or not 0 <= count < 2**63:
            self._note(named, f"access_count is {count!r:.80}", "0")
            record["access_count"] = 0
        try:
            record["meta"] = copy_metadata(None if meta is None else json.loads(meta)) or {}
        except (TypeError, ValueError, RecursionError):
            self._note(named, "its metadata is no JSON object", 'kept as text under "damaged_metadata"')
            record["meta"] = {"damaged_metadata": str(meta)}

    def _settle_extras(self, record: dict[str, Any], extras: dict[str, tuple[Any, ...]]) -> None:
        text_digest, *values = extras.get(record["id"], NO_EXTRAS)
        if text_digest is None or text_digest != digest(record["text"]):
            values = [None] * len(EXTRAS)
        for name, value in zip(EXTRAS, values, strict=True):
            record[name] = value if value is None or passes(CHECKED[name], value) else None

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
