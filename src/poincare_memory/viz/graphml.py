"""The hierarchy as GraphML, for Gephi, yEd, Cytoscape, networkx."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from .export import to_dict

if TYPE_CHECKING:
    from ..store.memory import Memory

# Attribute of a node: name and GraphML type. What is None is left out.
_ATTRIBUTES = (
    ("text", "string"),
    ("level", "int"),
    ("depth", "double"),
    ("x", "double"),
    ("y", "double"),
    ("t", "string"),
    ("valid_from", "string"),
    ("valid_until", "string"),
    ("weight", "double"),
    ("accesses", "long"),
    ("meta", "string"),
)
# XML 1.0 has no way to write these, not even as references.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_KEPT_IN_ATTRIBUTES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def to_graphml(memory: Memory, at_time: datetime | None = None, layout: str = "auto") -> str:
    """The hierarchy as a GraphML document: a node a memory, a directed edge from each parent to its child.

    Node ids are the memories' ids. Attributes are those of :func:`to_dict`, metadata as JSON text. Characters that XML
    cannot hold become ``\\\\uXXXX``.

    Parameters
    ----------
    memory : Memory
        What to export.
    at_time : datetime, optional
        Moment of the time weights; the memory's clock by default.
    layout : {"auto", "structural", "projection"}
        Where ``x`` and ``y`` lie, as for :func:`to_dict`.

    Returns
    -------
    str
        XML; write it as UTF-8.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> mem = Memory()
    >>> tea = mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks"))
    >>> '<edge source="drinks" target="tea"/>' in to_graphml(mem)
    True
    """
    return "\n".join(_lines(to_dict(memory, at_time, layout))) + "\n"


def _lines(data: dict[str, Any]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for name, kind in _ATTRIBUTES:
        yield f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>'
    yield '<graph id="memory" edgedefault="directed">'
    for node in data["nodes"]:
        values = [_data(name, node[name]) for name, _ in _ATTRIBUTES if node[name] is not None]
        yield f"<node id={_attribute(node['id'])}>{''.join(values)}</node>"
    for edge in data["edges"]:
        yield f"<edge source={_attribute(edge['source'])} target={_attribute(edge['target'])}/>"
    yield "</graph>"
    yield "</graphml>"


def _data(name: str, value: Any) -> str:
    if name == "meta":
        value = json.dumps(value, ensure_ascii=False, default=str)
    # A parser turns a plain carriage return into a line feed.
    text = escape(_allowed(str(value)), {"\r": "&#13;"})
    return f'<data key="{name}">{text}</data>'


def _attribute(value: str) -> str:
    return quoteattr(_allowed(value), _KEPT_IN_ATTRIBUTES)


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
