"""Memories as a Markdown outline: headings and nested lists are the hierarchy.

A heading is a memory below the nearest higher heading before it; a list item is one below the item that it is indented
under, or the heading; so is a paragraph, a code block or a table. What the layout cannot say stands in a comment at the
end of a memory's first line: ``## Knee <!-- {"id": "knee", "t": "2026-01-31T12:00:00Z"} -->``. Front matter, rules and
other comments are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from .entries import Entry, Source, entry_of, numbered_lines, parsed_json

__all__ = ["ATTRIBUTES", "read_outline"]

Told = Callable[[int], object] | None

ATTRIBUTES: Final = re.compile(r"<!--\s*(\{.*\})\s*-->[ \t]*(\\?)$")
HEADING: Final = re.compile(r"(#{1,6})(?:[ \t]+(.*))?$")
CLOSING: Final = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
ITEM: Final = re.compile(r"(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+(.*)|$)")
RULE: Final = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
UNDERLINE: Final = re.compile(r"(=+|-+)[ \t]*$")
FENCE: Final = re.compile(r"(`{3,}|~{3,})[^`]*$")
HARD_BREAK: Final = re.compile(r"(?:\\|[ \t]{2,})$")
TAB: Final = 4
CODE_INDENT: Final = 4  # columns from which on a heading or a rule is none


def read_outline(source: Source, where: str = "outline", told: Told = None) -> Iterator[Entry]:
    """Entries of a Markdown text, parents first; those without an id get a new one.

    Examples
    --------
    >>> import io
    >>> from poincare_memory.store.outline import read_outline
    >>> text = b"# Body\\n\\n## Leg\\n- Knee\\n  - Hamstring: bends\\n    the knee\\n"
    >>> entries = list(read_outline(io.BytesIO(text)))
    >>> [entry.text for entry in entries]
    ['Body', 'Leg', 'Knee', 'Hamstring: bends the knee']
    >>> [entry.parent == before.id for before, entry in zip(entries, entries[1:])]
    [True, True, True]
    """
    outline = _Outline(where)
    for number, line in numbered_lines(source, where, told):
        outline.take(number, line.rstrip("\r\n"))
        yield from outline.ready()
    outline.finish()
    yield from outline.ready()


class _Block:
    """A memory whose lines are still coming."""

    def __init__(self, kind: str, parent: str | None, number: int) -> None:
        self.kind = kind  # "item", "paragraph", "heading" or "fence"
        self.parent = parent
        self.number = number
        self.id = os.urandom(6).hex()
        self.pieces: list[str] = []
        self.attributes: dict[str, Any] = {}
        self.attributes_at = (number, 0)
        self.fence = ""
        self.indent = 0

    def add(self, text: str) -> None:
        """Another line; a soft line break is a space."""
        if self.pieces and not self.pieces[-1].endswith("\n"):
            table = text.startswith("|") and self.pieces[-1].startswith("|")
            self.pieces.append("\n" if table else " ")
        hard = HARD_BREAK.search(text)
        self.pieces.append(text[: hard.start()] + "\n" if hard else text)

    def text(self) -> str:
        return "".join(self.pieces).rstrip("\n" if self.kind == "fence" else None)


class _Outline:
    def __init__(self, where: str) -> None:
        self._where = where
        self._headings: list[tuple[int, str]] = []  # level and id, from the top down to where we are
        self._items: list[tuple[int, str]] = []  # indent and id
        self._open: _Block | None = None
        self._done: list[Entry] = []
        self._line = ""
        self._skipping = ""  # what ends the comment or front matter that is passed over

    def ready(self) -> list[Entry]:
        done, self._done = self._done, []
        return done

    def take(self, number: int, line: str) -> None:
        """One line."""
        self._line = line
        if self._open is not None and self._open.kind == "fence":
            self._take_code(line)
            return
        if self._skipping:
            if self._skipping in line:
                self._skipping = ""
            return
        text = line.lstrip(" \t")
        indent = len(line[: len(line) - len(text)].expandtabs(TAB))
        if not text:
            self._close()
        elif number == 1 and line.rstrip() == "---":
            self._skipping = "---"
        elif not self._take_mark(number, indent, text):
            self._take_text(number, indent, text)

    def _take_mark(self, number: int, indent: int, text: str) -> bool:
        """A line that says by its first characters what it is."""
        block = self._open
        shallow = indent < CODE_INDENT
        under = UNDERLINE.match(text) if shallow and block and block.kind == "paragraph" else None
        heading = HEADING.match(text) if shallow else None
        item, fence = ITEM.match(text), FENCE.match(text)
        if block is not None and under:
            self._headline(block, 1 if under[1][0] == "=" else 2)
        elif heading:
            self._begin_heading(number, len(heading[1]), CLOSING.sub("", heading[2] or ""))
        elif RULE.match(text):
            self._close()
        elif fence:
            self._begin("fence", number, indent)
            assert self._open is not None
            self._open.fence, self._open.indent = fence[1], indent
            self._open.pieces.append(text + "\n")
        elif item and not (block and item[1] and int(item[1]) != 1 and block.kind == "paragraph"):
            self._begin_item(number, indent, item[2] or "")
        elif text.startswith("<!--") and not ATTRIBUTES.match(text):
            self._close()
            self._skipping = "" if "-->" in text else "-->"
        else:
            return False
        return True

    def _take_text(self, number: int, indent: int, text: str) -> None:
        if self._open is None:
            self._begin("paragraph", number, indent)
        self._add(number, text)

    def _add(self, number: int, text: str) -> None:
        block = self._open
        assert block is not None
        found = ATTRIBUTES.search(text) if not block.pieces else None
        if found:
            at = self._line.index(found[1])
            block.attributes_at = (number, at)
            block.attributes = self._parsed(found[1], number, at)
            text = text[: found.start()].rstrip() + found[2]
        block.add(text)

    def _parsed(self, attributes: str, number: int, at: int) -> dict[str, Any]:
        values = parsed_json(attributes, lambda pos, message: self._fail(number, at + pos, message))
        assert isinstance(values, dict)
        return values

    def _take_code(self, line: str) -> None:
        block = self._open
        assert block is not None
        spaces = len(line) - len(line.lstrip(" "))
        text = line[min(spaces, block.indent) :]
        block.pieces.append(text + "\n")
        if text.strip() and set(text.strip()) == {block.fence[0]} and len(text.strip()) >= len(block.fence):
            self._close()

    # --- places -------------------------------------------------------------------------------------------

    def _begin(self, kind: str, number: int, indent: int) -> None:
        self._close()
        while self._items and self._items[-1][0] >= indent:
            self._items.pop()
        above = self._items or self._headings
        self._open = _Block(kind, above[-1][1] if above else None, number)

    def _begin_item(self, number: int, indent: int, text: str) -> None:
        self._begin("item", number, indent)
        if not text.strip():  # an item that nothing was written into
            self._open = None
            return
        self._add(number, text)
        self._close_later(indent)

    def _close_later(self, indent: int) -> None:
        """Further lines may follow, and items below it: its id is settled already."""
        assert self._open is not None
        self._settle_id(self._open)
        self._items.append((indent, self._open.id))

    def _begin_heading(self, number: int, level: int, text: str) -> None:
        self._close()
        self._open = _Block("heading", None, number)
        if not text.strip():
            self._fail(number, 0, "a heading without text")
        self._add(number, text)
        self._headline(self._open, level)

    def _headline(self, block: _Block, level: int) -> None:
        self._items.clear()
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        block.parent = self._headings[-1][1] if self._headings else None
        self._settle_id(block)
        self._headings.append((level, block.id))
        self._close()

    def _settle_id(self, block: _Block) -> None:
        id = block.attributes.get("id")
        if isinstance(id, str) and id.strip():
            block.id = id

    # --- the end ------------------------------------------------------------------------------------------

    def _close(self) -> None:
        block, self._open = self._open, None
        if block is None:
            return
        number, at = block.attributes_at
        if "parent" in block.attributes:
            self._fail(number, at, "a parent is told by the layout, not by attributes")
        self._settle_id(block)
        values = {"text": block.text(), "id": block.id, **block.attributes, "parent": block.parent}
        self._done.append(entry_of(values, block.number, lambda _, message: self._fail(number, at, message)))

    def finish(self) -> None:
        self._close()

    def _fail(self, number: int, at: int, message: str) -> NoReturn:
        raise ValueError(f"{self._where}:{number}:{at + 1}: {message}")
