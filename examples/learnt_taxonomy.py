"""Places for a taxonomy, learnt from its "is a" pairs (Nickel & Kiela 2017), and a memory that answers by them.

python examples/learnt_taxonomy.py                                # a small taxonomy that comes along
python examples/learnt_taxonomy.py --wordnet /usr/share/wordnet   # WordNet's own files (Debian: wordnet-base)
python examples/learnt_taxonomy.py --nltk                         # WordNet as NLTK has it
python examples/learnt_taxonomy.py --edges FILE                   # a parent and a child a line, tab-separated
"""

from __future__ import annotations

import argparse
from pathlib import Path

from poincare_memory import (
    Memory,
    PoincareBall,
    fit_euclidean_embeddings,
    fit_poincare_embeddings,
    reconstruction,
)
from poincare_memory.hierarchy import closure_of_dag, io, tree_of_dag

ANIMALS = """
animal: vertebrate invertebrate
vertebrate: mammal bird fish reptile
invertebrate: insect spider snail
mammal: dog cat horse whale bat
dog: poodle beagle terrier
cat: siamese tiger lion
horse: pony zebra
whale: dolphin orca
bird: owl eagle penguin sparrow
fish: salmon shark eel
shark: hammerhead
reptile: snake turtle lizard
snake: cobra viper
insect: ant bee beetle
bee: bumblebee honeybee
"""


def taxonomy(arguments: argparse.Namespace) -> io.Taxonomy[str]:
    """Edges from parents to children, and what the nodes are called."""
    if arguments.wordnet:
        return io.read_wordnet(arguments.wordnet)
    if arguments.nltk:
        return io.from_nltk()
    if arguments.edges:
        return io.read_edges(arguments.edges)
    lines = (line.split(":") for line in ANIMALS.strip().splitlines())
    return io.Taxonomy([(parent, child) for parent, children in lines for child in children.split()])


def below(edges: list[tuple[str, str]], root: str) -> list[tuple[str, str]]:
    """The edges under a node."""
    children: dict[str, list[str]] = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    kept, seen, waiting = [], {root}, [root]
    while waiting:
        node = waiting.pop()
        for child in children.get(node, ()):
            kept.append((node, child))
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, metavar="FOLDER")
    parser.add_argument("--nltk", action="store_true")
    parser.add_argument("--edges", type=Path, metavar="FILE")
    parser.add_argument("--root", help="learn what is below this node only, such as mammal.n.01")
    parser.add_argument("--dim", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    arguments = parser.parse_args()

    found = taxonomy(arguments)
    edges = below(found.edges, arguments.root) if arguments.root else found.edges
    closure = closure_of_dag(edges)
    print(f"{len(edges)} edges, {len(closure)} pairs")

    ball = PoincareBall()
    points, report = fit_poincare_embeddings(closure, dim=arguments.dim, epochs=arguments.epochs)
    flat, _ = fit_euclidean_embeddings(closure, dim=arguments.dim, epochs=arguments.epochs)
    hyperbolic = reconstruction(points, closure, ball.distance)
    euclidean = reconstruction(flat, closure, "euclidean")
    print(f"loss {report.losses[0]:.2f} → {report.final_loss:.2f}")
    for name, quality in (("hyperbolic", hyperbolic), ("Euclidean", euclidean)):
        print(f"{name:10}  MAP {quality.mean_average_precision:.3f}  mean rank {quality.mean_rank:.2f}")

    mem = Memory.from_hierarchy(points, tree_of_dag(edges), texts=found.texts, metric="hyperbolic")
    depths = [mem.depth(id) for id in mem.ids]
    print(f"depth of the roots {min(depths):.1f}, of the deepest leaf {max(depths):.1f}")
    node = "tiger" if "tiger" in mem else mem.ids[len(mem) // 2]
    near = mem.search(mem.get(node).text, k=4, query_depth=mem.depth(node))
    print(f"near {node}: {[hit.id for hit in near if hit.id != node]}; above it: {mem.ancestors(node)}")


if __name__ == "__main__":
    main()
