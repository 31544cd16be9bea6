"""What a ceiling promises: of trials that repeat, of noise, and of trials in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bsjax.labelled import load_ceiling
from bsjax.testing.contract import Check, Property, Size, Violated, as_code, run_all, shown
from bsjax.testing.data import trials
from bsjax.testing.metrics import checks

_LEAST = 0.99  # of trials without noise
_MOST = 0.5  # of trials without signal, on average
_NOISE = 3


def check_ceiling(
    ceiling: Any,
    *,
    inputs: Callable[[np.random.Generator], Any] | None = None,
    bounds: tuple[float, float] = (-np.inf, 1.0),
) -> None:
    """Checks a ceiling of single trials, and all that :func:`bsjax.testing.check_metric` asks of any assembly.

    Trials that are alike have a ceiling of 1, trials of noise none; neither the order of rows nor the names of
    repetitions count.

    Args:
        ceiling: an identifier of :func:`bsjax.list_ceilings`, or a function of an assembly that gives a ``Score``.
        inputs: draws its assembly, if that is not (presentation, neuroid) with ``stimulus_id`` and ``repetition``; what
            is said of noise and of order is not checked then.
        bounds: the least and the greatest ceiling.

    Raises:
        ContractError: a property does not hold.

    Example:
        >>> check_ceiling("internal_consistency")
    """
    run_all(ceiling_checks(ceiling, inputs=inputs, bounds=bounds))


def ceiling_checks(
    ceiling: Any,
    *,
    inputs: Callable[[np.random.Generator], Any] | None = None,
    bounds: tuple[float, float] = (-np.inf, 1.0),
) -> list[Check]:
    """The checks of a ceiling, see :func:`check_ceiling`."""
    made = load_ceiling(ceiling) if isinstance(ceiling, str) else ceiling
    if inputs is not None:
        return checks(made, inputs=lambda rng: (inputs(rng),), bounds=bounds, invariances=())
    name = ceiling if isinstance(ceiling, str) else getattr(made, "identifier", "") or type(made).__name__
    own = [
        Property("repeatability", "trials without noise have a ceiling of 1", partial(_without_noise, made)),
        Property("noise", "trials without signal have a ceiling of 0", partial(_without_signal, made)),
    ]
    common = checks(
        made,
        inputs=lambda rng: (trials(rng),),
        bounds=bounds,
        invariances={"scale": _scaled},
        undefined=lambda given: tuple(each.copy(data=np.full(each.shape, 0.1)) for each in given),
    )
    return [*common, *(each.of(name, partial(as_code, call=name)) for each in own)]


def _scaled(given: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return tuple(each.copy(data=each.values * rng.uniform(0.3, 3.0)) for each in given)


def _without_noise(ceiling: Any, rng: np.random.Generator, size: Size) -> None:
    given = trials(rng)
    first = given.values[given["repetition"].values == 0]
    alike = given.copy(data=np.tile(first, (len(given) // len(first), 1)))
    if not float(ceiling(alike)) >= _LEAST:
        raise Violated(f"it is {shown(ceiling(alike))}", (alike,))


def _without_signal(ceiling: Any, rng: np.random.Generator, size: Size) -> None:
    draws = [(each := trials(rng)).copy(data=rng.normal(size=each.shape)) for _ in range(_NOISE)]
    found = float(np.nanmean([float(ceiling(each)) for each in draws]))
    if not found < _MOST:
        raise Violated(f"it is {found:.3f} on average", (draws[0],))
