"""The hierarchy as a Mermaid flowchart, for Markdown on GitHub, in notebooks and wikis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..arguments import integer

if TYPE_CHECKING:
    from ..store.memory import Memory

DIRECTIONS = ("LR", "RL", "TD", "BT")

# Everything that could end a quoted label or start markup in it is written as an entity.
_MARKUP = re.compile(r"[^\w\s.,:;!?/()+=%€$°–—…'-]")


def to_mermaid(
    memory: Memory,
    root: str | None = None,
    *,
    direction: str = "LR",
    limit: int = 200,
    max_text: int = 40,
) -> str:
    """The hierarchy as the text of a Mermaid flowchart.

    Shallow memories come first; where `limit` cuts children off, a node says how many.

    Parameters
    ----------
    memory : Memory
        What to export.
    root : str, optional
        Only this memory and those below it.
    direction : {"LR", "RL", "TD", "BT"}
        In which the arrows point: rightwards, leftwards, down, up.
    limit : int, default 200
        At most so many memories; renderers refuse large charts.
    max_text : int, default 40
        Texts are cut at so many characters.

    Returns
    -------
    str

    Raises
    ------
    KeyError
        For an unknown `root`.
    ValueError
        For an unknown direction, or a limit or length below 1.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> mem = Memory()
    >>> tea = mem.add("tea & milk", id="tea", parent=mem.add("drinks", id="drinks"))
    >>> print(to_mermaid(mem))
    flowchart LR
      n0["drinks"]
      n1["tea #38; milk"]
      n0 --> n1
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction must be one of {', '.join(map(repr, DIRECTIONS))}, got {direction!r}")
    most, length = integer("limit", limit, least=1), integer("max_text", max_text, least=1)
    store = memory._store
    with store.reading():
        columns = store.columns
        tops = columns.root_rows().tolist() if root is None else [columns.row_of[root]]
        shown, lines, edges = tops[:most], [f"flowchart {direction}"], []
        number = {row: place for place, row in enumerate(shown)}
        for row in shown:  # grows while it is read: level by level
            lines.append(f'  n{number[row]}["{_label(columns.texts[row] or "", length)}"]')
            children = columns.children_rows(row).tolist()
            room = most - len(shown)
            for child in children[:room]:
                number[child] = len(shown)
                shown.append(child)
                edges.append(f"  n{number[row]} --> n{number[child]}")
            if len(children) > room:
                edges.append(f'  n{number[row]} -.- m{number[row]}["… {len(children) - room:,} more"]')
        if len(tops) > most:
            edges.append(f'  m["… {len(tops) - most:,} more roots"]')
    return "\n".join([*lines, *edges])


def _label(text: str, length: int) -> str:
    line = " ".join(text[: 4 * length].split())
    if len(line) > length:
        line = f"{line[: length - 1].rstrip()}…"
    return _MARKUP.sub(lambda found: f"#{ord(found[0])};", line) or " "
