"""Base class of wrappers of video networks."""

from collections.abc import Callable, Mapping
from typing import Any

from bsjax.compat.activations.hooks import Delegating
from bsjax.compat.activations.temporal.extractor import ActivationsExtractor
from bsjax.compat.activations.temporal.inferencers import TemporalInferencer
from bsjax.compat.activations.video import Video


class ActivationWrapper(Delegating):
    """Base class of wrappers of video networks; a subclass defines ``get_activations``.

    Args:
        identifier: name of the model.
        preprocessing: video -> input of the network.
        **extractor_kwargs: arguments of :class:`~bsjax.compat.activations.temporal.inferencers.TemporalInferencer`:
            ``fps``, ``layer_activation_format``, ``num_frames`` and so on.

    Raises:
        ValueError: an argument is out of range or not supported.
    """

    def __init__(self, identifier: str, preprocessing: Callable[[Video], Any], **extractor_kwargs: Any) -> None:
        self.identifier = identifier
        self.preprocessing = preprocessing
        inferencer = TemporalInferencer(self.get_activations, preprocessing, **extractor_kwargs)
        self._extractor = ActivationsExtractor(inferencer, identifier, self._content)

    def get_activations(self, inputs: list[Any], layer_names: list[str]) -> Mapping[str, Any]:
        """Activations of layers for preprocessed videos, by name.

        Raises:
            NotImplementedError: the subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no get_activations(inputs, layer_names)")

    def _content(self) -> dict[str, Any]:
        """The objects that determine the activations in addition to the preprocessing: the class and its attributes."""
        apart = ("_extractor", "preprocessing", "_preprocess", "identifier")
        held = {name: value for name, value in vars(self).items() if name not in apart}
        return {**held, "class": type(self)}


def get_specified_layers(any_model: Any) -> list[str]:
    """The layers of ``layer_activation_format`` of a wrapper, or of a model made from one.

    Raises:
        ValueError: the object is neither.
    """
    base = getattr(any_model, "activations_model", any_model)
    inferencer = getattr(base, "inferencer", None)
    if not isinstance(inferencer, TemporalInferencer):
        raise ValueError(f"expected a wrapper of a network that takes videos, got a {type(base).__name__}")
    return list(inferencer.layer_activation_format)
