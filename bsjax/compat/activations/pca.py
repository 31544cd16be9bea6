"""Principal components of layers, fitted on ImageNet, under the name that they have for plugins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from PIL import Image

from bsjax.activations.reducers import PCA
from bsjax.compat.activations.extractor import ActivationsExtractorHelper
from bsjax.core.file_reading import reading_as
from bsjax.data import StimulusSet

_CLASSES, _PER_CLASS = 1000, 50


class PCAHandle:
    """Takes the components away again, for good or for a time.

    Args:
        extractor: whose layers are reduced.
        reducer: what reduces them.
    """

    def __init__(self, extractor: ActivationsExtractorHelper, reducer: PCA) -> None:
        self._extractor, self._reducer = extractor, reducer
        self.enable()

    def remove(self) -> PCA:
        """Answer with the layers themselves; gives the reducer."""
        self._extractor._options = self._extractor._options.changed({"reducer": None})
        return self._reducer

    def disable(self) -> None:
        """Answer with the layers themselves until it is enabled."""
        self.remove()

    def enable(self) -> None:
        """Answer with the components."""
        self._extractor._options = self._extractor._options.changed({"reducer": self._reducer})


class LayerPCA:
    """Answers of a wrapper in principal components of each layer, see :class:`bsjax.activations.PCA`.

    They are fitted on as many images as there are components, spread over the classes of ImageNet's validation set, in
    the file ``$MT_IMAGENET_PATH`` (``~/.model-tools/imagenet2012.hdf5``), which has them, sorted by class, as
    ``val/images``.
    """

    @classmethod
    def hook(cls, activations_extractor: Any, n_components: int) -> PCAHandle:
        """From now on a wrapper of a network that sees images answers with components.

        Raises:
            ValueError: it does so already, or sees videos; or there are not as many images.
            FileNotFoundError: the file of the images is not there.
        """
        extractor = _extractor_of(activations_extractor)
        if not isinstance(extractor, ActivationsExtractorHelper):
            raise ValueError(f"{type(activations_extractor).__name__} has layers with time, which are not reduced")
        if cls.is_hooked(activations_extractor):
            raise ValueError(f"model {extractor.identifier!r} is reduced already: take that away before, by remove()")
        return PCAHandle(extractor, PCA(n_components, _imagenet(n_components)))

    @classmethod
    def is_hooked(cls, activations_extractor: Any) -> bool:
        """Whether a wrapper answers with components."""
        extractor = _extractor_of(activations_extractor)
        return isinstance(extractor, ActivationsExtractorHelper) and isinstance(extractor._options.reducer, PCA)


def _extractor_of(wrapper: Any) -> Any:
    return wrapper if isinstance(wrapper, ActivationsExtractorHelper) else getattr(wrapper, "_extractor", None)


def _imagenet(n: int) -> StimulusSet:
    """Images of the file, which become files of their own beside it."""
    if not 2 <= n <= _CLASSES * _PER_CLASS:
        raise ValueError(f"components are fitted on as many images, 2 to {_CLASSES * _PER_CLASS}, got {n}")
    home = Path(os.environ.get("MT_HOME") or "~/.model-tools")
    path = Path(os.environ.get("MT_IMAGENET_PATH") or home / "imagenet2012.hdf5").expanduser()
    if not path.exists():
        raise FileNotFoundError(
            f"components are fitted on ImageNet's validation images, and there is no file {path} that has them as "
            "val/images: name it in $MT_IMAGENET_PATH, or reduce by images of your own: "
            "with_options(reducer=bsjax.activations.PCA(n_components, stimuli))"
        )
    folder = Path(f"{path}-files")
    folder.mkdir(exist_ok=True)
    numbers = [_PER_CLASS * number + place for place in range(_PER_CLASS) for number in range(_CLASSES)][:n]
    files = {str(number): folder / f"{number}.png" for number in numbers}
    with reading_as("ImageNet's images", path, "it should hold val/images"), h5py.File(path) as held:
        images: Any = held["val/images"]
        for number, file in files.items():
            if not file.exists():
                Image.fromarray(np.asarray(images[int(number)])).save(file)
    return StimulusSet({"stimulus_id": list(files)}, stimulus_paths=files)
