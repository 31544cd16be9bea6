"""``score_arrays``: a metric applied to two plain arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bsjax.core.given_arrays import unmasked, widened
from bsjax.data.types.assemblies import RDMAssembly
from bsjax.labelled import metric_registry
from bsjax.labelled.align import variable
from bsjax.labelled.metric import Metric, as_metric, scored, with_error_bound
from bsjax.labelled.registry import compare_responses, compares_responses, settings_taken
from bsjax.labelled.resampling.permutations import Permutations
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score


def score_arrays(
    X: Any,
    Y: Any,
    metric: str | Callable[..., Score] = "pls",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    *,
    null: Permutations | int | None = None,
    error_bound: bool = False,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> Score:
    """Score how well ``X`` predicts or resembles ``Y``, both given as arrays.

    Row i of both arrays belongs to the same stimulus. If both arrays have row labels, rows are matched by label
    instead, in any order. Labels are an assembly's ``stimulus_id`` (or the index of its first dimension) and a table's
    index. Pass ``table.to_numpy()`` or ``assembly.values`` to match by position.

    Args:
        X: model features, shape ``(stimuli, features)``: a NumPy, JAX or torch array, nested lists, a pandas table, or
            an assembly.
        Y: measured responses, shape ``(stimuli, neuroids)``. For ``"rdm"``, either side may also be a
            :class:`bsjax.RDMAssembly`.
        metric: a name of :func:`bsjax.list_metrics` that compares two assemblies, e.g. ``"pls"``, ``"ridge"``,
            ``"neuron_to_neuron"``, ``"cka"``, ``"rdm"``; or a metric object, which already has its settings.
        crossvalidation_kwargs: for metrics that cross-validate, e.g. ``{"splits": 5, "train_size": 0.8}``. Splits are
            not stratified, because plain arrays have no labels to stratify by.
        null: also compute the chance level of the score, from this many permutations of the stimuli, as in
            :func:`bsjax.score`.
        error_bound: also compute a bound of the numerical error of the score, of rounding (mostly that of
            ``dtype="float32"``) and early stopping: ``score.provenance["error_bound"]``. It holds with a probability
            of at least 0.999999.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric, e.g. ``dtype``. Similarities such as ``"cka"`` and ``"rdm"``
            get an interval from the influence of each stimulus; ``error=None`` omits it.

    Returns:
        The score without a ceiling. For regressions it is the median correlation over neuroids, averaged over splits.

    Raises:
        KeyError: the metric is unknown; the message names the nearest ones.
        ValueError: the arrays are not two-dimensional and numeric, have masked values or differ in their number of
            rows; labels differ or repeat; the metric does not take an argument; or no useful bound is known for it.

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
        >>> bsjax.score_arrays(X, Y, metric="cka", null=99).provenance["p_value"]
        0.01
        >>> score = bsjax.score_arrays(X, Y, metric="cka", dtype="float32", error_bound=True)
        >>> score.provenance["error_bound"] < 1e-5
        True
    """
    sides = {"X": X, "Y": Y}
    given = [side for side in sides.values() if isinstance(side, RDMAssembly)]
    assemblies = _beside_rdm(given[0], sides) if given else assemblies_of(sides)
    made = loaded(metric, crossvalidation_kwargs, metric_kwargs)
    with shown(progress=progress), nullcontext() if null is None else Permutations.within(null):
        score = scored(made, *assemblies)
        return with_error_bound(score, made, *assemblies) if error_bound else score


def _beside_rdm(rdm: RDMAssembly, sides: Mapping[str, Any]) -> list[xr.DataArray]:
    """RDMs as they are, and responses with the stimuli of ``rdm`` in their rows, where these have no labels."""
    rdm.validate()
    made: list[xr.DataArray] = []
    for name, values in sides.items():
        if isinstance(values, RDMAssembly):
            made.append(values)
            continue
        values = _first_stimuli(values)
        ids, array = _labels(values), matrix(values, name)
        stimuli = rdm["stimulus_id_left"].values
        if ids is None and len(array) != len(stimuli):
            raise ValueError(f"{name} has {len(array)} rows, beside an RDM of {len(stimuli)} stimuli")
        made.append(_assembly(array, name.lower(), stimuli if ids is None else ids))
    return made


def by_name(responses: Any, what: str) -> dict[str, Any]:
    """Responses that must be given with their names."""
    if not isinstance(responses, Mapping):
        raise ValueError(f"{what} must have names, as in {{'early': X, 'late': Y}}, got a {type(responses).__name__}")
    return dict(responses)


def assemblies_of(sides: Mapping[str, Any]) -> list[xr.DataArray]:
    """Responses to the same stimuli as assemblies, matched by label if all of them have row labels."""
    arrays: dict[str, Any] = {}
    ids: list[NDArray[Any] | None] = []
    labelled = True
    for name, values in sides.items():
        values = _first_stimuli(values)
        arrays[name] = matrix(values, name)
        ids.append(_labels(values))
        labelled = labelled and ids[-1] is not None
    if not labelled:
        ids = [None] * len(ids)
        if len(set(map(len, arrays.values()))) > 1:
            shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
            raise ValueError(f"{' and '.join(arrays)} need the same stimuli in their rows: {shapes}")
    return list(map(_assembly, arrays.values(), map(str.lower, arrays), ids))


def _first_stimuli(values: Any) -> Any:
    """Transpose an assembly so that its rows are stimuli."""
    if isinstance(values, xr.DataArray) and "presentation" in values.dims:
        if values.sizes.get("time_bin") == 1:
            values = values.isel(time_bin=0)
        return values.transpose("presentation", ...)
    return values


def _labels(values: Any) -> NDArray[Any] | None:
    """The row labels; None if the rows have none."""
    if isinstance(values, pd.DataFrame):
        if values.index.nlevels > 1:
            raise ValueError(
                f"a table's index must have one level to match stimuli by, it has {values.index.nlevels}: "
                "pass table.to_numpy() to go by position"
            )
        return values.index.to_numpy()
    if not isinstance(values, xr.DataArray):
        return None
    rows = values.dims[0]
    for name in ("stimulus_id", rows):
        if name in values.coords and values[name].dims == (rows,):
            return values[name].values
    return None


def matrix(values: Any, name: str) -> Any:
    """The values as a JAX array if they are on a device that JAX uses, else as a NumPy array."""
    if isinstance(values, xr.DataArray):
        values = values.data
    if isinstance(values, pd.DataFrame) and all(map(pd.api.types.is_any_real_numeric_dtype, values.dtypes)):
        values = values.to_numpy(np.float64, na_value=np.nan)  # extension dtypes of pandas become NaN where missing
    values = widened(values)
    if hasattr(values, "detach"):
        values = _of_torch(values)
    unmasked(values, name)
    try:
        array = values if isinstance(values, jax.Array) else np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, it holds {array.dtype}; convert it to float32 or float64")
    if array.ndim == 2 and not array.shape[1]:
        raise ValueError(f"{name} has no units: its shape is {array.shape}")
    if array.ndim != 2:
        hint = f"; one neuroid is a column: {name}[:, None]" if array.ndim == 1 else ""
        raise ValueError(f"{name} must have the shape (stimuli, units), it has {array.shape}{hint}")
    # The metric converts integers on a device to its own dtype.
    return array if array.dtype.kind == "f" or isinstance(array, jax.Array) else array.astype(np.float64)


def _of_torch(tensor: Any) -> Any:
    """A detached tensor for NumPy or JAX; it stays on the GPU if JAX computes there too."""
    tensor = tensor.detach()
    if tensor.device.type != "cuda" or jax.default_backend() != "gpu":
        return tensor.cpu()
    with jax.enable_x64(True):  # otherwise JAX would truncate to single precision
        return jax.dlpack.from_dlpack(tensor.contiguous())


def loaded(
    metric: str | Callable[..., Score],
    crossvalidation_kwargs: Mapping[str, Any] | None,
    metric_kwargs: Mapping[str, Any],
    interval: bool = True,
) -> Metric:
    """The metric with the arguments that it takes, and with an interval if it has a cheap one."""
    if not isinstance(metric, str):
        given = [*metric_kwargs, *(["crossvalidation_kwargs"] if crossvalidation_kwargs is not None else [])]
        if given:
            raise ValueError(
                f"a metric object keeps the settings that it was made with: give {', '.join(given)} when you make it"
            )
        return as_metric(metric)
    factory = metric_registry[metric]
    has = _parameters(factory)
    if not compares_responses(metric):
        raise ValueError(
            f"two arrays are not enough for {metric!r}: use bsjax.load_metric({metric!r}) on labelled assemblies. "
            f"Two arrays will do for: {', '.join(compare_responses())}"
        )
    given = dict(metric_kwargs)
    if crossvalidation_kwargs is not None:
        given["crossvalidation_kwargs"] = crossvalidation_kwargs
    given = settings_taken(factory, given)
    if "crossvalidation_kwargs" in has:
        given["crossvalidation_kwargs"] = {"stratification_coord": None, **(given.get("crossvalidation_kwargs") or {})}
    unknown = given.keys() - has.keys()
    if unknown and inspect.Parameter.VAR_KEYWORD not in {parameter.kind for parameter in has.values()}:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"metric {metric!r} takes no argument {names}; it takes: {', '.join(has)}")
    made = as_metric(factory(**given))
    return made.with_interval() if interval and "error" not in metric_kwargs else made


@lru_cache(256)
def _parameters(factory: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(factory).parameters


@lru_cache(32)
def _numbered(name: str, count: int) -> NDArray[Any]:
    """The labels of neuroids without names: most of the time of making an assembly."""
    made = np.array([f"{name}.{number}" for number in range(count)])
    made.setflags(write=False)
    return made


def _assembly(values: Any, name: str, stimulus_ids: NDArray[Any] | None) -> xr.DataArray:
    rows = np.arange(len(values)) if stimulus_ids is None else stimulus_ids
    ids = xr.Variable("presentation", rows, fastpath=stimulus_ids is None)
    units = variable("neuroid", _numbered(name, values.shape[1]))
    # By the fast path, because checks and copies of what is made here take a fifth of a small call.
    return xr.DataArray(
        variable(["presentation", "neuroid"], values),
        coords={"stimulus_id": ids, "neuroid_id": units},
        indexes={},
        fastpath=True,
    )
