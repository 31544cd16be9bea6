"""The reference's answers to seeded inputs, and how a case is scored with bsjax."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bsjax
from bsjax import BehavioralAssembly, NeuroidAssembly
from bsjax.labelled.behaviour.choice_signatures import I1, I2, O1, O2, I1n, I2n
from tests.oracle.inputs import build

Case = dict[str, Any]

CASES: dict[str, Case] = {case["id"]: case for case in json.loads((Path(__file__).parent / "metrics.json").read_text())}
PLS_IDS = [name for name, case in CASES.items() if "pls" in case["metric"]]
# The reference's least squares keeps a singular value of these two centred training sets that is zero but for rounding
# (8e-17 of the largest), and with it a random direction; scikit-learn 1.9 cuts it off, as bsjax does.
ROUNDING_IN_REFERENCE = {"linear_predictivity-wide", "linear_predictivity_split-wide"}
# Metrics of the reference that its registry does not name.
_UNREGISTERED = {"I1": I1, "I1n": I1n, "I2": I2, "I2n": I2n, "O1": O1, "O2": O2}
_BEHAVIOUR = {"object_choices", "labelled_trials", "psychometric"}
# What a case's note says of how the reference was called.
_CALLS = {
    "skipna=True": {"skipna": True},
    'variables=("condition",)': {"variables": ("condition",)},
    "target thresholds [3, 5, 6]": {"target": [3.0, 5.0, 6.0]},
}


def assemblies(case: Case) -> dict[str, Any]:
    """The inputs of a case by the name of their argument."""
    kind = BehavioralAssembly if case["builder"] in _BEHAVIOUR else NeuroidAssembly
    return {name: kind(part["values"], coords=part["coords"], dims=part["dims"]) for name, part in build(case).items()}


def score(case: Case, **settings: Any) -> Any:
    """bsjax's answer to a case; ``settings`` are passed to the metric beside those of the case."""
    metric, inputs = call(case, **settings)
    return metric(*inputs)


def call(case: Case, **settings: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What a case calls, and with which assemblies."""
    identifier, _, ceiling = case["metric"].partition(".")
    make = _UNREGISTERED.get(identifier, lambda **kwargs: bsjax.load_metric(identifier, **kwargs))
    metric: Any = make(**case["kwargs"], **settings)
    more: dict[str, Any] = dict(_CALLS.get(case.get("note", ""), {}))
    inputs = assemblies(case)
    if ceiling:
        return partial(metric.ceiling, **more), (inputs["target"],)
    if "assembly" in inputs:
        return metric, (inputs["assembly"],)
    if set(inputs) == {"source"} or set(inputs) == {"source", "target"}:
        target = [more.pop("target")] if "target" in more else []
        return partial(metric, **more), (*inputs.values(), *target)
    return lambda *given: metric(**dict(zip(inputs, given, strict=True))), tuple(inputs.values())


def numbers(values: Any) -> np.ndarray:
    """Nested lists in which null stands for NaN, as one vector."""
    return np.array([np.nan if v is None else v for v in np.array(values, object).ravel()], float)
