"""Registers wider than the baseline's are used by functions of their level only: the rest runs on every x86-64.

A template or an inline function that a wide level compiles too must not be the copy that the linker keeps for all.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILDS = Path(__file__).parents[2] / "build"
OF_A_LEVEL = re.compile("avx2|avx512")
WIDE = re.compile(r"%[yz]mm\d")


def built(module: str) -> Path | None:
    """The newest build of an extension module, with its symbols; an installed one has none."""
    found = [file for file in BUILDS.rglob(f"{module}.*.so") if "sanitize" not in str(file)]
    return max(found, key=lambda file: file.stat().st_mtime, default=None)


def functions(library: Path) -> dict[str, bool]:
    """Symbols of code, and whether it names a wide register."""
    command = ["objdump", "--disassemble", "--no-show-raw-insn", "--demangle", str(library)]
    found: dict[str, bool] = {}
    name = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith(">:\n"):
                name = line[line.index("<") + 1 : -3]
                found.setdefault(name, False)
            elif name and WIDE.search(line):
                found[name] = True
    assert process.returncode == 0
    return found


@pytest.mark.parametrize("module", ["_kernels", "_hnsw"])
def test_wide_registers_stay_in_functions_of_their_level(module: str) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the levels are those of x86-64")
    library = built(module)
    if library is None or shutil.which("objdump") is None:
        pytest.skip("needs objdump and a build of this checkout (build/)")
    used = functions(library)
    if not any(name.startswith("poincare::") for name in used):
        pytest.skip("the build was stripped of its symbols")
    strays = [name for name, wide in used.items() if wide and not OF_A_LEVEL.search(name)]
    assert strays == []
    assert any(used.values()), "no function uses what this machine has"
