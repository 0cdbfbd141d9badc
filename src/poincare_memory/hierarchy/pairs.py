"""Related pairs as numbers: what training works on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..distinct import distinct
from .tree import edge_endpoints

__all__ = ["NumberedPairs"]

N = TypeVar("N", bound=Hashable)
Numbers = NDArray[np.int32]

_MOST_NODES = 2**31 - 1
_BLOCK = 1 << 16


class NumberedPairs(Generic[N]):
    """Nodes in order of their ``repr``, and the pairs as numbers of nodes.

    Pairs are kept as lists, for each node those that it has an edge to: the order in which they come does not count.
    Only where some are given twice there are arrays of all, too.

    ``edges`` is an iterable of pairs, or an array of shape (m, 2), whose nodes are its values as Python
    objects; an array costs no object a pair.
    """

    def __init__(self, edges: Iterable[tuple[N, N]] | NDArray[Any]) -> None:
        self.nodes: list[N]
        self._keep(self._of_array(edges) if isinstance(edges, np.ndarray) else self._of_pairs(edges))

    def _keep(self, keys: NDArray[np.int64]) -> None:
        """The lists out of ``source·count + target`` of each pair; the keys are lost."""
        count = len(self.nodes)
        keys.sort()
        first = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=first[1:])
        self._given: tuple[Numbers, Numbers] | None = None
        if not first.all():
            given = keys[keys % (count + 1) != 0]
            self._given = (given // count).astype(np.int32), (given % count).astype(np.int32)
            keys = keys[first]
        del first
        self._start = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count).astype(np.int64)
        self._shifted = np.remainder(keys, count, out=keys).astype(np.int32)
        for begin, end, place in self._places():
            self._shifted[begin:end] -= place

    def __len__(self) -> int:
        return len(self._shifted) - len(self.nodes) if self._given is None else len(self._given[0])

    def _of_pairs(self, edges: Iterable[tuple[N, N]]) -> NDArray[np.int64]:
        ends = edge_endpoints(edges, "u", "v")
        if not ends:
            raise ValueError("edges: expected at least one (u, v) pair, got none")
        self.nodes = sorted(dict.fromkeys(ends), key=repr)
        number = {node: i for i, node in enumerate(self.nodes)}
        numbers = np.fromiter(map(number.__getitem__, ends), np.int32, len(ends))
        keys = self._own_keys(len(ends) // 2)
        self._put_keys(keys, 0, numbers[0::2], numbers[1::2])
        return keys

    def _of_array(self, edges: NDArray[Any]) -> NDArray[np.int64]:
        if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges):
            raise ValueError(f"edges: expected (u, v) pairs, shape (m, 2) with m > 0, got {edges.shape}")
        values = distinct(edges) if edges.dtype.kind in "iu" else np.unique(edges)
        nodes: list[N] = values.tolist()
        order = sorted(range(len(nodes)), key=list(map(repr, nodes)).__getitem__)
        self.nodes = [nodes[i] for i in order]
        number = np.empty(len(nodes), np.int32)
        number[order] = np.arange(len(nodes), dtype=np.int32)
        keys = self._own_keys(len(edges))
        for first in range(0, len(edges), _BLOCK):  # a key takes eight bytes, and so does a place
            source, target = (number[np.searchsorted(values, end)] for end in edges[first : first + _BLOCK].T)
            self._put_keys(keys, first, source, target)
        return keys

    def _own_keys(self, pairs: int) -> NDArray[np.int64]:
        """Room for the keys of so many pairs, and after it the keys of every node with itself."""
        count = len(self.nodes)
        if count > _MOST_NODES:
            raise ValueError(f"edges: expected at most {_MOST_NODES} nodes, got {count}")
        strange = next((node for node in self.nodes if node != node), None)
        if strange is not None:
            raise ValueError(f"edges: expected nodes that equal themselves, got {strange!r}")
        keys = np.empty(pairs + count, np.int64)
        keys[pairs:] = np.arange(count, dtype=np.int64) * (count + 1)
        return keys

    def _put_keys(self, keys: NDArray[np.int64], first: int, source: Numbers, target: Numbers) -> None:
        own = np.flatnonzero(source == target)
        if own.size:
            node = self.nodes[source[own[0]]]
            raise ValueError(f"edges: node {node!r} is paired with itself at position {first + own[0]}")
        place = keys[first : first + len(source)]
        np.multiply(source, len(self.nodes), out=place, dtype=np.int64)
        place += target

    @property
    def given(self) -> tuple[Numbers | None, Numbers | None]:
        """Source and target of each pair, where some are given twice; else the lists say all."""
        return (None, None) if self._given is None else self._given

    def as_arrays(self) -> tuple[Numbers, Numbers]:
        """Source and target of each pair."""
        if self._given is not None:
            return self._given
        return self._listed()

    def _listed(self) -> tuple[Numbers, Numbers]:
        """Source and target of each pair once, in rising order."""
        source = np.repeat(np.arange(len(self.nodes), dtype=np.int32), np.diff(self._start))
        target = self._shifted.copy()
        for begin, end, place in self._places():
            target[begin:end] += place
        others = source != target
        return source[others], target[others]

    def reversed(self) -> NumberedPairs[N]:
        """The same nodes and pairs, these the other way round."""
        other: NumberedPairs[N] = object.__new__(NumberedPairs)
        other.nodes = self.nodes
        source, target = self.as_arrays()
        keys = self._own_keys(len(source))
        self._put_keys(keys, 0, target, source)
        other._keep(keys)
        return other

    @cached_property
    def related(self) -> tuple[Numbers, NDArray[np.int64], Numbers]:
        """The nodes with a pair, where the related nodes of each begin, and these, sorted and each once."""
        lengths = np.diff(self._start) - 1
        query = np.flatnonzero(lengths).astype(np.int32)
        start = np.append(0, np.cumsum(lengths[query])).astype(np.int64)
        return query, start, self._listed()[1]

    def excluded(self) -> tuple[NDArray[np.int64], Numbers]:
        """For each node itself and the nodes it has an edge to, sorted, each less its place in the list."""
        return self._start, self._shifted

    def degree_weights(self) -> tuple[NDArray[np.uint32], Numbers]:
        """Alias table that draws a node in proportion to the number of its pairs, as source or target."""
        count = len(self.nodes)
        source, target = self.as_arrays()
        degree = np.bincount(source, minlength=count) + np.bincount(target, minlength=count)
        threshold, alias = np.empty(count, np.uint32), np.empty(count, np.int32)
        _kernels.alias_table(degree.astype(np.float64), threshold, alias)
        return threshold, alias

    def _places(self) -> Iterator[tuple[int, int, Numbers]]:
        """In pieces, of every entry its place in its list."""
        for first in range(0, len(self.nodes), _BLOCK):
            begins = self._start[first : first + _BLOCK + 1]
            place = np.arange(begins[0], begins[-1]) - np.repeat(begins[:-1], np.diff(begins))
            yield int(begins[0]), int(begins[-1]), place.astype(np.int32)
