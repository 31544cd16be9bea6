from collections.abc import Callable

import numpy as np
import pytest

from bsjax import NeuroidAssembly
from tests.support.responses import assembly


@pytest.fixture
def make() -> Callable[..., NeuroidAssembly]:
    """Builds an assembly of values with stimulus_id, object_name, neuroid_id, and more coordinates where given."""

    def build(values, ids=None, prefix="n", **coords):
        values = np.asarray(values, float)
        ids = [f"stim{i:03d}" for i in range(values.shape[0])] if ids is None else ids
        objects = {"object_name": ("presentation", [f"object{int(str(i)[-1]) % 2}" for i in ids])}
        return NeuroidAssembly(assembly(values, list(ids), prefix, **objects | coords))

    return build


@pytest.fixture
def pair(make) -> tuple[NeuroidAssembly, NeuroidAssembly]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 12))
    y = x @ rng.normal(size=(12, 4)) + rng.normal(size=(60, 4))
    return make(x, prefix="unit"), make(y, prefix="site")
