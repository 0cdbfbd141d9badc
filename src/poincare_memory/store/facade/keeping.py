"""Methods of `Memory` that keep it in files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ...progress import Progress
from .base import Facade

if TYPE_CHECKING:
    from ...embed.base import Embedder
    from ...temporal.policies import DecayPolicy
    from ..memory import Memory
    from ..room import Precision
    from .base import Path


class Keeping(Facade):
    """Files that a memory is saved to, loaded from or lives in."""

    def save(self, path: Path) -> None:
        """Write everything to an SQLite file, in one step: an older file stays until the new one is whole.

        Parameters
        ----------
        path : path
            The file; a store that is there is replaced, anything else is left alone.

        Raises
        ------
        ValueError
            Where `path` holds something that is no store.
        OSError
            Where the file cannot be written; what was there is there still.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> mem = Memory()
        >>> _ = mem.add("Prefers tea", id="tea")
        >>> mem.save(path)
        >>> Memory.load(path).get("tea").text
        'Prefers tea'
        """
        from .. import sqlite

        sqlite.save(self._store, path)

    def backup(self, path: Path) -> None:
        """Copy a live store's file, whole and consistent, while threads and processes go on using it.

        The copy takes the place of `path` in one step; `load` and `open` read it. Of a memory without a file: `save`.

        Parameters
        ----------
        path : path
            Another file than the store's own.

        Raises
        ------
        ValueError
            Where `path` is the store's own file, or holds something that is no store.
        OSError
            Where the copy cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> with Memory.open(path) as mem:
        ...     _ = mem.add("Prefers tea", id="tea")
        ...     mem.backup(path + ".copy")
        >>> len(Memory.load(path + ".copy"))
        1
        """
        from .. import sqlite

        sqlite.backup(self._store, path)

    def compact(self) -> None:
        """Give back the room that removed memories took, on disk and in memory.

        Raises
        ------
        StoreBusyError
            Where another process keeps the file (an OSError).

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> _ = mem.add_many([{"text": "tea", "id": "tea"}, {"text": "coffee", "id": "coffee"}])
        >>> mem.remove("tea")
        >>> mem.compact()
        >>> mem.ids
        ['coffee']
        """
        self._store.compact()

    @classmethod
    def load(
        cls,
        path: Path,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
        *,
        precision: Precision = "full",
    ) -> Memory:
        """Read a file that `save` wrote.

        The hashing embedder and built-in policies are restored; pass any other embedder or policy again.

        Parameters
        ----------
        path : path
            The file, which is only read.
        embedder, decay : optional
            What made the vectors, and the policy; needed where the file cannot tell, see above.
        clock : callable, optional
            Gives the present as a datetime; the system's clock by default.
        precision : {"full", "compact"}, keyword-only, default "full"
            Where vectors are, as in `Memory`.

        Returns
        -------
        Memory
            In memory; edits do not reach the file (`open` gives one whose edits do).

        Raises
        ------
        FileNotFoundError
            Where there is no file.
        ValueError
            For a file that is none of ours, damaged, or of another dimension.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> mem = Memory()
        >>> _ = mem.add("Prefers tea", id="tea")
        >>> mem.save(path)
        >>> Memory.load(path).ids
        ['tea']
        """
        from .. import sqlite

        return cls._of(sqlite.load(path, embedder=embedder, decay=decay, clock=clock, precision=precision))

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        embedder: Embedder | None = None,
        decay: DecayPolicy | None = None,
        clock: Callable[[], datetime] | None = None,
        create: bool = True,
        synchronous: Literal["off", "normal", "full"] = "normal",
        busy_timeout: float = 5.0,
        history: bool = False,
        reembed: bool = False,
        progress: Progress = None,
        precision: Precision = "full",
        **settings: Any,
    ) -> Memory:
        """A memory that lives in a file: what an edit returned from, is on disk.

        Several processes may have the same file open: writers queue, and each sees what the others wrote at its
        next call. The file is one of format 1 with tables of ours beside it, so `load` reads it too. A file that is
        no good store, or another than was asked for, is left as it is.

        A record's `meta` that is changed in place is written at the next call of anything (where thousands of such
        dicts are held: some calls later). If another process wrote that memory's metadata first, its change stands.

        Parameters
        ----------
        path : path
            An SQLite file, made where there is none; one that `save` wrote is welcome.
        embedder, decay, clock : optional
            As for `load`. The file tells whose its vectors are (class, parameters and the embedding of a fixed
            text); another embedder is an error. A decay policy that is passed holds for this memory, whatever
            the file says.
        create : bool, default True
            False: FileNotFoundError where there is no file.
        synchronous : {"normal", "full", "off"}, default "normal"
            "normal": what was written survives the death of the process (SIGKILL); "full": and of the machine
            (power loss), at the price of waiting for the disk in every edit; "off": neither is promised.
        busy_timeout : float, default 5.0
            Seconds that an edit waits while other processes write.
        history : bool, default False
            From now on keep what memories were before they were changed or removed, for `history` and
            ``search(as_of=...)``. A file that does so goes on doing it.
        reembed : bool, default False
            Where the memories were embedded by another embedder, embed all texts anew and place them, instead of
            raising: all of them or, on an error, none.
        progress : callable or bool, optional
            Of `reembed`: True for a bar (``pip install "poincare-memory[progress]"``), or a function of how many texts
            are done and how many there are. By default a bar where it is installed and errors go to a terminal.
        precision : {"full", "compact"}, keyword-only, default "full"
            Where vectors are, as in `Memory`; those of a compact one go to an unnamed file in the folder of `path`.
        **settings
            Of a new store: curvature, base_depth, depth_step, inherit, cone_constrained, cone_k, metric,
            time_coef, depth_bias, lexical_coef, as in `Memory`. For a store that exists they must be those it has.

        Returns
        -------
        Memory
            A context manager, which closes it.

        Raises
        ------
        FileNotFoundError
            Where there is no such folder, or no file and `create` is False.
        ValueError
            For a file that is none of ours, damaged, or made with other settings or another embedder.
        StoreWriteError
            Where the file cannot be written (an OSError).

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> with Memory.open(path) as mem:
        ...     _ = mem.add("Prefers tea", id="tea")
        >>> with Memory.open(path) as mem:
        ...     mem.get("tea").text
        'Prefers tea'
        """
        from .. import live
        from ..graph_file import restore_index

        store = live.open_store(
            path,
            embedder=embedder,
            decay=decay,
            clock=clock,
            create=create,
            synchronous=synchronous,
            busy_timeout=busy_timeout,
            history=history,
            reembed=reembed,
            progress=progress,
            precision=precision,
            settings=settings,
        )
        restore_index(store)
        return cls._of(store)

    def close(self) -> None:
        """Write what waits (counted accesses, metadata changed in place) and let the file go.

        Whatever is called afterwards raises `StoreClosedError`, but for `close`, which does nothing then.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> mem = Memory.open(path)
        >>> _ = mem.add("Prefers tea")
        >>> mem.close()
        """
        if self._store.index is not None and not self._store.columns.lock.held_by_me():
            from ..graph_file import keep_graphs

            keep_graphs(self._store)
        self._store.close()
