"""Principal components of layers, fitted on ImageNet."""

import h5py
import numpy as np
import pytest
from PIL import Image
from sklearn.decomposition import PCA as SklearnPCA

from bsjax.compat.activations.extractor import ActivationsExtractorHelper
from bsjax.compat.activations.pca import LayerPCA


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    made = [folder / f"{n}.png" for n in range(5)]
    for path in made:
        Image.fromarray(rng.integers(0, 256, (16, 24, 3), np.uint8)).save(path)
    return [str(path) for path in made]


@pytest.fixture
def imagenet(tmp_path, monkeypatch):
    """Fifty images of each of 1000 classes, of four pixels."""
    images = np.random.default_rng(0).integers(0, 256, (50_000, 2, 2, 3), np.uint8)
    with h5py.File(tmp_path / "imagenet.hdf5", "w") as file:
        file["val/images"] = images
    monkeypatch.setenv("MT_IMAGENET_PATH", str(tmp_path / "imagenet.hdf5"))
    return images


def pixels_of(paths):
    return np.stack([np.asarray(Image.open(path).resize((2, 2)), np.float32) for path in paths])


def flat(images, layers):
    return {layer: images.reshape(len(images), -1) for layer in layers}


def test_components_are_those_of_imagenet(imagenet, paths):
    extractor = ActivationsExtractorHelper(flat, pixels_of)
    whole = extractor(paths, ["pixels"])
    handle = LayerPCA.hook(extractor, n_components=8)
    assert LayerPCA.is_hooked(extractor)
    found = extractor(paths, ["pixels"]).values
    fitted = SklearnPCA(7).fit(imagenet[:400:50].reshape(8, -1).astype(np.float32))  # one of each of 8 classes
    np.testing.assert_allclose(np.abs(found), np.abs(fitted.transform(whole.values)), rtol=1e-3, atol=1e-2)
    with pytest.raises(ValueError, match="is reduced already"):
        LayerPCA.hook(extractor, n_components=8)
    handle.disable()
    np.testing.assert_array_equal(extractor(paths, ["pixels"]).values, whole.values)
    handle.enable()
    np.testing.assert_array_equal(extractor(paths, ["pixels"]).values, found)
    handle.remove()
    assert not LayerPCA.is_hooked(extractor)


def test_components_without_imagenet(tmp_path, monkeypatch):
    monkeypatch.setenv("MT_IMAGENET_PATH", str(tmp_path / "none.hdf5"))
    extractor = ActivationsExtractorHelper(flat, pixels_of)
    with pytest.raises(FileNotFoundError, match=r"no file .*none.hdf5 .* name it in .MT_IMAGENET_PATH"):
        LayerPCA.hook(extractor, n_components=8)
    with pytest.raises(ValueError, match="2 to 50000, got 1"):
        LayerPCA.hook(extractor, n_components=1)
    with pytest.raises(ValueError, match="str has layers with time"):
        LayerPCA.hook("no wrapper", n_components=8)
