"""What a store does beside edits, again and again until its process is killed."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection

from crash.workload import DIM, NOW, load_memory, open_memory
from poincare_memory import HashingEmbedder, Memory

ALIKE = 40  # memories of a store that chores are done to


def filled(memory: Memory, name: str, count: int = ALIKE) -> Memory:
    memory.add_many(
        {"text": f"{name} {i}", "id": f"{name}{i}", "parent": f"{name}{i // 3}" if i else None, "t": NOW}
        for i in range(count)
    )
    return memory


def embedder(seed: int) -> HashingEmbedder:
    return HashingEmbedder(dim=DIM if seed == 0 else 2 * DIM, seed=seed)


def saving(folder: str) -> None:
    """Two memories take turns in one file."""
    for name in ("one", "two"):
        load_memory(f"{folder}/{name}.db").save(f"{folder}/target.db")


def saving_over_a_live_file(folder: str) -> None:
    for name in ("one", "two"):
        with open_memory(f"{folder}/target.db") as live:
            live.get(live.ids[0]).meta["seen"] = True
            len(live)
        load_memory(f"{folder}/{name}.db").save(f"{folder}/target.db")


def writing_json(folder: str) -> None:
    for name in ("one", "two"):
        load_memory(f"{folder}/{name}.db").to_json(f"{folder}/target.json")


def backing_up(folder: str) -> None:
    with open_memory(f"{folder}/live.db") as live:
        live.update("live0", meta={"again": True})
        live.backup(f"{folder}/target.db")


def compacting(folder: str) -> None:
    with open_memory(f"{folder}/live.db") as live:
        if "live1" in live:
            live.remove("live1", cascade=True)
        live.compact()
        gone = [i for i in range(ALIKE) if f"live{i}" not in live]
        live.add_many(
            {"text": f"live {i}", "id": f"live{i}", "parent": f"live{i // 3}", "t": NOW} for i in gone
        )


def reembedding(folder: str) -> None:
    for seed in (1, 0):
        Memory.open(f"{folder}/live.db", embedder=embedder(seed), reembed=True, progress=False).close()


def keeping_versions(folder: str) -> None:
    with open_memory(f"{folder}/live.db", history=True) as live:
        live.update("live0", text="live 0 again")
        live.update("live0", text="live 0")


CHORES: dict[str, Callable[[str], None]] = {
    chore.__name__: chore
    for chore in (
        saving,
        saving_over_a_live_file,
        writing_json,
        backing_up,
        compacting,
        reembedding,
        keeping_versions,
    )
}


def work(folder: str, name: str, told: Connection) -> None:
    """A byte for each time it was done."""
    while True:
        CHORES[name](folder)
        told.send_bytes(b".")
