"""torch modules as activations models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.adapters.extraction import ExtractedActivations
from bsjax.adapters.extras import import_extra
from bsjax.adapters.nested import first_array
from bsjax.adapters.preprocessing import Preprocessing, imagenet_preprocessing

if TYPE_CHECKING:
    import torch

_ROOT = "output"


def from_torch(
    module: torch.nn.Module,
    identifier: str,
    preprocess: Preprocessing | None = None,
    batch_size: int = 64,
    device: str | torch.device | None = None,
) -> ExtractedActivations:
    """Make an activations model of any ``torch.nn.Module``.

    Layers are the module's submodules, by their dotted names, and ``"output"``, the output of the whole
    module (unless a submodule has that name). Of a tuple, list, mapping or dataclass (such as a Hugging Face
    ``ModelOutput``) the first tensor is taken; of a submodule that is called several times, the last call.
    The activation is what the submodule
    returned: a later in-place operation does not change it. A submodule that is not called is not a layer.

    The module runs in evaluation mode without gradients; each part returns to the mode it was in. Its weights
    are read when it runs: training it further changes the activations.

    Args:
        module: takes a batch of images.
        identifier: name of the model.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default 224 pixels, ImageNet mean
            and deviation, ``(images, 3, 224, 224)``. The batch is cast to the dtype of the module's first
            parameter.
        batch_size: images in a batch.
        device: where to run; by default CUDA if there is one, else where the module is. The module is moved
            there.

    Raises:
        ImportError: torch is not installed.
        ValueError: ``module`` is not a ``torch.nn.Module``.

    Example:
        >>> import torch
        >>> from bsjax.adapters import imagenet_preprocessing
        >>> net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
        >>> from_torch(net, "net", preprocess=imagenet_preprocessing(size=8)).layers()
        {'0': (4, 6, 6), '1': (4, 6, 6), 'output': (4, 6, 6)}
    """
    torch = import_extra("torch", "torch")
    if not isinstance(module, torch.nn.Module):
        raise ValueError(f"from_torch takes a torch.nn.Module, got {type(module).__name__}")
    network = _TorchNetwork(module, device)
    return ExtractedActivations(identifier, network, preprocess or imagenet_preprocessing(layout="NCHW"), batch_size)


class _TorchNetwork:
    def __init__(self, module: torch.nn.Module, device: str | torch.device | None) -> None:
        self._torch = import_extra("torch", "torch")
        self._module = module
        if device is None and self._torch.cuda.is_available():
            device = "cuda"
        self._device = None if device is None else self._torch.device(device)

    def __repr__(self) -> str:
        return type(self._module).__name__

    def shapes(self, batch: np.ndarray) -> dict[str, tuple[int, ...]]:
        return self._forward(batch, list(self._named()), lambda tensor: tuple(tensor.shape))

    def run(self, batch: np.ndarray, layers: Sequence[str]) -> dict[str, np.ndarray]:
        return self._forward(batch, layers, self._to_host)

    def _named(self) -> dict[str, torch.nn.Module]:
        # A module that is reached by two names is a layer under both.
        named = dict(self._module.named_modules(remove_duplicate=False))
        root = named.pop("")
        return {_ROOT: root, **named}

    def _to_host(self, tensor: torch.Tensor) -> np.ndarray:
        # A copy, also on the CPU: an in-place ReLU after this layer would change what is recorded.
        host = tensor.detach().to("cpu", copy=True)
        return (host if host.is_complex() else host.to(self._torch.float32)).numpy()

    def _forward(self, batch: np.ndarray, layers: Sequence[str], keep: Callable[[Any], Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}

        def recorder(name: str) -> Callable[..., None]:
            def record(_module: Any, _inputs: Any, output: Any) -> None:
                tensor = first_array(output, self._torch.is_tensor)
                kept.pop(name, None)  # the order of the layers is that of their last calls
                if tensor is not None:
                    kept[name] = keep(tensor)

            return record

        named = self._named()
        handles = []
        try:
            for name in layers:
                if name in named:
                    handles.append(named[name].register_forward_hook(recorder(name)))
            with _evaluation_mode(self._module), self._torch.no_grad():
                self._module(self._input(batch))
        finally:
            for handle in handles:
                handle.remove()
        return kept

    def _input(self, batch: np.ndarray) -> torch.Tensor:
        if self._device is not None:
            self._module.to(self._device)
        first = next(self._module.parameters(), None)
        tensor = self._torch.tensor(batch)
        if first is None:
            return tensor.to(self._device)
        return tensor.to(first.device, first.dtype if first.is_floating_point() else None)


@contextmanager
def _evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode for the time of a ``with`` block; each submodule returns to the mode that it was in."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
