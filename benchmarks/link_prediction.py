"""Links that were not seen: F1 of entailment cones, by how many of the pairs that follow from others are trained on.

    python benchmarks/link_prediction.py --edges mammals_closure.tsv [--dims 5 10] [--seeds 3]

The protocol of Ganea et al. (2018, table 1): all basic pairs are trained on, and 0, 10, 25 or 50 % of the others; 5 %
each are held out for the threshold and the test, every link with ten pairs that are none. Edges are read as by
wordnet_reconstruction.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from wordnet_reconstruction import closure_of, read_edges

from poincare_memory.hierarchy import cone_link_scores, fit_entailment_cones, split_links

SHARES = (0.0, 0.1, 0.25, 0.5)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=Path, required=True, help="tab-separated (child, parent) names")
    parser.add_argument("--subtree", metavar="NODE")
    parser.add_argument("--dims", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--seeds", type=int, default=3, help="average over so many seeds")
    options = parser.parse_args(arguments)
    closure = [(above, below) for below, above in closure_of(read_edges(options.edges), options.subtree)]
    print(
        f"{len(closure)} pairs (ancestor, descendant), {options.epochs} epochs, mean of {options.seeds} seed(s)"
    )
    print("| dim |" + "".join(f" {share:.0%} |" for share in SHARES) + "\n|---|" + "---|" * len(SHARES))
    for dim in options.dims:
        row = []
        for share in SHARES:
            found = []
            for seed in range(options.seeds):
                split = split_links(closure, share, seed=seed)
                points, _ = fit_entailment_cones(split.train, dim, options.epochs, options.lr, seed=seed)
                found.append(cone_link_scores(points, split, seed=seed).f1)
            row.append(f" {np.mean(found):.3f} |")
        print(f"| {dim} |" + "".join(row), flush=True)


if __name__ == "__main__":
    main()
