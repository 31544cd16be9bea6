"""Built-in sources of models: networks of other libraries, and stored activations."""

from __future__ import annotations

from collections.abc import Callable

from bsjax.activations import ActivationsModel
from bsjax.adapters import from_huggingface, from_stored, from_timm, from_torchvision
from bsjax.models.commitment import ModelCommitment
from bsjax.models.sources.by_name import load_by_name


def torchvision(identifier: str) -> ModelCommitment:
    """A classification network of torchvision, e.g. ``torchvision:resnet50@layer4``.

    Images are preprocessed as the library does for the weights.

    Args:
        identifier: as for :func:`~bsjax.models.sources.by_name.load_by_name`. Settings: ``weights``, by their name in
            the library, or ``none`` for random ones, and their ``seed``.

    Raises:
        KeyError: the library has no such network or weights.
        ImportError: the library is not installed; the message has the command that installs it.
        FileNotFoundError: the weights are not stored locally and cannot be downloaded; the message names them.
        ValueError: as for :func:`~bsjax.models.sources.by_name.load_by_name`.

    Example:
        >>> import bsjax
        >>> model = bsjax.load_model("torchvision:resnet50?weights=none@IT=layer4")  # doctest: +SKIP
    """
    return load_by_name(identifier, _pretrained(from_torchvision))


def timm(identifier: str) -> ModelCommitment:
    """A network of timm, e.g. ``timm:resnet18?weights=none@V1=layer1,IT=layer4``.

    Arguments, settings and errors are those of :func:`torchvision`.
    """
    return load_by_name(identifier, _pretrained(from_timm))


def huggingface(identifier: str) -> ModelCommitment:
    """A model of the Hugging Face hub or a local folder, e.g. ``huggingface:./folder@vit.layers.5``.

    Layers may be named as in the base model, without its prefix: ``layers.5`` for ``vit.layers.5``. Arguments,
    settings and errors are those of :func:`torchvision`.
    """
    return load_by_name(identifier, _pretrained(from_huggingface), layers_of_base=True)


def stored(identifier: str) -> ModelCommitment:
    """Stored activations from a file or folder, e.g. ``stored:./activations.npz@conv``.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: as for :func:`~bsjax.models.sources.by_name.load_by_name`.

    Example:
        >>> stored("stored:no-such-file.npz@conv")
        Traceback (most recent call last):
        ...
        FileNotFoundError: no stored activations at no-such-file.npz
    """
    return load_by_name(identifier, lambda name, own: from_stored(name, own))


def _pretrained(load: Callable[..., ActivationsModel]) -> Callable[..., ActivationsModel]:
    def loaded(name: str, identifier: str, *, weights: str = "default", seed: str = "0") -> ActivationsModel:
        if not seed.isdigit():
            raise ValueError(f"seed must be a whole number, got {seed!r} in {identifier!r}")
        return load(name, identifier, weights=None if weights.lower() == "none" else weights, seed=int(seed))

    return loaded
