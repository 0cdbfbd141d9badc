"""What is to be added, gathered and checked field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from .._core import _kernels
from ..temporal.instants import MISSING
from .arrays import checked_reference
from .columns import check_window
from .metadata import check_unicode, copy_metadata
from .state import truth

DUPLICATE_ADVICE: Final = 'on_duplicate="update" or "ignore" would accept it'
ITEM_KEYS: Final = ("text", "parent", "t", "id", "meta", "valid_from", "valid_until", "pin")
ITEM_DEFAULTS: Final = (None, None, None, None, None, None, None, False)


class Batch:
    """Checked memories, a list a field; an id of None is to be made up."""

    __slots__ = (
        "ids", "metas", "parents", "pinned", "recorded_at", "t", "texts", "valid_from", "valid_until"
    )  # fmt: skip

    def __init__(self) -> None:
        self.ids: list[str | None] = []
        self.texts: list[str] = []
        self.parents: list[str | None] = []
        self.metas: list[dict[str, Any] | None] = []
        self.t: Any = []
        self.valid_from: Any = []
        self.valid_until: Any = []
        self.pinned: Any = []
        self.recorded_at = MISSING  # of all of them

    def subset(self, numbers: list[int]) -> Batch:
        """Some of them; their times are arrays by now."""
        part = Batch()
        for name in ("ids", "texts", "parents", "metas", "pinned"):
            values = getattr(self, name)
            setattr(part, name, [values[i] for i in numbers])
        part.recorded_at = self.recorded_at
        for name in ("t", "valid_from", "valid_until"):
            setattr(part, name, getattr(self, name)[numbers])
        return part


# --- checks -------------------------------------------------------------------------------------------


def checked_text(text: Any) -> str:
    if _kernels.is_plain_text(text):
        return text
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"memory text must be a non-empty string, got {text!r:.80}")
    plain = text if type(text) is str else str.__str__(text)
    check_unicode(plain, "text")
    return plain


def checked_id(id: Any) -> str:
    if _kernels.is_plain_text(id):
        return id
    if not isinstance(id, str) or not id.strip():
        raise ValueError(f"id must be a non-empty string, got {id!r:.80}")
    plain = id if type(id) is str else str.__str__(id)
    check_unicode(plain, "id")
    return plain


def unknown_parent(parent: Any) -> KeyError:
    return KeyError(f"unknown parent id {parent!r:.80}")


def duplicate_id(id: str) -> ValueError:
    return ValueError(f"duplicate id {id!r:.80}; {DUPLICATE_ADVICE}")


def listed_items(items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if isinstance(items, str | bytes | Mapping):
        raise TypeError(
            f"items must be an iterable of dicts of add() arguments, got one {type(items).__name__}; "
            "wrap it in a list"
        )
    if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
        raise TypeError(f"items must be an iterable of dicts of add() arguments, got {type(items).__name__}")
    return list(items)


def gather(items: list[Any], known: Mapping[str, int], unique: bool = True) -> Batch:
    """Check items field by field: loops in C where every value is an ordinary one."""
    batch = Batch()
    fields = _kernels.field_lists(items, ITEM_KEYS, ITEM_DEFAULTS)
    if fields is None:
        _check_items(items)
        fields = [
            [item.get(key, default) for item in items]
            for key, default in zip(ITEM_KEYS, ITEM_DEFAULTS, strict=True)
        ]
    (
        batch.texts, batch.parents, batch.t, batch.ids, batch.metas, batch.valid_from, batch.valid_until, batch.pinned
    ) = fields  # fmt: skip
    if not _kernels.are_plain_texts(batch.texts):
        batch.texts = _each(checked_text, batch.texts)
    if not _kernels.are_plain_or_none(batch.ids):
        batch.ids = _each(_checked_optional_id, batch.ids)
    if not _kernels.are_plain_or_none(batch.parents):
        batch.parents = _each(lambda parent: checked_reference(parent, "parent"), batch.parents)
    if not (unique and _kernels.names_are_sound(batch.ids, batch.parents, known)):
        _check_names(batch, known, unique)
    plain = _kernels.plain_copies(batch.metas)
    batch.metas = _each(copy_metadata, batch.metas) if plain is None else plain
    if not _kernels.all_are(batch.pinned, False):
        batch.pinned = _each(lambda pin: truth("pin", pin), batch.pinned)
    return batch


def _check_items(items: list[Any]) -> None:
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise TypeError(f"item {number}: expected a dict of add() arguments, got {type(item).__name__}")
    for number, item in enumerate(items):
        unknown = item.keys() - set(ITEM_KEYS)
        if unknown:
            raise TypeError(
                f"item {number}: unknown key {', '.join(sorted(map(repr, unknown)))}; "
                f"known are {', '.join(sorted(ITEM_KEYS))}"
            )


def _each(check: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    checked = []
    try:
        for value in values:
            checked.append(check(value))  # noqa: PERF401  # its length tells which item failed
    except (TypeError, ValueError) as error:
        raise type(error)(f"item {len(checked)}: {error}") from None
    return checked


def _checked_optional_id(id: Any) -> str | None:
    return None if id is None else checked_id(id)


def _check_names(batch: Batch, known: Mapping[str, int], unique: bool) -> None:
    """Ids are new and differ, if they must; a parent is in the store or earlier in the batch."""
    seen: set[str | None] = set()
    for number, (id, parent) in enumerate(zip(batch.ids, batch.parents, strict=True)):
        if parent is not None and parent not in seen and parent not in known:
            raise KeyError(f"item {number}: unknown parent id {parent!r:.80}")
        if id is not None:
            if unique and (id in seen or id in known):
                raise ValueError(f"item {number}: duplicate id {id!r:.80}; {DUPLICATE_ADVICE}")
            seen.add(id)


def convert_times(batch: Batch) -> None:
    """Lists of datetimes to arrays of microseconds; `MISSING` where there is none."""
    for name in ("valid_from", "valid_until", "t"):
        given = tuple(getattr(batch, name))
        micros = np.empty(len(given), np.int64)
        _kernels.fill_micros(given, micros, name, True)
        setattr(batch, name, micros)
    start, end = batch.valid_from, batch.valid_until
    never = np.flatnonzero((start != MISSING) & (end != MISSING) & (end < start))
    if len(never):
        first = int(never[0])
        check_window(int(start[first]), int(end[first]), f"item {first}")
