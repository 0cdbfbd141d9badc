"""Replace a file in one step: at any moment, and after any failure, the old or the new one is there, whole."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing", "write_text"]


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
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        _keep_mode_and_owner(target, temporary)
        _flush(temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _flush_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text in one step."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def _keep_mode_and_owner(target: Path, temporary: Path) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    os.chmod(temporary, stat.S_IMODE(old.st_mode))
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):
            os.chown(temporary, old.st_uid, old.st_gid)


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
