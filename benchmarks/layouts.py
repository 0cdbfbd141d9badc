"""Layouts of a taxonomy's tree without training, and questions to a memory of a learnt one: the guide's figures.

    python benchmarks/layouts.py                          # the tree of WordNet's nouns, all settings
    python benchmarks/layouts.py --dims 10 --taus 2
    python benchmarks/layouts.py --star 1000 10000        # seconds and memory of one node's children
    python benchmarks/layouts.py --questions mammal.n.01  # glosses asked of a memory of this branch

WordNet comes from Debian's `wordnet-base`, or by NLTK (extra `wordnet`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from training_scale import resident

from poincare_memory import Memory, fit_poincare_embeddings
from poincare_memory.hierarchy import layout_quality, sarkar_layout
from poincare_memory.hierarchy.io import Taxonomy, from_nltk, read_wordnet

DEBIAN_FILES = Path("/usr/share/wordnet")
QUERIES = 200
HEADER = "| dim | tau | precision | deepest radius | seconds | average distortion | worst distortion | MAP |"


def nouns(instances: bool = True) -> Taxonomy[str]:
    if (DEBIAN_FILES / "data.noun").exists():
        return read_wordnet(DEBIAN_FILES, instances=instances)
    return from_nltk(instances=instances)


def layout_row(tree: list[tuple[str, str]], dim: int, tau: float, precision: str, sample: int) -> str:
    began = time.perf_counter()
    points = sarkar_layout(tree, dim=dim, tau=tau, precision=precision, n_threads=1)
    seconds = time.perf_counter() - began
    # A layout in double-double keeps its radii; a point in float64 ends at 36.
    twin = sarkar_layout(tree, dim=dim, tau=tau, precision="double-double")
    quality = layout_quality(points, tree, tau=tau, sample=sample)
    return (
        f"| {dim} | {tau:g} | {precision} | {twin.radius.max():.1f} | {seconds:.1f} "
        f"| {quality.average_distortion:.3f} | {quality.worst_distortion:,.3g} "
        f"| {quality.mean_average_precision:.3f} |"
    )


def layouts(dims: list[int], taus: list[float], precisions: list[str], sample: int) -> None:
    tree = nouns().tree()
    print(f"{len(tree) + 1} nodes; quality from {sample} nodes to all\n\n{HEADER}\n{'|---' * 8}|")
    warnings.simplefilter("ignore", RuntimeWarning)  # what lies beyond float64 is what is shown
    for dim in dims:
        for tau in taus:
            for precision in precisions:
                print(layout_row(tree, dim, tau, precision, sample), flush=True)


def questions(root: str, dim: int, seed: int) -> None:
    """Every second word of a gloss, asked of a memory with learnt places."""
    branch = nouns().below(root)
    points, _ = fit_poincare_embeddings(branch.closure(), dim=dim, epochs=200, seed=seed)
    memory = Memory.from_hierarchy(points, branch.tree(), branch.texts)
    asked = np.random.default_rng(seed).choice(branch.nodes, min(QUERIES, len(branch.nodes)), replace=False)
    itself = kin = 0
    for node in asked.tolist():
        gloss = branch.texts[node].partition(":")[2] or branch.texts[node]
        found = [hit.id for hit in memory.search(" ".join(gloss.split()[::2]), k=10, touch=False)]
        related = {node, memory.parent(node), *memory.siblings(node)}
        itself += node in found
        kin += bool(related & set(found))
    print(f"{len(points)} nodes below {root}, {len(asked)} queries, points learnt in {dim} dimensions:")
    print(
        f"among ten answers the node {itself / len(asked):.0%}, it, its parent or a sibling {kin / len(asked):.0%}"
    )


def stars(dims: list[int], sizes: list[int]) -> None:
    print("| children | dim | s | memory, kB a child |\n|---|---|---|---|")
    sarkar_layout([("root", "n")], dim=2)  # loads what is loaded when first used
    for size in sizes:
        tree = [("root", f"n{i}") for i in range(size)]
        for dim in dims:
            before = resident("VmRSS")
            began = time.perf_counter()
            sarkar_layout(tree, dim=dim, n_threads=1)
            seconds = time.perf_counter() - began
            print(
                f"| {size:,} | {dim} | {seconds:.3f} | {max(resident('VmHWM') - before, 0) / size / 1e3:.1f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--taus", type=float, nargs="+", default=[1.0, 2.0, 3.0, 4.0])
    parser.add_argument("--precisions", nargs="+", default=["float64", "double-double"])
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument(
        "--questions", metavar="ROOT", help="ask a memory of this branch in place of laying out"
    )
    parser.add_argument("--star", type=int, nargs="+", metavar="CHILDREN", help="lay out one node's children")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.questions:
        questions(options.questions, max(options.dims), options.seed)
    elif options.star:
        stars(options.dims, options.star)
    else:
        layouts(options.dims, options.taus, options.precisions, options.sample)


if __name__ == "__main__":
    main()
