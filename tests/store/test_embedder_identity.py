"""Which embedder a live store's vectors are of, and how all of them are made anew."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import CallableEmbedder, HashingEmbedder, Memory
from store.snapshots import contents
from store.table_embedder import CheapEmbedder, TableEmbedder


class Turned(CheapEmbedder):
    def embed(self, texts: Any) -> Any:
        return super().embed(texts)[:, ::-1]


class Scaled(CheapEmbedder):
    def embed(self, texts: Any) -> Any:
        return (super().embed(texts) * 3).astype(np.float32)


class Wide:
    dim = 12

    def embed(self, texts: Any) -> Any:
        return np.concatenate([CheapEmbedder().embed(texts), Turned().embed(texts)[:, :4]], axis=1)


def filled(path: Path, **more: Any) -> Memory:
    mem = Memory.open(path, **more)
    mem.add_many(
        [{"text": f"text {i}", "id": str(i), "parent": str((i - 1) // 3) if i else None} for i in range(40)]
    )
    mem.update("7", meta={"n": 7})
    mem.link("30", "2")
    return mem


@pytest.mark.parametrize(
    ("used", "given", "words"),
    [
        (CheapEmbedder(), Turned(), ["CheapEmbedder", "Turned", "cosine"]),
        (CheapEmbedder(), Wide(), ["CheapEmbedder", "length 8", "Wide", "length 12"]),
        (HashingEmbedder(dim=32), HashingEmbedder(dim=32, seed=1), ["seed=0", "seed=1", "cosine"]),
        (HashingEmbedder(dim=32), HashingEmbedder(dim=64), ["length 32", "length 64"]),
        (HashingEmbedder(dim=8), CheapEmbedder(), ["HashingEmbedder", "CheapEmbedder"]),
        (
            CallableEmbedder(CheapEmbedder().embed, 8),
            CallableEmbedder(Turned().embed, 8),
            ["CallableEmbedder", "cosine"],
        ),
    ],
)
def test_another_embedder_is_an_error_that_says_which_was_used(tmp_path, used, given, words):
    filled(tmp_path / "m.db", embedder=used).close()
    for _ in range(2):
        with pytest.raises(ValueError, match="another embedder") as caught:
            Memory.open(tmp_path / "m.db", embedder=given)
        assert all(word in str(caught.value) for word in (*words, "reembed=True"))
    Memory.open(tmp_path / "m.db", embedder=used).close()


def test_the_same_vectors_are_the_same_embedder_whatever_its_name(tmp_path):
    filled(tmp_path / "m.db", embedder=CheapEmbedder()).close()
    for same in (Scaled(), CallableEmbedder(CheapEmbedder().embed, 8)):
        with Memory.open(tmp_path / "m.db", embedder=same) as mem:
            assert mem.search("text 3", k=1)[0].id == "3"


def test_a_saved_file_is_known_by_the_name_of_its_embedder(tmp_path):
    mem = Memory(CheapEmbedder())
    mem.add("one")
    mem.save(tmp_path / "m.db")
    with pytest.raises(ValueError, match=r"CheapEmbedder.*Turned"):
        Memory.open(tmp_path / "m.db", embedder=Turned())
    Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()).close()
    with pytest.raises(ValueError, match="cosine"):  # its fingerprint was taken when it was opened
        Memory.open(tmp_path / "m.db", embedder=type("CheapEmbedder", (Turned,), {})())


def test_an_embedder_that_cannot_embed_the_test_text_is_known_by_name(tmp_path, caplog):
    table = {"one": [1.0, 0.0], "two": [0.0, 1.0]}
    with (
        caplog.at_level(logging.WARNING, "poincare_memory"),
        Memory.open(tmp_path / "m.db", embedder=TableEmbedder(table)) as mem,
    ):
        mem.add("one")
    assert "could not embed" in caplog.text
    with pytest.raises(ValueError, match="TableEmbedder"):
        Memory.open(tmp_path / "m.db", embedder=Memory(Wide()).embedder)
    Memory.open(tmp_path / "m.db", embedder=TableEmbedder(table)).close()


@pytest.mark.parametrize("embedder", [Turned(), Wide()])
def test_reembed_makes_what_was_made_with_it_from_the_start(tmp_path, embedder):
    filled(tmp_path / "old.db", embedder=CheapEmbedder()).close()
    told: list[tuple[int, int]] = []
    mem = Memory.open(
        tmp_path / "old.db", embedder=embedder, reembed=True, progress=lambda *done: told.append(done)
    )
    fresh = filled(tmp_path / "new.db", embedder=embedder)
    assert told[-1] == (40, 40)
    assert mem.tree() == fresh.tree()
    assert mem.dim == fresh.dim == embedder.dim
    assert np.allclose(mem.points, fresh.points, rtol=0, atol=1e-14)
    assert [hit.id for hit in mem.search("text 9")] == [hit.id for hit in fresh.search("text 9")]
    mem.add("text 40", parent="3")
    want = contents(mem)
    mem.close()
    with Memory.open(tmp_path / "old.db", embedder=embedder, reembed=True, progress=told.append) as again:
        assert contents(again) == want
    assert len(Memory.load(tmp_path / "old.db", embedder=embedder)) == 41
    fresh.close()


@pytest.mark.parametrize(("progress", "shown"), [(None, True), (False, False)])
def test_a_reembedding_shows_a_bar_to_who_looks(tmp_path, monkeypatch, capsys, progress, shown):
    pytest.importorskip("tqdm", reason="the bar is of the extra `progress`")
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(dim=16)) as mem:
        mem.add("heron")
    monkeypatch.setattr("poincare_memory.progress.os.isatty", lambda descriptor: descriptor == 2)
    Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(dim=32), reembed=True, progress=progress).close()
    assert ("re-embedding" in capsys.readouterr().err) == shown


def test_a_reembedding_that_fails_leaves_everything(tmp_path):
    mem = filled(tmp_path / "m.db", embedder=CheapEmbedder())
    want, points = contents(mem), mem.points
    mem.close()

    class Failing(Turned):
        def embed(self, texts: Any) -> Any:
            if "text 39" in texts:
                raise ConnectionError("the service is down")
            return super().embed(texts)

    with pytest.raises(ConnectionError):
        Memory.open(tmp_path / "m.db", embedder=Failing(), reembed=True, progress=False)
    with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) as mem:
        assert contents(mem) == want
        assert np.allclose(mem.points, points, rtol=0, atol=1e-15)


def test_what_is_written_while_texts_are_embedded_is_embedded_too(tmp_path):
    path = tmp_path / "m.db"
    other = filled(path, embedder=CheapEmbedder())

    class Slow(Turned):
        meanwhile = True

        def embed(self, texts: Any) -> Any:
            if "text 3" in texts and self.meanwhile:
                self.meanwhile = False
                other.add("late", id="late", parent="3")
                other.update("5", text="changed")
            return super().embed(texts)

    mem = Memory.open(path, embedder=Slow(), reembed=True, progress=False)
    fresh = filled(tmp_path / "fresh.db", embedder=Turned())
    fresh.add("late", id="late", parent="3")
    fresh.update("5", text="changed")
    assert np.allclose(mem.points, fresh.points, rtol=0, atol=1e-14)
    fresh.close()
    for call in (lambda: other.ids, lambda: other.search("late"), lambda: other.add("x")):
        with pytest.raises(ValueError, match="embedded its memories anew"):
            call()
    mem.close()


def test_a_live_memory_takes_no_other_embedder_at_run_time(tmp_path):
    with filled(tmp_path / "m.db", embedder=CheapEmbedder()) as mem:
        mem.embedder = Scaled()
        with pytest.raises(ValueError, match="another embedder"):
            mem.embedder = Turned()
        mem.add("more")


def test_past_versions_are_embedded_anew_too(tmp_path):
    hours = iter(range(99))

    def clock() -> datetime:
        return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(hours=next(hours))

    path = tmp_path / "m.db"
    with Memory.open(path, embedder=CheapEmbedder(), clock=clock, history=True) as mem:
        mem.add("first", id="a")
        mem.update("a", text="second")
        then = mem.history("a")[0].recorded_at
    with Memory.open(path, embedder=Wide(), clock=clock, reembed=True, progress=False) as mem:
        assert [version.record.text for version in mem.history("a")] == ["first", "second"]
        assert mem.search("first", as_of=then)[0].distance < 1e-6
        assert mem.search("second", k=1)[0].distance < 1e-6
