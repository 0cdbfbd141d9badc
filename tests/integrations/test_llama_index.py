from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optional import needs

needs("llama_index.core")

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.schema import ImageNode, IndexNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.integrations.llama_index import PoincareMemoryBlock, PoincareVectorStore

EMBED = HashingEmbedder(32)
TEXTS = {
    "tea": "green tea",
    "black": "black tea",
    "coffee": "coffee",
    "tax": "tax filing",
    "calf": "calf strain",
}


def vector(text: str) -> list[float]:
    return EMBED.embed([text])[0].tolist()


def nodes(**metadata: Any) -> list[TextNode]:
    return [
        TextNode(
            id_=id,
            text=text,
            embedding=vector(text),
            metadata={"n": i, **metadata},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="drinks" if i < 3 else "rest")},
        )
        for i, (id, text) in enumerate(TEXTS.items())
    ]


@pytest.fixture(params=["vectors of LlamaIndex", "a memory of ours"])
def store(request: pytest.FixtureRequest) -> PoincareVectorStore:
    store = (
        PoincareVectorStore()
        if "LlamaIndex" in request.param
        else PoincareVectorStore(Memory(embedder=EMBED))
    )
    assert store.add(nodes()) == list(TEXTS)
    return store


def query(text: str, k: int = 2, **options: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=vector(text), query_str=text, similarity_top_k=k, **options)


def test_it_is_a_vector_store() -> None:
    assert issubclass(PoincareVectorStore, BasePydanticVectorStore)
    assert PoincareVectorStore.class_name() == "PoincareVectorStore"
    assert PoincareVectorStore().query(query("tea")).ids == []
    assert PoincareVectorStore().get_nodes() == []
    assert PoincareVectorStore(dim=32).client.dim == 32
    with pytest.raises(ValueError, match="not both"):
        PoincareVectorStore(Memory(), dim=3)


def test_nodes_come_back_as_they_were(store: PoincareVectorStore) -> None:
    for original, node in zip(nodes(), store.get_nodes(), strict=True):
        assert node.model_dump(exclude={"embedding"}) == original.model_dump(exclude={"embedding"})
    special: list[Any] = [
        IndexNode(id_="i", text="index", index_id="x", embedding=vector("index")),
        ImageNode(id_="p", image_path="a.png", embedding=vector("p")),
        TextNode(id_="w", text=" ", embedding=vector("w")),
    ]
    store.add(special)
    for original, node in zip(special, store.get_nodes(["i", "p", "w"]), strict=True):
        assert type(node) is type(original)
        assert node.get_content() == original.get_content()


def test_the_most_similar_come_first(store: PoincareVectorStore) -> None:
    result = store.query(query("green tea", k=3))
    assert result.ids is not None
    assert result.ids[:2] == ["tea", "black"]
    assert [node.node_id for node in result.nodes or []] == result.ids
    assert result.similarities is not None
    assert result.similarities[0] == pytest.approx(1)
    assert result.similarities == sorted(result.similarities, reverse=True)
    assert all(0 < similarity <= 1 for similarity in result.similarities)


def test_adding_again_replaces(store: PoincareVectorStore) -> None:
    store.add([TextNode(id_="tea", text="herbal infusion", embedding=vector("herbal infusion"))])
    assert len(store.client) == 5
    assert store.query(query("herbal infusion", k=1)).ids == ["tea"]
    assert store.get_nodes(["tea"])[0].metadata == {}


def test_equal_texts_keep_their_own_vectors() -> None:
    store = PoincareVectorStore()
    store.add([TextNode(id_=str(i), text="same", embedding=np.eye(3)[i].tolist()) for i in range(3)])
    for i in range(3):
        result = store.query(VectorStoreQuery(query_embedding=np.eye(3)[i].tolist(), similarity_top_k=1))
        assert result.ids == [str(i)]


def test_deleting(store: PoincareVectorStore) -> None:
    store.delete("drinks")
    assert store.client.ids == ["tax", "calf"]
    store.delete("unknown")
    store.delete_nodes(["tax", "unknown"])
    assert store.client.ids == ["calf"]
    with pytest.raises(ValueError, match="expected node_ids or filters"):
        store.delete_nodes()
    store.add(nodes())
    store.delete_nodes(
        filters=MetadataFilters(filters=[MetadataFilter(key="n", value=2, operator=FilterOperator.GTE)])
    )
    assert store.client.ids == ["tea", "black"]
    store.client.embedder = EMBED
    store.client.add("a memory of its own", id="own")
    store.clear()
    assert store.client.ids == ["own"]


def test_parents_are_those_of_the_memory(store: PoincareVectorStore) -> None:
    up = {NodeRelationship.PARENT: RelatedNodeInfo(node_id="page")}
    store.add(
        [
            TextNode(id_="line", text="a line", embedding=vector("a line"), relationships=up),
            TextNode(id_="page", text="a page", embedding=vector("a page")),
            TextNode(
                id_="lost",
                text="lost",
                embedding=vector("lost"),
                relationships={NodeRelationship.PARENT: RelatedNodeInfo(node_id="nowhere")},
            ),
        ]
    )
    assert store.client.parent("line") == "page"
    assert store.client.parent("lost") is None
    assert store.query(query("a line", k=5), mode="children", root="page").ids == ["line"]


def test_ids_of_documents_and_nodes(store: PoincareVectorStore) -> None:
    assert set(store.query(query("tea", k=9, doc_ids=["drinks"])).ids or []) == {"tea", "black", "coffee"}
    assert store.query(query("tea", k=9, node_ids=["tax"])).ids == ["tax"]
    assert store.query(query("tea", k=9, node_ids=["tax"], doc_ids=["drinks"])).ids == []


def test_modes(store: PoincareVectorStore) -> None:
    Mode = VectorStoreQueryMode
    store.add(
        [TextNode(id_="word", text="Zanzibar coffee filing strain", embedding=vector("something else"))]
    )
    assert store.query(query("Zanzibar", k=1, mode=Mode.TEXT_SEARCH)).ids == ["word"]
    assert store.query(query("Zanzibar", k=1, mode=Mode.HYBRID, alpha=0.0)).ids == ["word"]
    vectors_alone = store.query(query("green tea", k=3)).ids
    assert store.query(query("green tea", k=3, mode=Mode.HYBRID, alpha=1.0)).ids == vectors_alone
    assert len(store.query(query("green tea", k=3, mode=Mode.MMR, mmr_threshold=0.3)).ids or []) == 3
    with pytest.raises(ValueError, match="mode: 'svm' is not supported"):
        store.query(query("tea", mode=Mode.SVM))
    with pytest.raises(ValueError, match="alpha must be in"):
        store.query(query("tea", mode=Mode.HYBRID, alpha=2.0))


# Filters, against LlamaIndex's own

metadata = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 3),
        "word": st.sampled_from(["tea", "Green Tea", ""]),
        "tags": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
        "none": st.none(),
    },
)
numbers = st.builds(
    MetadataFilter,
    key=st.just("n"),
    value=st.integers(0, 3),
    operator=st.sampled_from([FilterOperator(name) for name in ("==", "!=", ">", "<", ">=", "<=")]),
)
among = st.builds(
    MetadataFilter,
    key=st.just("n"),
    value=st.lists(st.integers(0, 3), min_size=1, max_size=2),
    operator=st.sampled_from([FilterOperator.IN, FilterOperator.NIN]),
)
words = st.builds(
    MetadataFilter,
    key=st.just("word"),
    value=st.sampled_from(["tea", "Tea", "x"]),
    operator=st.sampled_from(
        [FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE, FilterOperator.CONTAINS]
    ),
)
tags = st.builds(
    MetadataFilter,
    key=st.just("tags"),
    value=st.lists(st.sampled_from(["a", "b"]), max_size=2),
    operator=st.sampled_from([FilterOperator.ANY, FilterOperator.ALL]),
)
empty = st.builds(
    MetadataFilter,
    key=st.sampled_from(["n", "word", "tags", "none"]),
    value=st.none(),
    operator=st.just(FilterOperator.IS_EMPTY),
)


@given(
    st.lists(metadata, min_size=1, max_size=4),
    st.lists(st.one_of(numbers, among, words, tags, empty), max_size=3),
    st.sampled_from(list(FilterCondition)),
)
def test_filters_as_llama_index_understands_them(
    metas: list[dict[str, Any]], filters: list[MetadataFilter], condition: FilterCondition
) -> None:
    store = PoincareVectorStore(dim=2)
    store.add(
        [TextNode(id_=str(i), text=str(i), embedding=[1.0, i], metadata=meta) for i, meta in enumerate(metas)]
    )
    asked = MetadataFilters(filters=filters, condition=condition)
    passes = build_metadata_filter_fn(lambda id: metas[int(id)], asked)
    expected = {str(i) for i in range(len(metas)) if passes(str(i))}
    found = store.query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9, filters=asked))
    assert set(found.ids or []) == expected
    assert {node.node_id for node in store.get_nodes(filters=asked)} == expected
    nested = MetadataFilters(filters=[asked])
    found = store.query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9, filters=nested))
    assert set(found.ids or []) == expected


# In LlamaIndex


def test_an_index_of_llama_index(tmp_path: Path) -> None:
    store = PoincareVectorStore()
    context = StorageContext.from_defaults(vector_store=store)
    embed = MockEmbedding(embed_dim=8)
    plain = [TextNode(id_=id, text=text) for id, text in TEXTS.items()]
    index = VectorStoreIndex(plain, storage_context=context, embed_model=embed)
    assert len(index.as_retriever(similarity_top_k=3).retrieve("tea")) == 3
    for mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE):  # comes without a vector
        words = index.as_retriever(similarity_top_k=1, vector_store_query_mode=mode)
        assert [hit.node.node_id for hit in words.retrieve("filing")] == ["tax"]
    store.persist(str(tmp_path / "m.db"))
    again = PoincareVectorStore.from_persist_path(str(tmp_path / "m.db"))
    assert [node.text for node in again.get_nodes()] == list(TEXTS.values())  # type: ignore[attr-defined]
    index = VectorStoreIndex.from_vector_store(again, embed_model=embed)
    assert len(index.as_retriever(similarity_top_k=2).retrieve("tea")) == 2
    ours = VectorStoreIndex.from_vector_store(PoincareVectorStore(Memory(embedder=EMBED)), embed_model=embed)
    ours.insert_nodes(plain)
    assert [hit.node.node_id for hit in ours.as_retriever(similarity_top_k=1).retrieve("tax filing")] == [
        "tax"
    ]


async def test_asynchronous_twins() -> None:
    store = PoincareVectorStore()
    assert await store.async_add(nodes()) == list(TEXTS)
    assert (await store.aquery(query("coffee", k=1))).ids == ["coffee"]
    assert len(await store.aget_nodes(["tea", "tax"])) == 2
    await store.adelete("drinks")
    await store.adelete_nodes(["tax"])
    assert [node.node_id for node in await store.aget_nodes()] == ["calf"]
    await store.aclear()
    assert await store.aget_nodes() == []


def test_a_block_of_chat_memory() -> None:
    mem = Memory()
    mem.add("Other people's notes about green tea", id="other")
    mem.add("Ada", id="ada")
    block = PoincareMemoryBlock(memory=mem, root="ada", k=2)

    async def talk() -> str:
        chat = ChatMemory.from_defaults(
            session_id="s1",
            token_limit=60,
            chat_history_token_ratio=0.5,
            token_flush_size=10,
            memory_blocks=[block],
        )
        for text in (
            "I drink green tea in the morning",
            "My calf hurts after running",
            "The tax office wrote",
        ):
            await chat.aput(ChatMessage(role=MessageRole.USER, content=text + " and so on" * 6))
        try:
            return await answer(chat)
        finally:  # it closes its database nowhere
            if chat.sql_store._async_engine is not None:
                await chat.sql_store._async_engine.dispose()

    async def answer(chat: Any) -> str:
        messages = await chat.aget([ChatMessage(role="user", content="Which tea do I drink?")])
        return "\n".join(str(message.content) for message in messages)

    assert "I drink green tea" in asyncio.run(talk())
    assert len(mem.children("ada")) >= 1
    assert mem.get(mem.children("ada")[0]).meta["role"] == "user"
    assert mem.get(mem.children("ada")[0]).meta["session_id"] == "s1"
    recalled = asyncio.run(block.aget([ChatMessage(role="user", content="green tea")]))
    assert "green tea in the morning" in recalled
    assert "Other people" not in recalled
    assert asyncio.run(block.aget([])) == asyncio.run(block.aget(None)) == ""
    asyncio.run(block.aput([ChatMessage(role="user", content=" ")]))


def test_a_block_is_cut_line_by_line() -> None:
    block = PoincareMemoryBlock(memory=Memory())
    content = "first line of it\nsecond line of it\nthird line"
    assert asyncio.run(block.atruncate(content, 0)) == content
    assert asyncio.run(block.atruncate(content, 2)) == "first line of it\nsecond line of it"
    assert asyncio.run(block.atruncate(content, 1000)) is None
