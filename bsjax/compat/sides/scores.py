"""Conversions of scores and metrics between bsjax and plugins."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bsjax import labelled
from bsjax.benchmarks.lazy_loading import content_of
from bsjax.compat.assemblies import for_bsjax, for_plugins
from bsjax.compat.metrics.bootstrap import declare_no_error
from bsjax.compat.metrics.rdm import RDM, RDMSimilarity
from bsjax.compat.score import Score
from bsjax.compat.sides.held import Holding
from bsjax.labelled import normalise
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.score import as_score

_AGGREGATION, _CENTRE, _ERROR = "aggregation", "center", "error"
_RAW = "raw"
_FIELDS = (_RAW, "ceiling", _ERROR)
# Attribute with the bsjax score that an array was made from, which has its sampling uncertainty.
_OWN = "bsjax"
_OF_PROVENANCE = {field.name for field in dataclasses.fields(Provenance)}


def score_for_plugins(score: Any) -> Any:
    """A bsjax score as an array with attributes; other objects are unchanged.

    Example:
        >>> from bsjax.labelled import Score
        >>> score_for_plugins(Score(0.5, error=0.1)).attrs["error"]
        0.1
    """
    if not isinstance(score, labelled.Score):
        return score
    made = Score(score.value)
    made.attrs = {name: _part_for_plugins(value) for name, value in score.attrs.items()}
    if score.sampling_uncertainty is not None:
        made.attrs[_OWN] = score
        if score.error is None:
            made = declare_no_error(made, score.error_kind.removeprefix("none: "))
    return made


def score_for_bsjax(score: Any, name: str = "value") -> labelled.Score:
    """A plugin's score as a bsjax score; its attributes become error, ceiling, raw values, and details of provenance.

    If a score has the former dimension ``aggregation``, its centre is the value and its error the error. An attribute
    with the name of a provenance field, such as ``model``, becomes the detail ``plugin_model``. An attribute that bsjax
    scores cannot hold is kept as text, with a warning, so that the score is not lost.

    Raises:
        ValueError: the score is not a number or an array of numbers.

    Example:
        >>> made = Score(0.5)
        >>> made.attrs["ceiling"] = Score(0.8)
        >>> score_for_bsjax(made).ceiling
        Score(0.8000)
    """
    if isinstance(score, labelled.Score):
        return score
    attrs = dict(getattr(score, "attrs", {}))
    own = attrs.pop(_OWN, None)
    if isinstance(score, xr.DataArray) and _AGGREGATION in score.dims:
        if _ERROR in score[_AGGREGATION].values:
            attrs.setdefault(_ERROR, _plain(score.sel(aggregation=_ERROR)))
        score = score.sel(aggregation=_CENTRE)
    made = as_score(_plain(score), name)
    for name, value in attrs.items():
        kept = f"plugin_{name}" if name in _OF_PROVENANCE else str(name)
        try:
            made = _with_part(made, kept, _part_for_bsjax(str(name), value))
        except ValueError as error:
            kept = f"plugin_{name}" if name in _FIELDS else kept
            warnings.warn(f"attrs[{name!r}] of a plugin's score is kept as text {kept!r}: {error}", stacklevel=2)
            made = _with_part(made, kept, str(value))
    pairs = () if own is None else ((own.value, made.value), (own.error, made.error))
    if own is not None and all(np.array_equal(*np.asarray(pair, float), equal_nan=True) for pair in pairs):
        # The plugin has not changed it.
        known = {name: getattr(own, name) for name in ("error", "uncertainty", "error_kind", "formula")}
        return replace(made, **known)
    return made


def _with_part(score: labelled.Score, name: str, value: Any) -> labelled.Score:
    """A score with an attribute stored where bsjax keeps it."""
    if name not in _FIELDS:
        return dataclasses.replace(score, provenance=score.provenance.with_details(**{name: value}))
    if name == _RAW and isinstance(value, labelled.Score):
        raw = value.raw if score.raw is None else score.raw
        return dataclasses.replace(score, unceiled=value, raw=raw)
    return dataclasses.replace(score, **{name: value})


def _plain(value: Any) -> Any:
    """A number, or a plain labelled array; other objects are unchanged."""
    if not isinstance(value, xr.DataArray):
        return value
    return value.item() if not value.dims else _plain_array(value).drop_attrs()


def _plain_array(value: xr.DataArray) -> xr.DataArray:
    coords = {name: coord.variable for name, coord in value.coords.items()}
    plain = xr.DataArray(value.variable, coords).drop_attrs()
    plain.attrs = {name: _with_attrs(attr) for name, attr in value.attrs.items() if name != _OWN}
    return plain


def _with_attrs(value: Any) -> Any:
    """An attribute without a field of its own: as ``_plain``, with nested values and attributes."""
    if isinstance(value, dict):
        return {name: _with_attrs(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        each = [_with_attrs(one) for one in value]
        return tuple(each) if isinstance(value, tuple) else each
    scalar = isinstance(value, xr.DataArray) and not value.dims and not value.attrs
    return _plain_array(value) if isinstance(value, xr.DataArray) and not scalar else _plain(value)


def _part_for_plugins(value: Any) -> Any:
    if isinstance(value, labelled.Score):
        return score_for_plugins(value)
    if type(value) in (list, tuple):
        return type(value)(map(_part_for_plugins, value))
    if type(value) is dict:
        return {name: _part_for_plugins(each) for name, each in value.items()}
    if type(value) is not xr.DataArray:
        return for_plugins(value)
    made = Score(value)
    made.attrs = {name: _part_for_plugins(attr) for name, attr in value.attrs.items()}
    return made


def _part_for_bsjax(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple, np.ndarray)) and name in ("raw", "ceiling"):
        value = xr.DataArray(np.asarray(value))
    if name == "raw" and isinstance(value, xr.DataArray) and value.dims and value.dims != (_AGGREGATION,):
        return _plain_array(value)
    if name in ("raw", "ceiling"):
        return score_for_bsjax(value)
    return _plain(value) if name == _ERROR else _with_attrs(value)


def _called(function: Callable[..., Any], args: Any, kwargs: Any, convert: Callable[[Any], Any]) -> Any:
    """Call a metric with the loaded arguments, converted to the classes of its side."""
    named = {name: convert(content_of(each)) for name, each in kwargs.items()}
    return function(*[convert(content_of(each)) for each in args], **named)


def _mean_of_splits(scores: Any) -> Any:
    mean = scores.mean("split")
    mean.attrs["error"] = scores.std("split")
    return mean


def ceil_score(score: Any, ceiling: Any) -> Score:
    """Divide a score by its ceiling, see :func:`bsjax.labelled.normalise.ceil_score`."""
    return normalised(normalise.ceil_score, score, ceiling)


def normalised(function: Callable[..., labelled.Score], score: Any, ceiling: Any) -> Score:
    """Apply a normalisation of bsjax to a plugin's score and ceiling."""
    made = score_for_plugins(function(score_for_bsjax(score), score_for_bsjax(ceiling)))
    made.attrs |= {"raw": score, "ceiling": ceiling}
    return made


# Parts of Brain-Score's metrics that published benchmarks use on their own.
_PIECES: dict[str, Any] = {
    "aggregate": _mean_of_splits,
    "ceil_score": ceil_score,
    "_rdm": RDM(),
    "_similarity": RDMSimilarity(),
}


class MetricForPlugins(Holding):
    """A bsjax metric or ceiling whose scores are of the class known to plugins.

    Args:
        metric: the bsjax metric.
    """

    _holds = "bsjax"

    def __call__(self, *assemblies: Any, **named: Any) -> Any:
        """The score of the bsjax metric."""
        return score_for_plugins(_called(self.bsjax, assemblies, named, for_bsjax))

    def __getattr__(self, name: str) -> Any:
        if name in _PIECES and not hasattr(self.bsjax, name):
            return _PIECES[name]
        found = super().__getattr__(name)
        if not callable(found):
            return found

        @functools.wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            return _part_for_plugins(_called(found, args, kwargs, for_bsjax))

        return call


def of_bsjax(given: Any) -> Any:
    """The bsjax metric in a metric for plugins; anything else as it is."""
    return given.bsjax if isinstance(given, MetricForPlugins) else given


class MetricForBsjax(Holding):
    """A plugin's metric or ceiling whose scores are bsjax's.

    Args:
        metric: the plugin's metric.
    """

    _holds = "plugin"

    def __call__(self, *assemblies: Any, **named: Any) -> labelled.Score:
        """The score of the plugin's metric."""
        return score_for_bsjax(_called(self.plugin, assemblies, named, for_plugins))
