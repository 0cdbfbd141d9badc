"""`Memory` is put together from parts; its users see one class."""

from __future__ import annotations

import inspect
import pickle

import pytest

from poincare_memory import Memory
from poincare_memory.store.facade import searching, settings


def test_methods_are_named_as_those_of_memory() -> None:
    routines = {
        name: value for name, value in inspect.getmembers(Memory, inspect.isroutine) if name[0] != "_"
    }
    assert {"add", "search", "load", "tree", "asearch"} <= set(routines)
    for name, routine in routines.items():
        assert (routine.__module__, routine.__qualname__) == (Memory.__module__, f"Memory.{name}")
        assert pickle.loads(pickle.dumps(routine)) == routine


def test_errors_of_calls_name_memory() -> None:
    with pytest.raises(TypeError, match=r"^Memory\.add\(\) missing 1 required positional argument: 'text'"):
        Memory().add()  # type: ignore[call-arg]  # the error is what is tested


def test_no_part_hides_a_member_of_another() -> None:
    parts = [part for part in Memory.__mro__[1:-1] if part.__module__.startswith("poincare_memory")]
    owned = [
        name for part in parts for name in vars(part) if name[:2] != "__" and name not in ("_of", "_memory")
    ]
    assert len(owned) == len(set(owned))
    assert {searching.Searching, settings.Settings} <= set(parts)


def test_a_subclass_keeps_its_own_names() -> None:
    class Notes(Memory):
        def note(self, text: str) -> str:
            return self.add(text)

    assert Notes.note.__qualname__.endswith("Notes.note")
    assert Notes.add is Memory.add
