"""A source of models from one function, and what it gets without another line: the grammar, listing, scoring."""

from functools import partial

import pytest

import bsjax
from bsjax import model_registry
from bsjax.adapters import from_jax
from bsjax.models.sources.by_name import load_by_name


def statistic(name, identifier, *, power="1"):
    if name not in ("mean", "std"):
        raise KeyError(f"no statistic {name!r}; there are mean and std")
    return from_jax(lambda images: getattr(images ** float(power), name)(2), identifier)


def test_its_models_are_built_by_name(monkeypatch):
    monkeypatch.setattr(model_registry, "_sources", dict(model_registry._sources))
    model_registry.register_source("statistics", partial(load_by_name, load=statistic))
    model = bsjax.load_model("statistics:std?power=2&degrees=6@V1=output")
    assert model.visual_degrees() == 6 and model.region_layer_map == {"V1": ["output"]}
    with pytest.raises(ValueError, match="no setting 'root' of statistics, which has power, degrees"):
        bsjax.load_model("statistics:std?root=2@output")
    with pytest.raises(KeyError, match="no statistic 'var'"):
        bsjax.load_model("statistics:var@output")
