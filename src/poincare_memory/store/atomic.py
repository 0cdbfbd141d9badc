"""Replace a file in one step: at any moment, and after any failure, the old or the new one is there, whole."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from .._core import _kernels

ABANDONED_SECONDS: Final = 24 * 3600  # a temporary file that nobody wrote to for so long is nobody's
WRITTEN_AT_ONCE: Final = 2**23  # bytes: few calls, and the disk has work from early on

Piece = TypeVar("Piece")

__all__ = ["EarlyWriting", "is_special", "replacing", "write_text"]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file in the target's folder; on success it takes the target's place.

    The bytes are on disk before the rename and the folder entry after it. A symbolic link keeps pointing to the
    file that is replaced; mode and (where permitted) owner of an existing file are kept. On any error the
    temporary file is removed and the target is as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("hello")
    >>> target.read_text()
    'hello'
    """
    target = Path(os.path.realpath(path))
    _check_replaceable(target)
    _sweep(target)
    temporary = target.with_name(f".{target.name[:32]}.{secrets.token_hex(6)}.tmp")
    try:
        _create(temporary, target)
        yield temporary
        _keep_owner_and_mode(target, temporary)
        _flush(temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _flush_folder(target.parent)


def _sweep(target: Path) -> None:
    """Remove what writers of this file left behind that were killed long ago."""
    pattern = re.compile(re.escape(f".{target.name[:32]}.") + r"[0-9a-f]{12}\.tmp(-journal|-wal|-shm)?")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                os.unlink(entry.path)


def is_special(path: Path) -> bool:
    """Whether there is something that is no file: a folder, a device, a pipe."""
    return path.exists() and not path.is_file()


def _check_replaceable(target: Path) -> None:
    if is_special(target):
        raise ValueError(f"{target}: expected a file, found something else")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(target))


def _create(temporary: Path, target: Path) -> None:
    """An empty file; until it has the mode of the one it replaces, nobody else may read what is in it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        os.close(os.open(temporary, flags, 0o600 if target.exists() else 0o666))
    except OSError as error:  # a user knows of the target only
        raise OSError(error.errno, f"{error.strerror} in its folder", str(target)) from error


class EarlyWriting:
    """Has the disk write a file while it grows, so that the flush at its end has less to wait for.

    Entered before others open the file and left after they closed it: closing it drops the locks of this process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> EarlyWriting:
        self._descriptor = os.open(self._path, os.O_RDWR)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def along(self, pieces: Iterable[Piece], size: Callable[[Piece], int]) -> Iterator[Piece]:
        """What goes into the file, piece by piece; `size` tells the bytes of one."""
        waiting = 0
        for piece in pieces:
            yield piece
            waiting += size(piece)
            if waiting >= WRITTEN_AT_ONCE:
                _kernels.start_writeback(self._descriptor)
                waiting = 0


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text in one step; to a device or a pipe, which nothing can replace, as it is."""
    data = text.encode("utf-8")
    target = Path(os.path.realpath(path))
    if is_special(target) and not target.is_dir():
        with open(path, "wb") as stream:
            stream.write(data)
        return
    with replacing(target) as temporary:
        temporary.write_bytes(data)


def _keep_owner_and_mode(target: Path, temporary: Path) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        try:
            os.chown(temporary, old.st_uid, old.st_gid)
        except PermissionError:
            with contextlib.suppress(PermissionError):
                os.chown(temporary, -1, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there; the rename is journalled
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
