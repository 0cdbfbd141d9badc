"""What is wrong with a file, finding by finding, and a new file with what can be saved of it.

`sqlite.load` refuses a damaged file at the first fault; this reads on.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arguments import number_within
from ..embed.embedding import embed_texts
from ..geometry.poincare import PoincareBall
from . import salvage, sqlite
from .archive import EXTRAS, FIELDS, SETTINGS_IN_FILES, Archive, parse_instant, store_of
from .live import DEFAULTS
from .metadata import check_unicode, copy_metadata
from .placement import place
from .salvage import Broken, Unreadable
from .sql import digest, foreign_parts, is_store, record_digest, refuse_computed
from .standins import embedder_or_standin, policy_or_standin
from .state import FORMAT_VERSION, LARGEST_DEPTH, SETTINGS

if TYPE_CHECKING:
    from ..embed.base import Embedder

__all__ = ["Examination", "Finding", "diagnose", "repair"]

HASHING: Final = {"type": "hashing", "ngram_range": [3, 5], "seed": 0}
NOTHING: Final = "nothing can be saved"
NO_EXTRAS: Final = (None,) * (1 + len(EXTRAS))


def _place_among_siblings(value: Any) -> None:
    if type(value) is not int or not 0 <= value < 2**62:
        raise ValueError(value)


def _truth(value: Any) -> None:
    if value not in (0, 1):
        raise ValueError(value)


CHECKED: Final[dict[str, Callable[[Any], object]]] = {
    "recorded_at": parse_instant,
    "pinned": _truth,
    "attached": _place_among_siblings,
    "learned_depth": lambda value: number_within("learned_depth", value, 0, LARGEST_DEPTH),
}


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
        self._default("curvature", 1.0, _passes(PoincareBall, config.get("curvature")))
        for name in SETTINGS_IN_FILES:
            good = name in config and _passes(SETTINGS[name], name, config[name])
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
        known = _passes(embedder_or_standin, spec) and spec.get("dim") == config["dim"]
        self._default("embedder", HASHING | {"dim": config["dim"]}, known)
        config.setdefault("decay", {"type": "none"})  # as it is read, too
        self._default("decay", {"type": "none"}, _passes(policy_or_standin, config["decay"]))

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
        kept: list[dict[str, Any]] = []
        seen: set[str] = set()
        for record in records:
            self._check_digest(record, extras, digests)
            if self._settle_record(record, extras, seen):
                seen.add(record["id"])
                kept.append(record)
        for pos in digests:
            self._found.note(f"record at position {pos}", "missing", "lost")
        self._settle_parents(kept)
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

    def _check_digest(
        self, record: dict[str, Any], extras: dict[str, tuple[Any, ...]], digests: dict[int, int]
    ) -> None:
        noted = digests.pop(record["pos"], None)
        if noted is None:
            return
        try:
            same = record_digest(record, extras.get(record["id"], NO_EXTRAS)) == noted
        except TypeError:
            same = False
        if not same:
            self._found.note(_named(record), "does not match its digest: it was damaged", "kept as it reads")

    def _settle_record(
        self, record: dict[str, Any], extras: dict[str, tuple[Any, ...]], seen: set[str]
    ) -> bool:
        """Make of a record what can be; False where it is nothing."""
        named, note = _named(record), self._found.note
        text = record["text"]
        if not isinstance(text, str) or not _passes(check_unicode, text, "text"):
            note(named, f"its text is {text!r:.80}", "left out")
            return False
        if isinstance(text, Broken):
            note(named, "its text is no UTF-8", "kept, with stand-ins")
        record["text"] = str(text)
        id = record["id"]
        if not isinstance(id, str) or not id or isinstance(id, Broken) or id in seen:
            fresh = os.urandom(6).hex()
            taken = isinstance(id, str) and id in seen
            note(named, "its id is taken" if taken else f"its id is {id!r:.80}", f"gets the id {fresh}")
            record["id"] = fresh
        self._settle_times(record, named)
        self._settle_values(record, named)
        self._settle_extras(record, extras)
        return True

    def _settle_times(self, record: dict[str, Any], named: str) -> None:
        now = datetime.now(timezone.utc).isoformat()
        for name in ("t", "valid_from", "valid_until", "last_accessed"):
            value = record[name]
            missing = value is None and name != "t"
            if missing or _passes(parse_instant, value):
                continue
            record[name] = now if name == "t" else None
            self._found.note(
                named, f"{name} is {value!r:.80}", "the time of the repair" if name == "t" else "none"
            )

    def _settle_values(self, record: dict[str, Any], named: str) -> None:
        count, meta = record["access_count"], record["meta"]
        if type(count) is not int or not 0 <= count < 2**63:
            self._found.note(named, f"access_count is {count!r:.80}", "0")
            record["access_count"] = 0
        try:
            record["meta"] = copy_metadata(None if meta is None else json.loads(meta)) or {}
        except (TypeError, ValueError, RecursionError):
            self._found.note(named, "its metadata is no JSON object", 'kept as text under "damaged_metadata"')
            record["meta"] = {"damaged_metadata": str(meta)}

    def _settle_extras(self, record: dict[str, Any], extras: dict[str, tuple[Any, ...]]) -> None:
        text_digest, *values = extras.get(record["id"], NO_EXTRAS)
        if text_digest is None or text_digest != digest(record["text"]):
            values = [None] * len(EXTRAS)
        for name, value in zip(EXTRAS, values, strict=True):
            record[name] = value if value is None or _passes(CHECKED[name], value) else None

    def _settle_parents(self, records: list[dict[str, Any]]) -> None:
        """Every parent is there, and no chain of parents comes back to itself."""
        by_id = {record["id"]: record for record in records}
        done: set[str] = set()
        for record in records:
            parent = record["parent"]
            if parent is not None and parent not in by_id:
                self._found.note(_named(record), f"its parent {parent!r:.80} is not in the file", "a root")
                record["parent"] = None
        for record in records:
            chain: dict[str, None] = {}
            at = record
            while at["id"] not in done:
                chain[at["id"]] = None
                done.add(at["id"])
                if at["parent"] is None:
                    break
                if at["parent"] in chain:
                    self._found.note(_named(at), "its chain of parents comes back to itself", "a root")
                    at["parent"] = None
                    break
                at = by_id[at["parent"]]

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
                _named(records[i]),
                "its embedding is damaged",
                "embedded anew"
                if can
                else "without direction, until it is embedded anew (pass the embedder)",
            )
            embeddings[i] = 0.0
        for i in np.flatnonzero(~placed).tolist():
            self._found.note(_named(records[i]), "its point is damaged or outside the ball", "placed anew")
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


def _named(record: dict[str, Any]) -> str:
    return f"record {record['id']!r:.80} at position {record['pos']}"


def _vector(data: Any, dim: int) -> Any:
    """The numbers, or NaN where they are none of this length."""
    if isinstance(data, bytes) and len(data) == 8 * dim:
        return np.frombuffer(data, "<f8")
    return np.full(dim, np.nan)


def _passes(check: Callable[..., object], *arguments: Any) -> bool:
    try:
        check(*arguments)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return True
