"""Tables and triggers of a store's file.

Format 1 (`config`, `records`) is shared with the reference; what is ours begins with pm_, by name, with the statement
that makes it.
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = (
    "CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE records (pos INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, parent_id TEXT, t TEXT, "
    "valid_from TEXT, valid_until TEXT, access_count INTEGER, last_accessed TEXT, meta TEXT, "
    "point BLOB, embedding BLOB)",
)

# Digests (see `digests`). Triggers drop the digest of what SQL changes, whoever runs it: only damage is left to
# differ. How often a memory was used is copied instead, so that counting needs no digest. What we write to pm_extra
# is followed by a new digest; a trigger there would name `records`, and another program could not rename its copy of
# that table into place.
DIGEST_TABLES: Final = {
    "pm_digest": "CREATE TABLE pm_digest (pos INTEGER PRIMARY KEY, digest INTEGER, access_count INTEGER, "
    "last_accessed TEXT)",
    "pm_config_digest": "CREATE TABLE pm_config_digest (digest INTEGER)",
}
_CONTENT: Final = "pos, id, text, parent_id, t, valid_from, valid_until, meta, point, embedding"
_SAME_ID: Final = "pos IN (SELECT pos FROM records WHERE id = NEW.id)"  # what INSERT OR REPLACE takes away
DIGEST_TRIGGERS: Final = {
    "pm_digest_insert": "CREATE TRIGGER pm_digest_insert BEFORE INSERT ON records BEGIN "
    f"DELETE FROM pm_digest WHERE pos = NEW.pos OR {_SAME_ID}; END",
    "pm_digest_update": f"CREATE TRIGGER pm_digest_update BEFORE UPDATE OF {_CONTENT} ON records BEGIN "
    f"DELETE FROM pm_digest WHERE pos IN (OLD.pos, NEW.pos) OR {_SAME_ID}; END",
    "pm_digest_use": "CREATE TRIGGER pm_digest_use AFTER UPDATE OF access_count, last_accessed ON records BEGIN "
    "UPDATE pm_digest SET access_count = NEW.access_count, last_accessed = NEW.last_accessed "
    "WHERE pos = NEW.pos; END",
    "pm_digest_delete": "CREATE TRIGGER pm_digest_delete AFTER DELETE ON records BEGIN "
    "DELETE FROM pm_digest WHERE pos = OLD.pos; END",
    **{
        f"pm_settings_{event.lower()}": f"CREATE TRIGGER pm_settings_{event.lower()} AFTER {event} ON config BEGIN "
        "DELETE FROM pm_config_digest; END"
        for event in ("INSERT", "UPDATE", "DELETE")
    },
}

# Kinds of entries of pm_change.
INSERTED, UPDATED, DELETED, TOUCHED, CONFIGURED = 1, 2, 3, 4, 5
LIVE_TABLES: Final = {
    "pm_info": "CREATE TABLE pm_info (key TEXT PRIMARY KEY, value)",
    "pm_change": "CREATE TABLE pm_change (seq INTEGER PRIMARY KEY, kind INTEGER, id TEXT)",
    "pm_extra": "CREATE TABLE pm_extra (id TEXT PRIMARY KEY, digest INTEGER, recorded_at TEXT, "
    "pinned INTEGER, attached INTEGER, learned_depth REAL) WITHOUT ROWID",
}
# Made only where versions are to be kept: a record as it was, with what belongs to it, from when till when.
HISTORY_TABLE: Final = (
    "CREATE TABLE pm_history (serial INTEGER PRIMARY KEY, pos INTEGER, id TEXT, text TEXT, parent_id TEXT, t TEXT, "
    "valid_from TEXT, valid_until TEXT, access_count INTEGER, last_accessed TEXT, meta TEXT, point BLOB, "
    "embedding BLOB, recorded_at TEXT, pinned INTEGER, attached INTEGER, learned_depth REAL, began INTEGER, "
    "replaced INTEGER)"
)
HISTORY_PARTS: Final = {
    "pm_history": HISTORY_TABLE,
    "pm_history_id": "CREATE INDEX pm_history_id ON pm_history (id)",
    "pm_history_pos": "CREATE INDEX pm_history_pos ON pm_history (pos, replaced)",
    "pm_history_replaced": "CREATE INDEX pm_history_replaced ON pm_history (replaced)",
}


def _trigger(name: str, event: str, *actions: str) -> str:
    return f"CREATE TRIGGER {name} AFTER {event} BEGIN {' '.join(f'{action};' for action in actions)} END"


def _log(kind: int, id: str) -> str:
    return f"INSERT INTO pm_change (kind, id) VALUES ({kind}, {id})"


LIVE_TRIGGERS: Final = {
    name: _trigger(name, event, *actions)
    for name, event, actions in (
        ("pm_inserted", "INSERT ON records", (_log(INSERTED, "new.id"),)),
        (
            "pm_updated",
            f"UPDATE OF {_CONTENT} ON records",
            (
                _log(UPDATED, "new.id"),
                f"INSERT INTO pm_change (kind, id) SELECT {DELETED}, old.id WHERE old.id IS NOT new.id",
            ),
        ),
        (
            "pm_deleted",
            "DELETE ON records",
            (_log(DELETED, "old.id"), "DELETE FROM pm_extra WHERE id = old.id"),
        ),
        ("pm_touched", "UPDATE OF access_count, last_accessed ON records", (_log(TOUCHED, "new.id"),)),
        ("pm_extra_updated", "UPDATE ON pm_extra", (_log(UPDATED, "new.id"),)),
        ("pm_config_inserted", "INSERT ON config", (_log(CONFIGURED, "new.key"),)),
        ("pm_config_updated", "UPDATE ON config", (_log(CONFIGURED, "new.key"),)),
        ("pm_config_deleted", "DELETE ON config", (_log(CONFIGURED, "old.key"),)),
    )
}
