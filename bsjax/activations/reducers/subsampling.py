"""Subsampling of units."""

from dataclasses import dataclass

import numpy as np

from bsjax.activations.reducers.reducer import Reducer, Reduction, unchanged


@dataclass(frozen=True)
class Subsampling(Reducer):
    """A random choice of units, the same for all images, in the order of the layer. They keep their coordinates.

    Args:
        n_units: number of units; a layer with no more is unchanged.
        seed: for the choice.

    Raises:
        ValueError: fewer than one unit.

    Example:
        >>> reduction = Subsampling(3).reduction((2, 4), channels_last=True, fitting=None)
        >>> reduction(np.arange(8, dtype=np.float32).reshape(1, 2, 4)).tolist(), Subsampling(3).units((2, 4)).tolist()
        ([[4.0, 5.0, 7.0]], [4, 5, 7])
    """

    n_units: int = 1000
    seed: int = 0

    keeps_units = True

    def __post_init__(self) -> None:
        if self.n_units < 1:
            raise ValueError(f"n_units must be at least 1, got {self.n_units}")

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The number of units; the layer's own shape if it has no more."""
        return shape if int(np.prod(shape)) <= self.n_units else (self.n_units,)

    def units(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """Positions of the units that are kept; None if all are."""
        n_units = int(np.prod(shape))
        if n_units <= self.n_units:
            return None
        return np.sort(np.random.default_rng(self.seed).choice(n_units, self.n_units, replace=False))

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Bytes of the positions of the units that are kept."""
        return 8 * self.n_units if int(np.prod(shape)) > self.n_units else 0

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """Choose the units of one layer."""
        kept = self.units(shape)
        return unchanged if kept is None else lambda outputs: outputs.reshape(len(outputs), -1)[:, kept]
