"""``score_arrays``: a metric on two bare arrays."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bsjax.data import NeuroidAssembly
from bsjax.labelled import load_metric, metric_registry
from bsjax.labelled.registry import COMPARE_RESPONSES

if TYPE_CHECKING:
    from bsjax.labelled import Score


def score_arrays(
    X: Any,
    Y: Any,
    metric: str = "pls",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    **metric_kwargs: Any,
) -> Score:
    """Score how well ``X`` accounts for ``Y``, given as bare arrays; row i of both belongs to the same
    stimulus.

    Args:
        X: model features, shape ``(stimuli, features)``: a NumPy, JAX or torch array, or nested lists.
        Y: measured responses, shape ``(stimuli, neuroids)``.
        metric: a name of :func:`bsjax.list_metrics` that compares two assemblies, e.g. ``"pls"``,
            ``"ridge"``, ``"neuron_to_neuron"``, ``"cka"``, ``"rdm"``.
        crossvalidation_kwargs: for metrics that cross-validate, e.g. ``{"splits": 5, "train_size": 0.8}``.
            Splits are not stratified, as bare arrays have no labels to stratify by.
        **metric_kwargs: further arguments of the metric, e.g. ``dtype``.

    Returns:
        The score without a ceiling; for regressions the median correlation over neuroids, mean over splits.

    Raises:
        KeyError: an unknown metric; the message names the nearest ones.
        ValueError: arrays that are not two-dimensional and numeric or differ in their number of rows, or an
            argument that the metric does not take.

    Example:
        >>> import numpy as np
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 30))
        >>> Y = X @ rng.normal(size=(30, 10)) + rng.normal(size=(200, 10))
        >>> 0.9 < float(bsjax.score_arrays(X, Y, metric="ridge")) < 1
        True
        >>> round(float(bsjax.score_arrays(X, 3 * X, metric="cka")), 6)
        1.0
    """
    source, target = _matrix(X, "X"), _matrix(Y, "Y")
    if len(source) != len(target):
        raise ValueError(
            f"X and Y need the same stimuli in their rows: X has shape {source.shape}, Y has shape {target.shape}"
        )
    arguments = _arguments(metric, crossvalidation_kwargs, metric_kwargs)
    return load_metric(metric, **arguments)(_assembly(source, "x"), _assembly(target, "y"))


def _matrix(values: Any, name: str) -> NDArray[Any]:
    if hasattr(values, "detach"):  # a torch tensor: NumPy takes it only from the CPU and outside of the graph
        values = values.detach().cpu()
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, it holds {array.dtype}; convert it to float32 or float64")
    if array.ndim != 2:
        hint = f"; one neuroid is a column: {name}[:, None]" if array.ndim == 1 else ""
        raise ValueError(f"{name} must have the shape (stimuli, units), it has {array.shape}{hint}")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _arguments(
    metric: str, crossvalidation_kwargs: Mapping[str, Any] | None, metric_kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """What to build the metric with: those arguments that it has."""
    has = inspect.signature(metric_registry[metric]).parameters
    if metric not in COMPARE_RESPONSES:
        raise ValueError(
            f"two arrays are not enough for {metric!r}: use bsjax.load_metric({metric!r}) on labelled assemblies. "
            f"Two arrays will do for: {', '.join(COMPARE_RESPONSES)}"
        )
    given = dict(metric_kwargs)
    if "crossvalidation_kwargs" in has:
        given["crossvalidation_kwargs"] = {"stratification_coord": None, **(crossvalidation_kwargs or {})}
    elif crossvalidation_kwargs is not None:
        given["crossvalidation_kwargs"] = crossvalidation_kwargs
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in has.values())
    unknown = [name for name in given if name not in has and not takes_all]
    if unknown:
        raise ValueError(f"metric {metric!r} takes no argument {', '.join(unknown)}; it takes: {', '.join(has)}")
    return given


def _assembly(values: NDArray[Any], name: str) -> NeuroidAssembly:
    return NeuroidAssembly(
        values,
        coords={
            "stimulus_id": ("presentation", np.arange(values.shape[0])),
            "neuroid_id": ("neuroid", [f"{name}.{number}" for number in range(values.shape[1])]),
        },
        dims=["presentation", "neuroid"],
    )
