"""Preprocessing of images."""

import numpy as np
import pytest
from PIL import Image

from bsjax.adapters import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    imagenet_preprocessing,
    preprocess_images,
    unit_preprocessing,
)
from tests.support.torchvision_operators import define_operators


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, shape, np.uint8) for shape in [(30, 20, 3), (16, 16, 3), (7, 50, 3)]]


@pytest.mark.parametrize("resample", ["bilinear", "bicubic"])
def test_resize_is_pils_straight_to_the_square(images, resample):
    for image, result in zip(images, preprocess_images(images, 16, resample=resample), strict=True):
        wanted = np.asarray(Image.fromarray(image).resize((16, 16), Image.Resampling[resample.upper()]))
        np.testing.assert_array_equal(result, wanted.astype(np.float32) / np.float32(255))


def test_layouts_hold_the_same_standardised_values(images):
    last, first = (imagenet_preprocessing(12, layout)(images) for layout in ("NHWC", "NCHW"))
    assert last.shape == (3, 12, 12, 3) and last.dtype == first.dtype == np.float32
    np.testing.assert_array_equal(last.transpose(0, 3, 1, 2), first)
    raw = unit_preprocessing(12)(images)
    np.testing.assert_allclose(last * np.array(IMAGENET_STD) + np.array(IMAGENET_MEAN), raw, atol=1e-6)


def test_resize_and_crop_are_those_of_torchvision(images):
    define_operators()
    transforms = pytest.importorskip("torchvision.transforms")
    transform = transforms.Compose([transforms.Resize(11), transforms.CenterCrop(8), transforms.ToTensor()])
    wanted = np.stack([transform(Image.fromarray(image)).numpy() for image in images])
    np.testing.assert_array_equal(preprocess_images(images, 8, layout="NCHW", shorter_side=11), wanted)
