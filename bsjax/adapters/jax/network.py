"""Compiled JAX networks: the common part of functions, nnx and linen modules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from bsjax.activations.network import Batch

if TYPE_CHECKING:
    from bsjax.adapters.jax.digest import Traced

Forward = Callable[[Any, Any, Any, Collection[str] | None], Mapping[str, jax.Array]]
"""(structure, parameters, batch, layers) -> outputs of those of ``layers`` that exist; of all if ``None``."""


class JaxNetwork:
    """Runs a traceable function, compiled once for each batch shape and choice of layers.

    Args:
        forward: pure function; its first and last argument are static.
        current: the network's structure (hashable) and its parameters (a pytree), read whenever it runs.
        name: for display.
    """

    channels_last = True
    is_pure = True
    on_device = True

    def __init__(self, forward: Forward, current: Callable[[], tuple[Hashable, Any]], name: str) -> None:
        self._forward = forward
        self._current = current
        self._name = name
        self._compiled = jax.jit(forward, static_argnums=(0, 3))
        self._programs: dict[Hashable, Traced] = {}

    def __repr__(self) -> str:
        return self._name

    @property
    def n_parameters(self) -> int:
        """How many numbers the function is given beside the batch."""
        return sum(int(jax.numpy.size(leaf)) for leaf in jax.tree.leaves(self._current()[1]))

    def shapes(self, batch: Batch) -> dict[str, tuple[int, ...]]:
        """Shapes of all layers for this batch; nothing is computed."""
        structure, parameters = self._current()
        names: list[str] = []

        def all_outputs(parameters: Any, batch: Any) -> list[jax.Array]:
            outputs = self._forward(structure, parameters, batch, None)
            names.extend(outputs)  # a dict would come back with its keys sorted
            return list(outputs.values())

        arrays = jax.eval_shape(all_outputs, parameters, batch)
        return {name: tuple(array.shape) for name, array in zip(names, arrays, strict=True)}

    def run(self, batch: Batch, layers: Sequence[str]) -> Mapping[str, jax.Array]:
        """Outputs of those of ``layers`` that exist, where JAX computes."""
        structure, parameters = self._current()
        return self._compiled(structure, parameters, jax.device_put(batch), tuple(layers))

    def digest(self, batch: Batch) -> str:
        """Digest of the program for batches like this one and of its parameters."""
        from bsjax.adapters.jax.digest import digest_of_traced, parameters_digest, traced
        from bsjax.core.digests.values import digest_of

        structure, parameters = self._current()
        # Tracing takes longer than hashing, and the program of one structure and shape stays as it is.
        key = (structure, _shapes(batch), _shapes(parameters))
        if key not in self._programs:
            self._programs[key] = traced(self._forward, structure, parameters, batch)
        program = digest_of_traced(self._programs[key])
        return digest_of((program, parameters_digest(parameters), jax.default_backend()))


def _shapes(tree: Any) -> Hashable:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((jax.numpy.shape(leaf), str(jax.numpy.result_type(leaf))) for leaf in leaves)
