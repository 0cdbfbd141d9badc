"""SKOS thesauri and the classes of OWL ontologies, out of RDF/XML, Turtle and N-Triples; needs rdflib."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal
from xml.parsers import expat

from .files import MOST_BYTES, Path, contents
from .taxonomy import Taxonomy

if TYPE_CHECKING:
    from rdflib import Graph

__all__ = ["read_owl", "read_skos"]

Format = Literal["xml", "turtle", "nt"]

_SUFFIXES: Final[dict[str, Format]] = {
    ".rdf": "xml", ".owl": "xml", ".xml": "xml", ".ttl": "turtle", ".turtle": "turtle", ".nt": "nt"
}  # fmt: skip
_SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
_OWL: Final = "http://www.w3.org/2002/07/owl#"
_RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def read_skos(
    path: Path, *, format: Format | None = None, language: str = "en", max_bytes: int = MOST_BYTES
) -> Taxonomy[str]:
    """Read the concepts of a SKOS thesaurus: `skos:broader` and `skos:narrower`.

    Parameters
    ----------
    path : path
        ``.gz`` is unpacked on the way.
    format : {"xml", "turtle", "nt"}, optional
        By default by the suffix: .rdf, .owl and .xml, .ttl and .turtle, .nt.
    language : str, default "en"
        Of the preferred labels; where there is none in it, one without a language, then any.
    max_bytes : int, default 2**30
        Larger files, unpacked, are refused. A graph in memory takes several times its file.

    Returns
    -------
    Taxonomy
        Nodes are IRIs; edges and texts in their order.

    Raises
    ------
    ImportError
        Without rdflib: ``pip install "poincare-memory[rdf]"``.
    ValueError
        Naming the file, for what cannot be parsed, or XML that declares entities (nothing is ever expanded or fetched).

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("pets.ttl").write_text('''
    ... @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    ... @prefix : <http://example.org/> .
    ... :dog a skos:Concept ; skos:prefLabel "dog"@en ; skos:broader :animal .
    ... ''')
    >>> read_skos("pets.ttl").edges
    [('http://example.org/animal', 'http://example.org/dog')]
    """
    graph = _graph(path, format, max_bytes)
    edges = {(parent, child) for child, parent in _pairs(graph, _SKOS + "broader")}
    edges |= set(_pairs(graph, _SKOS + "narrower"))
    concepts = _instances(graph, [_SKOS + "Concept"])
    return _taxonomy(graph, edges, concepts, [_SKOS + "prefLabel"], language)


def read_owl(
    path: Path, *, format: Format | None = None, language: str = "en", max_bytes: int = MOST_BYTES
) -> Taxonomy[str]:
    """Read the named classes of an ontology: `rdfs:subClassOf`.

    Restrictions and other anonymous classes, deprecated classes and `owl:Thing` are left out.

    Parameters
    ----------
    path, format, language, max_bytes
        As of :func:`read_skos`; texts are `rdfs:label`, or `skos:prefLabel`.

    Returns
    -------
    Taxonomy
        Nodes are IRIs; edges and texts in their order.

    Raises
    ------
    ImportError, ValueError
        As :func:`read_skos`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("pets.nt").write_text(
    ...     "<http://e.org/Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e.org/Animal> ."
    ... )
    >>> read_owl("pets.nt").edges
    [('http://e.org/Animal', 'http://e.org/Dog')]
    """
    graph = _graph(path, format, max_bytes)
    out = {_OWL + "Thing", _OWL + "Nothing", *_deprecated(graph)}
    edges = {
        (parent, child)
        for child, parent in _pairs(graph, _RDFS + "subClassOf")
        if parent != child and child not in out and parent not in out
    }
    classes = _instances(graph, [_OWL + "Class", _RDFS + "Class"]) - out
    return _taxonomy(graph, edges, classes, [_RDFS + "label", _SKOS + "prefLabel"], language)


def _graph(path: Path, format: Format | None, max_bytes: int) -> Graph:
    try:
        import rdflib
    except ImportError as error:
        raise ImportError('reading RDF needs rdflib: pip install "poincare-memory[rdf]"') from error
    name = os.fspath(path)
    stem = name.lower().removesuffix(".gz")
    kind = _SUFFIXES.get(os.path.splitext(stem)[1]) if format is None else format
    if kind not in ("xml", "turtle", "nt"):
        raise ValueError(f'{name}: format: expected "xml", "turtle" or "nt", got {kind!r}')
    data = contents(path, max_bytes)
    if kind == "xml":
        _refuse_entities(name, data)
    graph = rdflib.Graph(bind_namespaces="none")
    try:
        graph.parse(io.BytesIO(data), format=kind, publicID="file:///")
    except Exception as error:  # each of rdflib's parsers has its own, RecursionError included
        where = getattr(error, "lines", None)
        line = f":{where + 1}" if isinstance(where, int) else ""
        raise ValueError(f"{name}{line}: not {kind}: {type(error).__name__}: {str(error)[:300]}") from error
    return graph


class _Seen(Exception):
    """The first element: nothing is declared after it."""


def _refuse_entities(name: str, data: bytes) -> None:
    """A declared entity can expand to anything, or be another file."""
    parser = expat.ParserCreate()

    def refuse(*declaration: Any) -> None:
        raise ValueError(
            f"{name}:{parser.CurrentLineNumber}: the file declares entities or an external DTD "
            f"({declaration[0]!r:.80}), which are not expanded; write it out without them, or as Turtle"
        )

    def doctype(root: str, system: str | None, public: str | None, internal: bool) -> None:
        if system or public:
            refuse(system or public)

    def stop(*_: Any) -> None:
        raise _Seen

    parser.EntityDeclHandler = refuse
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = stop
    try:
        parser.Parse(data, True)
    except _Seen:
        pass
    except expat.ExpatError as error:
        raise ValueError(f"{name}:{error.lineno}: not xml: {error}") from None


def _pairs(graph: Graph, predicate: str) -> Iterable[tuple[str, str]]:
    from rdflib import URIRef

    for subject, object in graph.subject_objects(URIRef(predicate)):
        if isinstance(subject, URIRef) and isinstance(object, URIRef):
            yield str(subject), str(object)


def _instances(graph: Graph, classes: list[str]) -> set[str]:
    return {subject for subject, kind in _pairs(graph, _TYPE) if kind in classes}


def _deprecated(graph: Graph) -> set[str]:
    from rdflib import Literal as RdfLiteral
    from rdflib import URIRef

    return {
        str(subject)
        for subject, value in graph.subject_objects(URIRef(_OWL + "deprecated"))
        if isinstance(value, RdfLiteral) and str(value).lower() in ("true", "1")
    }


def _taxonomy(
    graph: Graph, edges: set[tuple[str, str]], nodes: set[str], labels: list[str], language: str
) -> Taxonomy[str]:
    from rdflib import Literal as RdfLiteral
    from rdflib import URIRef

    known = nodes.union(*edges) if edges else nodes
    best: dict[str, tuple[int, int, str, str]] = {}
    for order, label in enumerate(labels):
        for subject, value in graph.subject_objects(URIRef(label)):
            if str(subject) not in known or not isinstance(value, RdfLiteral) or not str(value).strip():
                continue
            spoken = (value.language or "").lower()
            rank = (_distance(spoken, language.lower()), order, spoken, str(value).strip())
            best[str(subject)] = min(rank, best.get(str(subject), rank))
    texts = {node: best[node][-1] if node in best else node for node in sorted(nodes | best.keys())}
    return Taxonomy(sorted(edges), texts)


def _distance(spoken: str, wanted: str) -> int:
    if spoken == wanted:
        return 0
    if spoken.startswith(wanted + "-"):
        return 1
    return 2 if not spoken else 3
