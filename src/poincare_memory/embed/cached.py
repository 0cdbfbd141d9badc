"""An embedder that keeps what another one returned, in an SQLite file."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arguments import integer
from .embedding import as_embeddings, check_embedder, embed_texts, text_list
from .identity import difference, from_text, identity_of, to_text
from .protocol import Embedder, FloatArray

if TYPE_CHECKING:
    import sqlite3

    from .identity import Identity

__all__ = ["CachedEmbedder"]

PATIENCE: Final = 30.0  # seconds to wait for another process

logger = logging.getLogger("poincare_memory")

_LARGEST_DIFFERENCE: Final = 1e-4  # of fingerprints: servers do not give the same bits every day
_AT_ONCE: Final = 500  # variables of one statement: SQLite's smallest limit is 999
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS model (number INTEGER PRIMARY KEY, identity TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS embedding (
    model INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
) WITHOUT ROWID;
"""


class CachedEmbedder:
    """Ask another embedder once for each text, ever.

    Vectors are kept in an SQLite file by the text's digest and by the model's fingerprint: its class, parameters and
    the embedding of a fixed text, for which the embedder is asked once a process. Another model under the same name
    has vectors of its own. Where it cannot be asked at that moment (a server is down), class and parameters must do.

    Threads and processes may share the file. What is embedded is written in parts, so what a broken run had is
    there for the next; a file that cannot be read or written costs a warning, and no embedding.

    Parameters
    ----------
    embedder : Embedder
        The one to ask.
    path : path
        The SQLite file; made where there is none. The texts themselves are not in it.
    batch_size : int, default 256
        How many texts the embedder is asked for between two writes.

    Attributes
    ----------
    hits, misses : int
        How many texts were in the file, and how many were not.

    Raises
    ------
    ValueError
        For a file that is none of these.

    Examples
    --------
    >>> import os, tempfile
    >>> from poincare_memory import HashingEmbedder
    >>> path = os.path.join(tempfile.mkdtemp(), "vectors.db")
    >>> embedder = CachedEmbedder(HashingEmbedder(dim=64), path)
    >>> same = embedder.embed(["green tea", "coffee"]), embedder.embed(["green tea"])
    >>> embedder.hits, embedder.misses, len(embedder)
    (1, 2, 2)
    """

    def __init__(self, embedder: Embedder, path: str | os.PathLike[str], *, batch_size: int = 256) -> None:
        self.embedder = check_embedder(embedder)
        self.path = os.path.abspath(os.fspath(path))
        self.batch_size = integer("batch_size", batch_size, least=1)
        self.hits = self.misses = 0
        self._lock = threading.RLock()
        self._opened: tuple[int, sqlite3.Connection] | None = None
        self._number: int | None = None
        self._connection()

    def __repr__(self) -> str:
        return f"CachedEmbedder({self.embedder!r}, {self.path!r})"

    @property
    def dim(self) -> int:
        """Length of an embedding: that of the embedder."""
        return self.embedder.dim

    @property
    def model_name(self) -> str | None:
        """That of the embedder, where it has one."""
        name = getattr(self.embedder, "model_name", None)
        return name if isinstance(name, str) else None

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of ``texts``, shape (n, dim); the embedder is asked for those it never embedded.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        array of shape (len(texts), dim)
            In the precision of the embedder.

        Raises
        ------
        TypeError
            If ``texts`` is one string.
        """
        listed = text_list(texts)
        known, missing = self._looked_up(listed)
        for start in range(0, len(missing), self.batch_size):
            part = missing[start : start + self.batch_size]
            self._keep(known, part, embed_texts(self.embedder, part))
        return self._rows(listed, known)

    async def aembed(self, texts: Sequence[str]) -> FloatArray:
        """`embed` while the event loop goes on; by the embedder's own `aembed` where it has one.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        array of shape (len(texts), dim)

        Raises
        ------
        TypeError
            If ``texts`` is one string.

        Examples
        --------
        >>> import asyncio, os, tempfile
        >>> from poincare_memory import HashingEmbedder
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.db")
        >>> embedder = CachedEmbedder(HashingEmbedder(dim=64), path)
        >>> asyncio.run(embedder.aembed(["green tea"])).shape
        (1, 64)
        """
        import asyncio

        ask = getattr(self.embedder, "aembed", None)
        if ask is None:
            return await asyncio.to_thread(self.embed, texts)
        listed = text_list(texts)
        known, missing = await asyncio.to_thread(self._looked_up, listed)
        for start in range(0, len(missing), self.batch_size):
            part = missing[start : start + self.batch_size]
            rows = as_embeddings(
                await ask(part), len(part), self.dim, f"{type(self.embedder).__name__}.aembed"
            )
            await asyncio.to_thread(self._keep, known, part, rows)
        return self._rows(listed, known)

    def __len__(self) -> int:
        """How many embeddings of this model the file holds."""
        number = self._model()
        with self._lock:
            asked = "SELECT count(*) FROM embedding WHERE model = ?"
            return int(self._connection().execute(asked, (number,)).fetchone()[0])

    def clear(self) -> None:
        """Forget the embeddings of this model.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import HashingEmbedder
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.db")
        >>> embedder = CachedEmbedder(HashingEmbedder(dim=64), path)
        >>> _ = embedder.embed(["green tea"])
        >>> embedder.clear()
        >>> len(embedder)
        0
        """
        number = self._model()
        with self._lock, self._connection() as connection:
            connection.execute("DELETE FROM embedding WHERE model = ?", (number,))

    def close(self) -> None:
        """Let the file go; it is opened again when it is needed.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import HashingEmbedder
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.db")
        >>> embedder = CachedEmbedder(HashingEmbedder(dim=64), path)
        >>> embedder.close()
        >>> embedder.embed(["green tea"]).shape
        (1, 64)
        """
        with self._lock:
            if self._opened is not None and self._opened[0] == os.getpid():
                self._opened[1].close()
            self._opened = None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_lock"]
        return state | {"_opened": None, "_number": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    # --- what is known ----------------------------------------------------------------------------------

    def _looked_up(self, texts: list[str]) -> tuple[dict[str, FloatArray], list[str]]:
        """The vectors that the file has, and the texts, each once, that it has not."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}, []
        import sqlite3

        known: dict[str, FloatArray] = {}
        try:
            self._look_up(distinct, known)
        except sqlite3.Error as error:  # damaged, or held by another process
            logger.warning("%s: not all embeddings could be read: %s", self.path, error)
        missing = [text for text in distinct if text not in known]
        with self._lock:
            self.misses += len(missing)
            self.hits += len(texts) - len(missing)
        return known, missing

    def _look_up(self, texts: list[str], known: dict[str, FloatArray]) -> None:
        by_digest = {_digest(text): text for text in texts}
        digests = list(by_digest)
        dim = self.dim
        number = self._model()
        with self._lock:
            connection = self._connection()
            for start in range(0, len(digests), _AT_ONCE):
                part = digests[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(part))
                asked = f"SELECT text, vector FROM embedding WHERE model = ? AND text IN ({marks})"
                for digest, kept in connection.execute(asked, (number, *part)):
                    vector = _vector(kept, dim)
                    if vector is not None:
                        known[by_digest[digest]] = vector

    def _keep(self, known: dict[str, FloatArray], texts: list[str], rows: FloatArray) -> None:
        import sqlite3

        known.update(zip(texts, rows, strict=True))
        try:
            number = self._model()
            new = [(number, _digest(text), _kept(row)) for text, row in zip(texts, rows, strict=True)]
            with self._lock, self._connection() as connection:
                connection.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?)", new)
        except sqlite3.Error as error:
            logger.warning("%s: %d embeddings could not be kept: %s", self.path, len(texts), error)

    def _rows(self, texts: list[str], known: dict[str, FloatArray]) -> FloatArray:
        if not texts:
            return np.empty((0, self.dim))
        return np.stack([known[text] for text in texts])

    # --- the file ---------------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        """The connection of this process: a forked child has its own."""
        import sqlite3

        if self._opened is not None and self._opened[0] == os.getpid():
            return self._opened[1]
        if os.path.exists(self.path) and os.path.getsize(self.path) == 1:
            # SQLite takes one byte for no file yet, and writes over it
            raise ValueError(f"{self.path}: no file of embeddings: it holds a single byte")
        connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
            connection.execute("SELECT model, text, vector FROM embedding LIMIT 0")
        except sqlite3.DatabaseError as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError) and "no such column" not in str(error):
                raise
            raise ValueError(f"{self.path}: no file of embeddings: {error}") from error
        self._opened = (os.getpid(), connection)
        weakref.finalize(self, connection.close)
        return connection

    def _model(self) -> int:
        """Number of this embedder in the file; call it with no lock held, since it asks the embedder."""
        if self._number is not None:
            return self._number
        mine = identity_of(self.embedder)
        with self._lock, self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")  # two processes do not add one model twice
            for known, kept in connection.execute("SELECT number, identity FROM model ORDER BY number"):
                if _same(from_text(kept), mine):
                    number = known
                    break
            else:
                number = connection.execute(
                    "INSERT INTO model (identity) VALUES (?)", (to_text(mine),)
                ).lastrowid
        self._number = int(number)
        return self._number


def _same(kept: Identity | None, mine: Identity) -> bool:
    if kept is None or kept["class"] != mine["class"] or kept["parameters"] != mine["parameters"]:
        return False
    return difference(kept, mine, _LARGEST_DIFFERENCE) is None


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _kept(row: FloatArray) -> bytes:
    """A vector as bytes: its type, and its numbers."""
    kind = b"f" if row.dtype == np.float32 else b"d"
    return kind + row.astype("<f4" if kind == b"f" else "<f8").tobytes()


def _vector(kept: Any, dim: int) -> FloatArray | None:
    """What `_kept` wrote; None for anything else."""
    if not isinstance(kept, bytes):
        return None
    width = {b"f": 4, b"d": 8}.get(kept[:1])
    if width is None or len(kept) != 1 + width * dim:
        return None
    vector = np.frombuffer(kept, f"<f{width}", offset=1)
    return vector.astype(np.float32 if width == 4 else np.float64) if np.isfinite(vector).all() else None


def _write_ahead(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for another process that is making the same change: it says "locked" at once."""
    import sqlite3

    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
        time.sleep(0.01)
