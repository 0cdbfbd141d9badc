"""An agent that has known one user for months.

What was said hangs under what it was about; the agent forgets what does not come up, keeps what must stay, and builds
the prompt for the next question out of what it remembers. Every edit is on disk when it returns, so the sessions may be
runs of different processes, as they are here.

    python examples/long_running_user.py [FILE]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from poincare_memory import Ebbinghaus, Memory

START = datetime(2026, 1, 5, 9, 0, tzinfo=timezone.utc)

TOPICS = {
    "about": "About Mara",
    "run": "Running: the marathon in April",
    "work": "Work: the billing migration",
    "home": "Home and family",
}
PINNED = [("about", "Mara is allergic to penicillin"), ("about", "Mara prefers short answers, with sources")]
# Day, topic, what was said.
SAID = [
    (0, "run", "Wants to run the marathon on 19 April in under four hours"),
    (0, "run", "Longest run so far: 18 km"),
    (2, "work", "Leads the migration of billing from Perl to Rust"),
    (3, "home", "Her daughter Ida turns six on 2 March"),
    (9, "run", "Right calf hurts after hill sprints"),
    (10, "run", "Physiotherapist: no hills for two weeks, heel raises every day"),
    (16, "work", "Invoices of December were counted twice; fixed by hand"),
    (24, "run", "Calf is fine again, ran 24 km"),
    (31, "home", "Ida wants a kite for her birthday"),
    (38, "work", "Perl billing is switched off on 1 March"),
    (45, "run", "Ran 30 km in 2:50, the last five hurt"),
    (52, "home", "Bought a red kite with two lines"),
    (57, "work", "Perl billing is off; one customer has no invoices, ticket 4711"),
    (63, "run", "Half marathon in 1:52, calf a little tight"),
]
QUESTIONS = ["How is my calf doing?", "What did Ida wish for?", "Which ticket was about invoices?"]


def open_memory(path: Path, clock: Callable[[], datetime]) -> Memory:
    """The agent's memory: recall strengthens, and words count beside meaning."""
    decay = Ebbinghaus(stability_hours=24 * 30, boost_per_access=0.5)
    return Memory.open(path, decay=decay, clock=clock, inherit=0.6, lexical_coef=0.5, time_coef=0.2)


def first_session(path: Path) -> None:
    """What is there before anything was said."""
    with open_memory(path, lambda: START) as mem, mem.transaction():
        for id, text in TOPICS.items():
            mem.add(text, id=id)
        for topic, text in PINNED:
            mem.add(text, parent=topic, pin=True)


def session(path: Path, day: int) -> None:
    """One day: remember what was said, under what it is about."""
    now = START + timedelta(days=day)
    with open_memory(path, lambda: now) as mem:
        for at, topic, text in SAID:
            if at == day:
                mem.add(text, parent=topic, meta={"day": day})


def prompt(mem: Memory, question: str) -> str:
    """What the agent would send to its model."""
    always = "\n".join(f"- {record.text}" for record in mem if record.pinned and record.parent_id)
    found = mem.context(question, budget=400, k=2, filters={"day": {"$exists": True}})
    return f"Always true:\n{always}\nWhat may help:\n{found}\nQuestion: {question}"


def main(path: Path) -> None:
    first_session(path)
    for day in sorted({day for day, _, _ in SAID}):
        session(path, day)
    today = START + timedelta(days=70)
    with open_memory(path, lambda: today) as mem:
        print(f"{len(mem)} memories after {len({day for day, _, _ in SAID})} sessions\n")
        for question in QUESTIONS:
            print(prompt(mem, question), end="\n\n")
        old, new = (
            next(record.id for record in mem if record.text.startswith(text)) for text in ("Right", "Half")
        )
        weights = mem.time_weights([old, new])
        print(f"weights: {weights[0]:.2f} of the sore calf in January, {weights[1]:.2f} of last week's")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "mara.db")
