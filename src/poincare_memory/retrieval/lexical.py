"""Words of texts, and how well they match a query: BM25 by the FTS5 of SQLite, in memory."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordTable", "lexical_available", "match_expression", "query_words", "spaced"]

# Scripts that write no spaces: every character is a word of its own.
_UNSPACED: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)
_WORD: Final = re.compile(r"[^\W_]+")
MOST_WORDS: Final = 256  # of a query; SQLite limits the depth of an expression
APPLICATION: Final = 0x706D7764  # "pmwd": tells our files from others'
WORDS_VERSION: Final = 1  # of what is done to words before they are stored
FEW_TEXTS: Final = 20_000  # of which a search scores every match, however common the word: some 15 ms
COUNT_MATCHES: Final = "SELECT COUNT(*) FROM words WHERE words"
TOKENIZER: Final = "porter unicode61 remove_diacritics 2"


class WordTable:
    """Rows of text, weighed against queries by Okapi BM25 (k1 = 1.2, b = 0.75; Robertson & Zaragoza, 2009).

    Words are folded (case, diacritics) and stemmed (Porter, English). A word in more than half of the texts tells
    none of them apart: it is looked for only where a query has no rarer one, and among more than 20,000 texts not even
    then (BM25 weighs it a millionth, and each of those texts would have to be scored). Not for several threads at once.

    Parameters
    ----------
    file : path, optional
        Where the table lives, alone with it; in memory by default.

    Raises
    ------
    ImportError
        Where Python's SQLite was built without FTS5.
    sqlite3.Error
        Where `file` is in use, no table of words, or cannot be written.

    Examples
    --------
    >>> from poincare_memory.retrieval.lexical import WordTable
    >>> table = WordTable()
    >>> table.put([(0, "Green teas of Uji"), (1, "Tax filing")])
    >>> rows, scores = table.scores("tea?")
    >>> rows.tolist()
    [0]
    """

    def __init__(self, file: str | os.PathLike[str] | None = None) -> None:
        import sqlite3

        where = ":memory:" if file is None else os.fspath(file)
        self._connection = sqlite3.connect(where, timeout=0, isolation_level=None, check_same_thread=False)
        self._close = weakref.finalize(self, self._connection.close)
        self._texts: int | None = None  # how many; None: to be counted
        try:
            if file is not None and self._prepare_file():
                return
            self._connection.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, tokenize='{TOKENIZER}')")
        except sqlite3.OperationalError as error:
            self._close()
            if "fts5" not in str(error):
                raise
            raise ImportError(
                f"lexical_coef needs SQLite with FTS5, which this Python's SQLite {sqlite3.sqlite_version} lacks "
                f"({error}); use a Python whose sqlite3 has it, or lexical_coef=0"
            ) from error
        except BaseException:
            self._close()
            raise

    def _prepare_file(self) -> bool:
        """Whether the table is there already; one of another kind is emptied."""
        import sqlite3

        run = self._connection.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        found = run("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        (kind,), (version,) = run("PRAGMA application_id").fetchone(), run("PRAGMA user_version").fetchone()
        if found and kind != APPLICATION:
            raise sqlite3.DatabaseError("another application's database")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        if found and version == WORDS_VERSION:
            return True
        run(f"PRAGMA application_id = {APPLICATION}")
        run(f"PRAGMA user_version = {WORDS_VERSION}")
        if found:
            run("DROP TABLE words")
        return False

    def texts(self) -> Iterator[tuple[int, str]]:
        """Every row and its text, as `spaced` gives it."""
        return self._connection.execute("SELECT rowid, text FROM words")

    def put(self, rows: Iterable[tuple[int, str]]) -> None:
        """Add texts; a row must not be there."""
        self._change("INSERT INTO words (rowid, text) VALUES (?, ?)", ((row, spaced(t)) for row, t in rows))

    def drop(self, rows: Iterable[int]) -> None:
        """Forget rows; those that are not there are ignored."""
        self._change("DELETE FROM words WHERE rowid = ?", ((row,) for row in rows))

    def _change(self, statement: str, values: Iterable[tuple[object, ...]]) -> None:
        self._texts = None
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany(statement, values)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def scores(self, query: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows with a word of the query, ascending, and their BM25 scores, larger for a better match."""
        words = self._telling(query_words(query))
        if not words:
            return np.zeros(0, np.int64), np.zeros(0)
        expression = match_expression(words)
        found = self._connection.execute(
            "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY rowid", (expression,)
        ).fetchall()
        pairs = np.array(found, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0].astype(np.int64), np.ascontiguousarray(pairs[:, 1])

    def _telling(self, words: list[str]) -> list[str]:
        """The words that tell texts apart; where none does, all of them among few texts, and none among many.

        Okapi gives a word in more than half of the texts no weight (FTS5: a millionth), yet each of those texts would
        have to be scored.
        """
        if self._texts is None:
            self._texts = self._count("SELECT COUNT(*) FROM words_docsize")
        few = self._texts <= FEW_TEXTS
        if few and len(words) < 2:
            return words
        half = self._texts / 2
        counts = [self._count(f"{COUNT_MATCHES} MATCH ?", match_expression([word])) for word in words]
        if not any(0 < count <= half for count in counts):
            return words if few else []
        return [word for word, count in zip(words, counts, strict=True) if count <= half]

    def _count(self, statement: str, *values: str) -> int:
        return int(self._connection.execute(statement, values).fetchone()[0])

    def close(self) -> None:
        """Let the memory, or the file, go; so does the last reference to the table."""
        self._close()

    def abandon(self) -> None:
        """Never close it, not even at exit."""
        import ctypes

        self._close.detach()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))


def spaced(text: str) -> str:
    """`text` with spaces around the characters of scripts that write none; what SQLite cannot hold left out.

    Examples
    --------
    >>> spaced("tea").split(), spaced("緑茶 tea").split()
    (['tea'], ['緑', '茶', 'tea'])
    """
    if text.isascii():
        return text.replace("\0", " ")
    return _UNSPACED.sub(r" \1 ", text.replace("\0", " ").encode("utf-8", "ignore").decode("utf-8"))


def query_words(query: str) -> list[str]:
    """The words of a query, each once.

    Examples
    --------
    >>> query_words('tea AND "NOT* tea')
    ['tea', 'AND', 'NOT']
    """
    return list(dict.fromkeys(_WORD.findall(spaced(query))))[:MOST_WORDS]


def match_expression(words: Iterable[str]) -> str:
    """An FTS5 expression that any of the words matches.

    Only letters and digits reach it, each word in quotes: nothing of FTS5's own syntax means anything.

    Examples
    --------
    >>> match_expression(["tea", "AND", "NOT"])
    '"tea" OR "AND" OR "NOT"'
    """
    return " OR ".join(f'"{word}"' for word in words)


def lexical_available() -> bool:
    """Whether this Python's SQLite has FTS5."""
    try:
        WordTable().close()
    except ImportError:
        return False
    return True
