"""Write memories as the Markdown outline that `outline` reads: the same tree, texts, times and metadata."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .entries import values_of
from .outline import read_outline

__all__ = ["outline_rows"]

DEEPEST_HEADING: Final = 6
LONGEST_SUMMARY: Final = 80  # characters shown of a text that Markdown would change
PLAIN: Final = re.compile(r"[^\W\d_][^\n\r\\|<#]*[^\s\\|<#]")  # reads back as it is, on one line


def outline_rows(fields: Mapping[str, list[Any]], bare: bool = False) -> Iterator[str]:
    """Lines of an outline, from the fields of an archive.

    Memories with children are headings down to the sixth level, all others are list items; after a heading every
    sibling is one too, so that none hangs under it. `bare` leaves out everything but the texts.
    """
    children = _children(fields)
    waiting = [(i, 1, -1) for i in reversed(children[-1])]  # memory, heading level, indent (-1: a heading)
    before = ""
    while waiting:
        i, level, indent = waiting.pop()
        attributes = {} if bare else values_of(fields, i)
        for name in ("text", "parent"):
            attributes.pop(name, None)
        kind = "heading" if indent < 0 else "item"
        if before and "heading" in (kind, before):
            yield "\n"
        before = kind
        mark = f"{'#' * level} " if indent < 0 else f"{' ' * indent}- "
        yield from _lines(fields["text"][i], mark, attributes)
        waiting.extend(reversed(_placed(children, i, level, indent)))


def _children(fields: Mapping[str, list[Any]]) -> dict[int, list[int]]:
    """Memories below each, in their order; those below -1 are roots."""
    number = {id: i for i, id in enumerate(fields["id"])}
    children: dict[int, list[int]] = {i: [] for i in range(-1, len(number))}
    late = fields["attached"]
    order = sorted(range(len(number)), key=lambda i: i if late[i] is None else late[i])
    for i in order:
        parent = fields["parent"][i]
        children[-1 if parent is None else number[parent]].append(i)
    children[-1].sort()
    return children


def _placed(children: dict[int, list[int]], i: int, level: int, indent: int) -> list[tuple[int, int, int]]:
    if indent >= 0 or level == DEEPEST_HEADING:
        return [(child, level, max(0, indent + 2 if indent >= 0 else 0)) for child in children[i]]
    placed = []
    headings = False
    for child in children[i]:
        headings = headings or bool(children[child])
        placed.append((child, level + 1, -1 if headings else 0))
    return placed


def _lines(text: str, mark: str, attributes: dict[str, Any]) -> Iterator[str]:
    shown = text.split("\n")
    if not PLAIN.fullmatch(text) and not _reads_back(text, shown, mark):
        summary = " ".join(text.split())[:LONGEST_SUMMARY]
        shown = [summary if PLAIN.fullmatch(summary) else "…"]
        attributes = {"text": text, **attributes}
    note = f" {_comment(attributes)}" if attributes else ""
    if len(shown) == 1:
        yield f"{mark}{shown[0]}{note}\n"
        return
    yield f"{mark}{shown[0]}{note}\\\n"
    margin = " " * len(mark)
    for line in shown[1:-1]:
        yield f"{margin}{line}\\\n"
    yield f"{margin}{shown[-1]}\n"


def _comment(attributes: dict[str, Any]) -> str:
    text = json.dumps(attributes, ensure_ascii=False, allow_nan=False).replace("-->", "--\\u003e")
    return f"<!-- {text} -->"


def _reads_back(text: str, shown: list[str], mark: str) -> bool:
    """Whether the plain lines are read as this very text."""
    if (len(shown) > 1 and mark.startswith("#")) or any(line != line.rstrip() for line in shown):
        return False
    lines = "\\\n".join([mark.lstrip() + shown[0], *("  " + line for line in shown[1:])]) + "\n"
    try:
        entries = list(read_outline(io.BytesIO(lines.encode("utf-8"))))
    except ValueError:
        return False
    return len(entries) == 1 and entries[0].text == text
