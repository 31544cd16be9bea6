"""Settings of metrics: those that are numbers are checked when a metric is built, and all of them are read back."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np

from bsjax.labelled.plain_values import to_plain

# Attributes of other names than the settings: what the identifier names, together with ``settings``, and the splits.
_KEPT_AS: dict[str, str] = {
    **{named: "settings" for named in ("mapping", "similarity")},
    "crossvalidation_kwargs": "crossvalidation",
}
# What a provenance has by itself, and what is said of the named part.
_ELSEWHERE = ("identifier", "dtype", "settings")
_MOST_LISTED = 6
_signature = lru_cache(signature)  # which takes longer than all else that is done to record a metric


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


def keep(metric: Any, /, **settings: Any) -> None:
    """Sets attributes of a metric that is a frozen dataclass, once, as it is made: settings as they are used."""
    for name, value in settings.items():
        object.__setattr__(metric, name, value)


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
    found: dict[str, Any] = {}
    for name, parameter in _signature(type(metric)).parameters.items():
        if name in _ELSEWHERE:
            continue
        source = _KEPT_AS.get(name, name)
        if not hasattr(metric, source):
            raise ValueError(f"{type(metric).__name__} must keep its setting {name!r} as the attribute {source!r}")
        if source == "settings":
            own = plain_setting(metric.settings)
            found |= own if isinstance(own, dict) else {name: own}
        elif source == "crossvalidation":
            own = plain_setting(metric.crossvalidation.kwargs())
            found |= {name: own, "random_state": own.pop("random_state")}
        elif (own := getattr(metric, name)) is not parameter.default or not (own is None or callable(own)):
            found[name] = plain_setting(own)
    return found


def plain_setting(value: Any) -> Any:
    """A setting as JSON can hold it: a metric as its identifier and settings, a function as its name."""
    if is_dataclass(value) and not (isinstance(value, type) or hasattr(value, "identifier")):
        return {field.name: plain_setting(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain_setting(entry) for name, entry in value.items()}
    with suppress(ValueError):
        to_plain(value, "a setting")
        return value
    other: Any = value
    with suppress(AttributeError, TypeError, ValueError):  # of another's, which keeps no settings
        return {"identifier": other.identifier, **settings_of(other)}
    with suppress(AttributeError):
        return f"{other.__module__}:{other.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split()))  # addresses differ between processes


def in_words(value: Any) -> str:
    """Settings, or one of them, for a reader: of many numbers the first and how many there are.

    Example:
        >>> in_words({"alphas": tuple(range(98)), "cv": None, "crossvalidation_kwargs": {"splits": 5}})
        'alphas = 0, 1, 2, ... (98 in all), crossvalidation_kwargs = (splits = 5)'
    """
    if isinstance(value, Mapping):
        each = {name: f"({in_words(v)})" if isinstance(v, Mapping) else in_words(v) for name, v in value.items()}
        return ", ".join(f"{name} = {words}" for name, words in each.items() if words)
    if isinstance(value, list | tuple):
        more = f", ... ({len(value)} in all)" if len(value) > _MOST_LISTED else ""
        return ", ".join(map(in_words, value[: 3 if more else None])) + more
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
