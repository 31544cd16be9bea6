"""The counts of operations beside those of the compiled kernels, and the floors that they give."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from benchmarks_perf import floors
from benchmarks_perf.rows import TABLE
from bsjax.metrics import PLS, NeuronToNeuron, cka, make_folds, rdm_similarity
from bsjax.metrics.regression.crossvalidation import cross_validate

RATES = {
    "gemm_flops_s": {"float64": {"jax": 1e9, "numpy": 2e9}, "float32": {"jax": 4e9}},
    "memory_bytes_s": {"jax": 8e9},
}


@pytest.mark.parametrize(
    ("row", "kernel", "stimuli", "splits"),
    [
        ("cka", cka, 2560, 0),
        ("neuron_to_neuron", NeuronToNeuron(), 2560, 1),
        # So few stimuli that the kernel takes them in one block.
        pytest.param("rdm", rdm_similarity, 200, 0, marks=pytest.mark.slow),
        pytest.param("pls", PLS(1), 2560, 1, marks=pytest.mark.slow),
    ],
)
def test_counts_are_those_of_the_compiled_kernel(row, kernel, stimuli, splits):
    """XLA's count is at most three times ours: it may form both halves of symmetric products, and it centres.

    It counts the body of a loop once, so that the kernels are compared with one block, one fold and one component.
    """
    if splits:
        train_test = ShuffleSplit(splits, train_size=0.9, random_state=0).split(np.zeros(stimuli))
        kernel = partial(cross_validate, folds=make_folds(stimuli, list(train_test)), mapping=kernel)
    sizes = {"stimuli": stimuli, "features": 1000, "neuroids": 168}
    x, y = (jax.ShapeDtypeStruct((stimuli, sizes[side]), jnp.float32) for side in ("features", "neuroids"))
    compiled = jax.jit(kernel).lower(x, y).compile().cost_analysis()["flops"]
    counted = sum(step.flops for step in floors.COUNTS[row](**sizes, splits=splits, n_components=1))
    assert 0.9 * counted <= compiled <= 3 * counted, f"{compiled / counted:.2f}"


@pytest.mark.parametrize("name", TABLE)
def test_every_row_has_a_floor(name):
    row = TABLE[name]
    small, steps = (floors.COUNTS[name](**sizes, **row.options) for sizes in (row.smallest_sizes, row.sizes))
    assert 0 < floors.seconds(small, RATES, "float64") < floors.seconds(steps, RATES, "float64")
    assert floors.seconds(steps, RATES, "float32") < floors.seconds(steps, RATES, "float64")


def test_the_floor_is_a_sum_over_steps_and_the_ratio_a_median_by_it():
    ours = {f"bsjax {dtype}": {"kind": "bsjax", "dtype": dtype, "median_s": 0.3} for dtype in ("float64", "float32")}
    lines = {**ours, "brainscore-vision": {"kind": "peer", "dtype": "float64", "median_s": 9.0}}
    sizes = {"stimuli": 200, "features": 100, "neuroids": 50}
    found = floors.of({"row": "cka", "sizes": sizes, "options": {}, "contestants": lines, "rates": RATES})
    flops = 200 * (100**2 + 50**2) + 2 * 200 * 100 * 50
    assert found["flops"] == flops
    assert found["floor_s"] == pytest.approx({"bsjax float64": flops / 2e9, "bsjax float32": flops / 4e9})
    assert found["ratio"]["bsjax float64"] == pytest.approx(0.3 / (flops / 2e9))
