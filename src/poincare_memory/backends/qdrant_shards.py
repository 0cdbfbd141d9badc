"""Which shard of a Qdrant cluster a memory is in: the same for all that is below one root."""

from __future__ import annotations

import hashlib
from typing import Any

from .errors import BackendError
from .rows import Row, Where

try:
    from qdrant_client import models
    from qdrant_client.http.exceptions import UnexpectedResponse
except ImportError as error:
    raise ImportError(
        'Memory.connect("qdrant://...") needs the "qdrant" extra: pip install "poincare-memory[qdrant]"'
    ) from error

__all__ = ["Shards", "shard_count"]


class Shards:
    """Shard keys of a collection with custom sharding: so many groups, and each root in one of them.

    Parameters
    ----------
    count : int
        Of groups; kept with the memory, for what is written stays where it is.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.keys = [f"roots-{number}" for number in range(count)]

    def of(self, root: str) -> str:
        """The key of a root's group."""
        digest = hashlib.blake2b(root.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return self.keys[int.from_bytes(digest, "big") % self.count]

    def home(self, row: Row) -> str:
        """The key of the shard that a row belongs into."""
        return self.of(row.path[0])

    def asked(self, where: Where) -> dict[str, Any]:
        """Which shards a search is for, as an argument: those of the roots it stays below, or all."""
        if where.roots is None:
            return {}
        return {"shard_key_selector": sorted({self.of(root) for root in where.roots})}

    def prepare(self, client: Any, name: str, vectors: Any) -> None:
        """Make a collection with these shards; one that is there may have been made with more replicas, or places."""
        made = not client.collection_exists(name)
        if made:
            client.create_collection(
                name, vectors_config=vectors, shard_number=1, sharding_method=models.ShardingMethod.CUSTOM
            )
        try:
            self._make_keys(client, name)
        except BaseException:
            if made:  # a server that is no cluster has no keys: another attempt finds nothing in its way
                client.delete_collection(name)
            raise

    def _make_keys(self, client: Any, name: str) -> None:
        method = client.get_collection(name).config.params.sharding_method
        if method != models.ShardingMethod.CUSTOM:
            raise BackendError(
                f"Qdrant collection {name!r} is there, with sharding_method {getattr(method, 'value', method)!r}: "
                "shards= needs one made with 'custom', or none"
            )
        there = _keys_of(client, name)
        for key in self.keys:
            if key in there:
                continue
            try:
                client.create_shard_key(name, key)
            except UnexpectedResponse:
                if key not in _keys_of(client, name):  # another process was quicker
                    raise


def _keys_of(client: Any, name: str) -> set[Any]:
    cluster = client.collection_cluster_info(name)
    return {shard.shard_key for shard in (*cluster.local_shards, *cluster.remote_shards)}


def shard_count(shards: Any) -> int | None:
    """The number of groups that a user asks for, checked."""
    if shards is None or (type(shards) is int and 1 <= shards <= 10_000):
        return shards
    raise ValueError(f"shards: expected an int from 1 to 10000, or None, got {shards!r:.80}")
