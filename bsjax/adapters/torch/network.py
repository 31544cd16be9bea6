"""A torch module as a network, whose submodules are recorded while it runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from bsjax.activations.network import Batch
from bsjax.adapters.nested_outputs import may_give, named_layers, spread
from bsjax.adapters.torch.dlpack import to_jax
from bsjax.adapters.torch.module_state import RecordingHook, as_written, default_dtype, evaluation_mode, turn
from bsjax.core.extras import import_extra
from bsjax.core.identity.values import identity_of

if TYPE_CHECKING:
    import torch

_ROOT = "output"
_COMPILED = "_orig_mod"  # the attribute in which torch.compile stores the original module
_AS_JAX = {"cuda": "gpu", "cpu": "cpu"}  # torch and JAX names of devices whose memory they can share


class TorchNetwork:
    """A module in evaluation mode, without gradients.

    Modules from ``torch.compile`` run uncompiled, because compiled code may skip hooks that are added later. Only one
    thread at a time runs a module, or modules that share submodules. The module runs with torch's default dtype at the
    time of construction.

    Args:
        module: any torch module.
        identifier: of the model, for messages.
        device: where to run; by default CUDA if available, else where the module is.
        arguments: keyword arguments of the call in addition to the batch.
    """

    channels_last = False
    is_compiled = False
    is_pure = False

    def __init__(
        self,
        module: torch.nn.Module,
        identifier: str,
        device: str | torch.device | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self._torch = import_extra("torch", "torch")
        self._default_dtype = self._torch.get_default_dtype()
        self._module = getattr(module, _COMPILED, module)
        self._identifier = identifier
        self._arguments = dict(arguments or {})
        if device is None and self._torch.cuda.is_available():
            device = "cuda"
        self._device = None if device is None else self._torch.device(device)

    def __repr__(self) -> str:
        return type(self._module).__name__

    @property
    def on_device(self) -> bool:
        """Whether outputs are JAX arrays without a copy, because torch and JAX use the same kind of device."""
        return _AS_JAX.get(self._place()[0].type) == jax.default_backend()

    @property
    def n_parameters(self) -> int:
        """Number of parameters; shared ones count once."""
        return sum(parameter.numel() for parameter in self._module.parameters())

    def shapes(self, batch: Batch) -> dict[str, tuple[int, ...]]:
        """Shapes of all layers for this batch, found by running it."""
        return self._forward(batch, None, lambda tensor: tuple(tensor.shape))

    def run(self, batch: Batch, layers: Sequence[str]) -> dict[str, Any]:
        """Float32 outputs of the existing ``layers``, as JAX arrays if torch and JAX share a device."""
        if not self.on_device:
            return self._forward(batch, layers, lambda tensor: self._copy(tensor, "cpu").numpy())
        kept = self._forward(batch, layers, lambda tensor: self._copy(tensor, tensor.device))
        return {layer: to_jax(tensor) for layer, tensor in kept.items()}

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """The identity of weights, code, and settings that determine the outputs.

        Args:
            batch: an example batch.
            version: vouches for the code.

        Raises:
            Undigestible: a part of the module cannot be identified.
        """
        from bsjax.adapters.torch.content import torch_identity

        device, dtype = self._place()
        settings = (device.type, str(dtype), *self._settings(device.type))
        with turn(self._module.modules()):
            content = torch_identity(self._module, lambda: self._forward(batch, (), lambda tensor: None), version)
        return identity_of((content, self._arguments, settings))

    def look_again(self) -> None:
        """Has no effect, because nothing is cached."""

    def _settings(self, device: str) -> tuple[Any, ...]:
        """Settings of torch that affect numerical results, for this thread or globally."""
        torch = self._torch
        mixed = str(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else ""
        precision = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        return str(torch.__version__), *precision, mixed, str(self._default_dtype)

    def _copy(self, tensor: torch.Tensor, device: Any) -> torch.Tensor:
        # Always a copy, because an in-place ReLU after this layer would change the recorded values.
        dtype = None if tensor.is_complex() else self._torch.float32
        return tensor.detach().to(device=device, dtype=dtype, copy=True, memory_format=self._torch.contiguous_format)

    def _named(self) -> dict[str, torch.nn.Module]:
        # A module with two names is a layer under both.
        parts = {
            ".".join(part for part in name.split(".") if part != _COMPILED): getattr(module, _COMPILED, module)
            for name, module in self._module.named_modules(remove_duplicate=False)
        }
        root = parts.pop("")
        return {_ROOT: root, **parts}

    def _forward(self, batch: Batch, layers: Collection[str] | None, keep: Callable[[Any], Any]) -> dict[str, Any]:
        """Values kept for each layer, in the order of the last calls."""
        kept: dict[str, dict[str, Any]] = {}
        named = self._named()

        def recorder(name: str) -> RecordingHook:
            def record(output: Any) -> None:
                kept.pop(name, None)
                kept[name] = {
                    layer: keep(tensor)
                    for layer, tensor in named_layers(name, output, self._torch.is_tensor).items()
                    if (layers is None or layer in layers) and (layer == name or layer not in named)
                }

            return RecordingHook(record)

        handles = []
        with turn(self._module.modules()):
            try:
                for name, module in named.items():
                    if may_give(name, layers):
                        handles.append(module.register_forward_hook(recorder(name)))
                with (
                    default_dtype(self._default_dtype),
                    evaluation_mode(self._module),
                    self._torch.no_grad(),
                    self._as_written(),
                ):
                    self._call(batch)
            finally:
                for handle in handles:
                    handle.remove()
        return {layer: value for parts in kept.values() for layer, value in parts.items()}

    def _call(self, batch: Batch) -> None:
        if self._device is not None:
            self._module.to(self._device)
        inputs, arguments = spread(jax.tree.map(self._tensor, batch), self._arguments)
        try:
            self._module(*inputs, **arguments)
        except self._torch.OutOfMemoryError as error:
            raise MemoryError(
                f"model {self._identifier!r} runs out of memory on {_described(batch)}: choose a smaller batch_size="
            ) from error
        except Exception as error:
            raise ValueError(
                f"model {self._identifier!r} ({type(self._module).__name__}) fails on what its preprocessing made, "
                f"{_described(batch)}: {type(error).__name__}: {error}"
            ) from error

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        # A copy, because a module may change its input in place.
        tensor = self._torch.tensor(np.ascontiguousarray(array))
        device, dtype = self._place()
        pixels = tensor.is_floating_point() or tensor.dtype == self._torch.uint8
        return tensor.to(device, dtype if pixels else None)

    def _place(self) -> tuple[torch.device, torch.dtype | None]:
        """Where the module runs, and the dtype of its first floating-point parameter."""
        parameters = list(self._module.parameters())
        dtype = next((parameter.dtype for parameter in parameters if parameter.is_floating_point()), None)
        there = parameters[0].device if parameters else self._torch.device("cpu")
        return self._device or there, dtype

    def _as_written(self) -> Any:
        """A context in which compiled submodules run uncompiled."""
        compiled = any(
            hasattr(part, _COMPILED) or part._compiled_call_impl is not None for part in self._module.modules()
        )
        return as_written() if compiled else nullcontext()


def _described(batch: Batch) -> str:
    """Shapes and dtypes of a batch.

    Example:
        >>> _described({"pixels": np.zeros((2, 3), np.float32), "mask": np.ones((2,), bool)})
        'mask bool (2,), pixels float32 (2, 3)'
    """
    leaves = jax.tree_util.tree_flatten_with_path(batch)[0]
    described = ((jax.tree_util.keystr(path, simple=True), f"{leaf.dtype} {leaf.shape}") for path, leaf in leaves)
    return ", ".join(f"{name} {what}" if name else what for name, what in described)
