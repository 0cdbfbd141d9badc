"""Every SQLite statement of every edit fails once: memory and file hold the old or the new state, both the same."""

from __future__ import annotations

import shutil
import sqlite3
from typing import Any, ClassVar

import pytest

from crash.workload import DIM, assert_same_vectors, load_memory, open_memory, perform, state_of
from poincare_memory import HashingEmbedder, Memory

REAL_CONNECT = sqlite3.connect


class Failing(sqlite3.Connection):
    """Counts the statements of all connections, and fails at the one that is due, before or after it ran."""

    seen: ClassVar[int] = 0
    due: ClassVar[int | None] = None
    late: ClassVar[bool] = False
    error: ClassVar[BaseException] = sqlite3.OperationalError("disk I/O error")

    @classmethod
    def arm(cls, due: int | None, late: bool = False, error: BaseException | None = None) -> None:
        cls.seen, cls.due, cls.late = 0, due, late
        cls.error = sqlite3.OperationalError("disk I/O error") if error is None else error

    def _run(self, run: Any, statement: str, rest: tuple[Any, ...]) -> Any:
        kind = type(self)
        kind.seen += 1
        fails = kind.seen == kind.due
        if fails and not (kind.late and not statement.startswith("COMMIT")):
            raise kind.error  # a COMMIT that fails late did not fail
        result = run(statement, *rest)
        if fails:
            result.close()
            raise kind.error
        return result

    def execute(self, statement: str, *rest: Any) -> Any:
        return self._run(super().execute, statement, rest)

    def executemany(self, statement: str, *rest: Any) -> Any:
        return self._run(super().executemany, statement, rest)


@pytest.fixture
def failing(monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: REAL_CONNECT(*a, **{**k, "factory": Failing}))
    Failing.arm(None)
    yield Failing
    Failing.arm(None)


@pytest.fixture
def base(tmp_path):
    """A live store with something in it, some of it not from us."""
    path = tmp_path / "base.db"
    with open_memory(path) as memory:
        memory.add("root", id="root")
        memory.add_many([{"text": f"child {i}", "id": f"c{i}", "parent": "root"} for i in range(4)])
        memory.add("deep", id="deep", parent="c1", meta={"k": [1]})
        memory.remove("c3")
    return path


def copied(base, name):
    path = base.with_name(f"{name}.db")
    shutil.copy(base, path)
    return path


def error_of(action, *arguments):
    """What an action raised, of the errors that users are told to expect; None for nothing."""
    try:
        action(*arguments)
    except (OSError, ValueError) as error:
        return error
    return None


def accessed(memory: Memory) -> list[tuple[int, Any]]:
    return [(memory.get(id).access_count, memory.get(id).last_accessed) for id in memory.ids]


def whole_state(memory: Memory) -> dict[str, Any]:
    return {**state_of(memory), "accesses": accessed(memory)}


OPERATIONS: dict[str, Any] = {
    "add": {"do": "add", "id": "new", "text": "new", "parent": "c1", "meta": {"a": 1}},
    "add many": {
        "do": "add_many",
        "items": [{"text": f"m {i}", "id": f"m{i}", "parent": "m0" if i else "c2"} for i in range(5)],
    },
    "update the text": {"do": "update", "id": "c1", "changes": {"text": "another", "meta": {"b": 2}, "t": 5}},
    "update the metadata": {"do": "update", "id": "deep", "changes": {"meta": {"k": [2]}}},
    "link": {"do": "link", "id": "c1", "parent": "c2"},
    "unlink": {"do": "link", "id": "c1", "parent": None},
    "remove": {"do": "remove", "id": "c0", "cascade": False},
    "remove a subtree": {"do": "remove", "id": "c1", "cascade": True},
    "remove everything": {"do": "remove", "id": "root", "cascade": True},
    "a setting": {"do": "set", "time_coef": 0.25},
    "a transaction": {
        "do": "together",
        "parts": [
            {"do": "add", "id": "new", "text": "new", "parent": "c1", "meta": {}},
            {"do": "update", "id": "new", "changes": {"text": "newer"}},
            {"do": "link", "id": "new", "parent": "c2"},
            {"do": "remove", "id": "c0", "cascade": True},
            {"do": "set", "time_coef": 0.5},
        ],
    },
}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_statement_of_an_edit_may_fail(base, failing, name, late):
    operation = OPERATIONS[name]
    with open_memory(copied(base, "good")) as twin:
        old = whole_state(twin)
        perform(twin, operation)
        new = whole_state(twin)
        assert new != old
        failures = 0
        for due in range(1, 500):
            path = copied(base, f"n{due}")
            memory = open_memory(path)
            failing.arm(due, late)
            error = error_of(perform, memory, operation)
            reached = failing.seen >= due
            failing.arm(None)
            if error is not None:
                failures += 1
                assert "nothing was changed" in str(error), repr(error)
                assert whole_state(memory) == old
                with open_memory(path) as other:  # what is on disk
                    assert whole_state(other) == old
                perform(memory, operation)
            assert whole_state(memory) == new
            memory.close()
            if not reached:
                break
            with open_memory(path) as reopened:
                assert whole_state(reopened) == new
                assert_same_vectors(reopened, twin)
        else:
            pytest.fail("an edit of 500 statements?")
        assert failures >= 3, "BEGIN, a write and COMMIT at least"


@pytest.mark.parametrize(
    "error", [MemoryError("none left"), KeyboardInterrupt(), sqlite3.IntegrityError("no")]
)
@pytest.mark.parametrize("name", ["add many", "a transaction", "link"])
def test_other_errors_take_back_too(base, failing, name, error):
    operation = OPERATIONS[name]
    with open_memory(copied(base, "good")) as memory:
        old = whole_state(memory)
        for due in range(2, 500):
            failing.arm(due, error=error)
            try:
                perform(memory, operation)
            except (OSError, ValueError, MemoryError, KeyboardInterrupt):
                failing.arm(None)
                assert whole_state(memory) == old
            else:
                failing.arm(None)
                break
        new = whole_state(memory)
        assert new != old
    with open_memory(base.with_name("good.db")) as reopened:
        assert whole_state(reopened) == new


def test_accesses_that_could_not_be_written_are_written_later(base, failing):
    with open_memory(copied(base, "good")) as memory:
        memory.search("child", k=2, touch=True)
        counted = accessed(memory)
        assert sum(count for count, _ in counted) == 2
        for due in range(1, 20):
            failing.arm(due)
            try:
                memory.add(f"note {due}", id=f"note {due}")
            except OSError:
                pass
            else:
                break
            finally:
                failing.arm(None)
            assert accessed(memory) == counted
    with open_memory(base.with_name("good.db")) as reopened:
        assert accessed(reopened)[: len(counted)] == counted


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_every_statement_of_opening_may_fail(base, failing, late):
    expected = None
    for due in range(1, 500):
        path = copied(base, f"n{due}")
        failing.arm(due, late)
        error = error_of(lambda path=path: open_memory(path).close())
        reached = failing.seen >= due
        failing.arm(None)
        assert error is None or str(path) in str(error), repr(error)
        memory = open_memory(path)
        with memory:
            expected = expected or whole_state(memory)
            assert whole_state(memory) == expected
        if not reached:
            return
    pytest.fail("opening takes 500 statements?")


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_every_statement_of_making_a_store_may_fail(tmp_path, failing, late):
    for due in range(1, 500):
        path = tmp_path / f"n{due}.db"
        failing.arm(due, late)
        try:
            memory = open_memory(path)
        except (OSError, ValueError):
            failing.arm(None)
            memory = open_memory(path)  # whatever was left behind
            seen = True
        else:
            seen = failing.seen >= due
            failing.arm(None)
        with memory:
            memory.add("first", id="a")
        assert load_memory(path).ids == ["a"]
        if not seen:
            return
    pytest.fail("making a store takes 500 statements?")


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_every_statement_of_save_and_load_may_fail(base, failing, tmp_path, late):
    memory = load_memory(base)
    target = tmp_path / "saved.db"
    memory.save(target)
    memory.add("one more", id="more")
    before = target.read_bytes()
    there = set(tmp_path.iterdir())
    for due in range(1, 500):
        failing.arm(due, late)
        try:
            memory.save(target)
        except (OSError, ValueError, sqlite3.Error):
            failing.arm(None)
            assert target.read_bytes() == before
            assert set(tmp_path.iterdir()) == there
        else:
            if failing.seen < due:
                break
    failing.arm(None)
    assert "more" in load_memory(target)
    loaded: list[Memory] = []
    for due in range(1, 500):
        failing.arm(due, late)
        error = error_of(lambda: loaded.append(load_memory(target)))
        if error is not None:
            assert str(target) in str(error)
            continue
        assert loaded.pop().ids == memory.ids
        if failing.seen < due:
            return
    pytest.fail("loading takes 500 statements?")


CHORES: dict[str, Any] = {
    "backup": lambda path: with_open(path, lambda memory: memory.backup(path.with_suffix(".backup"))),
    "compact": lambda path: with_open(path, lambda memory: memory.compact()),
    "metadata changed in place": lambda path: with_open(path, change_in_place),
    "accesses": lambda path: with_open(path, lambda memory: memory.search("child", k=3)),
    "versions": lambda path: with_open(path, lambda memory: memory.history("root"), history=True),
    "embedding anew": lambda path: Memory.open(
        path, embedder=HashingEmbedder(dim=2 * DIM), reembed=True, progress=False
    ).close(),
}


def with_open(path, use, **options):
    """Closed in any case, and what went wrong said."""
    with open_memory(path, **options) as memory:
        use(memory)


def change_in_place(memory):
    memory.get("deep").meta["k"].append(2)
    assert len(memory)


def what_is_in(path):
    """Ids, texts and metadata, and that all vectors are of one embedder."""
    try:
        memory = open_memory(path)
    except ValueError:
        memory = Memory.open(path, embedder=HashingEmbedder(dim=2 * DIM))
    with memory:
        twin = Memory(memory.embedder)
        for id in memory.ids:
            twin.add(memory.get(id).text, id=id, parent=memory.parent(id))
        assert abs(twin.points - memory.points).max() < 1e-12
        return memory.dim, {id: (memory.get(id).text, memory.get(id).meta) for id in memory.ids}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", CHORES)
@pytest.mark.parametrize(
    "stride", [pytest.param(7, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
def test_every_statement_of_a_chore_may_fail(base, failing, name, late, stride):
    old = what_is_in(copied(base, "old"))
    CHORES[name](copied(base, "new"))
    new = what_is_in(base.with_name("new.db"))
    failures = 0
    for due in range(1, 1000, stride):
        path = copied(base, f"n{due}")
        failing.arm(due, late)
        error = error_of(CHORES[name], path)
        reached = failing.seen >= due
        failing.arm(None)
        failures += error is not None
        assert error is None or base.parent.as_posix() in str(error), repr(error)
        backup = path.with_suffix(".backup")
        assert not backup.exists() or what_is_in(backup) == old
        assert backup.exists() or name != "backup" or error is not None
        assert what_is_in(path) in (old, new)
        if not reached:
            assert what_is_in(path) == new
            assert error is None
            break
    else:
        pytest.fail("a chore of 1,000 statements?")
    assert failures > (5 if stride == 1 else 0)
