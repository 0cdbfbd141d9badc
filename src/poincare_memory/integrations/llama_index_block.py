"""LlamaIndex's memory block over a `Memory`."""

from __future__ import annotations

import asyncio
from typing import Any

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.llama_index needs the "llamaindex" extra: '
        'pip install "poincare-memory[llamaindex]"'
    ) from error

__all__ = ["PoincareMemoryBlock"]


class PoincareMemoryBlock(BaseMemoryBlock[str]):
    """A `Memory` as long-term block of LlamaIndex's chat memory.

    Messages that leave the short-term memory become memories; what is like the latest messages comes back, under its
    ancestors, as text for the prompt.

    Attributes
    ----------
    name : str, default "poincare_memory"
        What the chat memory calls the block.
    memory : Memory
        Where messages go, and what is recalled.
    root : str, optional
        Id of the memory that messages belong under (a user, a session): only what is below it is recalled.
    k : int, default 5
        Matches at most.
    budget : int, default 2000
        Characters at most.
    context_messages : int, default 3
        How many of the latest messages make the question.

    Examples
    --------
    >>> import asyncio
    >>> from llama_index.core.base.llms.types import ChatMessage
    >>> from poincare_memory import Memory
    >>> block = PoincareMemoryBlock(memory=Memory())
    >>> asyncio.run(block.aput([ChatMessage(role="user", content="I drink green tea")]))
    >>> "green tea" in asyncio.run(block.aget([ChatMessage(role="user", content="Which tea?")]))
    True
    """

    name: str = "poincare_memory"
    memory: Any = Field(description="The memory.")
    root: str | None = None
    k: int = 5
    budget: int = 2000
    context_messages: int = 3

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        said = [message.content for message in (messages or [])[-self.context_messages :] if message.content]
        if not said:
            return ""
        options: dict[str, Any] = {} if self.root is None else {"mode": "subtree", "root": self.root}
        return str(
            await asyncio.to_thread(self.memory.context, "\n".join(said), self.budget, self.k, **options)
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        items = [
            {
                "text": message.content,
                "parent": self.root,
                "meta": {"role": message.role.value}
                | (
                    {"session_id": message.additional_kwargs["session_id"]}
                    if "session_id" in message.additional_kwargs
                    else {}
                ),
            }
            for message in messages
            if message.content and message.content.strip()
        ]
        await asyncio.to_thread(self.memory.add_many, items)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Fewer lines: at least so many tokens less, four characters being one.

        Parameters
        ----------
        content : str
            What the block gave.
        tokens_to_truncate : int
            How many tokens are too many.

        Returns
        -------
        str or None
            The first lines; None where none is left.

        Examples
        --------
        >>> import asyncio
        >>> from poincare_memory import Memory
        >>> block = PoincareMemoryBlock(memory=Memory())
        >>> asyncio.run(block.atruncate("- Drinks\\n  - green tea", 1))
        '- Drinks'
        """
        lines = content.splitlines()
        over = 4 * tokens_to_truncate
        while lines and over > 0:
            over -= len(lines.pop()) + 1
        return "\n".join(lines) or None
