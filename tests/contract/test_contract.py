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
# What is said of a kernel by its first row, whatever the settings.
OF_KERNEL = ("jit", "batch", "branches", "one trace", "memory")
# What takes no more than the value itself: the others trace, compile or differentiate the kernel anew.
QUICK = ("undefined", "itself")


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
        for check in checks_of(row):
            if row.variant_of and check.name in OF_KERNEL:
                continue
            # Examples of mappings in their docstrings run them uncompiled.
            if check.name == "jit" and "mapping" in row.settings:
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
    assert row.invariances and (not row.variant_of or row.variant_of in TABLE)


# What the seam of assemblies promises, of one metric of each kind that runs its kernel in its own way, on a case of the
# reference.
CASE = {case["metric"].partition(".")[0]: case for case in reversed(CASES.values())}
KINDS = ("pls", "ridge_split", "spantime_ridge", "cka", "rdm_cv", "internal_consistency", "rsa_ceiling", "i2n")
KINDS += ("error_consistency", "threshold", "factor_dimensionality")
OF_ANY = ("repeatable", "global seed", "inputs", "one trace", "settings")


@pytest.mark.slow
@pytest.mark.parametrize("metric", KINDS)
def test_contract_of_assemblies(metric):
    function, inputs = call(CASE[metric])
    for check in checks(function, inputs=lambda rng: inputs, invariances=()):
        if check.name in OF_ANY:
            check()


# What two sets of responses are compared by.
RESPONSES = {
    "ridgecv": {"invariances": ("permutation", "source rotation")},
    "reverse_pls": {"size": (40, 4, 30)},
    "cka_cv": {"invariances": ("permutation", "rotation", "scale", "shift"), "itself": 1.0},
    "rdm": {"invariances": ("permutation", "scale"), "itself": 1.0},
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", RESPONSES)
def test_contract_of_responses(metric):
    check_metric(metric, **RESPONSES[metric])
