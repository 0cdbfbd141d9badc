"""Reconstruction of a hierarchy's closure from learned points: the papers' table, measured.

    python benchmarks/wordnet_reconstruction.py --edges mammals_closure.tsv --dims 2 5 10
    python benchmarks/wordnet_reconstruction.py --subtree mammal.n.01 --no-instances --dims 10 --save mammals.npz
    python benchmarks/wordnet_reconstruction.py --edges nouns_closure.tsv.gz --dims 10 --threads 2

Edges are lines of two tab-separated names, (child, parent) or already (descendant, ancestor); what follows from
them is added. Without --edges they are WordNet's nouns, by NLTK (extra `wordnet`) or from Debian's `wordnet-base`:
82,115 nodes, of which 1,170 are mammals once --no-instances leaves out single things.
Settings are those of `poincare_memory.hierarchy.recipes`. --direction says what is ranked: `papers` ranks all nodes
for each node, its ancestors related (Nickel & Kiela 2017); `reference` ranks them for each ancestor, its
descendants related, as the NumPy package's own table does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from poincare_memory import PoincareBall, reconstruction
from poincare_memory.hierarchy import closure_of_dag, recipes

DEBIAN_FILES = Path("/usr/share/wordnet")
MANIFOLDS = ("poincare", "lorentz", "euclidean")
Pair = tuple[str, str]


def read_edges(path: Path) -> list[Pair]:
    """(descendant, ancestor) of every line."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    pairs: list[Pair] = []
    for number, line in enumerate(data.decode("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        names = line.split("\t")
        if len(names) != 2:
            sys.exit(f"{path}: expected two names with a tab between them, got {names!r} in line {number}")
        pairs.append((names[0], names[1]))
    return pairs


def add_edge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--edges", type=Path, metavar="FILE", help="tab-separated (child, parent) names; .gz is read"
    )
    parser.add_argument(
        "--subtree", metavar="NODE", help="only this node and what is below it, e.g. mammal.n.01"
    )
    parser.add_argument(
        "--no-instances",
        action="store_true",
        help="of WordNet, leave out single things, such as famous horses",
    )


def closure_asked_for(options: argparse.Namespace) -> list[Pair]:
    """All (descendant, ancestor) pairs that the arguments tell."""
    edges = read_edges(options.edges) if options.edges else wordnet_edges(not options.no_instances)
    return closure_of(edges, options.subtree)


def wordnet_edges(instances: bool) -> list[Pair]:
    from poincare_memory.hierarchy import io

    debian = (DEBIAN_FILES / "data.noun").exists()
    found = (
        io.read_wordnet(DEBIAN_FILES, instances=instances) if debian else io.from_nltk(instances=instances)
    )
    return [(child, parent) for parent, child in found.edges]


def closure_of(edges: list[Pair], subtree: str | None) -> list[Pair]:
    """All (descendant, ancestor) pairs, of one node and what is below it where asked."""
    closure = [
        (below, above) for above, below in closure_of_dag([(parent, child) for child, parent in edges])
    ]
    if subtree is None:
        return closure
    kept = {below for below, above in closure if above == subtree} | {subtree}
    if len(kept) == 1:
        sys.exit(f"--subtree: nothing is below {subtree!r}")
    return [pair for pair in closure if kept.issuperset(pair)]


def measure(closure: list[Pair], dim: int, manifold: str, options: argparse.Namespace) -> dict[str, Any]:
    nodes = len({node for pair in closure for node in pair})
    recipe = recipes.for_reconstruction(dim, nodes=options.nodes or nodes)
    recipe = recipes.Recipe(dim, recipe.stages[: options.stages])
    ball = PoincareBall()
    found = []
    for seed in range(options.seed, options.seed + options.seeds):
        started, cpu = time.perf_counter(), time.process_time()
        points, report = recipe.fit(
            closure, seed=seed, manifold=manifold, n_threads=options.threads, progress=progress_of(options)
        )
        total, cpu = time.perf_counter() - started, time.process_time() - cpu
        distance = "euclidean" if manifold == "euclidean" else ball.distance
        result = reconstruction(points, closure, distance, n_threads=options.threads)
        found.append(
            (result.mean_average_precision, result.mean_rank, report.seconds / report.epochs, total, cpu)
        )
    if options.save:
        save(options.save, points, dim, manifold, len(options.dims) * len(options.manifolds) > 1)
    precision, rank, epoch, total, cpu = np.mean(found, axis=0)
    return {
        "manifold": manifold,
        "dim": dim,
        "map": precision,
        "map_spread": float(np.std([row[0] for row in found])),
        "mean_rank": rank,
        "epochs": report.epochs,
        "seconds_per_epoch": epoch,
        "seconds": total,
        "cpu_seconds": cpu,
        "seeds": options.seeds,
    }


def rank_saved(path: Path, closure: list[Pair], threads: int | None) -> None:
    saved = np.load(path)
    points = dict(zip(saved["nodes"].tolist(), saved["points"], strict=True))
    started, cpu = time.perf_counter(), time.process_time()
    result = reconstruction(points, closure, PoincareBall().distance, n_threads=threads)
    total, cpu = time.perf_counter() - started, time.process_time() - cpu
    print("| MAP | mean rank | s | CPU s |\n|---|---|---|---|")
    print(f"| {result.mean_average_precision:.4f} | {result.mean_rank:.3f} | {total:.2f} | {cpu:.2f} |")


def progress_of(options: argparse.Namespace) -> bool:
    if options.quiet or not sys.stderr.isatty():
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return True


def save(path: Path, points: dict[str, Any], dim: int, manifold: str, several: bool) -> None:
    if several:
        path = path.with_name(f"{path.stem}-{manifold}-{dim}{path.suffix}")
    np.savez_compressed(path, nodes=np.array(list(points)), points=np.stack(list(points.values())))
    print(f"saved {path}", file=sys.stderr)
    if dim == 2 and manifold != "euclidean":
        draw_disk(path.with_suffix(".png"), np.stack(list(points.values())))


def draw_disk(path: Path, points: np.ndarray) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print(f'no {path}: drawing needs pip install "poincare-memory[viz]"', file=sys.stderr)
        return
    figure, axes = plt.subplots(figsize=(6, 6))
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
    axes.scatter(*points.T, s=3, c=np.linalg.norm(points, axis=1), cmap="viridis")
    axes.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), aspect="equal")
    axes.axis("off")
    figure.savefig(path, dpi=160, bbox_inches="tight")
    plt.close(figure)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_edge_arguments(parser)
    parser.add_argument("--dims", type=int, nargs="+", default=[10])
    parser.add_argument("--manifolds", nargs="+", choices=MANIFOLDS, default=["poincare"])
    parser.add_argument("--direction", choices=("papers", "reference"), default="papers")
    parser.add_argument("--nodes", type=int, help="choose the recipe for a hierarchy of this size")
    parser.add_argument("--stages", type=int, metavar="N", help="only the first stages of the recipe")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="average over so many seeds")
    parser.add_argument("--threads", type=int, help="default: all; 1 is reproducible bit for bit")
    parser.add_argument(
        "--save", type=Path, metavar="OUT.npz", help="`nodes` and `points`; for dimension 2 a PNG too"
    )
    parser.add_argument(
        "--points", type=Path, metavar="OUT.npz", help="train nothing, rank what --save wrote"
    )
    parser.add_argument("--json", type=Path, metavar="OUT.json")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    closure = closure_asked_for(options)
    if options.direction == "reference":
        closure = [(above, below) for below, above in closure]
    nodes = len({node for pair in closure for node in pair})
    what = "(descendant, ancestor)" if options.direction == "papers" else "(ancestor, descendant)"
    print(f"{nodes} nodes, {len(closure)} pairs {what}, mean of {options.seeds} seed(s)")
    if options.points:
        rank_saved(options.points, closure, options.threads)
        return
    print("| manifold | dim | MAP | mean rank | s an epoch | epochs | s in all | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for dim in options.dims:
        for manifold in options.manifolds:
            row = measure(closure, dim, manifold, options)
            rows.append(row)
            print(
                f"| {manifold} | {dim} | {row['map']:.4f} | {row['mean_rank']:.3f} | {row['seconds_per_epoch']:.4f} "
                f"| {row['epochs']} | {row['seconds']:.1f} | {row['cpu_seconds']:.1f} |",
                flush=True,
            )
    if options.json:
        options.json.write_text(
            json.dumps({"direction": options.direction, "nodes": nodes, "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
