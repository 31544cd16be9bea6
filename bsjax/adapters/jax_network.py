"""Compiled JAX networks: the common part of functions, nnx and linen modules."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

Forward = Callable[[Any, Any, jax.Array, Collection[str] | None], Mapping[str, jax.Array]]
"""(structure, parameters, batch, layers) -> outputs of those of ``layers`` that exist; of all if ``None``."""


class JaxNetwork:
    """Runs a traceable function, compiled once for each batch shape and choice of layers.

    Args:
        forward: pure function; its first and last argument are static.
        current: the network's structure (hashable) and its parameters (a pytree), read whenever it runs.
        name: for display.
    """

    def __init__(self, forward: Forward, current: Callable[[], tuple[Hashable, Any]], name: str) -> None:
        self._forward = forward
        self._current = current
        self._name = name
        self._compiled = jax.jit(forward, static_argnums=(0, 3))

    def __repr__(self) -> str:
        return self._name

    def shapes(self, batch: np.ndarray) -> dict[str, tuple[int, ...]]:
        """Shapes of all layers for this batch; nothing is computed."""
        structure, parameters = self._current()
        names: list[str] = []

        def all_outputs(parameters: Any, batch: jax.Array) -> list[jax.Array]:
            outputs = self._forward(structure, parameters, batch, None)
            names.extend(outputs)  # a dict would come back with its keys sorted
            return list(outputs.values())

        arrays = jax.eval_shape(all_outputs, parameters, batch)
        return {name: tuple(array.shape) for name, array in zip(names, arrays, strict=True)}

    def run(self, batch: np.ndarray, layers: Sequence[str]) -> dict[str, np.ndarray]:
        """Outputs of those of ``layers`` that exist."""
        structure, parameters = self._current()
        outputs = self._compiled(structure, parameters, batch, tuple(layers))
        return {name: np.asarray(output) for name, output in outputs.items()}
