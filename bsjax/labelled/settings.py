"""Settings of metrics: checks of numbers, and their record as plain values."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache, singledispatch
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np

from bsjax.labelled.plain_values import check

# Recorded in fields of their own in a provenance.
_ELSEWHERE = ("identifier", "dtype")
_MOST_LISTED = 6
_signature = lru_cache(signature)  # the slowest step in recording a metric


def whole_number(value: Any, name: str, least: int) -> int:
    """A count, checked to be a whole number and not a bool.

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
    """A finite number, checked to be non-negative and not a bool.

    Raises:
        ValueError: it is not a number, or is NaN, infinite or negative.

    Example:
        >>> finite_number(float("nan"), "alpha")
        Traceback (most recent call last):
        ...
        ValueError: alpha must be a finite number that is not negative, got nan
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} must be a finite number that is not negative, got {value!r}")
    return float(value)


def proportion(value: Any, name: str) -> float:
    """A number from 0 to 1, as a float; refuses others by name.

    Example:
        >>> proportion(1, "alpha")
        1.0
    """
    if not 0.0 <= (number := finite_number(value, name)) <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, got {value!r}")
    return number


def keep(metric: Any, /, **settings: Any) -> None:
    """Sets attributes of a frozen dataclass in its ``__post_init__``, e.g. settings in the form they are used in."""
    for name, value in settings.items():
        object.__setattr__(metric, name, value)


def refuse_others(given: Mapping[str, Any] | None, fixed: Mapping[str, Any], what: str) -> None:
    """Refuses settings of the reference that bsjax supports only at their default value.

    Raises:
        ValueError: an unknown setting, or another value than the default.

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


def settings_of(metric: Any, part: str = "") -> dict[str, Any]:
    """The constructor's settings of a metric, read from attributes of the same names, without identifier and dtype.

    Settings left at a default of None or of a function are omitted. Metrics and dataclasses among the settings become
    dicts; functions and other objects become text. See ``Metric.own_settings``.

    Args:
        metric: a metric.
        part: name of the setting that holds its mapping or similarity, whose own settings are in ``settings``.

    Raises:
        ValueError: the metric has no attribute with the name of a setting.
    """
    kept, found = vars(metric), {}
    apart = (*_ELSEWHERE, part, "settings") if part else _ELSEWHERE
    for name, parameter in _signature(type(metric)).parameters.items():
        if name in apart or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if name not in kept:
            raise ValueError(f"{type(metric).__name__} must keep its setting {name!r} as the attribute {name!r}")
        own = kept[name]
        if own is not parameter.default or not (own is None or callable(own)):
            found[name] = plain_setting(own)
    named = plain_setting(kept["settings"]) if part else {}
    return found | (named if isinstance(named, dict) else {part: named})


@singledispatch
def plain_setting(value: Any) -> Any:
    """A setting as a JSON value: a metric as its identifier and settings, a function as its name."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain_setting({field.name: vars(value)[field.name] for field in fields(value)})
    with suppress(ValueError):
        check(value, "a setting")
        return value
    if isinstance(value, Mapping):
        return {name: plain_setting(entry) for name, entry in value.items()}
    with suppress(AttributeError):
        return f"{value.__module__}:{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split()))  # addresses differ between processes


def in_words(value: Any) -> str:
    """Settings, or one of them, in words; long lists are shortened to their first values and their length.

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
