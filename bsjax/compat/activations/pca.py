"""Principal components of layers, fitted on ImageNet, under the name known to plugins."""

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
    """Handle that removes the reduction to components, permanently or temporarily.

    Args:
        extractor: the extractor whose layers are reduced.
        reducer: the reducer.
    """

    def __init__(self, extractor: ActivationsExtractorHelper, reducer: PCA) -> None:
        self._extractor, self._reducer = extractor, reducer
        self.enable()

    def remove(self) -> PCA:
        """Return the unreduced layers from now on; returns the reducer."""
        self._extractor._options = self._extractor._options.changed({"reducer": None})
        return self._reducer

    def disable(self) -> None:
        """Return the unreduced layers until the handle is enabled."""
        self.remove()

    def enable(self) -> None:
        """Return the components from now on."""
        self._extractor._options = self._extractor._options.changed({"reducer": self._reducer})


class LayerPCA:
    """Reduction of each layer of a wrapper to principal components, see :class:`bsjax.activations.PCA`.

    They are fitted on as many images as there are components, spread over the classes of ImageNet's validation set. The
    file ``$MT_IMAGENET_PATH`` (``~/.model-tools/imagenet2012.hdf5``) must hold the images, sorted by class, as
    ``val/images``.
    """

    @classmethod
    def hook(cls, activations_extractor: Any, n_components: int) -> PCAHandle:
        """Make a wrapper of an image network return components from now on.

        Raises:
            ValueError: the wrapper is already reduced, or takes videos; or there are not enough images.
            FileNotFoundError: the file of the images is missing.
        """
        extractor = getattr(activations_extractor, "_extractor", activations_extractor)
        if not isinstance(extractor, ActivationsExtractorHelper):
            raise ValueError(f"{type(activations_extractor).__name__} has layers with time, which are not reduced")
        if cls.is_hooked(activations_extractor):
            raise ValueError(f"model {extractor.identifier!r} is reduced already: take that away before, by remove()")
        return PCAHandle(extractor, PCA(n_components, _imagenet(n_components)))

    @classmethod
    def is_hooked(cls, activations_extractor: Any) -> bool:
        """Whether a wrapper returns components."""
        extractor = getattr(activations_extractor, "_extractor", activations_extractor)
        return isinstance(extractor, ActivationsExtractorHelper) and isinstance(extractor._options.reducer, PCA)


def _imagenet(n: int) -> StimulusSet:
    """Images of the HDF5 file, extracted to files next to it."""
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
