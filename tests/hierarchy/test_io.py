"""Readers of tables, OBO and WordNet's files: what they read, and hostile or broken files."""

from __future__ import annotations

import gzip
import sys
import types
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Memory, sarkar_layout
from poincare_memory.hierarchy.io import (
    Taxonomy,
    from_networkx,
    from_nltk,
    read_edges,
    read_obo,
    read_wordnet,
)
from poincare_memory.hierarchy.io import files as io_files


def assert_names_line(
    read: Callable[[Path], Taxonomy], path: Path, content: bytes, line: int, message: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


# --- tables -------------------------------------------------------------------------------------------


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "edges.tsv"
    path.write_bytes("\ufeffanimal\tdog\r\n\r\nanimal\tcat\n dog \tpoodle\textra\nanimal\tdog\n".encode())
    found = read_edges(path)
    assert found.edges == [("animal", "dog"), ("animal", "cat"), ("dog", "poodle"), ("animal", "dog")]
    assert found.texts == {} and found.nodes == ["animal", "dog", "cat", "poodle"]
    assert read_edges(path, 1, 0).edges[0] == ("dog", "animal")
    packed = tmp_path / "edges.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_edges(packed) == found
    comma = tmp_path / "edges.csv"
    comma.write_text("# from a table\nid;parent\n", encoding="utf-8")
    comma.write_text(
        '# note\nchild,parent,"says, aloud"\n"dog, the",animal,"a ""dog"""\npoodle,"dog, the",\n'
    )
    found = read_edges(comma, "parent", "child", "says, aloud", comment="#")
    assert found.edges == [("animal", "dog, the"), ("dog, the", "poodle")]
    assert found.texts == {"dog, the": 'a "dog"'}
    assert read_edges(comma, 1, 0, header=True, comment="#").edges == found.edges
    bars = tmp_path / "bars.txt"
    bars.write_text("a|b\n")
    assert read_edges(bars, delimiter="|").edges == [("a", "b")]
    quoted = tmp_path / "quotes.tsv"
    quoted.write_text('say "no\tsay "no" now\n')  # tabs have no quotes
    assert read_edges(quoted).edges == [('say "no', 'say "no" now')]


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=8))
def test_any_text_in_a_quoted_table(tmp_path_factory: pytest.TempPathFactory, edges) -> None:
    edges = [tuple(node.strip() for node in edge) for edge in edges]
    edges = [e for e in edges if all(e) and e[0] != e[1] and all(n.isprintable() for n in e)]
    path = tmp_path_factory.mktemp("any") / "edges.csv"
    path.write_text("\n".join(",".join('"' + n.replace('"', '""') + '"' for n in e) for e in edges), "utf-8")
    assert read_edges(path).edges == edges


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"a\tb\nonly\n", 2, "at least 2 columns"),
        (b"a b\n", 1, r"at least 2 columns \('\\t' between\), got 1"),
        (b"a\tb\n\t b\n", 2, "blank"),
        (b"a\tb\n c\tc \n", 2, "node 'c' is its own parent"),
        (b"a\tb\rb\tc\r", 1, "lone carriage return"),
        (b"a\tb\n\na\t\xff\n", 3, "UTF-8"),
        (b"a\tb\0\n", 1, "NUL"),
        (b"a\t" + b"b" * (1 << 20), 1, "longer than"),
        ("a\tb\n".encode("utf-16"), 1, "UTF-8"),
    ],
)
def test_broken_tables_name_their_line(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    assert_names_line(read_edges, tmp_path / "edges.tsv", content, line, message)


def test_broken_quotes_headers_and_arguments(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text('a,b\nc,"d\n' + "e,f\n" * 50_000)
    with pytest.raises(ValueError, match=r"edges\.csv:\d+: (field larger|unexpected end)"):
        read_edges(path)
    path.write_text('a,b\nc,"d" e\n')
    with pytest.raises(ValueError, match=r"edges\.csv:2: "):
        read_edges(path)
    path.write_text("parent,child,child\na,b,c\n")
    with pytest.raises(ValueError, match=r"edges\.csv:1: expected one column 'child', got several"):
        read_edges(path, "parent", "child")
    with pytest.raises(ValueError, match="got none"):
        read_edges(path, "parent", "kid")
    with pytest.raises(ValueError, match="header"):
        read_edges(path, "parent", "child", header=False)
    for name, value in (("delimiter", ",,"), ("delimiter", "\n"), ("parent", -1), ("max_bytes", 0)):
        with pytest.raises(ValueError, match=name):
            read_edges(path, **{name: value})
    path.write_text("b,a\n")
    with pytest.raises(ValueError, match="parent, child: expected two columns, got 1 and 'a'"):
        read_edges(path, 1, "a")
    with pytest.raises(FileNotFoundError):
        read_edges(tmp_path / "none.tsv")
    empty = tmp_path / "empty.tsv"
    empty.touch()
    assert read_edges(empty) == Taxonomy([])


def test_sizes_are_bounded(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.tsv.gz"
    bomb.write_bytes(gzip.compress(b"a\tb\n" * 1_000_000))
    with pytest.raises(ValueError, match=r"bomb.tsv.gz:\d+: the file is larger than max_bytes=100000"):
        read_edges(bomb, max_bytes=100_000)
    with pytest.raises(ValueError, match="larger"):
        io_files.contents(bomb, 100_000)
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(bomb.read_bytes()[:200])
    with pytest.raises(ValueError, match="damaged gzip"):
        read_edges(cut)
    cut.write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match="damaged gzip"):
        read_edges(cut)


def outcome(read) -> str | None:
    try:
        read()
    except ValueError as error:
        return str(error)
    return None


WORDS = [
    b"[Term]",
    b"id:",
    b"is_a:",
    b"a",
    b"00000001",
    b" n ",
    b"@",
    b"|",
    b"\t",
    b",",
    b'"',
    b"\n",
    b"\\",
    b"!",
    b"\xc3",
]


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.binary(max_size=4)), max_size=40), st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, parts, packed) -> None:
    """A reader answers or raises ValueError that names the file; nothing else ever comes of a file."""
    content, folder = b"".join(parts), tmp_path_factory.mktemp("any")
    for name in ("x.tsv", "x.csv", "x.obo", "data.noun", "index.noun", "x.tsv.gz"):
        whole = gzip.compress(content) if name.endswith(".gz") and packed else content
        (folder / name).write_bytes(whole)
    readers = [lambda name=name: read_edges(folder / name) for name in ("x.tsv", "x.csv", "x.tsv.gz")]
    readers += [
        lambda: read_obo(folder / "x.obo", ("is_a", "part_of"), definitions=True),
        lambda: read_wordnet(folder),
    ]
    for read in readers:
        message = outcome(read)
        assert message is None or str(folder) in message


# --- taxonomies ---------------------------------------------------------------------------------------


def test_parts_of_a_taxonomy() -> None:
    taxonomy = Taxonomy(
        [("a", "b"), ("b", "c"), ("x", "c"), ("c", "d"), ("x", "y")], {"c": "C", "alone": "A"}
    )
    assert taxonomy.nodes == ["a", "b", "c", "x", "d", "y", "alone"]
    assert taxonomy.below("b") == Taxonomy([("b", "c"), ("c", "d")], {"c": "C"})
    assert taxonomy.below("alone") == Taxonomy([], {"alone": "A"})
    assert taxonomy.tree() == [("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")]
    assert ("x", "d") in taxonomy.closure() and len(taxonomy.closure()) == 9
    with pytest.raises(KeyError, match="'zz'"):
        taxonomy.below("zz")
    assert Taxonomy([("a", "b"), ("b", "a")]).below("a").nodes == ["a", "b"]


def test_into_a_memory() -> None:
    taxonomy = Taxonomy([("animal", "dog"), ("pet", "dog"), ("animal", "cat")], {"dog": "a loyal canine"})
    tree = taxonomy.tree()
    mem = Memory.from_hierarchy(sarkar_layout(tree, forest=True, dim=3), tree, taxonomy.texts)
    assert mem.get("dog").text == "a loyal canine" and mem.ancestors("dog") == ["animal"]
    assert mem.search("loyal canine", k=1)[0].id == "dog"


def test_networkx() -> None:
    graph = networkx.MultiDiGraph([("animal", "dog"), ("animal", "dog"), ("dog", 7)])
    graph.add_node("alone")
    graph.nodes["dog"]["label"] = "Dog"
    assert from_networkx(graph) == Taxonomy([("animal", "dog"), ("dog", 7)], {"dog": "Dog", "alone": "alone"})
    assert from_networkx(graph, text=None).texts == {"alone": "alone"}
    assert from_networkx(graph.reverse()).edges == [("dog", "animal"), (7, "dog")]
    with pytest.raises(ValueError, match="directed"):
        from_networkx(graph.to_undirected())


# --- OBO ----------------------------------------------------------------------------------------------

OBO = r"""format-version: 1.2
ontology: go
! a comment

[Term]
id: GO:1 ! the root
name: biological process\, in \"quotes\" {source="x"} ! and a comment
def: "Anything that lives \"so to say\"." [GOC:pdt, PMID:1]

[Term]
id: GO:2
name: cellular process
is_a: GO:1 ! biological process
relationship: part_of GO:9 {gci="y"} ! elsewhere

[Typedef]
id: part_of
name: part of
is_a: overlaps

[Term]
id: GO:3
name: obsolete thing
is_a: GO:1
is_obsolete: true

[Term]
id: GO:4
is_a: GO:2 {source="z"}
is_a: GO:1
"""


def test_obo(tmp_path: Path) -> None:
    path = tmp_path / "go.obo"
    path.write_text(OBO)
    found = read_obo(path)
    assert found.edges == [("GO:1", "GO:2"), ("GO:2", "GO:4"), ("GO:1", "GO:4")]
    assert found.texts == {
        "GO:1": 'biological process, in "quotes"',
        "GO:2": "cellular process",
        "GO:4": "GO:4",
    }
    more = read_obo(path, ("is_a", "part_of"), definitions=True, obsolete=True)
    assert set(more.edges) - set(found.edges) == {("GO:9", "GO:2"), ("GO:1", "GO:3")}
    assert more.texts["GO:1"] == 'biological process, in "quotes": Anything that lives "so to say".'
    assert read_obo(path, ["part_of"]).edges == [("GO:9", "GO:2")]
    with pytest.raises(TypeError, match="relations"):
        read_obo(path, "is_a")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("[Term]\nname: x\n", 1, "one id"),
        ("[Term]\nid: a\nid: b\n", 1, "one id"),
        ("[Term]\nid: a\n[Term]\nid: a\n", 3, "already defined"),
        ("[Term\nid: a\n", 1, "stanza"),
        ("[Term]\nid: a\nnonsense\n", 3, "tag: value"),
        ("[Term]\nid: a\nis_a: ! nothing\n", 3, "identifier"),
        ("[Term]\nid: a\n: b\n", 3, "tag: value"),
        ("[Term]\nid: a\nname: x\nis_a: a ! itself\n", 4, "term 'a' is its own parent"),
        ("format-version: 1.2\r[Term]\rid: a\r", 1, "lone carriage return"),
        ("[Term]\nid: a\nis_obsolete: ! unsaid\n", 3, "identifier"),
    ],
)
def test_broken_obo_names_its_line(tmp_path: Path, content: str, line: int, message: str) -> None:
    assert_names_line(read_obo, tmp_path / "x.obo", content.encode(), line, message)


@pytest.mark.parametrize("mark", ["true", "True", "true ! since 2019", 'true {source="x"}'])
def test_an_obsolete_term_is_nobodys_parent(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "x.obo"
    child = "[Term]\nid: b\nis_a: a\nis_a: c\n"
    path.write_text(f"{child}[Term]\nid: a\nis_obsolete: {mark}\n[Term]\nid: c\nis_obsolete: false\n")
    assert read_obo(path) == Taxonomy([("c", "b")], {"b": "b", "c": "c"})
    assert read_obo(path, obsolete=True).edges == [("a", "b"), ("c", "b")]


def test_obo_definitions_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "x.obo"
    path.write_text('[Term]\nid: a\ndef: "open\n')
    with pytest.raises(ValueError, match=r"x\.obo:3: def"):
        read_obo(path, definitions=True)
    path.write_text('[Term]\nid: a\ndef: "' + '\\"' * 100_000 + "\n")  # no backtracking for ever
    with pytest.raises(ValueError, match="def"):
        read_obo(path, definitions=True)


# --- WordNet ------------------------------------------------------------------------------------------

LICENCE = "  1 This is a licence of our own,  \n  2 as WordNet's files begin.  \n"
DATA = LICENCE + (
    "00001740 03 n 01 entity 0 001 ~ 00002137 n 0000 | what exists  \n"
    "00002137 03 n 02 Dog 0 domestic_dog 0 003 @ 00001740 n 0000 %p 00002400 n 0000 ~i 00002684 n 0000 "
    '| a canine; "dog"  \n'
    "00002684 18 n 01 Rex 0 002 @i 00002137 n 0000 @ 00001740 v 0000 | a certain dog  \n"
    "00002400 03 n 01 dog 1 001 @ 00001740 n 0000 | a fire-dog  \n"
)
INDEX = LICENCE + (
    "entity n 1 1 ~ 1 0 00001740  \n"
    "dog n 2 3 @ ~i %p 2 1 00002137 00002400  \n"
    "domestic_dog n 1 1 @ 1 0 00002137  \n"
    "rex n 1 1 @i 1 0 00002684  \n"
)


def dictionary(tmp_path: Path, data: str = DATA, index: str = INDEX, kind: str = "noun") -> Path:
    (tmp_path / f"data.{kind}").write_text(data)
    (tmp_path / f"index.{kind}").write_text(index)
    return tmp_path


def test_wordnet(tmp_path: Path) -> None:
    found = read_wordnet(dictionary(tmp_path))
    assert found.edges == [("entity.n.01", "dog.n.01"), ("dog.n.01", "rex.n.01"), ("entity.n.01", "dog.n.02")]
    assert found.texts["dog.n.01"] == 'Dog, domestic dog: a canine; "dog"'
    assert list(found.texts) == ["entity.n.01", "dog.n.01", "rex.n.01", "dog.n.02"]
    assert len(read_wordnet(tmp_path, instances=False).edges) == 2
    dictionary(
        tmp_path,
        "00000001 29 v 01 go 0 000 02 + 01 00 + 02 00 | move\n",
        "go v 1 0 1 1 00000001\n",
        "verb",
    )
    assert read_wordnet(tmp_path, "v") == Taxonomy([], {"go.v.01": "go: move"})
    with pytest.raises(ValueError, match="pos"):
        read_wordnet(tmp_path, "a")
    with pytest.raises(FileNotFoundError):
        read_wordnet(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "message"),
    [
        ("data", "n 02 Dog", "n 05 Dog", 4, "synset"),
        ("data", "n 02 Dog", "n zz Dog", 4, "synset"),
        ("data", "003 @ 00001740", "004 @ 00001740", 4, "synset"),
        ("data", "00002137 03 n", "2137 03 n", 4, "synset"),
        ("data", "00002137 03 n", "00002137 03 v", 4, "synset"),
        ("data", "00002684 18", "00002137 18", 5, "earlier"),
        ("data", "@ 00001740 n 0000 | a fire", "@ 00001741 n 0000 | a fire", 6, "hypernym"),
        ("data", "00001740 03 n 01 entity", "00001740 03 n 01 thing", 3, "no sense of 'thing'"),
        ("index", "dog n 2 3", "dog n 3 3", 4, "index"),
        ("index", "dog n 2 3", "dog n 2 -9", 4, "index"),
        ("index", "00002137 00002400", "00002137 x", 4, "index"),
    ],
)
def test_broken_wordnet_names_its_line(tmp_path, file, old, new, line, message) -> None:
    parts = {"data": DATA, "index": INDEX}
    assert parts[file].count(old) == 1
    parts[file] = parts[file].replace(old, new)
    with pytest.raises(ValueError, match=message) as caught:
        read_wordnet(dictionary(tmp_path, **parts))
    assert f"{file}.noun:{line}: " in str(caught.value)


def test_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the corpus's own methods: the corpus is not there where tests run."""

    class Synset:
        def __init__(self, name, words, gloss, above=(), kinds=()):
            self._of = {"name": name, "lemma_names": words, "definition": gloss}
            self._of |= {"hypernyms": list(above), "instance_hypernyms": list(kinds)}

        def __getattr__(self, name):
            return lambda: self._of[name]

    entity = Synset("entity.n.01", ["entity"], "what exists")
    dog = Synset("dog.n.01", ["dog", "domestic_dog"], "a canine", above=[entity])
    rex = Synset("rex.n.01", ["Rex"], "", kinds=[dog])
    corpus = types.ModuleType("nltk.corpus")
    corpus.wordnet = types.SimpleNamespace(all_synsets=lambda pos: iter([entity, dog, rex]))
    monkeypatch.setitem(sys.modules, "nltk", types.ModuleType("nltk"))
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)
    found = from_nltk()
    assert found.edges == [("entity.n.01", "dog.n.01"), ("dog.n.01", "rex.n.01")]
    assert found.texts["dog.n.01"] == "dog, domestic dog: a canine" and found.texts["rex.n.01"] == "Rex"
    assert len(from_nltk(instances=False).edges) == 1
    with pytest.raises(ValueError, match="pos"):
        from_nltk("r")
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(ImportError, match=r"poincare-memory\[wordnet\]"):
        from_nltk()


def test_rdf_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from poincare_memory.hierarchy.io import read_skos

    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(ImportError, match=r"poincare-memory\[rdf\]"):
        read_skos(tmp_path / "x.ttl")
