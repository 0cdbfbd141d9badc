"""A store that lives in its file: opening, adding, updating, closing and opening again, as it grows.

Files are made once; every benchmark works on a copy. `big_store.py` measures memory and larger stores.
"""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import poincare_memory as pm  # not its names: asv would take Memory.time_weights for a benchmark

SIZES = (1_000, 10_000, 100_000)
DIM = 64
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def items(start: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": str(i),
            "text": f"note {i % 997} about {i % 89}",
            "parent": str(i // 8) if i else None,
            "t": NOW,
        }
        for i in range(start, start + count)
    ]


def opened(path: Path, **options: Any) -> pm.Memory:
    return pm.Memory.open(path, embedder=pm.HashingEmbedder(dim=DIM), clock=lambda: NOW, **options)


class Live:
    """A live store of each size."""

    params: Any = SIZES
    param_names: Any = ("memories",)
    timeout = 600

    def setup_cache(self) -> str:
        folder = tempfile.mkdtemp(dir=".")  # asv's, which it removes
        for size in SIZES:
            with opened(Path(folder) / f"{size}.db") as memory:
                for start in range(0, size, 10_000):
                    memory.add_many(items(start, min(10_000, size - start)))
        return str(Path(folder).resolve())

    def setup(self, made: str, memories: int, *options: Any) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "live.db"
        shutil.copy(Path(made) / f"{memories}.db", self.path)
        self.serial, self.leaf = memories, str(memories - 1)
        self.memory = opened(self.path)

    def teardown(self, *_: Any) -> None:
        self.memory.close()
        self.folder.cleanup()

    def time_add(self, *_: Any) -> None:
        self.memory.add("one more note", parent="0")

    def time_add_many_100(self, *_: Any) -> None:
        self.memory.add_many({**item, "id": None} for item in items(self.serial, 100))

    def time_update_text(self, *_: Any) -> None:
        self.serial += 1
        self.memory.update(self.leaf, text=f"note {self.serial}")

    def time_update_meta(self, *_: Any) -> None:
        self.serial += 1
        self.memory.update("5", meta={"n": self.serial})

    def time_transaction_of_10(self, *_: Any) -> None:
        with self.memory.transaction():
            for _ in range(10):
                self.memory.add("one more note", parent="0")

    def time_open(self, *_: Any) -> None:
        """Beside the one that has it open."""
        opened(self.path).close()

    def time_reopen_after_an_add(self, *_: Any) -> None:
        self.memory.add("one more note", parent="0")
        self.memory.close()
        self.memory = opened(self.path)

    def time_notice_nothing(self, *_: Any) -> None:
        len(self.memory)

    def peakmem_open(self, *_: Any) -> None:
        opened(self.path).close()


class Noticing:
    """What another process's commit costs at the next call."""

    params = ((1_000, 10_000), (1, 100))
    param_names = ("memories", "changes")

    def setup(self, memories: int, changes: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "live.db"
        self.memory, self.other = opened(self.path), opened(self.path)
        self.memory.add_many(items(0, memories))
        len(self.other)  # takes them in
        self.serial = 0

    def teardown(self, *_: Any) -> None:
        self.memory.close()
        self.other.close()
        self.folder.cleanup()

    def time_write_here_and_look_there(self, memories: int, changes: int) -> None:
        self.serial += 1
        with self.memory.transaction():
            for i in range(changes):
                self.memory.update(str(i), meta={"n": self.serial})
        assert self.other.get("0").meta == {"n": self.serial}


class Waiting:
    """An add under each promise: of the death of the process, and of the machine."""

    params = ("off", "normal", "full")
    param_names = ("synchronous",)

    def setup(self, synchronous: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.memory = opened(Path(self.folder.name) / "live.db", synchronous=synchronous)
        self.memory.add_many(items(0, 1_000))

    def teardown(self, *_: Any) -> None:
        self.memory.close()
        self.folder.cleanup()

    def time_add(self, *_: Any) -> None:
        self.memory.add("one more note", parent="0")


class Keeping:
    """Backing up and compacting a store of 10,000, half of which is gone."""

    timeout = 600

    def setup(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "live.db"
        self.memory = opened(self.path)
        self.memory.add_many(items(0, 10_000))
        for root in ("9", "10", "11", "12"):
            self.memory.remove(root, cascade=True)

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def time_backup(self) -> None:
        self.memory.backup(Path(self.folder.name) / "copy.db")

    def time_compact(self) -> None:
        self.memory.compact()
