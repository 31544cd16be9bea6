"""The protocol of activations models, which every adapter returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bsjax.data import NeuroidAssembly, StimulusSet


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
