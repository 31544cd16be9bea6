"""Adapter of vision models of Hugging Face transformers, with their own image processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from PIL import Image

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.hubs.pretrained import not_found, seeded
from bsjax.adapters.torch.adapter import from_torch
from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import os

    import torch

_SIZE = 224  # pixels, if the configuration has no size
_MOST_LISTED = 5
_CHECK = "Check its name and the network, or give a folder, such as ./folder"


def from_huggingface(
    model: Any,
    identifier: str | None = None,
    processor: Any = None,
    weights: str | None = "default",
    seed: int = 0,
    device: str | torch.device | None = None,
    arguments: Mapping[str, Any] | None = None,
    resize: int | None = None,
    preprocess: Preprocessing | None = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from a vision model of Hugging Face ``transformers``.

    Layers are its submodules and outputs, as for any torch module: ``"output"`` is the first of its outputs (the
    logits of a classifier), ``"output.pooler_output"`` and so on the others. For a model that also processes text,
    such as CLIP, a name loads the vision part.

    Args:
        model: a ``transformers`` model, or the name or folder of one, which is loaded by ``from_pretrained`` with the
            class in its configuration.
        identifier: name of the model; by default the name by which it was loaded, or its model type.
        processor: its image processor; by default the one saved with the model, with the backend that needs no
            torchvision. If none was saved, the one that belongs to the architecture is used, for the image size in its
            configuration, or 224 pixels.
        weights: for a name or folder, the saved weights by default, None for random ones.
        seed: for random weights.
        device: where to run, see :func:`~bsjax.adapters.from_torch`.
        arguments: keyword arguments of the call in addition to the images, e.g. ``{"output_hidden_states": True}``.
        resize: side in pixels of a square to which images are resized before the processor.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; replaces the processor.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`.

    Raises:
        ImportError: transformers or torch is not installed.
        FileNotFoundError: the folder does not exist, or the model is not stored locally and cannot be downloaded.
        ValueError: ``model`` is not a transformers model, the saved weights are incomplete, or its architecture has no
            image processor.

    Example:
        >>> from_huggingface("./no/such/folder")
        Traceback (most recent call last):
        ...
        FileNotFoundError: no folder of a Hugging Face model at no/such/folder
    """
    transformers = import_extra("transformers", "huggingface")
    import_extra("torch", "huggingface")
    if isinstance(model, str | Path):
        if weights not in ("default", None):
            raise ValueError(f"Hugging Face models have weights 'default' or None, got {weights!r}")
        source = _source(model)
        identifier = identifier or str(model)
        module = _loaded(transformers, source, seed if weights is None else None)
        if preprocess is None:
            processor = processor or _saved_processor(transformers, source)
    elif isinstance(model, transformers.PreTrainedModel):
        module = model
    else:
        raise ValueError(
            "from_huggingface takes a transformers model, or the name or folder of one, "
            f"got {type(model).__name__}; for other torch modules there is from_torch"
        )
    if preprocess is None:
        processor = processor or _processor_of_family(transformers, module.config)
        preprocess = partial(process_images, processor=processor, resize=resize)
    name = identifier or module.config.name_or_path or module.config.model_type
    return from_torch(module, name, preprocess, device, arguments, **options)


def process_images(images: Sequence[np.ndarray], processor: Any, resize: int | None = None) -> Any:
    """Preprocess images with an image processor of ``transformers``.

    Args:
        images: uint8 RGB, each ``(height, width, 3)``.
        processor: the image processor.
        resize: side in pixels of a square to which they are resized first, by PIL's bicubic filter.

    Returns:
        The pixel values, or a dict of all outputs if the processor has several.
    """
    shown = [Image.fromarray(image) for image in images]
    if resize is not None:
        shown = [image.resize((resize, resize), Image.Resampling.BICUBIC) for image in shown]
    made = processor(images=shown, return_tensors="pt")
    arrays = {name: np.asarray(value) for name, value in made.items()}
    return arrays["pixel_values"] if list(arrays) == ["pixel_values"] else arrays


def _source(name: str | os.PathLike[str]) -> str | Path:
    """The path of a folder, or the name of a model on the hub.

    Raises:
        FileNotFoundError: no model was saved at the path.
    """
    path = Path(name).expanduser()
    is_path = not isinstance(name, str) or name.startswith((".", "/", "~")) or path.is_dir()
    if not is_path:
        return str(name)
    if not path.is_dir():
        raise FileNotFoundError(f"no folder of a Hugging Face model at {path}")
    if not (path / "config.json").is_file():
        raise FileNotFoundError(f"no Hugging Face model in {path}: it has no config.json, as save_pretrained writes it")
    return path


def _loaded(transformers: Any, source: str | Path, seed: int | None) -> Any:
    """A model with its saved weights, or with random ones if there is a seed."""
    try:
        config = transformers.AutoConfig.from_pretrained(source)
    except OSError as error:
        raise not_found(f"Hugging Face model {source}", _places(source), error, _CHECK) from error
    cls, config = _architecture(transformers, config)
    if seed is not None:
        with seeded(seed):
            return cls(config)
    try:
        module, report = cls.from_pretrained(source, config=config, output_loading_info=True)
    except OSError as error:
        raise not_found(f"weights of Hugging Face's {source}", _places(source), error) from error
    missing = sorted(report["missing_keys"])
    if missing:
        shown = ", ".join(missing[:_MOST_LISTED]) + (", ..." if len(missing) > _MOST_LISTED else "")
        raise ValueError(f"the saved weights of {source} lack {len(missing)} of those of {cls.__name__}: {shown}")
    return module


def _architecture(transformers: Any, config: Any) -> tuple[Any, Any]:
    """The class and configuration of a model; for a model of images and text, those of the vision part."""
    vision = getattr(config, "vision_config", None)
    if vision is not None:
        return transformers.MODEL_MAPPING[type(vision)], vision
    named = (getattr(transformers, name, None) for name in config.architectures or [])
    return next((cls for cls in named if cls is not None), None) or transformers.MODEL_MAPPING[type(config)], config


def _saved_processor(transformers: Any, source: str | Path) -> Any:
    """The processor that was saved with a model; None if a folder has none."""
    files = ("preprocessor_config.json", "processor_config.json")
    if isinstance(source, Path) and not any((source / file).is_file() for file in files):
        return None
    try:
        return transformers.AutoImageProcessor.from_pretrained(source, backend="pil")
    except OSError as error:
        advice = "Give one in processor="
        raise not_found(f"image processor of Hugging Face's {source}", _places(source), error, advice) from error


def _processor_of_family(transformers: Any, config: Any) -> Any:
    """The processor of an architecture, for the image size in the configuration."""
    names = import_extra("transformers.models.auto.image_processing_auto", "huggingface").IMAGE_PROCESSOR_MAPPING_NAMES
    name = (names.get(config.model_type) or names.get(config.model_type.removesuffix("_vision_model")) or {}).get("pil")
    if name is None:
        raise ValueError(
            f"transformers has no image processor for models of type {config.model_type!r}: give processor="
        )
    family = getattr(transformers, name)
    side = getattr(config, "image_size", None) or _SIZE
    height, width = side if isinstance(side, list | tuple) else (side, side)
    whole = {"height": height, "width": width}
    is_edge = "shortest_edge" in family().to_dict()["size"]
    return family(size={"shortest_edge": min(height, width)} if is_edge else whole, crop_size=whole)


def _places(source: str | Path) -> str:
    """The locations where transformers looks for a model, in words."""
    if isinstance(source, Path):
        return f"in the folder {source}"
    constants = import_extra("huggingface_hub.constants", "huggingface")
    return f"in {constants.HF_HUB_CACHE} and at {constants.ENDPOINT}/{source}"
