from typing import Literal

import numpy as np
from numpy.typing import NDArray

LARGEST_RADIUS: float

class DamagedGraphError(ValueError): ...

class Graph:
    def __init__(
        self,
        dim: int,
        *,
        metric: Literal["shell", "hyperbolic"],
        m: int = 16,
        ef_construction: int = 200,
        seed: int = 0,
        capacity: int = 0,
    ) -> None: ...
    def add(
        self,
        labels: NDArray[np.int64],
        directions: NDArray[np.float32],
        radii: NDArray[np.float64],
        *,
        threads: int = 1,
    ) -> None: ...
    def remove(self, labels: NDArray[np.int64]) -> None: ...
    def search(
        self,
        direction: NDArray[np.float32],
        radius: float,
        *,
        k: int,
        ef: int,
        allowed: NDArray[np.uint8] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    def nearest(
        self,
        direction: NDArray[np.float64],
        directions: NDArray[np.float64],
        order: NDArray[np.int64],
        *,
        shell: float,
        sqrt_c: float,
        k: int,
        asked: int,
        ef: int,
        allowed: NDArray[np.uint8] | None = None,
    ) -> tuple[list[tuple[int, float, float, float]], float]: ...
    def missing(self, labels: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def save(self, keys: NDArray[np.int64]) -> bytes: ...
    def load(
        self,
        data: bytes,
        *,
        labels: NDArray[np.int64],
        keys: NDArray[np.int64],
        directions: NDArray[np.float32],
        radii: NDArray[np.float64],
    ) -> None: ...
    def __contains__(self, label: int) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def nodes(self) -> int: ...
