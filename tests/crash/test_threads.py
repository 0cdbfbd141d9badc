"""Eight threads add, update, link, remove, search and save at once: whatever is seen was true at some moment."""

from __future__ import annotations

import itertools
import random
import threading
import time
import traceback

import numpy as np
import pytest

from crash.workload import NOW, assert_same_vectors, load_memory, new_memory, open_memory

SECONDS = [pytest.param(2.0, id="short"), pytest.param(10.0, id="long", marks=pytest.mark.long)]


class Company:
    """The threads, what they share, and what they know to be true."""

    def __init__(self, memory, folder, seconds):
        self.memory = memory
        self.folder = folder
        self.end = time.monotonic() + seconds
        self.errors = []
        self.guard = threading.Lock()
        self.there = {}  # id -> version of its text; owned by whoever takes it out
        self.ever = set()
        self.removed = set()
        self.counts = dict.fromkeys(("add", "change", "remove", "search", "save"), 0)

    def run(self):
        jobs = [
            self.add,
            self.add,
            self.change,
            self.remove,
            self.search,
            self.search,
            self.search_index,
            self.save,
        ]
        threads = [threading.Thread(target=self._guarded, args=(job, i)) for i, job in enumerate(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "stuck"
        assert self.errors == []

    def _guarded(self, job, seed):
        draw = random.Random(seed)
        try:
            while time.monotonic() < self.end and not self.errors:
                job(draw)
        except BaseException:
            self.errors.append(traceback.format_exc())

    def _take(self, draw):
        """An id that no other thread will change until it is given back."""
        with self.guard:
            if not self.there:
                return None, 0
            id = draw.choice(list(self.there))
            return id, self.there.pop(id)

    def add(self, draw):
        with self.guard:
            id = f"m{len(self.ever)}"
            self.ever.add(id)
            parent = draw.choice([None, *self.there]) if draw.random() < 0.7 else None
        try:
            returned = self.memory.add(f"note {id} version 0", id=id, parent=parent, t=NOW)
        except KeyError:  # the parent went meanwhile
            assert parent in self.removed
            returned = self.memory.add(f"note {id} version 0", id=id, t=NOW)
        assert returned == id
        assert self.memory.get(id).text == f"note {id} version 0"
        with self.guard:
            self.there[id] = 0
        self.counts["add"] += 1

    def change(self, draw):
        id, version = self._take(draw)
        if id is None:
            return
        if draw.random() < 0.7:
            version += 1
            self.memory.update(id, text=f"note {id} version {version}", meta={"version": version})
            assert self.memory.get(id).text == f"note {id} version {version}"
        else:
            self.memory.link(id, None)
            assert self.memory.parent(id) is None
        with self.guard:
            self.there[id] = version
        self.counts["change"] += 1

    def remove(self, draw):
        id, version = self._take(draw)
        if id is None:
            return
        with self.guard:
            self.removed.add(id)
        try:
            self.memory.remove(id)
            assert id not in self.memory
            self.counts["remove"] += 1
        except ValueError as error:  # it has children
            assert "cascade" in str(error)  # noqa: PT017
            with self.guard:
                self.removed.discard(id)
                self.there[id] = version
        time.sleep(0.002)

    def search(self, draw, **options):
        k = draw.randint(1, 12)
        hits = self.memory.search(f"note m{draw.randrange(1000)} version 1", k=k, **options)
        assert len(hits) <= k
        assert len({hit.id for hit in hits}) == len(hits)
        assert all(one.score >= other.score for one, other in itertools.pairwise(hits))
        for hit in hits:
            word, id, _, version = hit.text.split()
            assert (word, id) == ("note", hit.id), "the text of another memory"
            assert id in self.ever, "a phantom"
            assert int(version) >= 0
            assert np.isfinite([hit.score, hit.distance, hit.time_weight]).all()
        self.counts["search"] += 1

    def search_index(self, draw):
        if self.counts["search"] % 50 == 0:
            self.memory.build_index()
        self.search(draw, use_index=True)
        stats = self.memory.stats()
        assert stats["count"] == sum(stats["levels"].values())

    def save(self, draw):
        path = self.folder / f"saved{draw.randrange(2)}.db"
        self.memory.save(path)
        loaded = load_memory(path)  # which checks every parent and level
        assert set(loaded.ids) <= self.ever
        assert all(record.text.split()[1] == record.id for record in loaded)
        self.counts["save"] += 1
        time.sleep(0.02)


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("live", [False, True], ids=["in memory", "in a file"])
def test_eight_threads(tmp_path, live, seconds):
    memory = open_memory(tmp_path / "live.db") if live else new_memory()
    company = Company(memory, tmp_path, seconds)
    company.run()
    assert all(company.counts.values()), company.counts
    assert set(memory.ids) == set(company.there) == company.ever - company.removed
    for id, version in company.there.items():
        assert memory.get(id).text == f"note {id} version {version}"
    assert_same_vectors(memory, memory)
    if live:
        memory.close()
        with open_memory(tmp_path / "live.db") as reopened:
            assert set(reopened.ids) == set(company.there)
            assert {id: reopened.get(id).text for id in reopened.ids} == {
                id: f"note {id} version {version}" for id, version in company.there.items()
            }
