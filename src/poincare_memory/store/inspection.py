"""The inspector page of a memory: where it is written, shown and framed."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .memory import Memory

MOST_IN_NOTEBOOKS = 500  # memories
FRAME_STYLE = "width:100%;height:620px;border:1px solid #ddd;border-radius:8px"


class Page(str):
    """HTML text of which a prompt or a notebook says how long it is, instead of showing all of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<inspector page, {len(self):,} characters>"


def inspect(
    memory: Memory,
    path: str | os.PathLike[str] | None,
    open_browser: bool,
    options: Mapping[str, Any],
) -> str:
    """HTML text; written to `path` where given, and shown where asked; see `Memory.inspect`."""
    from ..viz.html import render_html

    page = Page(render_html(memory, **options))
    if path is not None:
        from .atomic import write_text

        write_text(path, page)
    if open_browser:
        _show(page, path)
    return page


def _show(page: str, path: str | os.PathLike[str] | None) -> None:
    import pathlib
    import tempfile
    import webbrowser

    if path is None:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="poincare-memory-", suffix=".html", delete=False
        ) as file:
            file.write(page)
        path = file.name
    webbrowser.open(pathlib.Path(path).resolve().as_uri())


def frame(memory: Memory) -> str:
    """The page inside an iframe, for notebooks; of a big memory a sample, since notebooks keep what they show."""
    from ..viz.html import render_html

    page = render_html(memory, limit=MOST_IN_NOTEBOOKS)
    # An origin of its own: nothing in the page can reach the notebook.
    allowed = "allow-scripts allow-downloads"
    return f'<iframe title="Memory" style="{FRAME_STYLE}" sandbox="{allowed}" srcdoc="{html.escape(page)}"></iframe>'
