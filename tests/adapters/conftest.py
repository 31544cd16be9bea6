"""Stimuli that the tests of the adapters show."""

from pathlib import Path

import pytest

from bsjax.data import load_image
from tests.activations.conftest import images, stimuli
from tests.support.torchvision_operators import define_operators

__all__ = ["images", "stimuli"]


def pixels_of(shown):
    """The images of a stimulus set, as arrays of bytes."""
    return [load_image(shown.get_stimulus(stimulus_id)) for stimulus_id in shown["stimulus_id"]]


@pytest.fixture(scope="session")
def torchvision():
    define_operators()
    return pytest.importorskip("torchvision")


@pytest.fixture(scope="session")
def timm(torchvision):
    return pytest.importorskip("timm")


@pytest.fixture(scope="session")
def transformers():
    define_operators()
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


@pytest.fixture
def no_network(monkeypatch, tmp_path) -> Path:
    """Nothing can be fetched, and the caches of the libraries are empty; the folder that holds them."""
    for name in ("http_proxy", "https_proxy"):
        for variable in (name, name.upper()):
            monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)  # else it would try again for half a minute
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path
