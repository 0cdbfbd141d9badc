"""What the embedder returned for each memory, to the bit.

float64 embeddings are an array as long as the others, and so are those in files. float32 ones in memory take no room
where a memory's direction and its parent's, which are float64, hold all of their bits (``src/_core/embeddings.hpp``):
two numbers a row tell how. The few that these do not give are held one by one.

An embedding that is not held is lost with the direction of its row or of its parent: whoever changes one of them
asks for the embedding before, and sets it after.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from .arrays import Arrays, Rows, span_of
from .room import InFiles, InMemory, Room

SETTLED_AT_ONCE = 4096  # rows; so many embeddings are in memory twice


class Embeddings(Arrays):
    """Arrays with the embeddings of their rows.

    Attributes
    ----------
    embedding_dtype : dtype
        float32 or float64, as the first batch was; a float64 one widens all.
    writer : RowWriter
        Writes the rows of memories that are added alone.
    own, above : (capacity,) float64
        Weights of a row's direction and of its parent's in its embedding; `own` is 0 where it is kept elsewhere.
    """

    own: NDArray[np.float64]
    above: NDArray[np.float64]

    def __init__(self, dim: int, room: Room | None = None) -> None:
        super().__init__(dim, room)
        self.writer = _kernels.RowWriter(isinstance(self.room, InMemory))
        self._forget_embeddings(np.float32)

    def _forget_embeddings(self, dtype: Any) -> None:
        self.embedding_dtype: np.dtype[Any] = np.dtype(dtype)
        self._written: NDArray[Any] | None = None  # all of them, at least `high_water` rows
        self._held: dict[int, NDArray[np.float32]] = {}  # row -> embedding, before what `own` says
        if dtype != np.float32 or self.room.precision == "compact":
            self._written = np.empty((0, self.dim), dtype)  # the first batch becomes the column

    def start_embeddings(self, dtype: Any) -> None:
        """Blank ones of all rows there is room for."""
        self._forget_embeddings(dtype)
        if self._written is not None:
            self._written = self.room.blank("embedding", self.capacity, self.dim, dtype)

    @property
    def folds(self) -> bool:
        """Whether embeddings depend on directions."""
        return self._written is None

    def change_dim(self, dim: int) -> None:
        super().change_dim(dim)
        self._forget_embeddings(np.float32)
        self.own[:] = self.above[:] = 0

    def reserve(self, count: int, embedding_dtype: Any = None) -> None:
        """Make room for `count` more memories, so that nothing after it can run out of memory or disk half-way."""
        if self.room.shared:
            self.own_vectors()
        needed = self.high_water + max(0, count - len(self._free_rows))
        if needed > self.capacity:
            self._grow(needed)
        if embedding_dtype is not None:
            self._reserve_embeddings(embedding_dtype)
        self.room.secure(needed)

    def _reserve_embeddings(self, dtype: Any) -> None:
        if self.high_water == 0:
            self._forget_embeddings(dtype)
            if self.room.precision == "compact":
                self._written = self.room.blank("embedding", self.capacity, self.dim, dtype)
            return
        written = self._written
        if self.embedding_dtype == dtype and (written is None or len(written) >= self.capacity):
            return
        wider = np.promote_types(self.embedding_dtype, dtype)
        if self._written is None:
            if wider != self.embedding_dtype:
                self._widen()
        elif len(self._written) < self.capacity or wider != self.embedding_dtype:
            grown = self.room.grown("embedding", self._written, self.high_water, self.capacity, wider)
            self._written, self.embedding_dtype = grown, wider

    def own_vectors(self) -> None:
        """Before vectors are written: into no file that another process has too, since a fork."""
        if not self.room.shared:
            return
        used = np.arange(self.high_water, dtype=np.int32)
        vars(self).update(self._packed_vectors(used, self.capacity))

    def _packed_vectors(self, rows: Rows, capacity: int) -> dict[str, Any]:
        """Attributes of columns of `capacity` rows that begin with these, in a room of their own."""
        matrices = {"direction": self.direction}
        if self._written is not None and len(self._written):
            matrices["embedding"] = self._written
        room, made = self.room.packed(matrices, rows, capacity)
        return {
            "room": room,
            "writer": _kernels.RowWriter(isinstance(room, InMemory)),  # the old one holds the old arrays
            "direction": made["direction"],
            "_written": made.get("embedding", self._written),
        }

    def _settle_in(self) -> None:
        """Bring vectors that came from elsewhere into the room."""
        if not isinstance(self.room, InFiles):
            return
        used = self.high_water
        for name, attribute in (("direction", "direction"), ("embedding", "_written")):
            matrix = getattr(self, attribute)
            if matrix is not None and len(matrix) and not self.room.holds(name, matrix):
                setattr(self, attribute, self.room.grown(name, matrix, used, self.capacity, matrix.dtype))

    def _widen(self) -> None:
        """Write float64 for all that was folded or held."""
        written = np.zeros((self.capacity, self.dim))
        for start in range(0, self.high_water, SETTLED_AT_ONCE):
            stop = min(self.high_water, start + SETTLED_AT_ONCE)
            written[start:stop] = self.embeddings(np.arange(start, stop, dtype=np.int32))
        self._written, self.embedding_dtype = written, written.dtype
        self._held = {}

    def embeddings(self, rows: Rows) -> NDArray[Any]:
        """Embeddings of these rows, (len(rows), dim), as an array of the caller's own."""
        if self._written is not None:
            return self._written[rows]
        return self._unfolded(rows, self._held)

    def _unfolded(self, rows: Rows, held: dict[int, NDArray[np.float32]]) -> NDArray[np.float32]:
        found = np.empty((len(rows), self.dim), np.float32)
        _kernels.unfold_embeddings(self.direction, self.parent, self.own, self.above, rows, found)
        if held:
            for i, row in enumerate(rows.tolist()):
                if row in held:
                    found[i] = held[row]
        return found

    def set_embeddings(self, rows: Rows, embeddings: NDArray[Any]) -> None:
        """Keep what the embedder returned, (len(rows), dim) float32 or float64; after `reserve`, and after the
        rows and their parents have their directions.

        The first float64 batch of a store becomes the column itself, where it owns its memory.
        """
        if self.room.shared:
            self.own_vectors()
        written = self._written
        if written is None:
            self._fold(rows, embeddings)
        elif len(written) == 0:
            owned = embeddings.flags.owndata and embeddings.flags.writeable
            self._written = embeddings if owned else embeddings.copy()
        elif len(rows) == 1:
            written[int(rows[0])] = embeddings[0]
        else:
            span = span_of(rows)
            written[rows if span is None else span] = embeddings

    def _fold(self, rows: Rows, embeddings: NDArray[np.float32]) -> None:
        kept = np.empty(len(rows), np.uint8)
        _kernels.fold_embeddings(embeddings, self.direction, self.parent, self.own, self.above, rows, kept)
        self.hold_apart(rows, embeddings, kept)

    def hold_apart(self, rows: Rows, embeddings: NDArray[np.float32], kept: NDArray[np.uint8]) -> None:
        """Hold the embeddings of those rows that `kept` says were not folded, and no others of these rows."""
        if not self._held and not kept.any():
            return
        exceptions = np.flatnonzero(kept)
        self._hold(rows[exceptions], embeddings[exceptions])
        for row in rows[kept == 0].tolist():
            self._held.pop(row, None)

    def _hold(self, rows: Rows, embeddings: NDArray[np.float32]) -> None:
        self._held.update(zip(rows.tolist(), embeddings, strict=True))

    def hold_embeddings(self, rows: Rows, embeddings: NDArray[Any] | None = None) -> None:
        """Keep embeddings of rows (as they are, unless told) whatever happens to directions; until `settle`."""
        if self._written is not None:
            if embeddings is not None:
                self.set_embeddings(rows, embeddings)
            return
        self._hold(rows, self.embeddings(rows) if embeddings is None else embeddings)

    def settle_embeddings(self, rows: Rows) -> None:
        """Let go of what is held of rows that are in place now."""
        if self._written is not None:
            return
        held = self._held
        rows = rows[[row in held for row in rows.tolist()]] if len(rows) else rows
        for start in range(0, len(rows), SETTLED_AT_ONCE):
            part = np.ascontiguousarray(rows[start : start + SETTLED_AT_ONCE])
            self._fold(part, np.stack([held[row] for row in part.tolist()]))

    def held_embeddings(self, rows: Rows) -> dict[int, NDArray[np.float32]]:
        """Those of rows that neither the columns give nor an array of their own."""
        held = self._held
        return {row: held[row] for row in rows.tolist() if row in held} if held else {}

    def take_back_freed(self, rows: Rows, held: dict[int, NDArray[np.float32]], folded: bool) -> None:
        """Embeddings of freed rows that are as they were again: what `held_embeddings` and `folds` were then."""
        if self._written is None:
            self._held.update(held)
        elif folded:  # a float64 one came since, and widened all but what was free
            self.set_embeddings(rows, self._unfolded(rows, held))

    def _drop_embeddings(self, rows: Rows) -> None:
        if self._held:
            for row in rows.tolist():
                self._held.pop(row, None)
