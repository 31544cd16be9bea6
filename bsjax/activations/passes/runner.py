"""A network with its preprocessing: the shapes of its layers, and validated outputs of batches."""

from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.activations.checks import checked_values, unknown_layers
from bsjax.activations.inputs.batches import Filled, batch_shapes, filled_batches, full_batch, loader_of
from bsjax.activations.inputs.preprocessing import Preprocessing
from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.network import Batch, Network
from bsjax.core.given_arrays import unmasked
from bsjax.core.identity.opened import Followed, following
from bsjax.core.identity.values import identity_of

_PROBE = np.full((256, 256, 3), 128, np.uint8)
_NOWHERE = Path()
# Batches of two distinguish the image axis from other axes of length one.
_OF_TWO = 2
# Tolerance for the order of summation on a device, relative to a layer's largest value.
_OF_SUMS = 1e-3


class Runner:
    """Runs a network on batches.

    Args:
        identifier: the model's, for messages.
        network: of one framework.
        preprocess: images -> batch.

    Attributes:
        followed: files that were read while it ran.
    """

    def __init__(self, identifier: str, network: Network, preprocess: Preprocessing) -> None:
        self.identifier = identifier
        self.network = network
        self.preprocess = preprocess
        self._identity: tuple[str, str] | None = None
        self.followed = Followed()
        self._probe = getattr(preprocess, "probe", _PROBE)
        self._shapes: dict[Any, Mapping[str, tuple[int, ...]]] = {}
        self._alike: dict[Any, bool] = {}
        self._given: set[str] = set()

    @property
    def digest(self) -> str | None:
        """Digest of the network's weights and code when last taken for the cache; None before, or if unknown."""
        return None if self._identity is None else self._identity[0]

    @cached_property
    def probe(self) -> Batch:
        """A batch of two gray images."""
        return full_batch(self.identifier, [self._probe], [Item(_NOWHERE)], _OF_TWO, self.preprocess)

    def digests(self, version: str | None = None) -> tuple[str, str]:
        """Identities of everything that determines the outputs: of the network and of its preprocessing.

        Args:
            version: vouches for the code of both.

        Raises:
            Undigestible: a part of them cannot be identified.
        """
        before, self._identity = self._identity, None
        try:
            with following(self.followed):
                preprocessing = identity_of(self.preprocess if version is None else (self.identifier, version))
                if before is not None and preprocessing != before[1]:
                    self.__dict__.pop("probe", None)
                self._identity = self.network.digest(self.probe, version), preprocessing
            return self._identity
        finally:
            if self._identity is None or self._identity != before:
                self._shapes, self._alike = {}, {}

    def look_again(self) -> None:
        """Forget cached properties of the network, which may have changed."""
        self.network.look_again()
        self._shapes, self._alike = {}, {}

    def batch_like(self, item: Item) -> Batch:
        """A batch of two copies of an item."""
        load = loader_of(self.preprocess)
        return full_batch(self.identifier, [load(item)], [item], _OF_TWO, self.preprocess)

    def shapes(self, like: Batch | None = None) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape of the output for one image, for images of the same shape as in ``like``."""
        like = self.probe if like is None else like
        n = _length(like)
        return {name: tuple(shape[1:]) for name, shape in self._all_shapes(like).items() if shape[:1] == (n,)}

    def shapes_of(self, layers: Sequence[str], like: Batch | None = None) -> dict[str, tuple[int, ...]]:
        """The shapes of some layers.

        Raises:
            ValueError: a layer does not exist, or its first axis is not the image.
        """
        like = self.probe if like is None else like
        found = self._all_shapes(like)
        missing = [layer for layer in layers if layer not in found]
        if missing:
            raise unknown_layers(self.identifier, missing, self.shapes(like))
        for layer in layers:
            self._check_first_axis(layer, found[layer], _length(like))
        return {layer: tuple(found[layer][1:]) for layer in layers}

    def answers_alike(self, layers: Sequence[str], item: Item) -> bool:
        """Whether two runs of the network on an item agree, up to rounding by the order of summation.

        Activations of a stochastic network are not cached.
        """
        if self.network.is_pure:
            return True
        like = self.batch_like(item)
        key = tuple(layers), batch_shapes(like)
        if key not in self._alike:
            one, two = (self.network.run(like, layers) for _ in range(2))
            self._alike[key] = all(_alike(one[layer], two[layer]) for layer in layers if layer in one and layer in two)
        return self._alike[key]

    def _all_shapes(self, like: Batch) -> Mapping[str, tuple[int, ...]]:
        key = _length(like), batch_shapes(like)
        if key not in self._shapes:
            with following(self.followed):
                self._shapes[key] = self.network.shapes(like)
        return self._shapes[key]

    def _check_first_axis(self, layer: str, shape: tuple[int, ...], n: int) -> None:
        if shape[:1] != (n,):
            raise ValueError(
                f"layer {layer!r} of model {self.identifier!r} gives shape {shape} "
                f"for {n} images; the first axis must be the image"
            )

    def _check_length(self, batch: Batch, layers: Sequence[str]) -> None:
        """Check that the first axis follows the number of images, which may equal that of tokens by chance."""
        # What is cached has been tried with two images before.
        new = [layer for layer in layers if not any(layer in shapes for shapes in self._shapes.values())]
        if new and not self.network.is_pure and _length(batch) > _OF_TWO:
            shapes = self._all_shapes(jax.tree.map(lambda leaf: leaf[:_OF_TWO], batch))
            for layer in new:
                if layer in shapes:
                    self._check_first_axis(layer, shapes[layer], _OF_TWO)

    def batches(self, items: Sequence[Item], size: int, first: int = 0) -> Generator[Filled]:
        """The items from ``first`` on, in batches; see :func:`~bsjax.activations.inputs.batches.filled_batches`."""
        return filled_batches(self.identifier, items, size, self.preprocess, first, self.network.is_compiled)

    def outputs(self, batch: Batch, layers: Sequence[str], ids: Sequence[object]) -> dict[str, Any]:
        """Outputs in the order of ``layers``, one row per image; ``ids`` name the stimuli in messages.

        Raises:
            ValueError: a layer does not exist, or not for every batch, or its first axis is not the image.
        """
        outputs: Mapping[str, Any] = self.network.run(batch, layers)
        missing = [layer for layer in layers if layer not in outputs]
        if missing:
            known = self.shapes()
            for layer in missing:
                if layer in known or layer in self._given:
                    raise ValueError(
                        f"layer {layer!r} of model {self.identifier!r} gives no output for the batch that begins with "
                        f"stimulus {ids[0]!r}, though it does for others: choose a layer that runs for every batch"
                    )
            raise unknown_layers(self.identifier, missing, known)
        for layer in layers:
            self._check_first_axis(layer, tuple(outputs[layer].shape), _length(batch))
        self._check_length(batch, [layer for layer in layers if layer not in self._given])
        self._given.update(layers)
        return {layer: outputs[layer] for layer in layers}

    def checked(self, layer: str, output: Any, shape: tuple[int, ...], ids: Sequence[object]) -> np.ndarray:
        """Float32 outputs for the images of a batch, on the host.

        Raises:
            ValueError: the shape differs, or values are masked or not finite.
        """
        self._check_shape(layer, output, shape, ids)
        values = np.asarray(unmasked(output, f"layer {layer!r} of model {self.identifier!r}"))
        return checked_values(self.identifier, layer, values, ids)

    def kept_on_device(self, layer: str, output: jax.Array, shape: tuple[int, ...], ids: Sequence[object]) -> jax.Array:
        """Float32 outputs for the images of a batch, on the network's device.

        Finite values are not checked here, because this would stall the device at every batch.

        Raises:
            ValueError: the shape differs, or values are not real numbers.
        """
        self._check_shape(layer, output, shape, ids)
        if not jnp.issubdtype(output.dtype, jnp.floating):
            checked_values(self.identifier, layer, jax.device_get(output), ids)
        return output.astype(jnp.float32)

    def check_finite(self, kept: Mapping[str, jax.Array], ids: Sequence[object]) -> None:
        """Check that layers have finite values; only one flag per layer is copied to the host.

        Args:
            kept: layer -> its activations for all stimuli.
            ids: of the stimuli.

        Raises:
            ValueError: values of a layer are NaN or infinite.
        """
        finite = jax.device_get({layer: jnp.isfinite(values).all() for layer, values in kept.items()})
        for layer, values in kept.items():
            if not finite[layer]:
                checked_values(self.identifier, layer, jax.device_get(values), ids)

    def _check_shape(self, layer: str, output: Any, shape: tuple[int, ...], ids: Sequence[object]) -> None:
        if output.shape[1:] != shape:
            raise ValueError(
                f"layer {layer!r} of model {self.identifier!r} changes the shape of its output between "
                f"batches: {shape} for the first, {tuple(output.shape[1:])} for that of stimulus {ids[0]!r}; "
                "preprocess images to one size"
            )


def _alike(one: Any, two: Any) -> bool:
    first, second = map(np.asarray, jax.device_get((one, two)))
    if first.shape != second.shape:
        return False
    size = np.max(np.abs(first), where=np.isfinite(first), initial=0.0)
    return bool(np.allclose(first, second, rtol=0, atol=_OF_SUMS * size, equal_nan=True))


def _length(batch: Batch) -> int:
    return len(jax.tree.leaves(batch)[0])
