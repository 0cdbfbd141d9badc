"""WordNet: its own dict files, or NLTK's corpus."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from .files import MOST_BYTES, Path, fail, lines_of
from .taxonomy import Taxonomy

__all__ = ["from_nltk", "read_wordnet"]

PartOfSpeech = Literal["n", "v"]
_SUFFIXES: Final = {"n": "noun", "v": "verb"}


@dataclass(slots=True)
class _Synset:
    line: int
    words: list[str]
    parents: list[str]  # offsets
    gloss: str


def read_wordnet(
    directory: Path, pos: PartOfSpeech = "n", *, instances: bool = True, max_bytes: int = MOST_BYTES
) -> Taxonomy[str]:
    """Read nouns or verbs out of WordNet's own files (``data.noun`` and ``index.noun``; Debian: wordnet-base).

    Parameters
    ----------
    directory : path
        Where the files lie, such as ``/usr/share/wordnet``.
    pos : {"n", "v"}, default "n"
        Nouns or verbs; the other parts of speech have no hypernyms.
    instances : bool, default True
        Count instances (Einstein, the Alps) as children of what they are instances of.
    max_bytes : int, default 2**30
        Larger files are refused.

    Returns
    -------
    Taxonomy
        Nodes are named as in NLTK (``"dog.n.01"``: first word, part of speech, sense) in the order of the file;
        texts are all words and the gloss. WordNet 3.0 has 82,115 nouns and 84,427 edges between them.

    Raises
    ------
    FileNotFoundError
        If one of the two files is missing.
    ValueError
        Naming file and line, for what is none of WordNet's files.

    Examples
    --------
    >>> taxonomy = read_wordnet("/usr/share/wordnet")  # doctest: +SKIP
    >>> len(taxonomy.edges)  # doctest: +SKIP
    84427
    """
    if pos not in _SUFFIXES:
        raise ValueError(f'pos: expected "n" or "v", got {pos!r}')
    path = os.path.join(directory, f"data.{_SUFFIXES[pos]}")
    senses = _senses(os.path.join(directory, f"index.{_SUFFIXES[pos]}"), max_bytes)
    synsets = dict(_synsets(path, pos, instances, max_bytes))
    names = {}
    for offset, synset in synsets.items():
        lemma = synset.words[0].lower()
        numbers = senses.get(lemma, [])
        if offset not in numbers:
            raise fail(path, synset.line, f"the index has no sense of {lemma!r:.80} with offset {offset}")
        names[offset] = f"{lemma}.{pos}.{numbers.index(offset) + 1:02}"
    edges, texts = [], {}
    for offset, synset in synsets.items():
        texts[names[offset]] = _text(synset.words, synset.gloss)
        for parent in synset.parents:
            if parent not in names:
                raise fail(path, synset.line, f"no synset has the offset {parent} of a hypernym")
            edges.append((names[parent], names[offset]))
    return Taxonomy(edges, texts)


def from_nltk(pos: PartOfSpeech = "n", *, instances: bool = True) -> Taxonomy[str]:
    """The same out of NLTK's WordNet corpus (``nltk.download("wordnet")``).

    Parameters
    ----------
    pos, instances
        As of :func:`read_wordnet`.

    Returns
    -------
    Taxonomy
        As of :func:`read_wordnet`, in the order of the corpus.

    Raises
    ------
    ImportError
        Without nltk: ``pip install "poincare-memory[wordnet]"``.
    LookupError
        From NLTK, where the corpus is not there.

    Examples
    --------
    >>> taxonomy = from_nltk()  # doctest: +SKIP
    >>> taxonomy.texts["dog.n.01"][:31]  # doctest: +SKIP
    'dog, domestic dog, Canis famili'
    """
    if pos not in _SUFFIXES:
        raise ValueError(f'pos: expected "n" or "v", got {pos!r}')
    try:
        from nltk.corpus import wordnet
    except ImportError as error:
        raise ImportError('NLTK\'s WordNet needs nltk: pip install "poincare-memory[wordnet]"') from error
    edges, texts = [], {}
    for synset in wordnet.all_synsets(pos):
        texts[synset.name()] = _text(synset.lemma_names(), synset.definition())
        above = synset.hypernyms() + (synset.instance_hypernyms() if instances else [])
        edges += [(parent.name(), synset.name()) for parent in above]
    return Taxonomy(edges, texts)


def _text(words: list[str], gloss: str) -> str:
    named = ", ".join(word.replace("_", " ") for word in words)
    return f"{named}: {gloss}" if gloss else named


def _records(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Lines but for the licence, each of which begins with spaces."""
    for number, line in lines_of(path, max_bytes):
        if line.strip() and not line.startswith("  "):
            yield number, line


def _senses(path: Path, max_bytes: int) -> dict[str, list[str]]:
    """Offsets of the synsets of every lemma, the first sense first."""
    senses = {}
    for number, line in _records(path, max_bytes):
        fields = line.split()
        try:
            count, pointers = int(fields[2]), int(fields[3])
            offsets = fields[6 + pointers :]
            sound = count == len(offsets) > 0 and int(fields[4 + pointers]) == count
        except (IndexError, ValueError):
            sound, offsets = False, []
        if not sound or not all(_is_offset(offset) for offset in offsets):
            raise fail(path, number, f"expected a line of WordNet's index, got {line!r:.80}")
        senses[fields[0]] = offsets
    return senses


def _synsets(path: Path, pos: str, instances: bool, max_bytes: int) -> Iterator[tuple[str, _Synset]]:
    kinds = ("@", "@i") if instances else ("@",)
    seen = set()
    for number, line in _records(path, max_bytes):
        head, _, gloss = line.partition("|")
        fields = head.split()
        try:
            offset, count = fields[0], int(fields[3], 16)
            words = fields[4 : 4 + 2 * count : 2]
            at = 4 + 2 * count
            pointers = [fields[at + 1 + 4 * i : at + 5 + 4 * i] for i in range(int(fields[at]))]
            sound = len(words) == count > 0 and all(len(pointer) == 4 for pointer in pointers)
        except (IndexError, ValueError):
            sound, offset, words, pointers = False, "", [], []
        if not sound or not _is_offset(offset) or fields[2] != pos:
            raise fail(path, number, f"expected a synset of WordNet's data, got {line!r:.80}")
        if offset in seen:
            raise fail(path, number, f"the offset {offset} is that of an earlier synset")
        seen.add(offset)
        parents = [target for kind, target, part, _ in pointers if kind in kinds and part == pos]
        yield offset, _Synset(number, words, parents, gloss.strip())


def _is_offset(text: str) -> bool:
    return len(text) == 8 and text.isascii() and text.isdigit()
