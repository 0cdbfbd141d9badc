"""LangChain: the published suites of `langchain-tests`, and what they do not ask."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optional import needs

needs("langchain_core", "langchain_tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from poincare_memory import HalfLife, HashingEmbedder, Memory
from poincare_memory.integrations.langchain import (
    LangChainEmbedder,
    PoincareEmbeddings,
    PoincareRetriever,
    PoincareVectorStore,
)


class TestPublishedSuite(VectorStoreIntegrationTests):
    @pytest.fixture(params=["in memory", "in a file"])
    def vectorstore(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        if request.param == "in memory":
            yield PoincareVectorStore(self.get_embeddings())
            return
        with Memory.open(tmp_path / "m.db", embedder=LangChainEmbedder(self.get_embeddings())) as mem:
            yield PoincareVectorStore(memory=mem)


class TestPublishedRetrieverSuite(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[PoincareRetriever]:
        return PoincareRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        mem = Memory()
        mem.add_many({"text": f"note number {i}"} for i in range(9))
        return {"memory": mem}

    @property
    def retriever_query_example(self) -> str:
        return "note number 3"


@pytest.fixture
def store() -> PoincareVectorStore:
    store = PoincareVectorStore(PoincareEmbeddings(HashingEmbedder(64)))
    store.add_texts(
        ["Trips", "Trip to Lisbon", "Hotel near the river", "Tax filing", "Trip to Porto"],
        [{"n": i, "kind": "trip" if i != 3 else "tax"} for i in range(5)],
        ids=["trips", "lisbon", "hotel", "tax", "porto"],
        parents=[None, "trips", "lisbon", None, "trips"],
    )
    return store


def test_results_are_those_of_the_memory(store: PoincareVectorStore) -> None:
    for options in (
        {},
        {"mode": "subtree", "root": "trips"},
        {"filter": {"n": {"$gte": 2}}},
        {"filter": lambda record: record.meta["kind"] == "tax"},
        {"metric": "hyperbolic", "lexical_coef": 0.3},
        {"mode": "ancestors", "root": "hotel"},
    ):
        ours = {("filters" if name == "filter" else name): value for name, value in options.items()}
        expected = store.memory.search("trip to the river", k=3, **ours)  # type: ignore[arg-type]
        found = store.similarity_search_with_score("trip to the river", k=3, **options)
        assert [doc.id for doc, _ in found] == [hit.id for hit in expected]
        np.testing.assert_allclose([score for _, score in found], [hit.score for hit in expected], atol=1e-9)
        vector = store.embeddings.embed_query("trip to the river")
        if "lexical_coef" not in options:
            by_vector = store.similarity_search_by_vector(vector, k=3, **options)
            assert [doc.id for doc in by_vector] == [hit.id for hit in expected]


def test_the_hierarchy_from_metadata_keys() -> None:
    store = PoincareVectorStore(
        DeterministicFakeEmbedding(size=6), keys={"parent": "section", "t": "when", "valid_until": "until"}
    )
    docs = [
        Document(id="s", page_content="Section"),
        Document(id="p", page_content="Paragraph", metadata={"section": "s", "n": 1}),
    ]
    assert store.add_documents(docs) == ["s", "p"]
    assert store.memory.parent("p") == "s"
    assert store.get_by_ids(["p"])[0].metadata == {"section": "s", "n": 1}
    when = datetime(2026, 5, 1, tzinfo=timezone.utc)
    store.add_texts(["later"], ids=["l"], parent="s", times=[when])
    assert (store.memory.parent("l"), store.memory.get("l").t) == ("s", when)
    with pytest.raises(ValueError, match="keys: expected some of parent, t"):
        PoincareVectorStore(DeterministicFakeEmbedding(size=6), keys={"father": "a"})


def test_times_are_told_by_metadata_as_text() -> None:
    keys = {"t": "when", "valid_until": "until"}
    store = PoincareVectorStore(DeterministicFakeEmbedding(size=6), keys=keys)
    meta = {"when": "2024-05-01T12:00:00Z", "until": "2025-01-01"}
    store.add_texts(["now", "later"], [meta, {}], ids=["n", "l"])
    record = store.memory.get("n")
    assert (record.t, record.valid_until) == (
        datetime(2024, 5, 1, 12, tzinfo=timezone.utc),
        datetime(2025, 1, 1, tzinfo=timezone.utc),
    )
    assert store.get_by_ids(["n"])[0].metadata == meta
    for wrong, error in (("yesterday", ValueError), ("", ValueError), (1714564800, TypeError)):
        with pytest.raises(error, match=r"ISO 8601|expected a datetime"):
            store.add_texts(["then"], [{"when": wrong}])
    assert len(store.memory) == 2


def test_the_indexing_api_keeps_it_up_to_date() -> None:
    store, kept = PoincareVectorStore(memory=Memory()), InMemoryRecordManager("docs")
    kept.create_schema()
    docs = [Document(text, metadata={"source": text[0]}) for text in ("tea", "coffee", "milk")]

    def indexed(docs: list[Document]) -> tuple[int, int, int]:
        done = index(docs, kept, store, cleanup="full", source_id_key="source", key_encoder="sha256")
        return done["num_added"], done["num_skipped"], done["num_deleted"]

    assert indexed(docs) == (3, 0, 0)
    assert indexed(docs[:2]) == (0, 2, 1)
    assert {record.text for record in store.memory} == {"tea", "coffee"}


def test_overwriting_keeps_the_place_in_the_hierarchy(store: PoincareVectorStore) -> None:
    store.add_texts(["Hotel at the sea"], [{"n": 9}], ids=["hotel"])
    assert store.memory.parent("hotel") == "lisbon"
    assert store.get_by_ids(["hotel"])[0] == Document(
        id="hotel", page_content="Hotel at the sea", metadata={"n": 9}
    )


def test_adding_is_all_or_nothing(store: PoincareVectorStore) -> None:
    for texts, options, error in (
        (["new", " "], {}, ValueError),
        (["new", "other"], {"ids": ["a"]}, ValueError),
        (["new"], {"parents": ["nowhere"]}, KeyError),
        (["new"], {"metadatas": [{"x": float("nan")}]}, ValueError),
        (["new"], {"colour": "red"}, TypeError),
    ):
        with pytest.raises(error):
            store.add_texts(texts, **options)  # type: ignore[arg-type]
    assert len(store.memory) == 5


def test_deleting_asks_before_it_takes_what_is_below(store: PoincareVectorStore) -> None:
    with pytest.raises(ValueError, match="cascade"):
        store.delete(["tax", "lisbon"])
    assert "tax" in store.memory
    store.delete(["lisbon", "hotel", "unknown"])
    assert store.memory.ids == ["trips", "tax", "porto"]
    store.delete(["trips"], cascade=True)
    assert store.memory.ids == ["tax"]
    with pytest.raises(ValueError, match="expected ids"):
        store.delete()


def test_relevance_is_between_0_and_1(store: PoincareVectorStore) -> None:
    found = store.similarity_search_with_relevance_scores("Tax filing", k=5)
    assert found[0][0].id == "tax"
    assert found[0][1] == pytest.approx(1)
    assert all(0 <= relevance <= 1 for _, relevance in found)
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9, "k": 5}
    )
    assert [doc.id for doc in retriever.invoke("Tax filing")] == ["tax"]
    above_zero = PoincareVectorStore(memory=Memory(depth_bias=2.0))
    above_zero.add_texts(["tea"])
    assert above_zero.similarity_search_with_relevance_scores("tea")[0][1] == 1.0


def test_marginal_relevance() -> None:
    store = PoincareVectorStore(PoincareEmbeddings(HashingEmbedder(64)))
    store.add_texts(["green tea", "green tea!", "green tee", "coffee"], ids=list("abcd"))
    assert [doc.id for doc in store.max_marginal_relevance_search("green tea", k=2, lambda_mult=1.0)] == [
        "a",
        "b",
    ]
    diverse = store.max_marginal_relevance_search("green tea", k=2, fetch_k=4, lambda_mult=0.1)
    assert [doc.id for doc in diverse] == ["a", "d"]
    vector = store.embeddings.embed_query("green tea")
    assert store.max_marginal_relevance_search_by_vector(vector, k=2, fetch_k=4, lambda_mult=0.1) == diverse
    assert store.max_marginal_relevance_search("tea", k=0) == []
    retriever = store.as_retriever(
        search_type="mmr", search_kwargs={"k": 2, "fetch_k": 4, "lambda_mult": 0.1}
    )
    assert retriever.invoke("green tea") == diverse


class Asymmetric(Embeddings):
    """Embeds queries and documents in two ways, as E5 does."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return HashingEmbedder(32).embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text.removeprefix("query: ")])[0]


def test_queries_are_embedded_as_queries() -> None:
    store = PoincareVectorStore.from_texts(["green tea", "tax"], Asymmetric(), ids=["tea", "tax"])
    document, score = store.similarity_search_with_score("query: green tea", k=1)[0]
    assert document.id == "tea"
    assert score == pytest.approx(0, abs=1e-6)


def test_asynchronous_twins(store: PoincareVectorStore) -> None:
    async def work() -> list[Document]:
        await store.aadd_texts(["Boat on the river"], ids=["boat"], parents=["lisbon"])
        return await store.asimilarity_search("boat on the river", k=1, mode="children", root="lisbon")

    assert [doc.id for doc in asyncio.run(work())] == ["boat"]


def test_a_memory_or_settings_of_a_new_one() -> None:
    store = PoincareVectorStore(DeterministicFakeEmbedding(size=6), decay=HalfLife(hours=1), inherit=0.5)
    assert store.memory.inherit == 0.5
    with pytest.raises(ValueError, match="not both"):
        PoincareVectorStore(DeterministicFakeEmbedding(size=6), memory=store.memory)
    assert isinstance(PoincareVectorStore().embeddings, PoincareEmbeddings)


def test_documents_do_not_change_the_store(store: PoincareVectorStore) -> None:
    store.get_by_ids(["tax"])[0].metadata["n"] = 100
    assert store.memory.get("tax").meta["n"] == 3


def test_a_retriever_explains(store: PoincareVectorStore) -> None:
    retriever = PoincareRetriever(memory=store.memory, k=1, explain=True, search_kwargs={"touch": False})
    document = retriever.invoke("hotel near the river")[0]
    assert document.metadata["_memory"]["path"] == ["Trips", "Trip to Lisbon"]
    assert set(document.metadata) == {"n", "kind", "_memory"}
    assert store.memory.get("hotel").access_count == 0
    assert store.memory.get("hotel").meta == {"n": 2, "kind": "trip"}
