"""The programs in examples/ run, and show what they are there to show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=240)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_an_agent_with_a_long_running_user(tmp_path: Path) -> None:
    printed = run("long_running_user.py", str(tmp_path / "mara.db"))
    calf, ida, ticket = printed.split("Always true:")[1:]
    assert "Calf is fine again" in calf and "Ida wants a kite" in ida and "ticket 4711" in ticket
    assert all("penicillin" in prompt for prompt in (calf, ida, ticket)), "what is pinned is always there"
    assert (tmp_path / "mara.db").exists()


def test_a_knowledge_base_whose_facts_change(tmp_path: Path) -> None:
    printed = run("knowledge_base.py", str(tmp_path / "docs.db"))
    lines = dict(line.split(":", 1) for line in printed.splitlines() if ": " in line and "─" not in line)
    assert "100 requests" in lines["2.3"]
    assert "OAuth" in lines["2.5"]
    assert "300 requests" in lines["today"]
    assert "250 requests" in lines["said on 20 May"]
    assert lines["versions"].strip() == "['250', '300']"


def test_a_learnt_taxonomy(tmp_path: Path) -> None:
    printed = run("learnt_taxonomy.py", "--epochs", "100")
    assert "hyperbolic  MAP 1.000" in printed
    assert "above it: ['cat', 'mammal', 'vertebrate', 'animal']" in printed
    edges = tmp_path / "edges.tsv"
    edges.write_text("a\tb\na\tc\nb\td\n")
    assert "3 edges, 4 pairs" in run("learnt_taxonomy.py", "--edges", str(edges), "--epochs", "20")
    assert "1 edges, 1 pairs" in run(
        "learnt_taxonomy.py", "--edges", str(edges), "--root", "b", "--epochs", "5"
    )


@pytest.mark.parametrize("program", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_example_is_described(program: Path) -> None:
    assert f"`{program.name}`" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
