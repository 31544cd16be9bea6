"""Wrappers of torch modules, for subclasses in published plugins."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.activations.network import Batch
from bsjax.adapters.torch.module_state import default_dtype
from bsjax.adapters.torch.network import TorchNetwork
from bsjax.compat.activations.extractor import ActivationsExtractorHelper, CalledNetwork, Wrapper
from bsjax.compat.activations.torch_modules import LOGITS, ModuleWrapper
from bsjax.core.extras import import_extra
from bsjax.core.identity.code import BSJAX, named

if TYPE_CHECKING:
    import torch

_IDENTIFIED_ELSEWHERE = ("_model", "_device", "_default_dtype", "_extractor", "_forward_kwargs")


class PytorchWrapper(Wrapper, ModuleWrapper):
    """A torch module as an activations model.

    A subclass may override how the module is called (``get_activations``), how a layer is found (``get_layer``,
    ``_output_layer``) and how it is recorded (``register_hook``, ``_tensor_to_numpy``).

    Args:
        model: the module. It is moved to a GPU if there is one.
        preprocessing: paths of images -> array.
        identifier: name of the model; by default that of its class.
        forward_kwargs: keyword arguments of the module in addition to the images.
        *args, **kwargs: arguments of :class:`ActivationsExtractorHelper`, such as ``batch_size``.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        preprocessing: Callable[[list[str]], Any] | None,
        identifier: str | None = None,
        forward_kwargs: Mapping[str, Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self._wrap(model)
        self._forward_kwargs = dict(forward_kwargs or {})
        named: dict[str, Any] = {"preprocessing": preprocessing, "get_activations": self.get_activations, **kwargs}
        self._extractor = self._build_extractor(*args, identifier=identifier or type(model).__name__, **named)
        self._extractor.insert_attrs(self)

    def _build_extractor(
        self, identifier: str, preprocessing: Any, get_activations: Any, *args: Any, **kwargs: Any
    ) -> ActivationsExtractorHelper:
        return ActivationsExtractorHelper(get_activations, preprocessing, identifier, *args, **kwargs)

    def _network(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, get_activations: Any
    ) -> CalledNetwork:
        return _WrappedModule(self, get_activations)

    def get_activations(self, images: Any, layer_names: Sequence[str]) -> OrderedDict[str, np.ndarray]:
        """Activations of layers for a batch of preprocessed images, in the order of their computation."""
        torch = import_extra("torch", "torch")
        batch = torch.stack([torch.as_tensor(image) for image in images]).to(self._device)
        dtype = next((each.dtype for each in self._model.parameters() if each.is_floating_point()), None)
        if dtype is not None and batch.is_floating_point():
            batch = batch.to(dtype)
        return self._recorded_layers(
            layer_names, self.register_hook, lambda: self._model(batch, **self._forward_kwargs)
        )

    def register_hook(self, layer: torch.nn.Module, layer_name: str, target_dict: dict[str, Any]) -> Any:
        """Make a layer store its output in a dict when it runs; returns a handle that removes this hook."""

        def record(_module: Any, _inputs: Any, output: Any) -> None:
            target_dict[layer_name] = self._tensor_to_numpy(output)

        return layer.register_forward_hook(record)


class _WrappedModule(CalledNetwork):
    """The module of a wrapper, run in the wrapper's way."""

    def __init__(self, wrapper: PytorchWrapper, get_activations: Any) -> None:
        super().__init__(get_activations, self._names)
        self._wrapper = wrapper

    def __repr__(self) -> str:
        return type(self._wrapper._model).__name__

    def _names(self) -> Iterable[str]:
        return [*(name for name, _ in self._wrapper._model.named_modules() if name), LOGITS]

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shapes of all layers, from a single pass if the wrapper does not override how the module runs."""
        if type(self._wrapper) is not PytorchWrapper or self.hooks or batch.dtype.kind == "U":
            return super().shapes(batch)
        found = self._module.shapes(batch)
        last = self._wrapper.get_layer(LOGITS)
        names = [name for name, module in self._wrapper._model.named_modules() if module is last and name in found]
        return {**found, **({LOGITS: found[names[0]]} if names else {})}

    def _content(self, batch: Batch) -> Any:
        """The module, its weights and code, and the wrapper's overrides."""
        return self._module.digest(batch), _overrides_of(self._wrapper), tuple(self.hooks.values())

    @property
    def _module(self) -> TorchNetwork:
        wrapper = self._wrapper
        with default_dtype(wrapper._default_dtype):
            return TorchNetwork(wrapper._model, wrapper.identifier, wrapper._device, wrapper._forward_kwargs)


def _overrides_of(wrapper: PytorchWrapper) -> dict[str, Any]:
    """The class and attributes of a wrapper with code of the plugin's own; other attributes have no effect."""
    extractor = wrapper._extractor  # the wrapper holds methods of it
    held = {
        name: value
        for name, value in vars(wrapper).items()
        if name not in _IDENTIFIED_ELSEWHERE
        and not _is_bsjaxs(value)
        and getattr(value, "__self__", None) is not extractor
    }
    classes = [each for each in (type(wrapper), type(extractor)) if not _is_bsjaxs(each)]
    return {"class": type(wrapper), "classes": classes, **held} if classes or any(map(callable, held.values())) else {}


def _is_bsjaxs(value: Any) -> bool:
    known = named(getattr(value, "__func__", value))
    return known is not None and known.distribution == BSJAX
