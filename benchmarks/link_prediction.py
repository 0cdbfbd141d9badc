"""Links that were not seen: F1 of entailment cones, by how many of the pairs that follow from others are trained on.

    python benchmarks/link_prediction.py [--edges nouns_closure.tsv.gz] [--dims 5 10] [--shares 0 0.1] [--seeds 1]

The protocol of Ganea et al. (2018, table 1): all basic pairs are trained on, and 0, 10, 25 or 50 % of the others; 5 %
each are held out for the threshold and the test, every link with ten pairs that are none. Nodes that everything lies
below are left out, as there. Edges are those of wordnet_reconstruction.py.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
from wordnet_reconstruction import add_edge_arguments, closure_asked_for

from poincare_memory.hierarchy import cone_link_scores, fit_entailment_cones, split_links

SHARES = (0.0, 0.1, 0.25, 0.5)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_edge_arguments(parser)
    parser.add_argument("--dims", type=int, nargs="+", default=[5, 10])
    parser.add_argument(
        "--shares", type=float, nargs="+", default=SHARES, help="of the pairs that follow from others"
    )
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--lr-end", type=float, default=0.0, help="rate of the last epoch")
    parser.add_argument("--seeds", type=int, default=1, help="average over so many seeds")
    parser.add_argument("--roots", action="store_true", help="keep nodes that everything lies below")
    options = parser.parse_args(arguments)
    closure = [(above, below) for below, above in closure_asked_for(options)]
    if not options.roots:
        closure = without_roots(closure)
    print(
        f"{len(closure)} pairs (ancestor, descendant), {options.epochs} epochs, mean of {options.seeds} seed(s)"
    )
    columns = "".join(f" {share:.0%} |" for share in options.shares)
    print(f"| dim |{columns} CPU s |\n|---|" + "---|" * (len(options.shares) + 1))
    for dim in options.dims:
        row, began = [], time.process_time()
        for share in options.shares:
            found = []
            for seed in range(options.seeds):
                split = split_links(closure, share, seed=seed)
                points, _ = fit_entailment_cones(
                    split.train, dim, options.epochs, options.lr, lr_end=options.lr_end, seed=seed
                )
                found.append(cone_link_scores(points, split, seed=seed).f1)
            row.append(f" {np.mean(found):.3f} |")
        print(f"| {dim} |" + "".join(row) + f" {time.process_time() - began:.0f} |", flush=True)


def without_roots(closure: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs whose ancestor is not above all other nodes."""
    nodes = {node for pair in closure for node in pair}
    below = Counter(above for above, _ in closure)
    return [pair for pair in closure if below[pair[0]] < len(nodes) - 1]


if __name__ == "__main__":
    main()
