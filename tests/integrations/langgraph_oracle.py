"""What a store of LangGraph should answer: its own in-memory store, with our scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from optional import needs

needs("langgraph")

from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from poincare_memory import HashingEmbedder

EMBED = HashingEmbedder(64)


WORDS = ["green tea", "black tea", "coffee", "tax filing", "calf strain", "river boat"]


LABELS = ["users", "ada", "ben", "*x", "ü"]


def embed(texts: Sequence[str]) -> list[list[float]]:
    return EMBED.embed(texts).tolist()


class Quiet(dict[Any, Any]):
    """A dict whose missing keys are empty, and stay missing."""

    def __missing__(self, key: Any) -> dict[Any, Any]:
        return {}


class Oracle(InMemoryStore):
    """`InMemoryStore` without its mistakes: stale vectors, equal texts, namespaces without items."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._data = Quiet()  # type: ignore[assignment]

    def _insertinmem_store(self, to_embed: Any, embeddings: Any) -> None:
        for places, vector in zip(to_embed.values(), embeddings, strict=True):
            for namespace, key, path in places:
                self._vectors[namespace][key][path] = vector

    def batch(self, ops: Any) -> Any:
        listed = list(ops)
        reads = super().batch([GetOp(("-",), "-") if isinstance(op, PutOp) else op for op in listed])
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        for namespace, key in puts:
            self._vectors[namespace].pop(key, None)
            self._data.setdefault(namespace, {})
        super().batch(puts.values())
        for namespace in [namespace for namespace, items in self._data.items() if not items]:
            del self._data[namespace]
        return [None if isinstance(op, PutOp) else read for op, read in zip(listed, reads, strict=True)]


labels = st.sampled_from(LABELS)


namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)


prefixes = st.lists(labels, max_size=2).map(tuple)


keys = st.sampled_from(["a", "b", "c d", ":", '"]'])


values = st.fixed_dictionaries(
    {
        "text": st.sampled_from(WORDS),
        "n": st.integers(0, 3),
        "deep": st.fixed_dictionaries({"x": st.integers(0, 2)}),
    },
    optional={"more": st.lists(st.sampled_from(WORDS), max_size=2), "none": st.none()},
)


filters = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {}, optional={"n": st.integers(0, 3), "text": st.sampled_from(WORDS), "none": st.none()}
    ),
    st.fixed_dictionaries(
        {
            "n": st.dictionaries(
                st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(0, 3)
            )
        }
    ),
    st.fixed_dictionaries({"deep": st.fixed_dictionaries({"x": st.integers(0, 2)})}),
    st.fixed_dictionaries({"more": st.lists(st.sampled_from(WORDS), max_size=2)}),
)


index = st.sampled_from([None, None, False, ["text"], ["more[*]", "text"], ["missing"]])


puts = st.builds(PutOp, namespaces, keys, st.one_of(st.none(), values, values), index, st.none())


ops = st.one_of(
    puts,
    puts,
    st.builds(GetOp, namespaces, keys),
    st.builds(
        SearchOp,
        prefixes,
        filters,
        st.sampled_from([1, 3, 100]),
        st.just(0),
        st.one_of(st.none(), st.sampled_from(WORDS)),
    ),
    st.builds(
        ListNamespacesOp,
        st.one_of(
            st.none(),
            st.lists(
                st.builds(
                    MatchCondition,
                    st.sampled_from(["prefix", "suffix"]),
                    st.lists(st.one_of(labels, st.just("*")), min_size=1, max_size=2).map(tuple),
                ),
                max_size=2,
            ).map(tuple),
        ),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([1, 100]),
        st.sampled_from([0, 1]),
    ),
)


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 6) + 0.0


def comparable(op: Any, result: Any, everything: Any) -> Any:
    """What must be equal: which of equal scores come first is nobody's business, nor is the order of a listing."""
    if isinstance(op, GetOp):
        return None if result is None else (result.namespace, result.key, result.value)
    if isinstance(op, SearchOp):
        scores = [rounded(item.score) for item in result]
        whole = {(item.namespace, item.key): (item.value, rounded(item.score)) for item in everything}
        inside = all(whole[item.namespace, item.key] == (item.value, rounded(item.score)) for item in result)
        return scores, inside, sorted(map(repr, whole.items()))
    return result
