"""The inspector: one HTML page that works offline and trusts nothing that a memory holds."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from ..arguments import integer
from ..temporal import MIN_WEIGHT
from .bundle import bundle
from .overlay import Query, query_overlay
from .payload import data_block
from .sampling import sample
from .snapshot import take_snapshot

if TYPE_CHECKING:
    from ..store.memory import Memory

DEFAULT_TITLE = "poincare-memory inspector"
LARGEST_PAGE = 200_000  # memories; a browser still opens it in a few seconds

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def render_html(
    memory: Memory,
    title: str | None = None,
    at_time: datetime | None = None,
    layout: str = "auto",
    *,
    query: Query | None = None,
    k: int = 10,
    limit: int = LARGEST_PAGE,
) -> str:
    """One self-contained page that shows a memory: disk, table, tree, and the effect of time.

    The page loads nothing, and its content-security policy forbids it to. Texts, ids, metadata and title are
    only ever shown as text.

    Parameters
    ----------
    memory : Memory
        What to show. Above 20,000 memories the page's data are stored as one array a key.
    title : str, optional
        Heading of the page.
    at_time : datetime, optional
        Moment at which the page opens; the memory's clock by default.
    layout : {"auto", "structural", "projection"}
        As for :func:`to_dict`.
    query : str or sequence of SearchResult, optional
        A text to search for, without raising access counts, or what a search has found: the hits are marked with
        their ranks, and the terms of their scores are listed (of results, where ``explain=True`` gave them).
    k : int, default 10
        How many hits a text may have.
    limit : int, default 200,000
        The page holds at most so many memories: of a larger store an even sample of the hierarchy, hits first,
        each memory with its path to the root; it says so.

    Returns
    -------
    str
        The HTML text; encode it as UTF-8.

    Raises
    ------
    ValueError
        If ``layout`` is none of the three, or ``limit`` is below 1.
    TypeError
        If ``query`` is neither text nor results.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.viz import render_html
    >>> mem = Memory()
    >>> tea = mem.add("green tea")
    >>> render_html(mem, title="Drinks").startswith("<!doctype html>")
    True
    """
    most = integer("limit", limit, least=1)
    snapshot = take_snapshot(memory, at_time, layout)
    found = None if query is None else query_overlay(memory, query, k, snapshot.now)
    if len(snapshot) > most:
        place_of = {id: place for place, id in enumerate(snapshot.ids)}
        hits = [place_of[hit["id"]] for hit in found.hits if hit["id"] in place_of] if found else []
        snapshot = sample(snapshot, most, hits)
    template, style, script = _sources()
    shown_title = _SURROGATE.sub("\ufffd", DEFAULT_TITLE if title is None else title)
    values = {
        "title": html.escape(shown_title),
        "policy": _security_policy(style, script),
        "floor": repr(float(MIN_WEIGHT)),
        "style": style,
        "script": script,
        "data": data_block(snapshot, found),
    }
    # One pass: what a value holds is never looked at again.
    return _SLOT.sub(lambda slot: values[slot[1]], template)


@lru_cache(maxsize=1)
def _sources() -> tuple[str, str, str]:
    """Template, style sheet and bundled script."""
    from importlib.resources import files

    folder = files(__package__) / "inspector"
    modules = {
        entry.name.removesuffix(".js"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".js")
    }
    template = (folder / "page.html").read_text(encoding="utf-8")
    style = (folder / "style.css").read_text(encoding="utf-8")
    return template, style, bundle(modules, "main")


def _security_policy(style: str, script: str) -> str:
    """Nothing from outside, and of the page's own scripts and styles only these two."""
    return (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
