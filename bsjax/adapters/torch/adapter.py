"""``from_torch``: torch modules as activations models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing, imagenet_preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.torch.network import TorchNetwork
from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch


def from_torch(
    module: torch.nn.Module,
    identifier: str,
    preprocess: Preprocessing | None = None,
    device: str | torch.device | None = None,
    arguments: Mapping[str, Any] | None = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from any ``torch.nn.Module``.

    Layers are the module's submodules, by their dotted names, and ``"output"``, the output of the whole module (unless
    a submodule has that name). If one returns several tensors, in a tuple, list, mapping or dataclass (such as a
    Hugging Face ``ModelOutput``), the first has the submodule's name and each further one a name below it: ``head.1``,
    ``output.pooler_output``. If a submodule is called several times, the last call counts. The activation is what the
    submodule returned: a later in-place operation does not change it. A submodule that is not called is not a layer.

    The module runs in evaluation mode without gradients; each submodule then returns to its previous mode. Its weights
    are read at every run: further training changes the activations. A module from ``torch.compile`` has the layers of
    the original and runs uncompiled, because compiled code may skip the recording hooks.

    Several threads may use one module, or modules that share submodules: they run it in turns. A submodule that
    ``forward`` calls in a separate thread is not a layer. Do not train a module or change its mode by other means
    while it runs here.

    Activations are float32, independent of the module's dtype. If torch and JAX use the same GPU, they stay on it.

    Args:
        module: takes a batch of images.
        identifier: name of the model.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default 224 pixels, ImageNet mean and
            standard deviation, ``(images, 3, 224, 224)``. For a module with several inputs, return a tuple (by
            position) or a dict (by keyword) of arrays. Floating-point and uint8 arrays are cast to the dtype of the
            module's first floating-point parameter.
        device: where to run; by default CUDA if available, else where the module is. The module is moved there.
        arguments: keyword arguments of the call in addition to the batch, e.g. ``{"output_hidden_states": True}``.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`.

    Raises:
        ImportError: torch is not installed.
        ValueError: ``module`` is not a ``torch.nn.Module``, or it is or contains one of ``torch.jit.script``.

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
    scripted = [name for name, part in module.named_modules() if isinstance(part, torch.jit.RecursiveScriptModule)]
    if scripted:
        which = f"part {scripted[0]!r} of it" if scripted[0] else "it"
        raise ValueError(
            f"from_torch cannot record the layers of model {identifier!r}: {which} is a TorchScript module, whose code "
            "is compiled; give the module that it was made from"
        )
    network = TorchNetwork(module, identifier, device, arguments)
    return ExtractedActivations(identifier, network, preprocess or imagenet_preprocessing(layout="NCHW"), **options)
