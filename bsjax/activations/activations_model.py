"""The protocol of activations models, which every adapter makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bsjax.data import NeuroidAssembly, StimulusSet


@runtime_checkable
class ActivationsModel(Protocol):
    """Anything that turns stimuli into activations, layer by layer.

    Example:
        >>> from bsjax.adapters import ActivationsModel, from_jax
        >>> isinstance(from_jax(lambda images: images.mean((1, 2)), "mean-colour"), ActivationsModel)
        True
    """

    @property
    def identifier(self) -> str:
        """The name of the model; it begins every ``neuroid_id``."""
        ...

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape of the output for one image, in the order of their computation."""
        ...

    def __call__(self, stimuli: StimulusSet, layers: Sequence[str]) -> NeuroidAssembly:
        """Activations, dims ``(presentation, neuroid)``: a row for each stimulus, the layers side by side."""
        ...
