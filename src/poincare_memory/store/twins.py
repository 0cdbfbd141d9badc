"""Asynchronous twins of the methods that embed, search and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .records import SearchResult

Value = TypeVar("Value")


async def _in_a_thread(method: Callable[..., Value], *args: Any, **kwargs: Any) -> Value:
    import asyncio  # too slow to load for those who do not need it

    return await asyncio.to_thread(method, *args, **kwargs)


class AsyncTwins:
    """Each runs its method in a worker thread, so that the event loop goes on meanwhile.

    Cancelled, it stops being waited for at once. An edit that had begun by then still happens, whole; one that was
    waiting for a thread does not.

    Examples
    --------
    >>> import asyncio
    >>> from poincare_memory import Memory
    >>> async def remember():
    ...     mem = Memory()
    ...     await mem.aadd("Prefers tea", id="tea")
    ...     return [hit.id for hit in await mem.asearch("tea")]
    >>> asyncio.run(remember())
    ['tea']
    """

    search: Callable[..., list[SearchResult]]
    search_many: Callable[..., list[list[SearchResult]]]
    add: Callable[..., str]
    add_many: Callable[..., list[str]]
    update: Callable[..., None]
    remove: Callable[..., None]

    async def asearch(self, query: str | None = None, *args: Any, **kwargs: Any) -> list[SearchResult]:
        """`search` in a worker thread."""
        return await _in_a_thread(self.search, query, *args, **kwargs)

    async def asearch_many(self, queries: Iterable[str], **kwargs: Any) -> list[list[SearchResult]]:
        """`search_many` in a worker thread."""
        return await _in_a_thread(self.search_many, queries, **kwargs)

    async def aadd(self, text: str, *args: Any, **kwargs: Any) -> str:
        """`add` in a worker thread."""
        return await _in_a_thread(self.add, text, *args, **kwargs)

    async def aadd_many(self, items: Iterable[Mapping[str, Any]], **kwargs: Any) -> list[str]:
        """`add_many` in a worker thread."""
        return await _in_a_thread(self.add_many, items, **kwargs)

    async def aupdate(self, id: str, *args: Any, **kwargs: Any) -> None:
        """`update` in a worker thread."""
        await _in_a_thread(self.update, id, *args, **kwargs)

    async def aremove(self, id: str, *args: Any, **kwargs: Any) -> None:
        """`remove` in a worker thread."""
        await _in_a_thread(self.remove, id, *args, **kwargs)
