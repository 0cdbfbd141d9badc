"""Other trainers of Poincaré embeddings beside ours, an epoch at a time, on the same pairs.

    python benchmarks/training_peers.py --edges nouns_closure.tsv.gz [--dim 10] [--negatives 10] [--repeats 3]
    python benchmarks/training_peers.py --subtree mammal.n.01 --no-instances --numpy-package old/bin/python

Edges are those of `wordnet_reconstruction.py`, without --edges WordNet's nouns. Runs what is installed: gensim's
`PoincareModel` (`pip install gensim`), and the NumPy package `poincare-memory` 0.1.4, which has our name, by a Python
of an environment of its own. One thread each; the figure is the least CPU time of an epoch, without set-up: gensim's
model is made before, the others are timed by the difference between a short and a longer run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wordnet_reconstruction import Pair, add_edge_arguments, closure_asked_for

from poincare_memory import fit_poincare_embeddings

Epoch = Callable[[], float]  # CPU seconds of an epoch

IN_THE_OTHER_PYTHON = """
import sys, time
from poincare_memory import fit_poincare_embeddings
pairs = [tuple(line.split("\\t")) for line in open(sys.argv[1], encoding="utf-8").read().splitlines()]
dim, negatives, epochs = map(int, sys.argv[2:])
took = []
for count in (1, 1 + epochs):
    began = time.process_time()
    fit_poincare_embeddings(pairs, dim=dim, epochs=count, negatives=negatives)
    took.append(time.process_time() - began)
print((took[1] - took[0]) / epochs)
"""


def ours(pairs: list[Pair], dim: int, negatives: int) -> Epoch:
    def seconds(epochs: int) -> float:
        began = time.process_time()
        fit_poincare_embeddings(pairs, dim, epochs, negatives=negatives)
        return time.process_time() - began

    return lambda: (seconds(21) - seconds(1)) / 20


def gensim(pairs: list[Pair], dim: int, negatives: int) -> Epoch | None:
    try:
        from gensim.models.poincare import PoincareModel
    except ImportError:
        return None

    def seconds() -> float:
        model = PoincareModel(pairs, size=dim, negative=negatives, burn_in=0, seed=0)
        began = time.process_time()
        model.train(epochs=1, batch_size=10)
        return time.process_time() - began

    return seconds


def numpy_package(python: str | None, pairs: list[Pair], dim: int, negatives: int) -> Epoch | None:
    if python is None:
        return None

    def seconds() -> float:
        epochs = 1 if len(pairs) > 100_000 else 20
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "pairs.tsv"
            file.write_text("".join(f"{below}\t{above}\n" for below, above in pairs), encoding="utf-8")
            own = [python, "-c", IN_THE_OTHER_PYTHON, str(file), str(dim), str(negatives), str(epochs)]
            one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            # Elsewhere than here, where the package of that name is ours.
            out = subprocess.run(
                own, check=True, capture_output=True, text=True, cwd=directory, env=one_thread
            )
        return float(out.stdout)

    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_edge_arguments(parser)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--negatives", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--numpy-package", metavar="PYTHON", help="that imports poincare-memory 0.1.4")
    options = parser.parse_args()
    pairs = closure_asked_for(options)
    trainers = {
        "poincare_memory": ours(pairs, options.dim, options.negatives),
        "poincare_memory 0.1.4": numpy_package(options.numpy_package, pairs, options.dim, options.negatives),
        "gensim": gensim(pairs, options.dim, options.negatives),
    }
    least: dict[str, float] = {}
    for _ in range(options.repeats):
        for name, epoch in trainers.items():
            if epoch is not None:
                took = epoch()
                least[name] = min(took, least.get(name, took))
    print(f"{len(pairs)} pairs, dim {options.dim}, {options.negatives} negatives")
    print("| trainer | CPU s an epoch | times ours |\n|---|---|---|")
    for name, epoch in trainers.items():
        if epoch is None:
            print(f"| {name} | not installed | |")
        else:
            print(f"| {name} | {least[name]:.5f} | {least[name] / least['poincare_memory']:.1f} |")


if __name__ == "__main__":
    main()
