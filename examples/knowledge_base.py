"""A knowledge base whose facts change.

Facts have windows in which they are true (what was the limit in release 2.3?), and the store keeps what it once said
(what did we tell the customer on Monday?). The first is about the world, the second about us.

    python examples/knowledge_base.py [FILE]
"""

from __future__ import annotations

import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from poincare_memory import Memory, ValidityWindow


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, tzinfo=timezone.utc)


RELEASES = [("2.3", day(1, 12)), ("2.4", day(3, 2)), ("2.5", day(5, 4))]
# Section, fact, first release, release from which on it is not true any more.
FACTS = [
    ("limits", "The API allows 100 requests a second", "2.3", "2.4"),
    ("limits", "The API allows 250 requests a second", "2.4", None),
    ("limits", "Uploads may be 50 MB large", "2.3", "2.5"),
    ("limits", "Uploads may be 2 GB large, in parts", "2.5", None),
    ("auth", "Log in with an API key in the header X-Key", "2.3", "2.5"),
    ("auth", "Log in with OAuth 2; API keys are refused", "2.5", None),
    ("auth", "Tokens are valid for one hour", "2.4", None),
    ("storage", "Backups are made every night and kept for 30 days", "2.3", None),
]
SECTIONS = {"limits": "Limits and quotas", "auth": "Authentication", "storage": "Storage and backups"}


def build(mem: Memory) -> None:
    """All or nothing: a reader never sees half a knowledge base."""
    since = dict(RELEASES)
    with mem.transaction():
        mem.add("Product documentation", id="docs")
        for id, title in SECTIONS.items():
            mem.add(title, id=id, parent="docs", meta={"kind": "section"})
        for number, (section, text, first, last) in enumerate(FACTS):
            mem.add(
                text,
                id=f"{section}-{number}",
                parent=section,
                t=since[first],
                valid_from=since[first],
                valid_until=since[last] if last else None,
                meta={"kind": "fact", "since": first},
            )


def answer(mem: Memory, question: str, **moment: datetime) -> str:
    """The best fact that is true at that moment."""
    hits = mem.search(question, k=1, filters={"kind": "fact"}, touch=False, **moment)
    return hits[0].text if hits and hits[0].time_weight == 1.0 else "nothing that was true then"


def main(path: Path) -> None:
    clock = [day(1, 12)]
    with Memory.open(
        path, decay=ValidityWindow(), clock=lambda: clock[0], history=True, lexical_coef=0.5
    ) as mem:
        build(mem)

        question = "How many requests a second does the API allow?"
        for release, since in RELEASES:
            print(f"{release}: {answer(mem, question, at_time=since)}")
        print(f"2.5: {answer(mem, 'how do I log in', at_time=day(5, 4))}")

        # An error is corrected in June. What we said before can still be told.
        clock[0] = day(6, 1)
        mem.update("limits-1", text="The API allows 300 requests a second")
        print(f"\ntoday:           {answer(mem, question)}")
        print(f"said on 20 May:  {answer(mem, question, as_of=day(5, 20))}")
        print(f"versions:        {[version.record.text.split()[3] for version in mem.history('limits-1')]}")

        # A section moves; its facts go with it.
        mem.add("Operations", id="ops", parent="docs", meta={"kind": "section"})
        mem.link("storage", "ops")
        print(f"\n{mem.tree('ops')}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "docs.db")
