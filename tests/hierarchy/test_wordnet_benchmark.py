"""The reconstruction benchmark runs on a file of edges, and saves what it says."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "wordnet_reconstruction.py"


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_a_file_of_edges_is_measured_and_saved(tmp_path):
    edges = [(f"n{i}", f"n{(i - 1) // 3}") for i in range(1, 40)]
    path = tmp_path / "edges.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{child}\t{parent}\n" for child, parent in edges).encode()))
    done = run(
        "--edges", path, "--subtree", "n1", "--dims", 3, "--manifolds", "poincare", "euclidean", "--direction",
        "reference", "--threads", 1, "--save", tmp_path / "out.npz", "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "13 nodes, 21 pairs (ancestor, descendant)" in done.stdout
    saved = np.load(tmp_path / "out-poincare-3.npz")
    assert saved["points"].shape == (13, 3)
    assert set(saved["nodes"]) == {"n1", "n4", "n5", "n6", *(f"n{i}" for i in range(13, 22))}
    found = json.loads((tmp_path / "out.json").read_text())
    assert [row["manifold"] for row in found["rows"]] == ["poincare", "euclidean"]
    assert found["rows"][0]["map"] > 0.9


def test_what_is_no_edge_is_an_error_that_names_its_line(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("a\tb\nc d\n")
    done = run("--edges", path)
    assert done.returncode != 0
    assert "line 2" in done.stderr
    path.write_text("a\tb\n")
    assert "nothing is below 'z'" in run("--edges", path, "--subtree", "z").stderr
