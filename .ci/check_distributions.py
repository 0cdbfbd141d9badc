"""What the sdist and the wheel hold, and what they must not."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from fnmatch import fnmatch
from pathlib import Path

IN_WHEEL = [
    "poincare_memory/py.typed",
    "poincare_memory/_core/_kernels*.so",
    "poincare_memory/_core/_hnsw*.so",
    "poincare_memory/_core/_kernels.pyi",
    "poincare_memory/_core/_hnsw.pyi",
    "poincare_memory/viz/inspector/*.html",
    "poincare_memory/viz/inspector/*.css",
    "poincare_memory/viz/inspector/*.js",
    "*.dist-info/licenses/LICENSE",
    "*.dist-info/licenses/hnswlib/LICENSE",
]
NOT_IN_WHEEL = ["*.pyx", "*.pxi", "*.pxd", "*.cpp", "*.hpp", "*.h", "*.a", "*.pyc", "tests/*", "*/tests/*"]
IN_SDIST = [
    "*/LICENSE",
    "*/README.md",
    "*/CHANGELOG.md",
    "*/CMakeLists.txt",
    "*/src/_core/_kernels.pyx",
    "*/third_party/hnswlib/*hnswlib.h",
    "*/third_party/hnswlib/LICENSE",
    "*/tests/reference/harness.py",
]
NOT_IN_SDIST = ["*/.venv/*", "*/.reference/*", "*/build/*", "*.so", "*/demo.db"]


def faults(names: list[str], wanted: list[str], unwanted: list[str]) -> list[str]:
    missing = [
        f"missing: {pattern}" for pattern in wanted if not any(fnmatch(name, pattern) for name in names)
    ]
    extra = [f"not wanted: {name}" for name in names if any(fnmatch(name, pattern) for pattern in unwanted)]
    return missing + extra


def check(folder: Path) -> list[str]:
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
    with tarfile.open(sdist) as archive:
        sources = archive.getnames()
    found = faults(names, IN_WHEEL, NOT_IN_WHEEL) + faults(sources, IN_SDIST, NOT_IN_SDIST)
    run_time = [line for line in headers.get_all("Requires-Dist", []) if "extra ==" not in line]
    if len(run_time) != 1 or not run_time[0].startswith("numpy"):
        found.append(f"run-time requirements are {run_time}, and should be numpy alone")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(check(Path(sys.argv[1]))) or 0)
