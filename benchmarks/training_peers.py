"""Other trainers of Poincaré embeddings beside ours, an epoch at a time, on the same pairs.

    python benchmarks/training_peers.py --edges nouns_closure.tsv.gz [--dim 10] [--negatives 10] [--repeats 3]

Runs what is installed: gensim's `PoincareModel` (`pip install gensim`). One thread each; the figure is the least CPU
time of an epoch, set-up not counted: epochs are timed by the difference between a short and a longer run. Ours runs
between the others' turns, so that what a shared machine does meets both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from wordnet_reconstruction import Pair, closure_of, read_edges

from poincare_memory import fit_poincare_embeddings

Trainer = Callable[[int], None]  # so many epochs


def ours(pairs: list[Pair], dim: int, negatives: int) -> Trainer:
    return lambda epochs: void(fit_poincare_embeddings(pairs, dim, epochs, negatives=negatives))


def gensim(pairs: list[Pair], dim: int, negatives: int) -> Trainer | None:
    try:
        from gensim.models.poincare import PoincareModel
    except ImportError:
        return None

    def train(epochs: int) -> None:
        model = PoincareModel(pairs, size=dim, negative=negatives, burn_in=0, seed=0)
        model.train(epochs=epochs, batch_size=10)

    return train


def void(_: object) -> None:
    """Drop a result."""


def seconds(train: Trainer, epochs: int) -> float:
    started = time.process_time()
    train(epochs)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=Path, required=True)
    parser.add_argument("--subtree")
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--negatives", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    pairs = closure_of(read_edges(options.edges), options.subtree)
    trainers = {
        "poincare_memory": (ours(pairs, options.dim, options.negatives), 20),
        "gensim": (gensim(pairs, options.dim, options.negatives), 1),
    }
    least: dict[str, float] = {}
    for _ in range(options.repeats):
        for name, (train, epochs) in trainers.items():
            if train is not None:
                epoch = (seconds(train, 1 + epochs) - seconds(train, 1)) / epochs
                least[name] = min(epoch, least.get(name, epoch))
    print(f"{len(pairs)} pairs, dim {options.dim}, {options.negatives} negatives")
    print("| trainer | CPU s an epoch | times ours |\n|---|---|---|")
    for name, (train, _) in trainers.items():
        if train is None:
            print(f"| {name} | not installed | |")
        else:
            print(f"| {name} | {least[name]:.4f} | {least[name] / least['poincare_memory']:.1f} |")


if __name__ == "__main__":
    main()
