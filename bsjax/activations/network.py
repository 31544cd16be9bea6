"""The protocols of networks, through which the extraction runs all frameworks, and of activations models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bsjax.data import NeuroidAssembly, StimulusSet


Batch = Any
"""Output of a preprocessing: an array, or a tuple or dict of arrays, with images on the first axis of each."""


class Network(Protocol):
    """A network of one framework, which can run a batch.

    Example:
        >>> sorted(name for name in vars(Network) if not name.startswith("_"))  # what a new one defines
        ['digest', 'look_again', 'on_device', 'run', 'shapes']
    """

    channels_last: bool
    """Whether image-like outputs have the channel on the last axis, as in JAX; in torch it is the first."""

    is_compiled: bool
    """Whether a batch of another size may take a compilation, so that the last batch is padded."""

    is_pure: bool
    """Whether :meth:`run` is known to be deterministic, so that it need not be tested."""

    @property
    def on_device(self) -> bool:
        """Whether :meth:`run` returns JAX arrays on JAX's device."""
        ...

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shape of the output of every layer for this batch, in order of computation."""
        ...

    def run(self, batch: Batch, layers: Sequence[str]) -> Mapping[str, Any]:
        """Outputs of the existing ``layers`` from one pass, as NumPy arrays or as JAX arrays on their device.

        Later passes must not change them, since they are stored while the next batch runs.
        """
        ...

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """The identity of everything that determines the outputs for similar batches: weights, code, framework, device.

        Args:
            batch: an example batch.
            version: vouches for the code; by default the code itself is identified.

        Raises:
            Undigestible: a part of it cannot be identified.
        """
        ...

    def look_again(self) -> None:
        """Update compiled programs if what the code reads has changed."""
        ...


@runtime_checkable
class ActivationsModel(Protocol):
    """A model that maps stimuli to activations, layer by layer.

    Example:
        >>> from bsjax.adapters import ActivationsModel, from_jax
        >>> isinstance(from_jax(lambda images: images.mean((1, 2)), "mean-colour"), ActivationsModel)
        True
    """

    @property
    def identifier(self) -> str:
        """The name of the model; every ``neuroid_id`` begins with it."""
        ...

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape of the output for one image, in order of computation."""
        ...

    def __call__(self, stimuli: StimulusSet, layers: Sequence[str]) -> NeuroidAssembly:
        """Activations, dims ``(presentation, neuroid)``: one row for each stimulus, with the layers concatenated."""
        ...
