"""Edits against a model made of plain dicts and lists, whatever their order; every bad edit changes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from poincare_memory import Memory
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NAMES = [f"n{i}" for i in range(14)]
TEXTS = st.sampled_from(["a", "b", "c d", "é", "!!!", "long " * 20])
MISSING_NAME = "nobody"


def fingerprint(mem: Memory) -> Any:
    return mem.table(), mem.tree(), mem.points.tolist(), [repr(record) for record in mem]


class Edits(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.mem = Memory(CheapEmbedder(), clock=lambda: NOW)
        self.text: dict[str, str] = {}  # in order of insertion
        self.parent: dict[str, str | None] = {}
        self.children: dict[str | None, list[str]] = {None: []}
        self.meta: dict[str, dict[str, Any]] = {}

    def free_name(self, data: st.DataObject) -> str | None:
        free = [name for name in NAMES if name not in self.text]
        return data.draw(st.sampled_from(free)) if free else None

    def some_name(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(list(self.text)))

    def below(self, name: str) -> list[str]:
        found = [name]
        for each in found:
            found.extend(self.children[each])
        return found

    def note(self, name: str, text: str, parent: str | None) -> None:
        self.text[name], self.parent[name], self.meta[name] = text, parent, {}
        self.children[name] = []
        self.children[parent].append(name)

    def refused(self, error: type[Exception], change: Any) -> None:
        before = fingerprint(self.mem)
        with pytest.raises(error):
            change()
        assert fingerprint(self.mem) == before

    @rule(data=st.data(), text=TEXTS)
    def add(self, data: st.DataObject, text: str) -> None:
        name = self.free_name(data)
        if name is None:
            return
        parent = data.draw(st.sampled_from([None, *self.text]))
        assert self.mem.add(text, id=name, parent=parent) == name
        self.note(name, text, parent)

    @rule(data=st.data(), texts=st.lists(TEXTS, min_size=1, max_size=4))
    def add_many(self, data: st.DataObject, texts: list[str]) -> None:
        items: list[dict[str, Any]] = []
        for text in texts:
            name = self.free_name(data)
            if name is None:
                break
            parent = data.draw(st.sampled_from([None, *self.text]))
            items.append({"text": text, "id": name, "parent": parent})
            self.note(name, text, parent)
        assert self.mem.add_many(items) == [item["id"] for item in items]

    @precondition(lambda self: self.text)
    @rule(data=st.data(), text=TEXTS)
    def update(self, data: st.DataObject, text: str) -> None:
        name = self.some_name(data)
        self.mem.update(name, text=text, meta={"seen": len(text)})
        self.text[name], self.meta[name] = text, {"seen": len(text)}

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def link(self, data: st.DataObject) -> None:
        name, parent = self.some_name(data), data.draw(st.sampled_from([None, *self.text]))
        if parent in self.below(name):
            self.refused(ValueError, lambda: self.mem.link(name, parent))
            return
        self.mem.link(name, parent)
        if parent != self.parent[name]:  # under the parent it has, nothing moves
            self.children[self.parent[name]].remove(name)
            self.children[parent].append(name)
            self.parent[name] = parent

    @precondition(lambda self: self.text)
    @rule(data=st.data(), cascade=st.booleans())
    def remove(self, data: st.DataObject, cascade: bool) -> None:
        name = self.some_name(data)
        if self.children[name] and not cascade:
            self.refused(ValueError, lambda: self.mem.remove(name))
            return
        record = self.mem.get(name)
        self.mem.remove(name, cascade=cascade)
        assert (record.text, record.parent_id) == (self.text[name], self.parent[name])
        self.children[self.parent[name]].remove(name)
        for each in self.below(name):
            del self.text[each], self.parent[each], self.meta[each]
            self.children.pop(each)

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def bad_batches(self, data: st.DataObject) -> None:
        name = self.some_name(data)
        good = {"text": "fine", "parent": name}
        for bad, error in (
            ({"text": "x", "id": name}, ValueError),
            ({"text": "x", "parent": MISSING_NAME}, KeyError),
            ({"text": " "}, ValueError),
            ({"text": "x", "t": "yesterday"}, TypeError),
            ({"text": "x", "title": "y"}, TypeError),
            ({"text": "x", "meta": {"v": float("nan")}}, ValueError),
            ({"text": "x", "valid_from": NOW, "valid_until": NOW - timedelta(1)}, ValueError),
        ):
            self.refused(error, lambda item=bad: self.mem.add_many([good, item]))

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def bad_edits(self, data: st.DataObject) -> None:
        name = self.some_name(data)
        self.refused(KeyError, lambda: self.mem.remove(MISSING_NAME))
        self.refused(KeyError, lambda: self.mem.link(MISSING_NAME, name))
        self.refused(KeyError, lambda: self.mem.link(name, MISSING_NAME))
        self.refused(KeyError, lambda: self.mem.update(MISSING_NAME, text="x"))
        self.refused(ValueError, lambda: self.mem.update(name, text="  ", meta={"a": 1}))
        self.refused(TypeError, lambda: self.mem.update(name, text="new", meta={"a": {1, 2}}))
        self.refused(
            ValueError, lambda: self.mem.update(name, text="n", valid_from=NOW, valid_until=datetime.min)
        )

    @invariant()
    def agrees(self) -> None:
        mem = self.mem
        assert mem.ids == list(self.text)
        assert len(mem) == len(self.text)
        assert mem.roots() == [name for name in self.text if self.parent[name] is None]
        rows = mem.table()
        for row, name in zip(rows, self.text, strict=True):
            assert (row["id"], row["text"], row["parent"]) == (name, self.text[name], self.parent[name])
            assert row["meta"] == self.meta[name]
            assert mem.children(name) == self.children[name]
            level, above = 0, self.parent[name]
            while above is not None:
                level, above = level + 1, self.parent[above]
            assert (row["level"], mem.depth(name)) == (level, 1.0 + 0.5 * level)
            assert len(mem.ancestors(name)) == level
            assert sorted([name, *mem.descendants(name)]) == sorted(self.below(name))
        assert len(mem.tree().splitlines()) == len(self.text)

    @invariant()
    def points_are_those_of_a_memory_built_afresh(self) -> None:
        fresh = Memory(CheapEmbedder(), clock=lambda: NOW)
        waiting = list(self.children[None])
        for name in waiting:
            fresh.add(self.text[name], id=name, parent=self.parent[name])
            waiting.extend(self.children[name])
        for name, point in zip(self.mem.ids, self.mem.points, strict=True):
            assert np.array_equal(point, fresh.point(name))


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
