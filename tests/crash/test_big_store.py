"""A store that grows: memory per memory and time per write stay flat, and what is removed gives its room back.

Steps of `benchmarks/big_store.py`, each in a process of its own; prints their figures.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "big_store.py"
DIM = 384
EACH = DIM * (8 + 4 + 4)  # bytes of the vectors of a memory: direction, its float32 copy, float32 embedding
REST = 3_000  # bytes of everything else about it, and of what its reading takes for a while
GIGABYTE = 2**30

SIZES = [
    pytest.param((5_000, 50_000), id="50k", marks=pytest.mark.long),
    pytest.param((10_000, 100_000, 1_000_000), id="1M", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("big_store", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def skip_where_it_does_not_fit(folder: Path, size: int) -> None:
    wanted = size * (EACH + REST)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if memory < 1.2 * wanted or shutil.disk_usage(folder).free < 3 * wanted:
        pytest.skip(
            f"{size:,} memories take {wanted / GIGABYTE:.0f} GB of memory and three times that of the disk"
        )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells the memory of a process")
@pytest.mark.parametrize("sizes", SIZES)
def test_a_store_that_grows(tmp_path: Path, program: ModuleType, sizes: tuple[int, ...]) -> None:
    skip_where_it_does_not_fit(tmp_path, sizes[-1])
    path = tmp_path / "big.db"
    filled, opened = {}, {}
    for size in sizes:
        filled[size], opened[size] = (program.run(step, path, size, DIM) for step in ("fill", "open"))
        print(filled[size], opened[size], sep="\n")  # noqa: T201
    shrunk = program.run("shrink", path, sizes[-1], DIM)
    print(shrunk)  # noqa: T201
    least, most = sizes[0], sizes[-1]
    for name in ("add_ms", "update_ms", "update_meta_ms", "link_ms", "remove_ms", "add_many_us_each"):
        assert filled[most][name] < 2.5 * filled[least][name] + 0.2, name
    assert opened[most]["open_peak"] < most * (EACH + REST) + GIGABYTE // 4
    assert opened[most]["file"] < 3 * most * DIM * 8
    assert opened[most]["peak"] < 24 * GIGABYTE
    assert shrunk["left"] < 0.7 * most
    assert shrunk["file_after"] < shrunk["file_before"] * (shrunk["left"] / most) * 1.5 + 2**20
    assert shrunk["rss_after"] < 0.85 * shrunk["rss_before"]
