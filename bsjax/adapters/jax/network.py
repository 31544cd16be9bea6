"""Compiled JAX networks, shared by the adapters of functions, flax modules and Keras models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import jax

from bsjax.activations.network import Batch
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.identity.values import identity_of

Forward = Callable[[Any, Any, Any, Collection[str] | None], Mapping[str, jax.Array]]
"""(structure, parameters, batch, layers) -> outputs of at least the existing ``layers``; of all if ``None``."""


class JaxNetwork:
    """Runs a traceable function, compiled once for each batch shape and choice of layers.

    It is compiled again if something that the user's code reads during tracing, such as a global, has changed.

    Args:
        forward: pure function; its first and last arguments are static.
        current: returns the network's structure (hashable) and its parameters (a pytree); called at every run.
        name: for display.
        made_of: returns objects that identify the user's code; called at every check for changes.
    """

    channels_last = True
    is_compiled = True
    is_pure = True
    on_device = True

    def __init__(
        self,
        forward: Forward,
        current: Callable[[], tuple[Hashable, Any]],
        name: str,
        made_of: Callable[[], object],
    ) -> None:
        self._forward = forward
        self._current = current
        self._name = name
        self._made_of = made_of
        self._compiled_of: str | None = None
        self._compile()

    def __repr__(self) -> str:
        return self._name

    @property
    def n_parameters(self) -> int:
        """Number of parameters of the function."""
        return sum(int(jax.numpy.size(leaf)) for leaf in jax.tree.leaves(self._current()[1]))

    def shapes(self, batch: Batch) -> dict[str, tuple[int, ...]]:
        """Shapes of all layers for this batch, without computing them."""
        structure, parameters = self._current()
        names: list[str] = []

        def all_outputs(parameters: Any, batch: Any) -> list[jax.Array]:
            outputs = self._forward(structure, parameters, batch, None)
            names.extend(outputs)  # JAX would return a dict with sorted keys
            return list(outputs.values())

        arrays = jax.eval_shape(all_outputs, parameters, batch)
        return {name: tuple(array.shape) for name, array in zip(names, arrays, strict=True)}

    def run(self, batch: Batch, layers: Sequence[str]) -> Mapping[str, jax.Array]:
        """Outputs of the existing ``layers``, on JAX's device."""
        structure, parameters = self._current()
        return self._compiled(structure, parameters, jax.device_put(batch), tuple(layers))

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """The identity of the code and of the parameters.

        Args:
            batch: an example batch.
            version: vouches for the code.

        Raises:
            Undigestible: a part of the code cannot be identified.
        """
        problem = self._look()
        if problem is not None and version is None:
            raise problem
        leaves, _ = jax.tree.flatten_with_path(self._current()[1])
        parameters = [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]
        config = [getattr(jax.config, name) for name in ("jax_enable_x64", "jax_default_matmul_precision")]
        settings = jax.__version__, jax.default_backend(), *config
        return identity_of((version or self._compiled_of, parameters, settings))

    def look_again(self) -> None:
        """Compile again if what the code reads has changed."""
        self._look()

    def _look(self) -> Undigestible | None:
        """Compile again if the code may have changed; returns the error if that cannot be determined."""
        try:
            now, problem = identity_of(self._made_of(), _in_words), None
        except Undigestible as error:
            now, problem = None, error
        if now is None or now != self._compiled_of:
            self._compile()
        self._compiled_of = now
        return problem

    def _compile(self) -> None:
        forward = self._forward

        # JAX caches traces by function, so a new function is traced again. What is not returned is not computed.
        def wanted(structure: Any, parameters: Any, batch: Any, layers: tuple[str, ...]) -> dict[str, jax.Array]:
            outputs = forward(structure, parameters, batch, layers)
            return {layer: outputs[layer] for layer in layers if layer in outputs}

        self._compiled = jax.jit(wanted, static_argnums=(0, 3))


def _in_words(value: Any) -> Any:
    """The text of a JAX object that has no Python source."""
    return str(value) if isinstance(value, jax.tree_util.PyTreeDef) else value
