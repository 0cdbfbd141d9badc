"""Asynchronous twins of the methods that embed, search and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .records import SearchResult

Value = TypeVar("Value")
Opened = TypeVar("Opened", bound="AsyncTwins")


async def in_a_thread(method: Callable[..., Value], *args: Any, **kwargs: Any) -> Value:
    import asyncio  # too slow to load for those who do not need it

    return await asyncio.to_thread(method, *args, **kwargs)


class AsyncTwins:
    """Each runs its method in a worker thread, so that the event loop goes on meanwhile.

    Cancelled, it stops being waited for at once. An edit that had begun by then still happens, whole; one that was
    waiting for a thread does not. Within ``with mem.transaction():`` call the plain methods: the transaction is this
    thread's, and another one, waited for, would wait for its end.

    Examples
    --------
    >>> import asyncio
    >>> from poincare_memory import Memory
    >>> async def remember():
    ...     mem = Memory()
    ...     await mem.aadd("Prefers tea", id="tea")
    ...     await mem.aadd_many([{"text": "Lives in Oslo", "id": "oslo"}, {"text": "Plays chess", "id": "chess"}])
    ...     await mem.aupdate("oslo", "Lives in Bergen")
    ...     await mem.aremove("chess")
    ...     hits = await mem.asearch("tea", k=1)
    ...     many = await mem.asearch_many(["Bergen", "tea"], k=1)
    ...     return [hit.id for hit in hits], [[hit.id for hit in hits] for hits in many]
    >>> asyncio.run(remember())
    (['tea'], [['oslo'], ['tea']])

    ``async with`` closes a memory at its end in a worker thread; opening one reads its file, in one too if need be:

    >>> import os, tempfile
    >>> async def kept(path):
    ...     async with await asyncio.to_thread(Memory.open, path) as mem:
    ...         return await mem.aadd("Prefers tea", id="tea")
    >>> asyncio.run(kept(os.path.join(tempfile.mkdtemp(), "agent.db")))
    'tea'
    """

    close: Callable[[], None]
    search: Callable[..., list[SearchResult]]
    search_many: Callable[..., list[list[SearchResult]]]
    add: Callable[..., str]
    add_many: Callable[..., list[str]]
    update: Callable[..., None]
    remove: Callable[..., None]

    async def __aenter__(self: Opened) -> Opened:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close in a worker thread, as the end of ``with`` does in this one."""
        await in_a_thread(self.close)

    async def asearch(self, query: str | None = None, *args: Any, **kwargs: Any) -> list[SearchResult]:
        """`search` in a worker thread.

        Parameters
        ----------
        query, *args, **kwargs
            As of `search`.

        Returns
        -------
        list of SearchResult
        """
        return await in_a_thread(self.search, query, *args, **kwargs)

    async def asearch_many(self, queries: Iterable[str], **kwargs: Any) -> list[list[SearchResult]]:
        """`search_many` in a worker thread.

        Parameters
        ----------
        queries, **kwargs
            As of `search_many`.

        Returns
        -------
        list of list of SearchResult
        """
        return await in_a_thread(self.search_many, queries, **kwargs)

    async def aadd(self, text: str, *args: Any, **kwargs: Any) -> str:
        """`add` in a worker thread.

        Parameters
        ----------
        text, *args, **kwargs
            As of `add`.

        Returns
        -------
        str
            The id.
        """
        return await in_a_thread(self.add, text, *args, **kwargs)

    async def aadd_many(self, items: Iterable[Mapping[str, Any]], **kwargs: Any) -> list[str]:
        """`add_many` in a worker thread.

        Parameters
        ----------
        items, **kwargs
            As of `add_many`.

        Returns
        -------
        list of str
            The ids.
        """
        return await in_a_thread(self.add_many, items, **kwargs)

    async def aupdate(self, id: str, *args: Any, **kwargs: Any) -> None:
        """`update` in a worker thread.

        Parameters
        ----------
        id, *args, **kwargs
            As of `update`.
        """
        await in_a_thread(self.update, id, *args, **kwargs)

    async def aremove(self, id: str, *args: Any, **kwargs: Any) -> None:
        """`remove` in a worker thread.

        Parameters
        ----------
        id, *args, **kwargs
            As of `remove`.
        """
        await in_a_thread(self.remove, id, *args, **kwargs)
