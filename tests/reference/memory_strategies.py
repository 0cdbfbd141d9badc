"""Hypothesis strategies for scenarios of :mod:`reference.memory_scenario`.

They stay where the reference is accurate (√c·(r + s) ≤ 11.5 for every pair) and away from what it gets wrong:
texts without direction, pruning before scoring, half-made changes.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

NOW = datetime(2026, 5, 17, 13, 30, 0, 123456, tzinfo=timezone.utc)
MAX_LEVEL = 5
WORDS = """
knee tendon calf strain sprint hamstring eccentric rehab ankle mobility tempo race recovery sleep protein iron
graph cache index token latency release rate limit Größe naïve 膝 данные it's 400m A-17
""".split()

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
hours = st.floats(0.01, 5000, allow_nan=False).map(lambda value: round(value, 3))
zones = st.sampled_from(
    [timezone.utc, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))]
)
instants = st.builds(
    lambda age, micros, zone: (NOW - timedelta(hours=age, microseconds=micros)).astimezone(zone),
    st.floats(-200, 9000, allow_nan=False),
    st.integers(0, 10**6),
    zones,
)
metas = st.dictionaries(
    st.sampled_from(["kind", "n", "tags"]),
    st.one_of(st.integers(-3, 3), st.sampled_from(["event", "fact"]), st.lists(st.integers(0, 3)), st.none()),
    max_size=3,
)
simple_policies = st.one_of(
    st.just(("none",)),
    st.tuples(st.just("half_life"), hours),
    st.tuples(st.just("ebbinghaus"), hours, st.floats(0, 2)),
    st.tuples(st.just("validity"), st.floats(1e-6, 1)),
)
policies = st.one_of(
    simple_policies,
    st.lists(simple_policies, min_size=1, max_size=3).map(lambda specs: ("product", *specs)),
)


def off_the_ties(low: float, high: float) -> st.SearchStrategy[float]:
    """Depths whose sums are never half-way between two that `tree` or `table` can print: where ours are exact,
    the reference's carry the rounding of a tanh and its inverse."""
    return st.integers(round(low * 100), round(high * 100)).map(lambda hundredths: hundredths / 100 + 0.0012)


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    curvature = draw(st.sampled_from([0.25, 0.7, 1.0, 2.0, 4.0]))
    unit = 1 / math.sqrt(
        curvature
    )  # depths in units of the curvature: the reference's accuracy depends on √c·r
    return {
        "curvature": curvature,
        "base_depth": draw(off_the_ties(0.3, 1.5)) * unit,
        "depth_step": draw(off_the_ties(0.1, 0.6)) * unit,
        "inherit": draw(st.sampled_from([0.0, 0.25, 0.6, 0.95])),
        "metric": draw(st.sampled_from(["shell", "hyperbolic"])),
        "time_coef": draw(st.sampled_from([0.0, 0.3, 1.0, -0.5])),
        "depth_bias": draw(st.sampled_from([0.0, 0.4, -1.0])),
        "decay": draw(policies),
        "dim": draw(st.sampled_from([48, 64, 256])),
    }


class Tree:
    """Which ids exist while a scenario is drawn, so that its operations are mostly valid."""

    def __init__(self) -> None:
        self.parents: dict[str, str | None] = {}
        self.words: dict[str, frozenset[str]] = {}
        self.made = 0

    def new_id(self) -> str:
        self.made += 1
        return f"m{self.made}"

    def level(self, id: str | None) -> int:
        level = -1
        while id is not None:
            id, level = self.parents[id], level + 1
        return level

    def alone(self) -> list[str]:
        """Ids whose text no other has. A memory at the very place of a cone's apex: ours finds it, at energy 0."""
        words = Counter(self.words[id] for id in self.parents)
        return [id for id in self.parents if words[self.words[id]] == 1]

    def below(self, id: str) -> set[str]:
        found = {id}
        while more := {child for child, parent in self.parents.items() if parent in found} - found:
            found |= more
        return found

    def height(self, id: str) -> int:
        return max(self.level(other) for other in self.below(id)) - self.level(id)

    def possible_parents(self, height: int = 0, but: frozenset[str] = frozenset()) -> list[str | None]:
        """Where something of this height may hang."""
        fits = [id for id in self.parents if id not in but and self.level(id) + 1 + height <= MAX_LEVEL]
        return [None, *fits]


@st.composite
def items(draw: st.DrawFn, tree: Tree) -> dict[str, Any]:
    item: dict[str, Any] = {
        "text": draw(texts),
        "id": tree.new_id(),
        "t": draw(instants),
        "meta": draw(metas),
    }
    item["parent"] = draw(st.sampled_from(tree.possible_parents()))
    tree.parents[item["id"]] = item["parent"]
    tree.words[item["id"]] = frozenset(item["text"].split())
    if draw(st.booleans()):
        item["valid_from"], item["valid_until"] = sorted([draw(instants), draw(instants)])
        item[draw(st.sampled_from(["valid_from", "valid_until", "t"]))] = None
        item = {name: value for name, value in item.items() if value is not None or name == "parent"}
        item.setdefault("t", NOW)
    return item


@st.composite
def searches(draw: st.DrawFn, tree: Tree) -> dict[str, Any]:
    mode = draw(
        st.sampled_from(["nearest", "nearest", "subtree", "children", "ancestors", "siblings", "cone"])
    )
    arguments: dict[str, Any] = {"mode": mode, "k": draw(st.integers(0, 12)), "touch": draw(st.booleans())}
    if mode == "cone" and not tree.alone():
        arguments["mode"] = mode = "subtree"
    if mode != "nearest":
        arguments["root"] = draw(st.sampled_from(tree.alone() if mode == "cone" else list(tree.parents)))
    if mode == "nearest" or draw(st.booleans()):
        arguments["query"] = draw(texts)
    options = {
        "at_time": instants,
        "metric": st.sampled_from(["shell", "hyperbolic"]),
        "query_depth": st.floats(0.2, 2.0),
        "filters": st.one_of(
            st.fixed_dictionaries({"kind": st.sampled_from(["event", "fact", None])}),
            st.fixed_dictionaries({"n": st.integers(-3, 3)}),
            st.tuples(st.just("min_length"), st.integers(0, 40)),
        ),
    }
    for name, values in options.items():
        if draw(st.integers(0, 2)) == 0:
            arguments[name] = draw(values)
    return arguments


def refused(tree: Tree, id: str) -> list[tuple[str, dict[str, Any]]]:
    """Operations that must raise, and leave the memory as it was."""
    parents = [parent for parent in tree.parents.values() if parent is not None]
    return [
        ("add", {"text": "knee", "parent": "no such id"}),
        ("add", {"text": "knee", "id": id}),
        ("add", {"text": ""}),
        ("get", {"id": "no such id"}),
        ("update", {"id": "no such id", "text": "knee"}),
        ("remove", {"id": "no such id"}),
        ("link", {"child": id, "parent": id}),
        ("link", {"child": id, "parent": "no such id"}),
        ("search", {"query": "knee", "mode": "subtree"}),
        ("search", {"query": "knee", "mode": "no such mode"}),
        ("search", {"query": "knee", "mode": "cone", "root": "no such id"}),
        ("time_weights", {"ids": ["no such id"]}),
        *[("remove", {"id": parent}) for parent in parents],
        *[("link", {"child": parent, "parent": child}) for child, parent in tree.parents.items() if parent],
    ]


@st.composite
def operation(draw: st.DrawFn, tree: Tree) -> tuple[str, dict[str, Any]]:
    names = "add add add_many update link remove search search search embed_query refused".split()
    name = draw(st.sampled_from(names)) if tree.parents else "add"
    if name == "add":
        return name, draw(items(tree))
    if name == "add_many":
        return name, {"items": [draw(items(tree)) for _ in range(draw(st.integers(0, 4)))]}
    if name == "search":
        return name, draw(searches(tree))
    if name == "embed_query":
        return name, {"query": draw(texts), "depth": draw(st.one_of(st.none(), st.floats(0, 3)))}
    id = draw(st.sampled_from(list(tree.parents)))
    if name == "refused":
        return draw(st.sampled_from(refused(tree, id)))
    if name == "link":
        below = frozenset(tree.below(id))
        # Linked under the parent it has, a memory stays where it is; the reference makes it the last sibling.
        others = [p for p in tree.possible_parents(tree.height(id), but=below) if p != tree.parents[id]]
        if not others:
            return "search", draw(searches(tree))
        parent = draw(st.sampled_from(others))
        tree.parents[id] = parent
        return name, {"child": id, "parent": parent}
    if name == "remove":
        for other in tree.below(id):
            del tree.parents[other]
        return name, {"id": id, "cascade": True}
    # Windows end after they begin: ours refuses others.
    ends = st.one_of(st.none(), st.just(NOW + timedelta(days=300)))
    changes = {"text": texts, "meta": metas, "t": instants, "valid_until": ends}
    chosen = draw(st.sets(st.sampled_from(sorted(changes)), min_size=1))
    changed = {field: draw(changes[field]) for field in sorted(chosen)}
    if "text" in changed:
        tree.words[id] = frozenset(changed["text"].split())
    return name, {"id": id, **changed}


@st.composite
def operations(draw: st.DrawFn, tree: Tree, most: int) -> list[tuple[str, dict[str, Any]]]:
    return [draw(operation(tree)) for _ in range(draw(st.integers(1, most)))]


@st.composite
def scenarios(draw: st.DrawFn, most: int = 12) -> dict[str, Any]:
    """A scenario, with more operations for after a reopening under ``later``."""
    tree = Tree()
    start = [draw(items(tree)) for _ in range(draw(st.integers(0, most)))]
    first = [("add_many", {"items": start}), *draw(operations(tree, most))]
    return {
        "settings": draw(settings()),
        "now": NOW,
        "operations": first,
        "later": draw(operations(tree, 4)),
    }
