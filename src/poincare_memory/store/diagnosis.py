"""What is wrong with a file, finding by finding, and a new file with what can be saved of it.

`sqlite.load` refuses a damaged file at the first fault; this reads on.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..embed.embedding import embed_texts
from ..geometry.poincare import PoincareBall
from . import salvage, sqlite
from .archive import EXTRAS, FIELDS, SETTINGS_IN_FILES, Archive
from .filling import store_of
from .live import DEFAULTS
from .placement import place
from .record_mending import RecordMending, named_in_file, passes
from .salvage import Unreadable
from .sql import foreign_parts, is_store, refuse_computed
from .standins import embedder_or_standin, policy_or_standin
from .state import FORMAT_VERSION, SETTINGS

if TYPE_CHECKING:
    from ..embed.base import Embedder

__all__ = ["Examination", "Finding", "diagnose", "repair"]

HASHING: Final = {"type": "hashing", "ngram_range": [3, 5], "seed": 0}
NOTHING: Final = "nothing can be saved"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Parameters
    ----------
    where : str
        "file", "settings", or the record.
    problem : str
        What is wrong.
    remedy : str
        What `repair` does about it.
    """

    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem} → {self.remedy}"


@dataclass
class Examination:
    """What was found, and how many memories can be saved.

    Parameters
    ----------
    findings : list of Finding
        Empty for a file that is whole.
    count : int
        Memories that there are, or that can be saved.
    keeps_versions : bool
        Whether the file holds versions of the past, which `repair` does not take over.
    """

    findings: list[Finding] = field(default_factory=list)
    count: int = 0
    keeps_versions: bool = False

    def note(self, where: str, problem: str, remedy: str) -> None:
        self.findings.append(Finding(where, problem, remedy))


def diagnose(path: str | os.PathLike[str], embedder: Embedder | None = None) -> Examination:
    """Look at everything in a file; it is only read.

    Parameters
    ----------
    path : path
        An SQLite file of a memory, damaged or not.
    embedder : Embedder, optional
        Whose vectors the file has, where files do not tell.

    Raises
    ------
    FileNotFoundError
        Where there is no file.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.store.diagnosis import diagnose
    >>> mem = Memory()
    >>> _ = mem.add("green tea")
    >>> mem.save("tea.db")
    >>> diagnose("tea.db")
    Examination(findings=[], count=1, keeps_versions=False)
    """
    return _Examiner(Path(path), embedder).all()


def repair(
    path: str | os.PathLike[str], target: str | os.PathLike[str], embedder: Embedder | None = None
) -> Examination:
    """Write what can be saved of a file into another one; what was found, as `diagnose` tells it.

    Raises
    ------
    ValueError
        Where nothing can be saved, or `target` is the file itself.
    """
    source, written = Path(path), Path(target)
    if written.exists() and os.path.samefile(source, written):
        raise ValueError(f"{target}: a repaired copy goes into another file")
    examiner = _Examiner(source, embedder)
    found = examiner.all()
    if examiner.archive is None:
        problems = "; ".join(finding.problem for finding in found.findings)
        raise ValueError(f"{path}: {NOTHING}: {problems}")
    sqlite.save(examiner.mended(), written)
    return found


class _Examiner:
    def __init__(self, file: Path, embedder: Embedder | None) -> None:
        if not file.exists():
            raise FileNotFoundError(2, "no such file", str(file))
        if not file.is_file():
            raise ValueError(f"{file}: expected a file, found something else")
        self.file = file
        self.archive: Archive | None = None
        self._embedder = embedder
        self._found = Examination()
        self._config: dict[str, Any] = {}
        self._to_embed: list[int] = []  # numbers of records without a readable embedding
        self._to_place: list[int] = []  # and without a readable point

    def all(self) -> Examination:
        found = self._found
        at_rest = not any(os.path.exists(f"{self.file}{suffix}") for suffix in sqlite.SIDECARS)
        try:
            with salvage.opened(self.file, at_rest) as connection:
                if not is_store(connection):
                    found.note("file", "not a memory store: it has no tables config and records", NOTHING)
                    return found
                self._examine(connection)
        except sqlite3.DatabaseError as error:
            if self.archive is None:
                found.note("file", f"not readable as a memory store ({error})", NOTHING)
        except ValueError as error:
            found.note("file", str(error).removeprefix(f"{self.file}: "), NOTHING)
            self.archive = None
        if not found.findings:
            self._ask_load()
        return found

    def _ask_load(self) -> None:
        """The last word has what refuses files."""
        try:
            sqlite.load(
                self.file,
                embedder=self._embedder_of_file(),
                decay=policy_or_standin(self._config.get("decay", {"type": "none"})),
            )
        except (ValueError, OSError) as error:
            self._found.note("file", str(error).removeprefix(f"{self.file}: "), "written anew")

    def _examine(self, connection: sqlite3.Connection) -> None:
        found = self._found
        refuse_computed(connection, str(self.file))
        for fault in salvage.structure_faults(connection):
            found.note("file", fault, "written anew")
        strange = foreign_parts(connection)
        if strange:
            found.note("file", f"{strange[0]!r} in its schema is not of our making", "left out")
        found.keeps_versions = salvage.keeps_versions(connection)
        texts = salvage.settings(connection)
        records = self._read_records(connection)
        self._settle_config(texts, records)
        differs = salvage.settings_digest(connection)
        if differs is not None:
            found.note("settings", differs, "kept as they read")
        self._settle(records, salvage.extras(connection), salvage.digests(connection))

    def _read_records(self, connection: sqlite3.Connection) -> list[dict[str, Any]]:
        records = []
        for record in salvage.records(connection):
            if isinstance(record, Unreadable):
                after = "from the first on" if record.last is None else f"after position {record.last}"
                until = "" if record.first is None else f" and before {record.first}"
                self._found.note(
                    "file",
                    f"records {after}{until} cannot be read ({record.reason})",
                    "those that can, are kept",
                )
            else:
                records.append(record)
        return records

    # --- settings -----------------------------------------------------------------------------------------

    def _settle_config(self, texts: dict[str, str | None], records: list[dict[str, Any]]) -> None:
        config: dict[str, Any] = {}
        for name, text in texts.items():
            try:
                config[name] = json.loads(text or "")
            except (ValueError, RecursionError):
                self._found.note("settings", f"{name} does not hold JSON", "the default instead")
        self._config = config
        self._default("format", FORMAT_VERSION, config.get("format") == FORMAT_VERSION)
        self._default("curvature", 1.0, passes(PoincareBall, config.get("curvature")))
        for name in SETTINGS_IN_FILES:
            good = name in config and passes(SETTINGS[name], name, config[name])
            self._default(name, DEFAULTS[name], good)
        lengths = Counter(
            len(record[name]) // 8
            for record in records
            for name in ("point", "embedding")
            if isinstance(record[name], bytes) and record[name] and len(record[name]) % 8 == 0
        )
        dim = config.get("dim")
        usual = lengths.most_common(1)[0][0] if lengths else 512
        self._default("dim", usual, type(dim) is int and dim > 0 and (not lengths or dim == usual))
        spec: Any = config.get("embedder")
        known = passes(embedder_or_standin, spec) and spec.get("dim") == config["dim"]
        self._default("embedder", HASHING | {"dim": config["dim"]}, known)
        config.setdefault("decay", {"type": "none"})  # as it is read, too
        self._default("decay", {"type": "none"}, passes(policy_or_standin, config["decay"]))

    def _default(self, name: str, default: Any, good: bool) -> None:
        if good:
            return
        value = self._config.get(name)
        problem = f"no {name}" if name not in self._config else f"{name} cannot be {value!r:.80}"
        self._found.note("settings", problem, f"{default!r:.80} instead")
        self._config[name] = default

    def _embedder_of_file(self) -> Embedder:
        return embedder_or_standin(self._config["embedder"]) if self._embedder is None else self._embedder

    # --- records ------------------------------------------------------------------------------------------

    def _settle(
        self,
        records: list[dict[str, Any]],
        extras: dict[str, tuple[Any, ...]],
        digests: dict[int, int],
    ) -> None:
        mending = RecordMending(self._found.note)
        kept: list[dict[str, Any]] = []
        seen: set[str] = set()
        for record in records:
            mending.check_digest(record, extras, digests)
            if mending.settle(record, extras, seen):
                seen.add(record["id"])
                kept.append(record)
        for pos in digests:
            self._found.note(f"record at position {pos}", "missing", "lost")
        mending.settle_parents(kept)
        self._found.count = len(kept)
        dim = self._config["dim"]
        vectors = [
            np.array([_vector(record[name], dim) for record in kept]).reshape(-1, dim)
            for name in ("point", "embedding")
        ]
        fields = {name: [record[name] for record in kept] for name in (*FIELDS, *EXTRAS)}
        self.archive = Archive(
            self._config,
            fields,
            [(vectors[0], vectors[1])] if kept else [],
            len(kept),
        )
        self._settle_vectors(kept)

    def _settle_vectors(self, records: list[dict[str, Any]]) -> None:
        """Find the vectors that cannot be; what they are to be, shows when the file is mended."""
        assert self.archive is not None
        if not records:
            return
        points, embeddings = next(iter(self.archive.vectors))
        radius = PoincareBall(self._config["curvature"]).radius
        with np.errstate(over="ignore", invalid="ignore"):
            placed = np.sqrt(np.einsum("ij,ij->i", points, points)) < radius
        embedded = np.isfinite(embeddings).all(axis=1)
        self._to_embed = np.flatnonzero(~embedded).tolist()
        self._to_place = np.flatnonzero(~placed | ~embedded).tolist()
        for i in self._to_embed:
            can = self._can_embed()
            self._found.note(
                named_in_file(records[i]),
                "its embedding is damaged",
                "embedded anew"
                if can
                else "without direction, until it is embedded anew (pass the embedder)",
            )
            embeddings[i] = 0.0
        for i in np.flatnonzero(~placed).tolist():
            self._found.note(
                named_in_file(records[i]), "its point is damaged or outside the ball", "placed anew"
            )
        points[self._to_place] = 0.0

    def _can_embed(self) -> bool:
        return self._embedder is not None or self._config["embedder"].get("type") == "hashing"

    # --- the repaired store -------------------------------------------------------------------------------

    def mended(self) -> Any:
        """A store of what was saved."""
        archive = self.archive
        assert archive is not None
        embedder = self._embedder_of_file()
        texts, ids = archive.fields["text"], archive.fields["id"]
        if self._to_embed and self._can_embed():
            _, embeddings = next(iter(archive.vectors))
            embeddings[self._to_embed] = embed_texts(embedder, [texts[i] for i in self._to_embed])
        store = store_of(
            archive, str(self.file), embedder=embedder, decay=policy_or_standin(self._config["decay"])
        )
        columns = store.columns
        rows = np.array([columns.row_of[ids[i]] for i in self._to_place], np.int32)
        if len(rows):
            place(store, np.ascontiguousarray(rows[np.argsort(columns.level[rows], kind="stable")]))
        return store


def _vector(data: Any, dim: int) -> Any:
    """The numbers, or NaN where they are none of this length."""
    if isinstance(data, bytes) and len(data) == 8 * dim:
        return np.frombuffer(data, "<f8")
    return np.full(dim, np.nan)
