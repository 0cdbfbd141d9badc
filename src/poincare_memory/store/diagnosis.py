"""What is wrong with a file, finding by finding, and a new file with what can be saved of it.

`sqlite.load` refuses a damaged file at the first fault; this reads on.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..embed.embedding import embed_texts
from ..embed.identity import EMBEDDER, from_text
from ..geometry.poincare import PoincareBall
from . import salvage, sql, sqlite
from .archive import EXTRAS, FIELDS, SETTINGS_IN_FILES, Archive
from .filling import store_of
from .live import DEFAULTS
from .placement import place
from .rebuilding import Kept, rebuild
from .record_mending import RecordMending, in_order, is_position, named_in_file, passes
from .salvage import Unreadable
from .sql import foreign_parts, is_store, refuse_computed
from .standins import embedder_or_standin, policy_or_standin
from .state import FORMAT_VERSION, SETTINGS
from .vector_mending import Vectors, settle_vectors
from .version_mending import VersionMending, named_version

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from .state import Store

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
    versions : int
        Past versions of memories that there are, or that can be saved.
    """

    findings: list[Finding] = field(default_factory=list)
    count: int = 0
    versions: int = 0

    def note(self, where: str, problem: str, remedy: str) -> None:
        """Add a finding.

        Parameters
        ----------
        where, problem, remedy : str
            As of `Finding`.

        Examples
        --------
        >>> found = Examination()
        >>> found.note("file", "not readable", "nothing can be saved")
        >>> len(found.findings)
        1
        """
        self.findings.append(Finding(where, problem, remedy))


def diagnose(path: str | os.PathLike[str], embedder: Embedder | None = None) -> Examination:
    """Look at everything in a file; it is only read.

    Parameters
    ----------
    path : path
        An SQLite file of a memory, damaged or not.
    embedder : Embedder, optional
        Whose vectors the file has, where files do not tell.

    Returns
    -------
    Examination

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
    Examination(findings=[], count=1, versions=0)
    """
    return _Examiner(Path(path), embedder).all()


def repair(
    path: str | os.PathLike[str], target: str | os.PathLike[str], embedder: Embedder | None = None
) -> Examination:
    """Write what can be saved of a file into another one; what was found, as `diagnose` tells it.

    Everything that is sound goes over as it is: memories with their places, times, pins and metadata, past versions,
    settings, and which embedder made the vectors.

    Parameters
    ----------
    path : path
        The damaged file, which is only read.
    target : path
        Written in one step; what was there stays until the new file is complete.
    embedder : Embedder, optional
        Whose vectors the file has, where files do not tell: makes anew what is damaged of them.

    Returns
    -------
    Examination

    Raises
    ------
    FileNotFoundError
        Where there is no file.
    ValueError
        Where nothing can be saved, or `target` is the file itself.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.store.diagnosis import repair
    >>> mem = Memory()
    >>> _ = mem.add("green tea")
    >>> mem.save("tea.db")
    >>> repair("tea.db", "whole.db").count
    1
    """
    source, written = Path(path), Path(target)
    if written.exists() and os.path.samefile(source, written):
        raise ValueError(f"{target}: a repaired copy goes into another file")
    examiner = _Examiner(source, embedder)
    found = examiner.all()
    if examiner.archive is None:
        problems = "; ".join(finding.problem for finding in found.findings)
        raise ValueError(f"{path}: {NOTHING}: {problems}")
    rebuild(examiner.mended(), examiner.kept(), written)
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
        self._embedder_is_noted = True
        self._vectors: Vectors | None = None
        self._versions: list[dict[str, Any]] | None = None  # None where none are kept
        self._version_vectors: Vectors | None = None
        self._identity: str | None = None  # of the embedder, as pm_info has it

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
        texts = salvage.settings(connection)
        records = self._read(connection, salvage.RECORDS, "records", "position")
        self._settle_config(texts, records)
        differs = salvage.settings_digest(connection)
        if differs is not None:
            found.note("settings", differs, "kept as they read")
        kept = self._settle(records, salvage.extras(connection), salvage.digests(connection))
        if salvage.keeps_versions(connection):
            versions = self._read(connection, salvage.VERSIONS, "past versions", "number")
            self._settle_versions(versions, kept)
        self._identity = self._known_embedder(salvage.info(connection, EMBEDDER))

    def _read(
        self, connection: sqlite3.Connection, table: salvage.Table, what: str, number: str
    ) -> list[dict[str, Any]]:
        rows = []
        for row in salvage.rows(connection, table):
            if isinstance(row, Unreadable):
                after = "from the first on" if row.last is None else f"after {number} {row.last}"
                until = "" if row.first is None else f" and before {row.first}"
                self._found.note(
                    "file",
                    f"{what} {after}{until} cannot be read ({row.reason})",
                    "those that can, are kept",
                )
            else:
                rows.append(row)
        return rows

    def _known_embedder(self, noted: Any) -> str | None:
        """Who made the vectors, as noted, if the settings have not lost theirs."""
        if noted is None or not self._embedder_is_noted:
            return None
        if from_text(noted) is None:
            self._found.note(
                "settings", "which embedder was used cannot be read", "noted anew at the next opening"
            )
            return None
        return str(noted)

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
        self._embedder_is_noted = known
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
    ) -> list[dict[str, Any]]:
        mending = RecordMending(self._found.note, extras, digests, {record["id"] for record in records})
        kept = [record for record in records if mending.settle(record)]
        for pos in digests:
            self._found.note(f"record at position {pos}", "missing", "lost")
        mending.settle_parents(kept)
        kept = in_order(kept, self._found.note)
        self._found.count = len(kept)
        names = [named_in_file(record) for record in kept]
        self._vectors = vectors = self._settle_vectors(kept, names)
        fields = {name: [record[name] for record in kept] for name in (*FIELDS, *EXTRAS)}
        blocks = [(vectors.points, vectors.embeddings)] if kept else []
        positions = [record["pos"] for record in kept]
        self.archive = Archive(self._config, fields, blocks, len(kept), positions)
        return kept

    def _settle_versions(self, versions: list[dict[str, Any]], records: list[dict[str, Any]]) -> None:
        positions = {record["id"]: record["pos"] for record in records}
        taken = [row["pos"] for row in (*records, *versions) if is_position(row["pos"])]
        mending = VersionMending(self._found.note, positions, max(taken, default=-1) + 1)
        self._versions = kept = [version for version in versions if mending.settle(version)]
        self._found.versions = len(kept)
        self._version_vectors = self._settle_vectors(kept, [named_version(version) for version in kept])

    def _settle_vectors(self, rows: list[dict[str, Any]], names: list[str]) -> Vectors:
        blind = "without direction, until it is embedded anew (pass the embedder)"
        remedy = "embedded anew" if self._can_embed() else blind
        return settle_vectors(
            rows, names, self._config["dim"], self._config["curvature"], self._found.note, remedy
        )

    def _can_embed(self) -> bool:
        return self._embedder is not None or self._config["embedder"].get("type") == "hashing"

    # --- the repaired store -------------------------------------------------------------------------------

    def mended(self) -> Store:
        """A store of what was saved."""
        archive, vectors = self.archive, self._vectors
        assert archive is not None and vectors is not None
        embedder = self._embedder_of_file()
        ids = archive.fields["id"]
        self._embed(vectors, archive.fields["text"], embedder)
        store = store_of(
            archive, str(self.file), embedder=embedder, decay=policy_or_standin(self._config["decay"])
        )
        columns = store.columns
        again = sorted({*vectors.to_place, *vectors.to_embed})
        rows = np.array([columns.row_of[ids[i]] for i in again], np.int32)
        if len(rows):
            live = columns.live_rows()
            columns.hold_embeddings(live)  # those of children, whose parents move
            place(store, np.ascontiguousarray(rows[np.argsort(columns.level[rows], kind="stable")]))
            columns.settle_embeddings(live)
        if self._versions and self._version_vectors is not None:
            self._mend_versions(store, self._versions, self._version_vectors)
        return store

    def _mend_versions(self, store: Store, versions: list[dict[str, Any]], vectors: Vectors) -> None:
        """Past versions lie in the direction of their own texts: where their parents lay then is not told."""
        self._embed(vectors, [version["text"] for version in versions], store.embedder)
        anew = vectors.to_place
        if anew:
            vectors.points[anew] = store.projector.at_depth(vectors.embeddings[anew], store.base_depth)
        for version, point, embedding in zip(
            versions, sql.blobs(vectors.points), sql.blobs(vectors.embeddings), strict=True
        ):
            version.update(point=point, embedding=embedding)

    def _embed(self, vectors: Vectors, texts: Sequence[str], embedder: Embedder) -> None:
        if vectors.to_embed and self._can_embed():
            vectors.embeddings[vectors.to_embed] = embed_texts(embedder, [texts[i] for i in vectors.to_embed])

    def kept(self) -> Kept:
        """What belongs to the repaired store, and is in no column of it."""
        assert self.archive is not None and self.archive.positions is not None
        return Kept(self.archive.positions, self.archive.fields["attached"], self._versions, self._identity)
