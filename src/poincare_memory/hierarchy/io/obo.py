"""OBO files, such as those of the Gene Ontology."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from .files import MOST_BYTES, Path, fail, lines_of
from .taxonomy import Taxonomy

__all__ = ["read_obo"]

_STANZA: Final = re.compile(r"\[([^\[\]]+)\]\s*(!.*)?")
_ESCAPES: Final = {"n": "\n", "t": "\t", "W": " "}
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WORD: Final = re.compile(r"((?:[^\s\\!{]|\\.)+)")

Clause = tuple[int, str, str]  # line, tag, value


def read_obo(
    path: Path,
    relations: Collection[str] = ("is_a",),
    *,
    definitions: bool = False,
    obsolete: bool = False,
    max_bytes: int = MOST_BYTES,
) -> Taxonomy[str]:
    """Read the terms of an OBO file (format 1.2 or 1.4): a parent is what a term `is_a`.

    Parameters
    ----------
    path : path
        A UTF-8 file; ``.gz`` is unpacked on the way.
    relations : collection of str, default ("is_a",)
        What makes a parent: "is_a", and names of relationships such as "part_of".
    definitions : bool, default False
        Texts are name and definition, not the name alone.
    obsolete : bool, default False
        Keep terms that are marked so. Otherwise they are nobody's parent either.
    max_bytes : int, default 2**30
        Larger files, unpacked, are refused.

    Returns
    -------
    Taxonomy
        Nodes are ids of terms. A parent that the file does not define has no text.

    Raises
    ------
    ValueError
        Naming file and line, for what is no OBO, and a term that is its own parent.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("tiny.obo").write_text('''format-version: 1.2
    ...
    ... [Term]
    ... id: GO:0008150
    ... name: biological_process
    ...
    ... [Term]
    ... id: GO:0009987
    ... name: cellular process
    ... is_a: GO:0008150 ! biological_process
    ... ''')
    >>> read_obo("tiny.obo").edges
    [('GO:0008150', 'GO:0009987')]
    """
    if isinstance(relations, str):
        raise TypeError(f"relations: expected a collection of names, got one string: pass ({relations!r},)")
    edges: list[tuple[str, str]] = []
    texts: dict[str, str] = {}
    left_out: set[str] = set()
    for line, clauses in _terms(path, max_bytes):
        ids = [_word(path, clause) for clause in clauses if clause[1] == "id"]
        if len(ids) != 1:
            raise fail(path, line, f"expected one id in this [Term], got {len(ids)}")
        term = ids[0]
        if not obsolete and _is_obsolete(path, clauses):
            left_out.add(term)
            continue
        if term in texts:
            raise fail(path, line, f"term {term!r:.80} is already defined")
        texts[term] = _text(path, term, clauses, definitions)
        for number, parent in _parents(path, clauses, relations):
            if parent == term:
                raise fail(path, number, f"term {term!r:.80} is its own parent")
            edges.append((parent, term))
    return Taxonomy([edge for edge in edges if edge[0] not in left_out], texts)


def _terms(path: Path, max_bytes: int) -> Iterator[tuple[int, list[Clause]]]:
    """Clauses of every [Term], and the line where it begins."""
    begin, kind = 0, ""
    clauses: list[Clause] = []
    for number, line in lines_of(path, max_bytes):
        text = line.strip()
        if not text or text.startswith("!"):
            continue
        if text.startswith("["):
            stanza = _STANZA.fullmatch(text)
            if stanza is None:
                raise fail(path, number, f"expected a stanza such as [Term], got {text!r:.80}")
            if kind == "Term":
                yield begin, clauses
            begin, kind, clauses = number, stanza[1], []
            continue
        tag, colon, value = text.partition(":")
        if not colon or not tag.strip():
            raise fail(path, number, f"expected tag: value, got {text!r:.80}")
        clauses.append((number, tag.strip(), value.strip()))
    if kind == "Term":
        yield begin, clauses


def _is_obsolete(path: Path, clauses: list[Clause]) -> bool:
    return any(clause[1] == "is_obsolete" and _word(path, clause).lower() == "true" for clause in clauses)


def _parents(path: Path, clauses: list[Clause], relations: Collection[str]) -> Iterator[tuple[int, str]]:
    """Lines, and the parents that they name."""
    for clause in clauses:
        line, tag, value = clause
        if tag == "is_a" and "is_a" in relations:
            yield line, _word(path, clause)
        elif tag == "relationship":
            relation, _, target = value.partition(" ")
            if relation in relations:
                yield line, _word(path, (line, tag, target.strip()))


def _word(path: Path, clause: Clause) -> str:
    """An identifier: up to a space, a comment or a modifier."""
    line, tag, value = clause
    found = _WORD.match(value)
    if found is None:
        raise fail(path, line, f"{tag}: expected an identifier, got {value!r:.80}")
    return _unescaped(found[1])


def _text(path: Path, term: str, clauses: list[Clause], definitions: bool) -> str:
    name, definition = term, ""
    for line, tag, value in clauses:
        if tag == "name":
            name = _unescaped(re.split(r"(?<!\\)\s+!|(?<!\\)\s+\{", value)[0].strip()) or term
        elif tag == "def" and definitions:
            quoted = _QUOTED.match(value)
            if quoted is None:
                raise fail(path, line, f"def: expected a text in quotes, got {value!r:.80}")
            definition = _unescaped(quoted[1]).strip()
    return f"{name}: {definition}" if definition else name


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)
