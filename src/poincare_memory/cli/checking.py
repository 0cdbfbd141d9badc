"""``doctor``: what is wrong with a file, and a copy of it that is whole."""

from __future__ import annotations

import argparse
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .stores import AddCommand, add_store, existing_file, named_parts
from .terminal import counted, tell, tell_json

if TYPE_CHECKING:
    from ..store.diagnosis import Examination

FINDINGS = 1  # exit code


def register(add: AddCommand) -> None:
    """Add this command to the parser."""
    checking = add(
        "doctor",
        doctor,
        "check a store, and report each finding; exit code 1 where there are some; can repair it",
    )
    add_store(checking)
    how = checking.add_mutually_exclusive_group()
    how.add_argument("--repair", metavar="OUT", help="write what can be saved to another file")
    how.add_argument(
        "--in-place",
        action="store_true",
        help="repair the file itself; what it was goes into a backup beside it",
    )
    checking.add_argument("--json", action="store_true", help="print the findings as JSON")


def doctor(arguments: argparse.Namespace) -> int:
    """Report each finding; repair where asked."""
    from ..store.diagnosis import diagnose, repair

    path = existing_file(arguments.db)
    embedder, _ = named_parts(arguments)
    written = ""
    if arguments.repair:
        target = Path(arguments.repair)
        if target.exists():
            raise ValueError(f"{target} exists already: name a new file")
        found = repair(path, target, embedder)
        written = f"wrote {target} ({_what_there_is(found)})"
    elif arguments.in_place:
        found = diagnose(path, embedder)
        if found.findings:
            target = path.with_name(f"{path.name}.repaired-{os.getpid()}")
            repair(path, target, embedder)
            backup = _set_aside(path)
            os.replace(target, path)
            written = f"wrote {path} ({_what_there_is(found)}); what it was is in {backup}"
    else:
        found = diagnose(path, embedder)
    if arguments.json:
        tell_json(
            {
                "count": found.count,
                "versions": found.versions,
                "findings": [vars(finding) for finding in found.findings],
            }
        )
    else:
        for finding in found.findings:
            tell((finding.where, "name"), ": ", (finding.problem, "bad"), f" → {finding.remedy}")
        if found.findings:
            tell("1 finding" if len(found.findings) == 1 else f"{len(found.findings)} findings")
        else:
            tell((f"{path} is whole", "good"), f" ({_what_there_is(found)})")
        if written:
            tell(written)
    return FINDINGS if found.findings and not written else 0


def _what_there_is(found: Examination) -> str:
    memories = counted(found.count)
    if not found.versions:
        return memories
    return (
        f"{memories}, 1 past version"
        if found.versions == 1
        else f"{memories}, {found.versions} past versions"
    )


def _set_aside(path: Path) -> Path:
    """Copy a file and its log to a new name, and remove the log."""
    backup = path.with_name(f"{path.name}.backup-{time.strftime('%Y%m%dT%H%M%S')}")
    if backup.exists():
        raise ValueError(f"{backup} exists already")
    shutil.copy2(path, backup)
    for suffix in ("-wal", "-journal"):
        log = Path(f"{path}{suffix}")
        if log.exists():
            shutil.copy2(log, f"{backup}{suffix}")
            log.unlink()
    Path(f"{path}-shm").unlink(missing_ok=True)
    return backup
