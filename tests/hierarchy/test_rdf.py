"""SKOS and OWL, well-made and hostile."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hash_seeds import answers_under_seeds
from poincare_memory.hierarchy.io import read_owl, read_skos

pytest.importorskip("rdflib", reason="the reader of RDF is an extra")
# rdflib's parsers use what pyparsing and Python have deprecated
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:animal a skos:Concept ; skos:prefLabel "Tier"@de, "animal"@en ; skos:narrower :cat .
:dog a skos:Concept ; skos:broader :animal, :pet ; skos:prefLabel "dog"@en-GB, "chien"@fr ; skos:altLabel "hound"@en .
:cat a skos:Concept ; skos:broader :animal ; skos:prefLabel "Katze"@de, "chat"@fr .
:pet a skos:Concept ; skos:prefLabel "pet" .
:alone a skos:Concept .
:dog skos:broader [ a skos:Concept ] .
"""
OWL = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
         xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="http://example.org/">
  <owl:Class rdf:about="http://example.org/animal">
    <rdfs:label>animal</rdfs:label>
    <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/>
  </owl:Class>
  <owl:Class rdf:about="http://example.org/dog">
    <rdfs:label xml:lang="en">dog</rdfs:label>
    <rdfs:subClassOf rdf:resource="http://example.org/animal"/>
    <rdfs:subClassOf rdf:resource="http://example.org/dog"/>
    <rdfs:subClassOf>
      <owl:Restriction><owl:onProperty rdf:resource="http://example.org/has"/></owl:Restriction>
    </rdfs:subClassOf>
  </owl:Class>
  <owl:Class rdf:about="http://example.org/old">
    <rdfs:subClassOf rdf:resource="http://example.org/animal"/>
    <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
  </owl:Class>
  <owl:ObjectProperty rdf:about="http://example.org/has"><rdfs:label>has</rdfs:label></owl:ObjectProperty>
</rdf:RDF>
"""


def iri(name: str) -> str:
    return f"http://example.org/{name}"


def test_skos(tmp_path: Path) -> None:
    path = tmp_path / "pets.ttl"
    path.write_text(SKOS, encoding="utf-8")
    found = read_skos(path)
    assert found.edges == [
        (iri(p), iri(c)) for p, c in (("animal", "cat"), ("animal", "dog"), ("pet", "dog"))
    ]
    texts = {"alone": iri("alone"), "animal": "animal", "cat": "Katze", "dog": "dog", "pet": "pet"}
    assert found.texts == {iri(node): text for node, text in texts.items()}
    assert list(found.texts) == sorted(found.texts)
    french = read_skos(path, language="fr").texts
    assert (french[iri("dog")], french[iri("cat")], french[iri("pet")]) == ("chien", "chat", "pet")
    packed = tmp_path / "pets.ttl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_skos(packed) == found
    other = tmp_path / "pets.data"
    other.write_bytes(path.read_bytes())
    assert read_skos(other, format="turtle") == found
    with pytest.raises(ValueError, match=r"pets\.data: format"):
        read_skos(other)


def test_owl(tmp_path: Path) -> None:
    path = tmp_path / "pets.owl"
    path.write_text(OWL)
    found = read_owl(path)
    assert found.edges == [(iri("animal"), iri("dog"))]
    assert found.texts == {iri("animal"): "animal", iri("dog"): "dog"}


def test_the_order_does_not_depend_on_hashes(tmp_path: Path) -> None:
    path = tmp_path / "pets.ttl"
    path.write_text(SKOS, encoding="utf-8")
    code = f"from poincare_memory.hierarchy.io import read_skos\nprint(read_skos({str(path)!r}))"
    assert len(answers_under_seeds(code, "0", "1")) == 1


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 20))
BODY = OWL.split("?>")[1]


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE rdf:RDF [<!ENTITY l0 "ha">{LAUGHS}]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>',
        '<!DOCTYPE rdf:RDF SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE rdf:RDF PUBLIC "x" "http://127.0.0.1:9/x.dtd">',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_nothing_is_expanded_or_fetched(tmp_path: Path, doctype: str, encoding: str) -> None:
    path = tmp_path / "bad.owl"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{doctype}{BODY}'.encode(encoding))
    with pytest.raises(ValueError, match=r"bad\.owl:1: the file declares entities"):
        read_owl(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.owl", "<rdf:RDF"),
        ("x.owl", ""),
        ("x.owl", "<a><b></a>"),
        ("x.ttl", "<a> <b> ."),
        ("x.ttl", "<a> <b> " + "[ <c> " * 20_000),
        ("x.nt", "<http://a> <http://b> nonsense .\n"),
    ],
)
def test_broken_files_are_value_errors(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=r"x\.\w+(:\d+)?: not (xml|turtle|nt)"):
        read_owl(path)


def test_sizes_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl.gz"
    path.write_bytes(gzip.compress(b"# nothing\n" * 1_000_000))
    with pytest.raises(ValueError, match="larger than max_bytes=1000"):
        read_skos(path, max_bytes=1000)
