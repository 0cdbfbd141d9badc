"""Directions, Lorentz vectors and payload of a store as Parquet, for any vector database."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..temporal.instants import MISSING
from .atomic import replacing

if TYPE_CHECKING:
    from .arrays import Rows
    from .state import Store

ROWS_AT_ONCE: Final = 16_384
DEEPEST: Final = 700.0  # cosh of more leaves float64


def export_vectors(store: Store, path: str | os.PathLike[str]) -> int:
    """See `Memory.export_vectors`."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError(
            'export_vectors needs the "parquet" extra: pip install "poincare-memory[parquet]"'
        ) from error
    with store.reading() as columns, replacing(Path(path)) as temporary:
        rows = columns.live_rows()
        deep = rows[columns.radius[rows] * store.ball.sqrt_c > DEEPEST]
        if len(deep):
            raise ValueError(
                f"memory {columns.ids[int(deep[0])]!r:.80} is {columns.radius[deep[0]]:g} deep: its Lorentz vector is "
                "beyond float64"
            )
        schema = _schema(pyarrow, columns.dim)
        with parquet.ParquetWriter(str(temporary), schema) as writer:
            for start in range(0, max(1, len(rows)), ROWS_AT_ONCE):
                writer.write_table(_table(pyarrow, schema, store, rows[start : start + ROWS_AT_ONCE]))
    return len(rows)


def _schema(pyarrow: Any, dim: int) -> Any:
    moment = pyarrow.timestamp("us", tz="UTC")
    return pyarrow.schema(
        [
            ("id", pyarrow.string()),
            ("text", pyarrow.string()),
            ("parent", pyarrow.string()),
            ("path", pyarrow.list_(pyarrow.string())),
            ("level", pyarrow.int32()),
            ("radius", pyarrow.float64()),
            *((name, moment) for name in ("t", "valid_from", "valid_until", "last_accessed", "recorded_at")),
            ("access_count", pyarrow.int64()),
            ("pinned", pyarrow.bool_()),
            ("meta", pyarrow.string()),
            ("direction", pyarrow.list_(pyarrow.float32(), dim)),
            ("lorentz", pyarrow.list_(pyarrow.float64(), dim + 1)),
        ]
    )


def _table(pyarrow: Any, schema: Any, store: Store, rows: Rows) -> Any:
    columns = store.columns
    ids: Any = columns.ids
    numbers = rows.tolist()
    parents = columns.parent[rows].tolist()
    directions = columns.direction[rows] * columns.directed[rows, None]
    values: dict[str, Any] = {
        "id": [ids[row] for row in numbers],
        "text": [columns.texts[row] for row in numbers],
        "parent": [ids[row] if row >= 0 else None for row in parents],
        "path": [[*columns.names(columns.ancestor_rows(row))[::-1], ids[row]] for row in numbers],
        "level": columns.level[rows],
        "radius": columns.radius[rows],
        "access_count": columns.access_count[rows],
        "pinned": columns.pinned[rows].astype(bool),
        "meta": [json.dumps(columns.metas[row] or {}, ensure_ascii=False) for row in numbers],
        "direction": _lists(pyarrow, directions.astype(np.float32)),
        "lorentz": _lists(pyarrow, _lorentz(directions, columns.radius[rows], store.ball.sqrt_c)),
    }
    for name in ("t", "valid_from", "valid_until", "last_accessed", "recorded_at"):
        micros = getattr(columns, name)[rows]
        values[name] = pyarrow.array(micros, pyarrow.int64(), mask=micros == MISSING).cast(
            schema.field(name).type
        )
    return pyarrow.table([values[name] for name in schema.names], schema=schema)


def _lorentz(
    directions: NDArray[np.float64], radii: NDArray[np.float64], sqrt_c: float
) -> NDArray[np.float64]:
    """As `to_mips_vectors` of the points, from the polar form, which keeps near points apart at any depth."""
    depth = np.where(directions.any(axis=1), radii * sqrt_c, 0.0)[:, None]
    return np.hstack([-np.cosh(depth), np.sinh(depth) * directions]) / sqrt_c


def _lists(pyarrow: Any, rows: NDArray[Any]) -> Any:
    flat = pyarrow.array(np.ascontiguousarray(rows).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
