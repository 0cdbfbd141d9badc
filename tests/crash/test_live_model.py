"""A live store against a plain dict, through edits by two processes' worth of handles, roll-backs and reopenings."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crash.workload import NOW, load_memory, open_memory

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)
metas = st.dictionaries(texts, st.integers() | texts | st.none() | st.booleans(), max_size=2)


class Cancelled(Exception):
    pass


class LiveStore(RuleBasedStateMachine):
    """`model`: id -> [text, parent, meta, children] in order of insertion, and the order of roots is that too."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.model = {}
        self.serial = 0

    @initialize()
    def open(self):
        self.path = self.folder / "live.db"
        self.handles = [open_memory(self.path), open_memory(self.path)]

    def teardown(self):
        for handle in self.handles:
            handle.close()
        shutil.rmtree(self.folder)

    def new_id(self):
        self.serial += 1
        return f"m{self.serial}"

    def pick(self, data, *extra):
        return data.draw(st.sampled_from([*extra, *self.model]))

    # what the model does

    def model_add(self, id, text, parent, meta):
        self.model[id] = [text, parent, meta, []]
        if parent is not None:
            self.model[parent][3].append(id)

    def subtree(self, id):
        return [id, *(below for child in self.model[id][3] for below in self.subtree(child))]

    def model_remove(self, id):
        parent = self.model[id][1]
        if parent is not None:
            self.model[parent][3].remove(id)
        for gone in self.subtree(id):
            del self.model[gone]

    def model_link(self, id, parent):
        if parent == self.model[id][1]:
            return
        if self.model[id][1] is not None:
            self.model[self.model[id][1]][3].remove(id)
        self.model[id][1] = parent
        if parent is not None:
            self.model[parent][3].append(id)

    # what both do

    @rule(data=st.data(), which=st.integers(0, 1), text=texts, meta=metas)
    def add(self, data, which, text, meta):
        id, parent = self.new_id(), self.pick(data, None)
        self.handles[which].add(text, id=id, parent=parent, meta=meta, t=NOW)
        self.model_add(id, text, parent, meta)

    @rule(data=st.data(), which=st.integers(0, 1), several=st.lists(texts, max_size=4))
    def add_many(self, data, which, several):
        items, parent = [], self.pick(data, None)
        for text in several:
            items.append({"text": text, "id": self.new_id(), "parent": parent, "t": NOW})
            parent = items[-1]["id"] if data.draw(st.booleans()) else parent
        self.handles[which].add_many(items)
        for item in items:
            self.model_add(item["id"], item["text"], item["parent"], {})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), which=st.integers(0, 1), text=texts, meta=metas)
    def update(self, data, which, text, meta):
        id = self.pick(data)
        self.handles[which].get(id).meta  # noqa: B018  handed out
        self.handles[which].update(id, text=text, meta=meta)
        self.model[id][0], self.model[id][2] = text, meta

    @precondition(lambda self: self.model)
    @rule(data=st.data(), which=st.integers(0, 1), key=texts, value=st.integers())
    def change_metadata_in_place(self, data, which, key, value):
        """It is written with the next change, which comes at once."""
        id, other = self.pick(data), self.new_id()
        self.handles[which].get(id).meta[key] = value
        self.model[id][2] = {**self.model[id][2], key: value}
        self.handles[which].add("next change", id=other, t=NOW)
        self.model_add(other, "next change", None, {})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), which=st.integers(0, 1))
    def link(self, data, which):
        id, parent = self.pick(data), self.pick(data, None)
        if parent is not None and parent in self.subtree(id):
            try:
                self.handles[which].link(id, parent)
            except ValueError:
                return
            raise AssertionError("a cycle was accepted")
        self.handles[which].link(id, parent)
        self.model_link(id, parent)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), which=st.integers(0, 1))
    def remove(self, data, which):
        id = self.pick(data)
        self.handles[which].remove(id, cascade=True)
        self.model_remove(id)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), which=st.integers(0, 1), text=texts, keep=st.booleans())
    def together(self, data, which, text, keep):
        memory, victim, id = self.handles[which], self.pick(data), self.new_id()
        before = {key: [*value[:3], list(value[3])] for key, value in self.model.items()}
        try:
            with memory.transaction():
                memory.add(text, id=id, parent=victim, t=NOW)
                self.model_add(id, text, victim, {})
                memory.link(id, None)
                self.model_link(id, None)
                memory.update(id, meta={"in": "transaction"})
                self.model[id][2] = {"in": "transaction"}
                memory.remove(victim, cascade=True)
                self.model_remove(victim)
                if not keep:
                    raise Cancelled
        except Cancelled:
            self.model = before

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.handles[which].close()
        self.handles[which] = open_memory(self.path)

    @invariant()
    def same(self):
        for memory in (*self.handles, load_memory(self.path)):
            assert memory.ids == list(self.model)
            for id, (text, parent, meta, children) in self.model.items():
                record = memory.get(id)
                assert (record.text, record.parent_id, record.meta) == (text, parent, meta)
                found = memory.children(id)
                assert found == children or (memory not in self.handles and set(found) == set(children))
            if self.model:
                assert {hit.id for hit in memory.search("note", k=3)} <= set(self.model)


LiveStore.TestCase.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
TestLiveStore = LiveStore.TestCase
