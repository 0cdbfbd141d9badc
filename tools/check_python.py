"""Say clearly what is missing before a build starts: Python's version, venv, headers, a compiler."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig


def problems() -> list[str]:
    found = []
    if sys.version_info < (3, 10):  # noqa: UP036 (runs on whatever python3 is)
        version = ".".join(map(str, sys.version_info[:3]))
        found.append(f"Python 3.10 or newer is needed, this is {version}: make PYTHON=python3.12 …")
    if importlib.util.find_spec("ensurepip") is None:
        found.append("the venv module is not complete (on Debian and Ubuntu: apt install python3-venv)")
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        found.append("Python's headers are missing (on Debian and Ubuntu: apt install python3-dev)")
    compiler = os.environ.get("CXX", "").split()[:1] or ["c++", "g++", "clang++"]
    if not any(shutil.which(name) for name in compiler):
        found.append("no C++ compiler found (on Debian and Ubuntu: apt install g++)")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(f"{sys.executable}: {problem}" for problem in problems()) or 0)
