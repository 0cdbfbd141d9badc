"""Where the vectors of a store are: in memory, or in files that the system reads in and writes out as it sees fit."""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .errors import StoreWriteError
from .lock import tell_of_forks

Precision = Literal["full", "compact"]
PRECISIONS: Final = ("full", "compact")
ROWS_AT_ONCE: Final = 4096  # that are in memory while a file is written
RESERVED: Final = 8  # times the room that is asked for
LEAST_RESERVED: Final = 1 << 22  # bytes; less is soon copied
COUNTS_EVERYTHING: Final = "2"  # a value of vm.overcommit_memory
SPARE: Final = 8  # a file is given room for one row more in so many
_ZEROS: Final = bytes(1 << 20)
_CANNOT_ALLOCATE: Final = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


class Room(Protocol):
    """Makes the matrices of a store; a row a memory.

    Attributes
    ----------
    precision : {"full", "compact"}
    shared : bool
        Whether another process has the same files since a fork: `apart` is due before anything is written.
    """

    precision: Precision
    shared: bool

    def blank(self, name: str, capacity: int, dim: int, dtype: Any) -> NDArray[Any]:
        """Zeros."""

    def grown(self, name: str, old: NDArray[Any], used: int, capacity: int, dtype: Any) -> NDArray[Any]:
        """A matrix of `capacity` rows that begins with `used` rows of `old`; what comes after may be anything."""

    def secure(self, rows: int) -> None:
        """Be sure that so many rows can be written; StoreWriteError where they cannot."""

    def packed(
        self, matrices: Mapping[str, NDArray[Any]], rows: NDArray[np.int32], capacity: int
    ) -> tuple[Room, dict[str, NDArray[Any]]]:
        """Another room with matrices of `capacity` rows that begin with these."""

    def another(self) -> Room:
        """A room of the same kind, empty."""


def goes_on_after(whole: Any, part: NDArray[Any]) -> TypeGuard[NDArray[Any]]:
    """Whether it is a matrix whose first rows another is."""
    return (
        isinstance(whole, np.ndarray)
        and whole.ndim == 2
        and whole.strides == part.strides
        and whole.ctypes.data == part.ctypes.data
    )


def roomy(rows: int, dim: int, dtype: Any) -> NDArray[Any]:
    """A matrix of anything. A large one is the beginning of a larger one, so that it can grow where it is.

    What is not used yet is address space, no memory: where the system counts that too, there is no more than asked for.
    """
    if rows * dim * np.dtype(dtype).itemsize >= LEAST_RESERVED and address_space_is_free():
        try:
            return np.empty((RESERVED * rows, dim), dtype)[:rows]
        except MemoryError:  # more than the whole machine has
            pass
    return np.empty((rows, dim), dtype)


def address_space_is_free() -> bool:
    """Whether the system counts only memory that was written to."""
    if not sys.platform.startswith(("linux", "darwin")):
        return False
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return False
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip() != COUNTS_EVERYTHING
    except OSError:
        return sys.platform == "darwin"


class InMemory:
    """Matrices of NumPy."""

    precision: Precision = "full"
    shared = False

    def blank(self, name: str, capacity: int, dim: int, dtype: Any) -> NDArray[Any]:
        return np.zeros((capacity, dim), dtype)

    def grown(self, name: str, old: NDArray[Any], used: int, capacity: int, dtype: Any) -> NDArray[Any]:
        whole = old.base
        if goes_on_after(whole, old) and whole.dtype == dtype and len(whole) >= capacity:
            return whole[:capacity]
        if not used:  # what comes at once may be all there ever is
            return np.empty((capacity, old.shape[1]), dtype)
        grown = roomy(capacity, old.shape[1], dtype)
        grown[: min(used, len(old))] = old[:used]
        return grown

    def secure(self, rows: int) -> None:
        pass

    def packed(
        self, matrices: Mapping[str, NDArray[Any]], rows: NDArray[np.int32], capacity: int
    ) -> tuple[Room, dict[str, NDArray[Any]]]:
        made = {name: matrix[rows] for name, matrix in matrices.items()}
        if capacity > len(rows):
            for name, matrix in made.items():
                made[name] = self.grown(name, matrix, len(rows), capacity, matrix.dtype)
        return self, made

    def another(self) -> Room:
        return InMemory()


class InFiles:
    """Matrices in unnamed files of a folder, mapped into memory: they vanish with the store, or with the process.

    After a fork, parent and child have the same files; each makes its own before it writes.
    """

    precision: Precision = "compact"

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder
        self.shared = False
        self._files: dict[str, MatrixFile] = {}
        tell_of_forks(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return InFiles, (), None  # elsewhere, the folder may be another's

    def holds(self, name: str, matrix: NDArray[Any]) -> bool:
        """Whether a matrix is here."""
        file = self._files.get(name)
        return file is not None and file.holds(matrix)

    # --- forks --------------------------------------------------------------------------------------------

    def forking(self) -> None:
        self.shared = True  # before anybody can write again

    # --- matrices -----------------------------------------------------------------------------------------

    def blank(self, name: str, capacity: int, dim: int, dtype: Any) -> NDArray[Any]:
        file = self._files[name] = MatrixFile(self.folder, dim, dtype)
        return file.stretched(capacity)

    def grown(self, name: str, old: NDArray[Any], used: int, capacity: int, dtype: Any) -> NDArray[Any]:
        if self.holds(name, old) and old.dtype == dtype:
            return self._files[name].stretched(capacity)
        file = MatrixFile(self.folder, old.shape[1], dtype)
        matrix = file.stretched(capacity)
        used = min(used, len(old))
        file.secure(used)
        for start in range(0, used, ROWS_AT_ONCE):
            stop = min(used, start + ROWS_AT_ONCE)
            matrix[start:stop] = old[start:stop]
        self._files[name] = file
        return matrix

    def secure(self, rows: int) -> None:
        for file in self._files.values():
            file.secure(rows)

    def packed(
        self, matrices: Mapping[str, NDArray[Any]], rows: NDArray[np.int32], capacity: int
    ) -> tuple[Room, dict[str, NDArray[Any]]]:
        other = self.another()
        made = {}
        for name, matrix in matrices.items():
            made[name] = other.blank(name, max(1, capacity), matrix.shape[1], matrix.dtype)
        other.secure(len(rows))
        for name, matrix in matrices.items():
            for start in range(0, len(rows), ROWS_AT_ONCE):
                part = rows[start : start + ROWS_AT_ONCE]
                made[name][start : start + len(part)] = matrix[part]
        return other, made

    def another(self) -> InFiles:
        return InFiles(self.folder)


class MatrixFile:
    """A matrix in an unnamed file; bytes that were not secured must not be written: the disk may be full."""

    def __init__(self, folder: str | None, dim: int, dtype: Any) -> None:
        self._dim, self._dtype = dim, np.dtype(dtype)
        self._row = dim * self._dtype.itemsize
        self._secured = self._rows = 0
        self._matrix: NDArray[Any] | None = None
        try:
            self._file = tempfile.TemporaryFile(  # noqa: SIM115
                buffering=0, dir=folder, prefix="poincare-memory-"
            )
        except OSError as error:
            raise _no_room(folder, error) from error
        weakref.finalize(self, self._file.close)
        self._where = tempfile.gettempdir() if folder is None else folder

    def holds(self, matrix: NDArray[Any]) -> bool:
        return matrix is self._matrix

    def stretched(self, rows: int) -> NDArray[Any]:
        """The matrix with so many rows: address space, until they are secured."""
        length = rows * self._row
        try:
            self._file.truncate(max(length, self._rows * self._row))
            mapped = mmap.mmap(self._file.fileno(), length)
        except (OSError, ValueError) as error:
            raise _no_room(self._where, error) from error
        self._rows = max(rows, self._rows)
        self._matrix = np.frombuffer(mapped, self._dtype).reshape(rows, self._dim)
        return self._matrix

    def secure(self, rows: int) -> None:
        rows = min(rows, self._rows)
        if rows <= self._secured:
            return
        wanted = min(self._rows, max(rows, self._secured + self._secured // SPARE))
        try:
            self._allocate(wanted)
        except OSError:
            try:
                self._allocate(rows)
            except OSError as error:
                raise _no_room(self._where, error) from error
            wanted = rows
        self._secured = wanted

    def _allocate(self, rows: int) -> None:
        start, end = self._secured * self._row, rows * self._row
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(self._file.fileno(), start, end - start)
                return
            except OSError as error:
                if error.errno not in _CANNOT_ALLOCATE:
                    raise
        self._file.seek(start)
        while start < end:  # a disk that is nearly full takes a part, and refuses the next
            start += self._file.write(_ZEROS[: end - start])


def _no_room(folder: str | None, error: Exception) -> StoreWriteError:
    where = tempfile.gettempdir() if folder is None else folder
    return StoreWriteError(
        f"{where}: no room for the vectors of a compact memory ({error}); nothing was changed. They are in the folder "
        "of the memory's file or, without one, in that of temporary files (TMPDIR)"
    )


def room_of(precision: Any, folder: str | None = None) -> Room:
    """A room for a store's vectors."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be 'full' or 'compact', got {precision!r:.80}")
    return InFiles(folder) if precision == "compact" else InMemory()
