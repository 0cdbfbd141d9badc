"""What can be made of the past versions in a damaged file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..temporal.instants import from_micros
from .record_mending import Note, is_id, passes, settle_extras, settle_text, settle_times, settle_values

__all__ = ["VersionMending", "named_version"]


class VersionMending:
    """Settles what each version is to be; `note` is told where it is wrong, what is, and the remedy.

    `positions` are those of the records by id, `ids` the other way round: a version belongs to a position. `fresh`
    is a position from which on none is taken.
    """

    def __init__(self, note: Note, positions: Mapping[str, int], fresh: int) -> None:
        self._note = note
        self._positions = positions
        self._ids = {pos: id for id, pos in positions.items()}
        self._fresh = fresh
        self._lost: dict[str, int] = {}

    def settle(self, version: dict[str, Any]) -> bool:
        """Make of a version what can be; False where it is nothing."""
        named, note = named_version(version), self._note
        if not is_id(version["id"]):
            known = self._ids.get(version["pos"])
            note(
                named,
                f"its id is {version['id']!r:.80}",
                "left out" if known is None else f"that of its record, {known!r:.80}",
            )
            if known is None:
                return False
            version["id"] = known
        if not _is_moment(version["replaced"]):
            note(named, f"when it was replaced is {version['replaced']!r:.80}", "left out")
            return False
        if not settle_text(version, named, note):
            return False
        if version["began"] is not None and not _is_moment(version["began"]):
            note(named, f"when it began is {version['began']!r:.80}", "when the memory was recorded")
            version["began"] = None
        replaced = from_micros(version["replaced"])
        assert replaced is not None
        settle_times(version, named, note, "when it was replaced", replaced)
        settle_values(version, named, note)
        settle_extras(version)
        if version["parent"] is not None and not is_id(version["parent"]):
            note(named, f"its parent is {version['parent']!r:.80}", "a root")
            version["parent"] = None
        self._settle_position(version, named)
        return True

    def _settle_position(self, version: dict[str, Any], named: str) -> None:
        pos, id = version["pos"], version["id"]
        if type(pos) is int and 0 <= pos < self._fresh:
            return
        if id in self._positions:
            version["pos"] = self._positions[id]
        else:
            version["pos"] = self._lost.setdefault(id, self._fresh + len(self._lost))
        self._note(named, f"its position is {pos!r:.80}", "that of its id")


def named_version(version: dict[str, Any]) -> str:
    """A version, as findings name it."""
    return f"past version {version['serial']} of {version['id']!r:.80}"


def _is_moment(value: Any) -> bool:
    return type(value) is int and passes(from_micros, value)
