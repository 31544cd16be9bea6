"""A process that was forked from one that has computed says so at once, where JAX would wait for ever."""

import pytest

from tests.support.processes import printed_by

PROGRAM = """
import os, warnings
import numpy as np
import bsjax
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.precision import precision
from bsjax.metrics import pearson

warnings.simplefilter("ignore")
x = np.random.default_rng(0).normal(size=(9, 3))

def child(act):
    if os.fork():
        assert os.wait()[1] == 0
        return
    try:
        act()
    except RuntimeError as error:
        os._exit(0 if "spawn" in str(error) else 2)
    os._exit(1)

bsjax.score_arrays(x, x, metric="cka")
child(lambda: bsjax.score_arrays(x, x, metric="cka"))
child(lambda: precision().__enter__())
child(lambda: compiled(pearson))
print(float(bsjax.score_arrays(x, x, metric="cka")))
"""


@pytest.mark.slow
def test_a_fork_refuses_to_compute_and_its_parent_goes_on():
    assert abs(float(printed_by("-c", PROGRAM)) - 1) < 1e-9
