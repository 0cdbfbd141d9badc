"""Print requirements from pyproject.toml, one a line: of the build (``build``), or of an extra by its name.

pyproject.toml stays the one place that lists them; the Makefile installs what this prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: pip carries the same parser
    from pip._vendor import tomli as tomllib


def requirements(name: str) -> list[str]:
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    if name == "build":
        return [*settings["build-system"]["requires"], *settings["project"]["dependencies"]]
    return settings["project"]["optional-dependencies"][name]


if __name__ == "__main__":
    sys.stdout.write("\n".join(line for name in sys.argv[1:] for line in requirements(name)) + "\n")
