"""Compiled JAX networks: the common part of functions, nnx and linen modules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import jax

from bsjax.activations.network import Batch
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.identity.values import identity_of

Forward = Callable[[Any, Any, Any, Collection[str] | None], Mapping[str, jax.Array]]
"""(structure, parameters, batch, layers) -> outputs of those of ``layers`` that exist; of all if ``None``."""


class JaxNetwork:
    """Runs a traceable function, compiled once for each batch shape and choice of layers.

    What the user's code reads when it is traced, such as a global, may change: then it is compiled anew.

    Args:
        forward: pure function; its first and last argument are static.
        current: the network's structure (hashable) and its parameters (a pytree), read whenever it runs.
        name: for display.
        made_of: gives what tells the user's code, read whenever it is looked at.
    """

    channels_last = True
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

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """The identity of the code and of the parameters.

        Args:
            batch: a batch like those that will be shown.
            version: by which somebody vouches for the code.

        Raises:
            Undigestible: nothing can vouch for a part of the code.
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
        """Compile anew if what the code reads has changed."""
        self._look()

    def _look(self) -> Undigestible | None:
        """The same; gives why nobody can tell whether it has, then it may have."""
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
        # JAX knows what it has traced by the function: another one is another trace.
        self._compiled = jax.jit(lambda *arguments: forward(*arguments), static_argnums=(0, 3))


def _in_words(value: Any) -> Any:
    """What JAX keeps in C, by its text."""
    return str(value) if isinstance(value, jax.tree_util.PyTreeDef) else value
