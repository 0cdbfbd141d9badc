"""What memories have to do with one another, and matches with their ancestors as a text to read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..arguments import integer
from ..temporal.instants import from_micros

if TYPE_CHECKING:
    from .columns import Columns
    from .records import SearchResult
    from .state import Store

INDENT = "  "
LEAST_CUT = 16  # characters of a text below which a line is left out rather than cut


def path(store: Store, id: str) -> list[str]:
    """Ids from the root down to a memory; see `Memory.path`."""
    with store.reading() as columns:
        return [columns.name(row) for row in _line(columns, columns.row_of[id])]


def _line(columns: Columns, row: int) -> list[int]:
    """Rows from the root down to this one."""
    above: list[int] = columns.ancestor_rows(row).tolist()
    return [*reversed(above), row]


def lowest_common_ancestor(store: Store, a: str, b: str) -> str | None:
    """See `Memory.lca`."""
    with store.reading() as columns:
        one, other = (_line(columns, columns.row_of[id]) for id in (a, b))
        common = None
        for mine, theirs in zip(one, other, strict=False):
            if mine != theirs:
                break
            common = mine
        return None if common is None else columns.ids[common]


def refuse_unknown_options(options: Mapping[str, Any], search: Callable[..., Any]) -> None:
    """Refuse in the name of `Memory.context` what `search`, to which it hands its options, would refuse in its own."""
    known = inspect.signature(search).parameters if options else {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for name in options:
        if name not in known:
            raise TypeError(
                f"Memory.context() got an unexpected keyword argument {name!r}; it takes `budget`, the characters of "
                "the block at most, `k`, and what Memory.search() takes"
            )


def context(store: Store, results: Iterable[SearchResult], budget: Any) -> str:
    """See `Memory.context`."""
    room = integer("budget", budget)
    if room < 0:
        raise ValueError(f"budget must be at least 0 characters, got {room}")
    with store.reading() as columns:
        outline = _Outline(columns, room)
        for result in results:
            row = columns.row_of.get(result.id)
            if row is not None:  # it may be gone by now
                outline.add(row)
        return outline.text()


class _Outline:
    """Matches under their ancestors, as lines of a nested list; under the read lock."""

    def __init__(self, columns: Columns, budget: int) -> None:
        self._columns = columns
        self._room = budget + 1  # every line is counted with the line break before it
        self._lines: dict[int, str] = {}
        self._earliest: dict[int, tuple[int, int]] = {}  # time and serial number of the oldest match below

    def add(self, row: int) -> None:
        """Take a match in with those of its ancestors that are missing, or leave it out where they do not fit."""
        line = _line(self._columns, row)
        wanted = {at: self._line_of(at, depth, at == row) for depth, at in enumerate(line)}
        known = self._lines
        changed = {at: text for at, text in wanted.items() if at not in known or at == row}
        cost = sum(
            len(text) - len(known[at]) if at in known else len(text) + 1 for at, text in changed.items()
        )
        if cost > self._room:
            if self._lines:
                return
            changed, cost = self._cut(row)
            line = list(changed)
        known.update(changed)
        self._room -= cost
        moment = (int(self._columns.t[row]), int(self._columns.order[row]))
        for at in line:
            self._earliest[at] = min(self._earliest.get(at, moment), moment)

    def _line_of(self, row: int, depth: int, match: bool) -> str:
        text = " ".join((self._columns.texts[row] or "").split())
        if not match:
            return f"{INDENT * depth}- {text}"
        moment = from_micros(int(self._columns.t[row]))
        return f"{INDENT * depth}- [{moment:%Y-%m-%d}] {text}"

    def _cut(self, row: int) -> tuple[dict[int, str], int]:
        """The best match alone, its text cut, when not even that fits with its ancestors."""
        text = self._line_of(row, 0, True)
        if len(text) + 1 > self._room:
            text = text[: max(0, self._room - 2)].rstrip() + "…"
        if self._room - 1 < LEAST_CUT:
            return {}, 0
        return {row: text}, len(text) + 1

    def text(self) -> str:
        lines: list[str] = []
        parents = {row: int(self._columns.parent[row]) for row in self._lines}
        below: dict[int, list[int]] = {}
        for row in sorted(self._lines, key=self._earliest.__getitem__, reverse=True):
            above = parents[row]
            below.setdefault(above if above in self._lines else -1, []).append(row)
        waiting = list(below.get(-1, []))
        while waiting:
            row = waiting.pop()
            lines.append(self._lines[row])
            waiting += below.get(row, [])
        return "\n".join(lines)
