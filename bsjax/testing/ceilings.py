"""Checks of noise ceilings."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bsjax.labelled import load_ceiling
from bsjax.labelled.metric import name_of
from bsjax.testing.contract import Check, Property, Size, Violated, as_code, run_all, shown
from bsjax.testing.data import trials
from bsjax.testing.metrics import checks

_LEAST = 0.99  # ceiling of trials without noise
_MOST = 0.5  # mean ceiling of trials without signal
_NOISE = 3


def check_ceiling(
    ceiling: Any,
    *,
    inputs: Callable[[np.random.Generator], Any] | None = None,
    bounds: tuple[float, float] = (-np.inf, 1.0),
) -> None:
    """Checks a ceiling of single trials, with the checks of :func:`bsjax.testing.check_metric` that apply to it.

    Trials without noise must have a ceiling of 1 (at least 0.99), and trials without signal a low one (below 0.5 on
    average). The scale of the responses must not matter.

    Args:
        ceiling: an identifier of :func:`bsjax.list_ceilings`, or a function from an assembly to a ``Score``.
        inputs: draws the assembly, for a ceiling that does not take (presentation, neuroid) with ``stimulus_id`` and
            ``repetition``. The properties above are then not checked.
        bounds: lowest and highest value of the ceiling.

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
    """The checks of a ceiling; see :func:`check_ceiling`."""
    made = load_ceiling(ceiling) if isinstance(ceiling, str) else ceiling
    if inputs is not None:
        return checks(made, inputs=lambda rng: (inputs(rng),), bounds=bounds, invariances=())
    name = ceiling if isinstance(ceiling, str) else name_of(made)
    own = [
        Property("repeatability", "trials without noise have a ceiling of 1", partial(_without_noise, made)),
        Property("noise", "trials without signal have a low ceiling", partial(_without_signal, made)),
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
        raise Violated(f"the ceiling is {shown(ceiling(alike))}, expected at least {_LEAST:g}", (alike,))


def _without_signal(ceiling: Any, rng: np.random.Generator, size: Size) -> None:
    draws = [(each := trials(rng)).copy(data=rng.normal(size=each.shape)) for _ in range(_NOISE)]
    found = float(np.nanmean([float(ceiling(each)) for each in draws]))
    if not found < _MOST:
        raise Violated(f"the mean ceiling is {found:.3f}, expected less than {_MOST:g}", (draws[0],))
