"""What the programs of all metrics are on accelerators, seen without one: they are lowered, and not compiled."""

from functools import partial

import jax
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from benchmarks_perf.ahead.programs import programs, shapes_of
from bsjax.engine.programs.fallbacks import without_fallbacks
from bsjax.metrics.ceilings.consistency import complete_split_half_consistency
from bsjax.metrics.resampling.bootstraps import cka_bootstraps
from bsjax.metrics.tuning.gratings import phase_components
from bsjax.metrics.tuning.orientation import circular_variance, half_bandwidth, preferred_orientation
from bsjax.metrics.tuning.receptive_fields import receptive_field_centres
from bsjax.metrics.tuning.spatial_frequency import peak_spatial_frequency, spatial_frequency_bandwidth
from bsjax.testing.kernels import cast
from tests.contract.table import TABLE
from tests.support.lowered import lowered

# Where x64 is on, optax raises float64 to the power of its count of steps, and assignments hold some numbers of it.
FLOAT64_OF_OPTAX = ("object solution time", "factorised read-out", "one_to_one", "permutation_shape")

# Factorisations and eigenvectors by the vendors' libraries.
LIBRARIES = {
    "gpu": {
        *("cusolver_potrf_ffi", "cusolver_geqrf_ffi", "cusolver_orgqr_ffi", "cusolver_syevd_ffi"),
        *("cusolver_gesvd_ffi", "cusolver_gesvdj_ffi"),
    },
    "tpu": {"Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"},
}
FACTORISING = ("pls", "ridge", "ridgecv", "linear_predictivity", "alpha_per_target", "gsn_rsa_ceiling", "rdm_of_trials")
FACTORISING += ("procrustes", "shape", "cca", "svcca", "pwcca", "stochastic_shape", "dsa", "encoding_rdm")
FACTORISING += ("pcr", "reduced_rank", "rotation", "elastic_net", "lasso", "nnls", "kernel_ridge", "banded_ridge")
FACTORISING += ("multiple_kernel_ridge", "stacked_regression", "pls_by_components")

# JAX's primitives that order or decompose all of a problem.
WHOLE = ("sort", "eigh", "svd", "qr", "cholesky")


def factorises(name):
    return name.removeprefix("spantime_").removesuffix("_split") in FACTORISING


def check(program, name, platform):
    assert not program.callbacks
    assert not program.below_full_precision
    assert program.calls <= (LIBRARIES[platform] if factorises(name) else set())


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_needs_no_host_no_float64_and_loses_no_digits(row):
    # The module's x64 is on: whatever is float64 by mistake then shows.
    shapes = shapes_of(row.arrays(np.random.default_rng(0)))
    program = lowered(lambda arrays: row(**arrays), shapes, "tpu")
    check(program, row.name, "tpu")
    if row.name not in FLOAT64_OF_OPTAX:
        assert not program.in_float64


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pls", "ridge", "ridgecv", "cka", "gsn_rsa_ceiling"])
def test_products_of_a_gradient_have_all_digits_whatever_the_caller_has_set(name):
    arrays = cast(TABLE[name].arrays(np.random.default_rng(0)), "float32")
    numbers = {k: v for k, v in arrays.items() if v.dtype.kind == "f"}
    with jax.default_matmul_precision("bfloat16"):
        traced = jax.make_jaxpr(jax.grad(partial(total, TABLE[name], arrays)))(numbers)
    assert set(product_precisions(traced.jaxpr)) == {jax.lax.Precision.HIGHEST}


def total(row, arrays, numbers):
    return row(**arrays | numbers).sum()


def product_precisions(jaxpr):
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("dot_general", "conv_general_dilated"):
            yield from equation.params["precision"] or [None]
        for inner in jaxprs_in_params(equation.params):
            yield from product_precisions(inner)


ANGLES, OCTAVES = tuple(np.arange(0.0, 180.0, 22.5)), tuple(2.0 ** np.arange(-1.0, 4.0))
# Kernels that the labelled metrics call, of which no row of the table speaks.
BESIDE_THE_TABLE = {
    complete_split_half_consistency: [np.zeros((4, 12, 3)), np.zeros((2, 4), bool)],
    cka_bootstraps: [np.zeros((12, 5)), np.zeros((12, 3)), np.zeros((6, 12), int)],
    phase_components: [np.zeros((5, 8))],
    receptive_field_centres: [np.zeros((6, 6, 3)), np.zeros(6), np.zeros(6)],
    partial(circular_variance, orientations=ANGLES): [np.zeros((3, 8))],
    partial(half_bandwidth, orientations=ANGLES): [np.zeros((3, 8))],
    partial(preferred_orientation, orientations=ANGLES): [np.zeros((3, 8))],
    partial(peak_spatial_frequency, frequencies=OCTAVES): [np.zeros((3, 5))],
    partial(spatial_frequency_bandwidth, frequencies=OCTAVES): [np.zeros((3, 5))],
}


@pytest.mark.parametrize("kernel", BESIDE_THE_TABLE, ids=lambda kernel: getattr(kernel, "func", kernel).__name__)
def test_what_is_not_in_the_table_loses_no_digits_either(kernel):
    shapes = shapes_of(dict(enumerate(BESIDE_THE_TABLE[kernel])))
    program = lowered(lambda arrays: kernel(*arrays.values()), shapes, "gpu")
    assert program.products and not program.below_full_precision and not program.callbacks


# What compiles in time is no longer than this, in characters.
LENGTH = 300_000
LONGER = dict.fromkeys(("stacked_regression", "stacked_regression_split"), 700_000) | dict.fromkeys(
    ("stochastic_shape", "dsa"), 500_000
)


# Of each kernel once, and of what is measured.
LARGE = [name for name, known in programs().items() if known.row or name not in TABLE or not TABLE[name].variant_of]


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_at_the_size_of_real_data_it_needs_no_host_and_is_short(name):
    known = programs()[name]
    with jax.enable_x64(False):
        program = lowered(without_fallbacks(known), known.shapes, "gpu")
    check(program, name, "gpu")
    assert not {step: count for step in WHOLE if (count := program.in_branches[step])}
    assert len(program.text) < LONGER.get(name, LENGTH)
