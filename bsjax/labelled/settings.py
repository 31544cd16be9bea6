"""Settings of metrics: those that are numbers are checked when a metric is built, and all of them are read back."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import signature
from numbers import Integral
from typing import Any

import jax
import numpy as np

from bsjax.labelled.plain_values import to_plain

# What the identifier of a metric names, together with its ``settings``.
_NAMED = ("mapping", "similarity", "signature")
# What a provenance has by itself, and what is said of the named part.
_ELSEWHERE = ("identifier", "dtype", "settings")
_MOST_LISTED = 6


def whole_number(value: Any, name: str, least: int) -> int:
    """A count, which is no truth value.

    Raises:
        ValueError: it is not a whole number of at least ``least``.

    Example:
        >>> whole_number(np.int64(10), "splits", 1)
        10
        >>> whole_number(1.5, "n_components", 1)
        Traceback (most recent call last):
        ...
        ValueError: n_components must be a whole number of at least 1, got 1.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def finite_number(value: Any, name: str) -> float:
    """A number that is not negative, and no truth value.

    Raises:
        ValueError: it is another thing, NaN, infinite or negative.

    Example:
        >>> finite_number(float("nan"), "alpha")
        Traceback (most recent call last):
        ...
        ValueError: alpha must be a finite number that is not negative, got nan
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} must be a finite number that is not negative, got {value!r}")
    return float(value)


def refuse_others(given: Mapping[str, Any] | None, fixed: Mapping[str, Any], what: str) -> None:
    """Settings of the reference that only their default does here.

    Raises:
        ValueError: another setting, or another value of one.

    Example:
        >>> refuse_others({"neuroid_dim": "unit"}, {"neuroid_dim": "neuroid"}, "rdm")
        Traceback (most recent call last):
        ...
        ValueError: rdm['neuroid_dim'] can only be 'neuroid', got 'unit'
    """
    for name, value in (given or {}).items():
        if name not in fixed:
            raise ValueError(f"{what} has no {name!r} here; there are: {', '.join(fixed)}")
        if value != fixed[name]:
            raise ValueError(f"{what}[{name!r}] can only be {fixed[name]!r}, got {value!r}")


def settings_of(metric: Any) -> dict[str, Any]:
    """All settings of a metric, such that ``load_metric(metric.identifier, **settings)`` makes it again.

    A setting is what the class of the metric takes, and is read from the attribute of the same name: a class that does
    not keep one cannot say where its scores come from, and its scores fail. Settings that are off, None by default,
    are left out. Metrics and dataclasses among the settings are dicts; functions and other objects are text.

    Raises:
        ValueError: the metric keeps no attribute of the name of a setting.

    Example:
        >>> from bsjax.labelled import load_metric
        >>> settings_of(load_metric("ridge_split", alpha=10.0))
        {'alpha': 10.0}
        >>> settings_of(load_metric("cka_cv"))["crossvalidation_kwargs"]
        {'splits': 10, 'test_size': 0.9, 'split_coord': 'stimulus_id', 'stratification_coord': 'object_name'}
    """
    kept, found = vars(metric), {}
    for name, parameter in signature(type(metric)).parameters.items():
        source = {"crossvalidation_kwargs": "crossvalidation"}.get(name, "settings" if name in _NAMED else name)
        if name in _ELSEWHERE:
            continue
        if source not in kept:
            raise ValueError(f"{type(metric).__name__} must keep its setting {name!r} as the attribute {source!r}")
        if name in _NAMED:
            own = plain_setting(kept[source])
            found |= own if isinstance(own, dict) else {name: own}
        elif name == "crossvalidation_kwargs":
            own = plain_setting(kept[source].kwargs())
            found |= {name: own, "random_state": own.pop("random_state")}
        elif kept[name] is not parameter.default or not (kept[name] is None or callable(kept[name])):
            found[name] = plain_setting(kept[name])
    return found


def in_words(value: Any) -> str:
    """Settings, or one of them, for a reader: of many numbers the first and how many there are.

    Example:
        >>> in_words({"alphas": tuple(range(98)), "solver": "nipals", "crossvalidation_kwargs": {"splits": 5}})
        'alphas = 0, 1, 2, ... (98 in all), solver = nipals, crossvalidation_kwargs = (splits = 5)'
    """
    if isinstance(value, Mapping):
        nested = {
            name: f"({in_words(each)})" if isinstance(each, Mapping) else in_words(each) for name, each in value.items()
        }
        return ", ".join(f"{name} = {words}" for name, words in nested.items())
    if isinstance(value, list | tuple):
        more = f", ... ({len(value)} in all)" if len(value) > _MOST_LISTED else ""
        return ", ".join(map(in_words, value[: 3 if more else None])) + more
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def plain_setting(value: Any) -> Any:
    """A setting as JSON can hold it."""
    if isinstance(value, Mapping):
        return {name: plain_setting(entry) for name, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_setting(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, jax.Array):
        return np.asarray(value).tolist()
    try:
        to_plain(value, "a setting")
    except ValueError:
        return _object(value)
    return value


def _object(value: Any) -> Any:
    """A metric as its identifier and settings, a function as its name, and anything else as it is printed."""
    try:
        return {"identifier": value.identifier, **settings_of(value)}
    except (AttributeError, TypeError, ValueError):  # another's, which keeps no settings
        pass
    try:
        return f"{value.__module__}:{value.__qualname__}"
    except AttributeError:  # an address is another one in each process
        return re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split()))
