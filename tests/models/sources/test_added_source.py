"""A source of models from one small file, and what it gets without another line: the grammar, listing, scoring."""

import importlib
import sys

import pytest

import bsjax
from bsjax import model_registry

FILE = '''
"""Statistics of images as models."""
from bsjax import model_registry
from bsjax.adapters import from_jax
from bsjax.models.sources.by_name import load_by_name


def statistic(name, identifier, *, power="1"):
    if name not in ("mean", "std"):
        raise KeyError(f"no statistic {name!r}; there are mean and std")
    return from_jax(lambda images: getattr(images ** float(power), name)(2), identifier)


def statistics(identifier):
    """A statistic of each row of an image, e.g. ``statistics:std?power=2@output``."""
    return load_by_name(identifier, statistic)


model_registry.register_source("statistics", statistics)
'''


@pytest.fixture
def added(tmp_path, monkeypatch):
    (tmp_path / "statistics_of_images.py").write_text(FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(model_registry, "_sources", dict(model_registry._sources))
    importlib.import_module("statistics_of_images")
    yield
    del sys.modules["statistics_of_images"]


def test_its_models_are_built_by_name(added):
    model = bsjax.load_model("statistics:std?power=2&degrees=6@V1=output")
    assert model.visual_degrees() == 6 and model.region_layer_map == {"V1": ["output"]}
    with pytest.raises(ValueError, match="no setting 'root' of statistics, which has power, degrees"):
        bsjax.load_model("statistics:std?root=2@output")
    with pytest.raises(KeyError, match="no statistic 'var'"):
        bsjax.load_model("statistics:var@output")
