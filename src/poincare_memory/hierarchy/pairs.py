"""Related pairs as numbers: what training works on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from .tree import edge_endpoints

__all__ = ["NumberedPairs"]

N = TypeVar("N", bound=Hashable)

_MOST_NODES = 2**31 - 1
_BLOCK = 1 << 16


class NumberedPairs(Generic[N]):
    """Nodes in order of their ``repr``, and the pairs as numbers of nodes.

    ``edges`` is an iterable of pairs, or an array of shape (m, 2), whose nodes are its values as Python
    objects; an array costs no object a pair.
    """

    def __init__(self, edges: Iterable[tuple[N, N]] | NDArray[Any]) -> None:
        self.nodes: list[N]
        self.source: NDArray[np.int32]
        self.target: NDArray[np.int32]
        if isinstance(edges, np.ndarray):
            self._number_array(edges)
        else:
            self._number_pairs(edges)
        if len(self.nodes) > _MOST_NODES:
            raise ValueError(f"edges: expected at most {_MOST_NODES} nodes, got {len(self.nodes)}")
        own = np.flatnonzero(self.source == self.target)
        if own.size:
            node = self.nodes[self.source[own[0]]]
            raise ValueError(f"edges: node {node!r} is paired with itself at position {own[0]}")

    def __len__(self) -> int:
        return len(self.source)

    def _number_pairs(self, edges: Iterable[tuple[N, N]]) -> None:
        ends = edge_endpoints(edges, "u", "v")
        if not ends:
            raise ValueError("edges: expected at least one (u, v) pair, got none")
        self.nodes = sorted(dict.fromkeys(ends), key=repr)
        number = {node: i for i, node in enumerate(self.nodes)}
        numbers = np.fromiter(map(number.__getitem__, ends), np.int32, len(ends))
        self.source, self.target = numbers[0::2].copy(), numbers[1::2].copy()

    def _number_array(self, edges: NDArray[Any]) -> None:
        if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges):
            raise ValueError(f"edges: expected (u, v) pairs, shape (m, 2) with m > 0, got {edges.shape}")
        values = np.unique(edges)
        nodes: list[N] = values.tolist()
        order = sorted(range(len(nodes)), key=list(map(repr, nodes)).__getitem__)
        self.nodes = [nodes[i] for i in order]
        number = np.empty(len(nodes), np.int32)
        number[order] = np.arange(len(nodes), dtype=np.int32)
        self.source, self.target = np.empty(len(edges), np.int32), np.empty(len(edges), np.int32)
        for first in range(0, len(edges), _BLOCK):  # places take eight bytes each
            rows = slice(first, first + _BLOCK)
            self.source[rows] = number[np.searchsorted(values, edges[rows, 0])]
            self.target[rows] = number[np.searchsorted(values, edges[rows, 1])]

    def reversed(self) -> NumberedPairs[N]:
        """The same nodes and pairs, these the other way round."""
        other = object.__new__(NumberedPairs)
        other.nodes, other.source, other.target = self.nodes, self.target, self.source
        return other

    @cached_property
    def related(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        """The nodes with a pair, where the related nodes of each begin, and these, sorted and each once."""
        keys = _sorted_once(self.source.astype(np.int64) * len(self.nodes) + self.target)
        query, first = np.unique(keys // len(self.nodes), return_index=True)
        start = np.append(first, len(keys)).astype(np.int64)
        return query.astype(np.int32), start, (keys % len(self.nodes)).astype(np.int32)

    def excluded(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """For each node itself and the nodes it has an edge to, sorted, each less its place in the list."""
        count = len(self.nodes)
        keys = np.empty(len(self.source) + count, np.int64)
        np.multiply(self.source, count, out=keys[:-count], dtype=np.int64)
        keys[:-count] += self.target
        keys[-count:] = np.arange(count, dtype=np.int64) * (count + 1)
        keys = _sorted_once(keys)
        start = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count).astype(np.int64)
        shifted = np.remainder(keys, count, out=keys).astype(np.int32)
        del keys
        for first in range(0, count, _BLOCK):  # places take eight bytes each
            begins = start[first : first + _BLOCK + 1]
            place = np.arange(begins[0], begins[-1]) - np.repeat(begins[:-1], np.diff(begins))
            shifted[begins[0] : begins[-1]] -= place.astype(np.int32)
        return start, shifted

    def degree_weights(self) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
        """Alias table that draws a node in proportion to the number of its pairs, as source or target."""
        count = len(self.nodes)
        degree = np.bincount(self.source, minlength=count) + np.bincount(self.target, minlength=count)
        threshold, alias = np.empty(count, np.uint32), np.empty(count, np.int32)
        _kernels.alias_table(degree.astype(np.float64), threshold, alias)
        return threshold, alias


def _sorted_once(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    keys.sort()
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys if first.all() else keys[first]
