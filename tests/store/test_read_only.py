"""Files and folders that may only be read: they are read; a write is an error that says so, and changes nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from poincare_memory import Memory
from poincare_memory.store import StoreWriteError
from store.children import as_somebody_else

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="modes of files are POSIX")


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())  # not pytest's: others may not enter that
    os.chmod(path, 0o755)
    yield path
    os.chmod(path, 0o755)
    shutil.rmtree(path)


@pytest.mark.parametrize("live", [False, True], ids=["saved", "was live"])
@pytest.mark.parametrize("folder_mode", [0o555, 0o777], ids=["folder too", "file only"])
def test_what_may_only_be_read(folder: Path, live: bool, folder_mode: int) -> None:
    path = folder / "m.db"
    memory = Memory.open(path) if live else Memory()
    memory.add("drinks", id="a")
    memory.add("green tea", id="b", parent="a")
    memory.search("tea", touch=False)  # what it imports, the child need not read
    if live:
        memory.close()
    else:
        memory.save(path)
    os.chmod(path, 0o444)
    os.chmod(folder, folder_mode)
    before = path.read_bytes()

    def work() -> None:
        loaded = Memory.load(path)
        assert loaded.ids == ["a", "b"]
        assert loaded.search("tea", k=1)[0].id == "b"
        with pytest.raises(StoreWriteError, match=str(path)):
            Memory.open(path)
        for write in (loaded.save, loaded.to_json, loaded.backup):
            with pytest.raises(OSError, match=r"read-only|Permission denied"):
                write(path)
        assert path.read_bytes() == before
        assert os.listdir(folder) == ["m.db"]

    Memory.load(path).to_json()
    assert as_somebody_else(work) == 0


def test_a_live_store_whose_file_may_not_be_written_any_more(folder: Path) -> None:
    """A forked child, which makes connections of its own, is told; the parent goes on."""
    path = folder / "m.db"
    with Memory.open(path) as memory:
        memory.add("drinks", id="a")
        memory.search("drinks", touch=False)
        for file in folder.iterdir():
            os.chmod(file, 0o444)
        os.chmod(folder, 0o555)

        def work() -> None:
            for use in (lambda: memory.add("tea", id="b"), lambda: memory.ids):
                with pytest.raises(OSError, match=str(path)):
                    use()

        assert as_somebody_else(work) == 0
        assert memory.ids == ["a"]
