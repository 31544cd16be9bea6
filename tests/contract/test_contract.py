"""Every metric has a row, and every row runs the checks of ``bsjax.testing``."""

from collections import Counter
from functools import partial

import pytest

from bsjax import metric_registry
from bsjax.testing import check_metric, checks
from tests.contract.table import TABLE
from tests.oracle.cases import CASES, call

# Each draw of these fits psychometric functions.
FITS = ("threshold", "threshold_elevation")
# What takes no more than the value itself: the others trace, compile or differentiate the kernel anew.
QUICK = ("undefined", "itself")
# A regression on a fixed split prepares, fits and predicts by the functions that its row of cross-validation compiles,
# batches and differentiates. Kernels embed the test stimuli by code of their own, and ridgecv has a route of its own.
FITTED_IN_FOLDS = ("jit", "batch", "branches", "gradient")
OF_THEIR_OWN = ("pls_split", "ridge_split", "ridgecv_split", "kernel_ridge_split", "neuron_to_neuron_split")


def checks_of(row):
    return checks(
        partial(row.kernel, **row.settings),
        inputs=row.arrays,
        invariances=row.invariances,
        bounds=row.bounds,
        undefined=row.undefined,
        padded=row.padded,
        identical=row.identity,
        itself=None if row.identity is None else row.identity_value,
        large=row.large,
        memory=row.times_input,
        differentiable=row.smooth,
        atol=row.atol,
        examples=1 if row.name in FITS else 5,
    )


def parameters():
    for row in TABLE.values():
        fitted_in_folds = row.name.removesuffix("_split") in TABLE and row.name.endswith("_split")
        for check in checks_of(row):
            if fitted_in_folds and row.name not in OF_THEIR_OWN and check.name in FITTED_IN_FOLDS:
                continue
            quick = check.name in QUICK or (check.name in row.invariances and row.name not in FITS)
            yield pytest.param(check, id=f"{row.name}: {check.name}", marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize("check", list(parameters()))
def test_contract(check):
    check()


def test_every_registered_metric_has_a_row():
    in_table = Counter(name for row in TABLE.values() for name in row.metrics)
    # What is fitted by other libraries has no kernel of ours: its answers are compared with scikit-learn's.
    assert set(in_table) == {name for name in metric_registry if metric_registry.is_bsjaxs(name)} - {
        "regression",
        "regression_split",
    }
    assert not [name for name, rows in in_table.items() if rows > 1]


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_the_row_is_whole(row):
    assert row.source and row.undefined_policy and row.invariances and row.bounds[0] < row.bounds[1]
    assert row.ceiling is None or row.ceiling in metric_registry


# A case of the reference for each metric that it has.
LABELLED = {case["metric"].partition(".")[0]: case for case in reversed(CASES.values())}
OF_ANY = ("repeatable", "global seed", "inputs", "one trace", "settings")


@pytest.mark.slow
@pytest.mark.parametrize("metric", [name for name in metric_registry if name in LABELLED])
def test_contract_of_assemblies(metric):
    function, inputs = call(LABELLED[metric])
    for check in checks(function, inputs=lambda rng: inputs, invariances=()):
        if check.name in OF_ANY:
            check()


# What two sets of responses are compared by; noise is alike in a biased estimate.
RESPONSES = {
    **dict.fromkeys(("ridge", "linear_predictivity"), {"invariances": ("permutation", "source rotation", "shift")}),
    "pls": {"invariances": ("permutation", "source rotation", "source scale")},
    "ridgecv": {},
    "neuron_to_neuron": {"invariances": ("permutation", "unit scales")},
    "reverse_pls": {"size": (40, 4, 30)},
    **dict.fromkeys(("cka", "cka_cv"), {"invariances": ("permutation", "rotation", "scale", "shift"), "itself": 1.0}),
    "cka_biased": {"chance": None, "itself": 1.0},
    **dict.fromkeys(("rdm", "rdm_cv"), {"invariances": ("permutation", "scale"), "itself": 1.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", RESPONSES)
def test_contract_of_responses(metric):
    check_metric(metric, **RESPONSES[metric])
