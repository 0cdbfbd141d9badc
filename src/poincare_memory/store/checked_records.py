"""Records of a file, read with checks; every error names the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..temporal.instants import MISSING, to_micros
from .metadata import check_unicode, copy_metadata
from .state import LARGEST_DEPTH


def parse_instant(text: Any) -> int:
    """UTC microseconds of an ISO 8601 time; ValueError, TypeError or AttributeError for anything else."""
    return to_micros(datetime.fromisoformat(_without_z(text)))


class RecordNames:
    """Errors that name a record of a file."""

    def __init__(self, ids: Sequence[Any], where: str) -> None:
        self.ids = ids
        self.where = where

    def fail(self, i: int, message: str) -> ValueError:
        return ValueError(f"{self.where}: record {i} ({self.ids[i]!r:.80}): {message}")


class CheckedRecords(RecordNames):
    """Field lists of the records, read with checks; every error names the record."""

    ids: list[str]

    def __init__(self, fields: Mapping[str, Sequence[Any]], where: str) -> None:
        super().__init__(list(fields["id"]), where)
        self.fields = fields
        self.index: dict[str, int] = {}
        if _are_plain_texts(self.ids):
            self.index = dict(zip(self.ids, range(len(self.ids)), strict=True))
        if len(self.index) < len(self.ids) or "" in self.index:
            self._check_ids()

    def _check_ids(self) -> None:
        self.index.clear()
        for i, id in enumerate(self.ids):
            if not isinstance(id, str) or not id:
                raise ValueError(f"{self.where}: record {i}: id: expected a non-empty string, got {id!r:.80}")
            if id in self.index:
                raise ValueError(
                    f"{self.where}: record {i}: id {id!r} is already that of record {self.index[id]}"
                )
            self._checked(i, check_unicode, id, "id")
            self.index[id] = i

    def _checked(self, i: int, check: Callable[[str, str], None], value: str, name: str) -> None:
        try:
            check(value, name)
        except ValueError as error:
            raise ValueError(f"{self.where}: record {i}: {error}") from error

    def texts(self) -> list[str]:
        texts = list(self.fields["text"])
        if _are_plain_texts(texts):
            return texts
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise self.fail(i, f"text: expected a string, got {type(text).__name__}")
            self._checked(i, check_unicode, text, "text")
        return texts

    def metas(self) -> list[dict[str, Any] | None]:
        return [None if meta is None else self._meta(i, meta) for i, meta in enumerate(self.fields["meta"])]

    def _meta(self, i: int, meta: Any) -> dict[str, Any] | None:
        try:
            return copy_metadata(meta)
        except (TypeError, ValueError) as error:
            raise self.fail(i, str(error)) from error

    def instants(self, name: str) -> NDArray[np.int64]:
        texts = list(self.fields[name])
        micros = np.empty(len(texts), np.int64)
        i, missing_allowed = 0, name != "t"
        while (i := _kernels.fill_instants(texts, micros, i, missing_allowed)) < len(texts):
            try:  # in another form than ours
                micros[i] = parse_instant(texts[i])
            except (TypeError, ValueError, AttributeError):
                raise self.fail(i, f"{name}: expected an ISO 8601 time, got {texts[i]!r:.80}") from None
            i += 1
        return micros

    def access_counts(self) -> NDArray[np.int64]:
        return self._integers("access_count", self.fields["access_count"], 2**63)

    def orders(self, positions: Sequence[Any]) -> NDArray[np.int64]:
        """Serial numbers of the records, increasing."""
        return self._integers("pos", positions, 2**62)

    def recorded_at(self) -> NDArray[np.int64]:
        return self.instants("recorded_at") if self.fields.get("recorded_at") else self._nothing(MISSING)

    def pinned(self) -> NDArray[np.int64]:
        found = self._nothing(0)
        for i, pinned in self._given("pinned"):
            if pinned not in (0, 1):
                raise self.fail(i, f"pinned: expected 1 or 0, got {pinned!r:.80}")
            found[i] = bool(pinned)
        return found

    def learned_depths(self) -> NDArray[np.float64]:
        """Depths that were not computed from a level; NaN for all others."""
        found = np.full(len(self.ids), np.nan)
        for i, depth in self._given("learned_depth"):
            number = isinstance(depth, float | int) and not isinstance(depth, bool)
            if not number or not 0 <= depth <= LARGEST_DEPTH:
                raise self.fail(i, f"learned_depth: expected a number from 0 to 1e100, got {depth!r:.80}")
            found[i] = depth
        return found

    def attached(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """`orders`, but for what tells another place among its siblings."""
        found = orders.copy()
        for i, number in self._given("attached"):
            self._check_integer(i, "attached", number, 2**62)
            found[i] = number
        return found

    def _given(self, name: str) -> Iterator[tuple[int, Any]]:
        """Records of which this is said, and what."""
        values = self.fields.get(name) or ()
        if values.count(None) == len(values):  # most often
            return iter(())
        return ((i, value) for i, value in enumerate(values) if value is not None)

    def _integers(self, name: str, values: Sequence[Any], end: int) -> NDArray[np.int64]:
        if set(map(type, values)) != {int} or min(values) < 0 or max(values) >= end:
            for i, value in enumerate(values):
                self._check_integer(i, name, value, end)
        return np.array(values, np.int64)

    def _check_integer(self, i: int, name: str, value: Any, end: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < end:
            raise self.fail(i, f"{name}: expected an integer of at least 0, got {value!r:.80}")

    def _nothing(self, value: int) -> NDArray[np.int64]:
        return np.full(len(self.ids), value, np.int64)

    def parents(self) -> NDArray[np.int64]:
        """Position of each record's parent, -1 at a root."""
        parents = self.fields["parent"]
        if set(map(type, parents)) <= {str, type(None)}:
            positions = list(map(self.index.get, parents, repeat(-1)))
            if positions.count(-1) == parents.count(None):
                return np.array(positions, np.int64)
        for i, parent in enumerate(parents):
            if parent is not None and not (isinstance(parent, str) and parent in self.index):
                raise self.fail(i, f"its parent {parent!r:.80} is not in the file")
        return np.array([-1 if parent is None else self.index[parent] for parent in parents], np.int64)

    def levels(self, parents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Level of each record; a cycle is an error that names one of its members."""
        levels = np.empty(len(parents), np.int32)
        i = _kernels.levels_below(parents, levels)
        if i >= 0:
            raise self.fail(i, "its chain of parents comes back to itself")
        return levels


def _are_plain_texts(values: Sequence[Any]) -> bool:
    """Whether all are strings, and of ASCII, so that no character of them can be wrong."""
    return set(map(type, values)) <= {str} and all(map(str.isascii, values))


def _without_z(text: str) -> str:
    return text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text  # Python 3.10 reads no Z
