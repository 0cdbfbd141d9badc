"""The inspector: one HTML page that works offline and trusts nothing that a memory holds."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from ..temporal import MIN_WEIGHT
from .bundle import bundle
from .payload import data_block
from .snapshot import take_snapshot

if TYPE_CHECKING:
    from ..store.memory import Memory

DEFAULT_TITLE = "poincare-memory inspector"

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def render_html(
    memory: Memory,
    title: str | None = None,
    at_time: datetime | None = None,
    layout: str = "auto",
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

    Returns
    -------
    str
        The HTML text; encode it as UTF-8.

    Raises
    ------
    ValueError
        If ``layout`` is none of the three.
    """
    template, style, script = _sources()
    shown_title = _SURROGATE.sub("\ufffd", DEFAULT_TITLE if title is None else title)
    values = {
        "title": html.escape(shown_title),
        "policy": _security_policy(style, script),
        "floor": repr(float(MIN_WEIGHT)),
        "style": style,
        "script": script,
        "data": data_block(take_snapshot(memory, at_time, layout)),
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
