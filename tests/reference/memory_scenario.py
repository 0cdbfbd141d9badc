"""Plays a scenario of operations on a ``Memory`` and tells all that can be seen; runs on both sides.

A scenario is plain data: ``{"settings": …, "now": datetime, "operations": [(name, arguments), …]}``.
"""

from __future__ import annotations

import json
from pathlib import Path

from poincare_memory import Ebbinghaus, HalfLife, HashingEmbedder, Memory, NoDecay, Product, ValidityWindow

EVERYTHING = 1_000_000  # a k that leaves nothing out


def policy_of(spec):
    """``("half_life", 12.0)`` and the like; ``("product", spec, spec)``."""
    kind, *arguments = spec
    if kind == "product":
        return Product(*map(policy_of, arguments))
    policies = {"none": NoDecay, "half_life": HalfLife, "ebbinghaus": Ebbinghaus, "validity": ValidityWindow}
    return policies[kind](*arguments)


def new_memory(scenario):
    settings = dict(scenario["settings"])
    return Memory(
        embedder=HashingEmbedder(dim=settings.pop("dim")),
        decay=policy_of(settings.pop("decay")),
        clock=lambda: scenario["now"],
        **settings,
    )


def filter_of(filters):
    """A mapping as it is; ``("min_length", n)`` as a callable on records."""
    if isinstance(filters, tuple):
        return lambda record: len(record.text) >= filters[1]
    return filters


def hits(results):
    return [
        {
            "id": hit.id,
            "score": hit.score,
            "distance": hit.distance,
            "weight": hit.time_weight,
            "depth": hit.depth,
            "energy": hit.cone_energy,
            "as dict": hit.to_dict(),
        }
        for hit in results
    ]


def search(memory, arguments):
    arguments = {**arguments, "filters": filter_of(arguments.get("filters"))}
    ranking = memory.search(**{**arguments, "k": EVERYTHING, "touch": False, "use_index": False})
    return {"hits": hits(memory.search(**arguments)), "ranking": hits(ranking)}


def embed_query(memory, arguments):
    return {"point": memory.embed_query(**arguments)}


def build_index(memory, arguments):
    return {"size": memory.build_index(**arguments).size}


def add_many(memory, arguments):
    return memory.add_many(arguments["items"])


SPECIAL = {"search": search, "embed_query": embed_query, "build_index": build_index, "add_many": add_many}


def play(memory, operations):
    """Apply each operation; what each returned, or the class of the error it raised."""
    outcomes = []
    for name, arguments in operations:
        try:
            special = SPECIAL.get(name)
            outcome = special(memory, arguments) if special else getattr(memory, name)(**arguments)
        except (KeyError, ValueError, TypeError) as error:
            outcome = {"raised": type(error).__name__}
        outcomes.append([name, outcome])
    return outcomes


def record_fields(record):
    names = "id text parent_id t meta valid_from valid_until access_count last_accessed".split()
    return {name: getattr(record, name) for name in names}


def observe(memory):
    """All that a user can ask a memory."""
    ids = memory.ids
    return {
        "ids": list(ids),
        "iterated": [record.id for record in memory],
        "length": len(memory),
        "contains": [id in memory for id in [*ids, "no such id"]],
        "roots": memory.roots(),
        "points": memory.points,
        "point": [memory.point(id) for id in ids],
        "depth": [memory.depth(id) for id in ids],
        "level": [memory.level(id) for id in ids],
        "parent": [memory.parent(id) for id in ids],
        "children": [memory.children(id) for id in ids],
        "ancestors": [memory.ancestors(id) for id in ids],
        "descendants": [memory.descendants(id) for id in ids],
        "siblings": [memory.siblings(id) for id in ids],
        "records": [record_fields(memory.get(id)) for id in ids],
        "weights": memory.time_weights(list(ids)),
        "stats": memory.stats(),
        "table": memory.table(),
        "tree": memory.tree(),
        "short tree": memory.tree(root=ids[0], max_text=12) if ids else None,
        "json": json.loads(memory.to_json()),
        "repr": repr(memory),
    }


def main(scenario):
    """Outcomes of the operations, and the memory after them; saved to ``database`` if that is given."""
    memory = new_memory(scenario)
    outcomes = play(memory, scenario["operations"])
    seen = observe(memory)
    if "database" in scenario:
        Path(scenario["database"]).unlink(missing_ok=True)
        memory.save(scenario["database"])
    return {"outcomes": outcomes, "memory": seen, "text": memory.to_json()}


def reopen(request):
    """The memory in a file or in JSON text, after more operations."""
    options = {"clock": lambda: request["now"]}
    memory = Memory.load(request["database"], **options) if "database" in request else None
    if memory is None:
        memory = Memory.from_json(request["text"], **options)
    first = observe(memory)
    return {"loaded": first, "outcomes": play(memory, request["operations"]), "memory": observe(memory)}
