"""Wrappers of torch modules for videos, for subclasses in published plugins."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bsjax.adapters.torch.network import TorchNetwork
from bsjax.compat.activations.temporal.wrappers import ActivationWrapper
from bsjax.compat.activations.torch_modules import ModuleWrapper
from bsjax.compat.activations.video import Video
from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch


class PytorchWrapper(ActivationWrapper, ModuleWrapper):
    """A torch module for videos as an activations model.

    A subclass may override how the module is called (``forward``, ``get_activations``), how a layer is found
    (``get_layer``, ``_output_layer``) and how it is recorded (``_register_hook``, ``_tensor_to_numpy``).

    Args:
        identifier: name of the model.
        model: the module. It is moved to a GPU if there is one.
        preprocessing: :class:`~bsjax.compat.activations.video.Video` -> element of the list that ``forward`` takes.
        process_output: (module, name of the layer, inputs, output) -> array to record.
        *args, **kwargs: arguments of :class:`ActivationWrapper`.
    """

    def __init__(
        self,
        identifier: str,
        model: torch.nn.Module,
        preprocessing: Callable[[Video], Any],
        process_output: Callable[[Any, str, Any, Any], Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self._wrap(model)
        self._preprocess = preprocessing
        self._process_activation = process_output or (lambda layer, layer_name, inputs, output: output)
        super().__init__(identifier, preprocessing, *args, **kwargs)

    def forward(self, inputs: list[Any]) -> Any:
        """The output of the module for preprocessed videos."""
        torch = import_extra("torch", "torch")
        return self._model(torch.stack([torch.as_tensor(each) for each in inputs]).to(self._device))

    def get_activations(self, inputs: list[Any], layer_names: list[str]) -> OrderedDict[str, Any]:
        """Activations of layers for preprocessed videos, in the order of their computation."""
        return self._recorded_layers(layer_names, self._register_hook, lambda: self.forward(inputs))

    def _register_hook(self, layer: torch.nn.Module, layer_name: str, target_dict: dict[str, Any]) -> Any:
        def record(module: Any, inputs: Any, output: Any) -> None:
            target_dict[layer_name] = self._tensor_to_numpy(
                self._process_activation(module, layer_name, inputs, output)
            )

        return layer.register_forward_hook(record)

    def _content(self) -> dict[str, Any]:
        of_module = TorchNetwork(self._model, self.identifier, self._device).digest(None)
        return {**super()._content(), "_model": of_module, "_device": None}
