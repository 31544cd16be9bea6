"""Torch modules in wrappers, for images or videos: finding layers by name and recording them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.adapters.nested_outputs import named_layers
from bsjax.adapters.torch.module_state import default_dtype, own_state
from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch

SUBMODULE_SEPARATOR = "."
LOGITS = "logits"


class ModuleWrapper:
    """Base class of wrappers of a torch module, used with a wrapper class that provides ``identifier``.

    Subclasses in plugins may override how a layer is found (``get_layer``, ``_output_layer``) and how its output is
    copied to the host (``_tensor_to_numpy``).
    """

    identifier: Any
    _model: torch.nn.Module
    _device: torch.device
    _default_dtype: torch.dtype

    def __repr__(self) -> str:
        return repr(self._model)

    def get_layer(self, layer_name: str) -> torch.nn.Module:
        """The module of a layer, by the dotted path of module names; ``logits`` is the last module.

        Raises:
            ValueError: the module does not exist.
        """
        if layer_name == LOGITS:
            return self._output_layer()
        module: Any = self._model
        for part in layer_name.split(SUBMODULE_SEPARATOR):
            inner = module._modules.get(part)
            if inner is None:
                there = ", ".join(module._modules) or "none"
                raise ValueError(
                    f"model {self.identifier!r} has no layer {layer_name!r}: {part!r} is not among {there}"
                )
            module = inner
        return module

    def _wrap(self, model: torch.nn.Module) -> None:
        """Wrap a module and move it to a GPU if there is one."""
        torch = import_extra("torch", "torch")
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._default_dtype = torch.get_default_dtype()
        self._model = model.to(self._device)

    def _recorded_layers(
        self, layer_names: Sequence[str], register: Callable[..., Any], run: Callable[[], Any]
    ) -> OrderedDict[str, Any]:
        """Record layers, in the order of their computation, while a function runs the module.

        Args:
            layer_names: names of the layers.
            register: (module, name, dict) -> handle of a hook that makes the module store its output in the dict.
            run: function that runs the module.
        """
        found: OrderedDict[str, Any] = OrderedDict()
        hooks = []
        self._model.eval()
        try:
            for name in layer_names:
                hooks.append(register(self.get_layer(name), name, target_dict=found))
            torch = import_extra("torch", "torch")
            with default_dtype(self._default_dtype), torch.no_grad(), own_state(self._model):
                run()
        finally:
            for hook in hooks:
                hook.remove()
        return found

    def _output_layer(self) -> torch.nn.Module:
        module: Any = self._model
        while module._modules:
            module = module._modules[next(reversed(module._modules))]
        return module

    @classmethod
    def _tensor_to_numpy(cls, output: Any) -> np.ndarray:
        # The first of several outputs. A copy, because the module may change it later, e.g. by an in-place ReLU.
        first, *_ = named_layers("", output, import_extra("torch", "torch").is_tensor).values()
        return first.detach().clone().cpu().numpy()
