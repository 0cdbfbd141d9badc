"""Structs that Cython fills member by member: one that is forgotten must not be whatever was on the stack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "src/_core"
DECLARED = re.compile(r"^    (?:cdef )?(?:struct|cppclass) (\w+)", re.MULTILINE)
HAS_A_VALUE = re.compile(r"=|\{\};|^std::vector<")
HEADERS = "\n".join(path.read_text(encoding="utf-8") for path in sorted(CORE.glob("*.hpp")))
CLASSES = set(
    re.findall(r"^class (\w+) ", HEADERS, re.MULTILINE)
)  # their constructors give every member a value
NAMES = {name for path in CORE.glob("*.pxi") for name in DECLARED.findall(path.read_text("utf-8"))}
STRUCTS = sorted(NAMES - CLASSES)


def members(name: str) -> list[str]:
    found = re.search(rf"^struct {name} \{{\n(.*?)^\}};", HEADERS, re.MULTILINE | re.DOTALL)
    assert found is not None, f"struct {name} is in no header"
    lines = (line.split("//")[0].strip() for line in found[1].splitlines())
    return [line for line in lines if line]


def test_structs_are_found():
    assert {"PlacementColumns", "EpochSettings", "PolarRows", "ScanColumns", "CodedRows"} <= set(STRUCTS)


@pytest.mark.parametrize("name", STRUCTS)
def test_every_member_has_a_value_from_the_start(name):
    """`unit_direction` once left `PlacementColumns.learnt` out, and a byte was written wherever it pointed."""
    without = [line for line in members(name) if not HAS_A_VALUE.search(line)]
    assert not without, f"struct {name}: {without}"
