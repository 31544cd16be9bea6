"""Base class of wrappers of video networks, and control of how their models show videos."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from bsjax.compat.activations.temporal.extractor import ActivationsExtractor
from bsjax.compat.activations.temporal.inferencers import TemporalInferencer
from bsjax.compat.activations.video import Video
from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.core.messages import some

_OWN_WAYS = ("inference", "load_stimulus", "load_stimuli", "package_layer", "package")


class ActivationWrapper:
    """Base class of wrappers of video networks; a subclass defines ``get_activations``.

    Args:
        identifier: name of the model.
        preprocessing: video -> input of the network.
        inferencer_cls: class that defines how videos are shown.
        **extractor_kwargs: its arguments: ``fps``, ``layer_activation_format``, ``num_frames`` and so on.

    Raises:
        ValueError: the class is not a supported inferencer, or rejects an argument.
    """

    def __init__(
        self,
        identifier: str,
        preprocessing: Callable[[Video], Any],
        inferencer_cls: type[TemporalInferencer] = TemporalInferencer,
        **extractor_kwargs: Any,
    ) -> None:
        self.identifier = identifier
        self.preprocessing = preprocessing
        self.build_extractor(inferencer_cls, **extractor_kwargs)

    def build_extractor(self, inferencer_cls: type[TemporalInferencer], *args: Any, **kwargs: Any) -> None:
        """Change how videos are shown; arguments and errors are those of the class."""
        own = [name for name in _OWN_WAYS if hasattr(inferencer_cls, name)]
        if own or not issubclass(inferencer_cls, TemporalInferencer):
            raise ValueError(
                f"{inferencer_cls.__name__} is no TemporalInferencer, BlockInferencer or CausalInferencer that shows "
                f"videos as they do{f' (it has {some(own)})' if own else ''}: override get_activations of the wrapper"
            )
        inferencer = inferencer_cls(self.get_activations, self.preprocessing, *args, **kwargs)
        self._extractor = ActivationsExtractor(inferencer, self.identifier, self._content)

    def get_activations(self, inputs: list[Any], layer_names: list[str]) -> Mapping[str, Any]:
        """Activations of layers for preprocessed videos, by name.

        Raises:
            NotImplementedError: the subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no get_activations(inputs, layer_names)")

    @functools.wraps(ActivationsExtractor.__call__, assigned=("__doc__",))
    def __call__(self, *args: Any, **kwargs: Any) -> NeuroidAssembly:
        return self._extractor(*args, **kwargs)

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers with a format -> shape of the output in one time bin."""
        return self._extractor.layers()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._extractor, name)

    def _content(self) -> dict[str, Any]:
        """The objects that determine the activations in addition to the preprocessing: the class and its attributes."""
        apart = ("_extractor", "preprocessing", "_preprocess", "identifier")
        held = {name: value for name, value in vars(self).items() if name not in apart}
        return {**held, "class": type(self)}


def get_inferencer(any_model: Any) -> TemporalInferencer:
    """The inferencer of a wrapper, or of a model made from one.

    Raises:
        ValueError: the object is neither.
    """
    if isinstance(any_model, TemporalInferencer):
        return any_model
    base = get_base_model(any_model)
    extractor = base if isinstance(base, ActivationsExtractor) else getattr(base, "_extractor", None)
    if not isinstance(extractor, ActivationsExtractor):
        raise ValueError(f"{type(any_model).__name__} shows no videos: expected a wrapper of a network that sees them")
    return extractor.inferencer


def get_base_model(any_model: Any) -> Any:
    """The wrapper that a model is made from; a wrapper is returned unchanged."""
    return getattr(any_model, "activations_model", any_model)


def get_specified_layers(any_model: Any) -> list[str]:
    """The layers of ``layer_activation_format``; errors are those of :func:`get_inferencer`."""
    return list(get_inferencer(any_model).layer_activation_format)


def switch_inferencer(any_model: Any, new_inferencer_cls: type[TemporalInferencer], **kwargs: Any) -> None:
    """Change how a model shows videos; the value ``"same"`` keeps that of an argument."""
    now = get_inferencer(any_model)
    given = {name: getattr(now, name) if value == "same" else value for name, value in kwargs.items()}
    get_base_model(any_model).build_extractor(new_inferencer_cls, **given)
