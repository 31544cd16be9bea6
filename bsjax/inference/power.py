"""Power analysis: the number of stimuli, repetitions or neuroids needed to find a difference between models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import numpy as np
import pandas as pd
import scipy
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.engine.running import run
from bsjax.labelled.align import STIMULUS
from bsjax.labelled.ceilings.signal_and_noise import fit_signal_and_noise
from bsjax.labelled.settings import whole_number
from bsjax.metrics import cka_bootstraps, rdm_bootstraps
from bsjax.metrics.inference.simulated_experiments import Weighted, mean_correlations, simulated_differences

Design = Literal["stimuli", "repetitions", "neuroids"]
_SIMILARITIES: dict[str, Weighted] = {
    "correlation": mean_correlations,
    "cka": cka_bootstraps,
    "rdm": rdm_bootstraps,
}
# From the noise-free score to the model's agreement with the signal; RDMs have no formula.
_AGREEMENTS: dict[str, Callable[[float], float]] = {"correlation": lambda score: score, "cka": math.sqrt}
_MOST_DOUBLINGS, _REFINEMENTS = 8, 2
_MOST_STIMULI = 1 << 13
_LEAST = {"stimuli": 16, "repetitions": 1, "neuroids": 1}
_STEPS, _STIMULI_OF_A_STEP = 14, 300


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """Power as a function of the size of an experiment, from :func:`required_stimuli`.

    Attributes:
        required: the smallest size that reaches the power; None if none in ``table`` does.
        over: the factor whose size is varied.
        power: the requested power.
        table: one row for each simulated size: ``size``; ``power``, the share of experiments in which the better model
            is significantly better; ``low`` and ``high``, its 95 % interval; ``score`` and ``other``, the mean scores
            of the two models.
        words: description of the simulations.
    """

    required: int | None
    over: Design
    power: float
    table: pd.DataFrame
    words: str

    def __repr__(self) -> str:
        largest = max(self.table["size"].tolist())
        found = f"more than {largest:,}" if self.required is None else f"{self.required:,}"
        return f"PowerCurve({found} {self.over} for a power of {self.power:g}: {self.words})"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.table.to_html(index=False, float_format='{:z.3f}'.format)}"


def required_stimuli(
    trials: xr.DataArray,
    difference: float,
    *,
    score: float = 0.5,
    metric: str = "rdm",
    over: Design = "stimuli",
    power: float = 0.8,
    alpha: float = 0.05,
    stimuli: int | None = None,
    repetitions: int | None = None,
    neuroids: int | None = None,
    shared: float = 0.0,
    sizes: Sequence[int] | None = None,
    simulations: int = 200,
    seed: int = 0,
) -> PowerCurve:
    r"""The number of stimuli (or repetitions, or neuroids) needed to find a given difference between two models.

    Signal and noise of the recording are estimated (``fit_signal_and_noise``). Experiments of each size are simulated
    from them, with two models of the given scores. In each experiment the difference is tested by a two-sided paired t
    test over stimuli, whose standard error comes from the influence of each stimulus. The size is doubled until the
    power is reached, and then refined.

    Args:
        trials: single trials of a pilot recording (presentation, neuroid), with ``stimulus_id`` and ``repetition``.
        difference: between the two models' noise-free scores, above 0.
        score: noise-free score of the better model.
        metric: ``"rdm"`` (Spearman correlation of RDMs), ``"cka"`` (unbiased), or ``"correlation"`` (of prediction and
            measurement, averaged over neuroids).
        over: the factor whose size is sought.
        power: share of experiments in which the difference should be found.
        alpha: significance level of the test.
        stimuli, repetitions, neuroids: sizes that are held constant, by default those of the recording.
        shared: correlation of the two models' errors; the more similar they are, the fewer stimuli are needed.
        sizes: sizes to simulate instead of a search.
        simulations: number of experiments for each size.
        seed: for the simulations.

    Returns:
        The required size and the whole curve.

    Raises:
        ValueError: scores are out of range, a metric or factor is unknown, more neuroids are requested than were
            recorded, or noise cannot be estimated from the trials.

    Source: Schütt et al. 2023; Kay et al. 2025 (signal and noise).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> values = np.tile(rng.normal(size=(40, 5)), (2, 1)) + rng.normal(size=(80, 5))
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", [*range(40)] * 2), "repetition": ("presentation", [0] * 40 + [1] * 40)})
        >>> curve = required_stimuli(trials, 0.3, score=0.8, metric="correlation", sizes=[20, 80], simulations=50)
        >>> curve.table["power"].is_monotonic_increasing, 20 <= curve.required <= 80
        (True, True)
    """
    _check(difference, score, metric, over, power, alpha, shared)
    whole_number(simulations, "simulations", 10)
    held: dict[str, Any] = {"stimuli": stimuli, "repetitions": repetitions, "neuroids": neuroids}
    recorded = {
        "stimuli": len(np.unique(trials[STIMULUS].values)),
        "repetitions": len(np.unique(trials["repetition"].values)) if "repetition" in trials.coords else 1,
        "neuroids": trials.sizes["neuroid"],
    }
    held = {name: recorded[name] if size is None else whole_number(size, name, 1) for name, size in held.items()}
    largest = recorded["neuroids"] if over == "neuroids" else _MOST_STIMULI
    for size in sizes or ():
        _check_size(over, whole_number(size, "size", _LEAST[over]), largest)
    roots = _roots(trials)
    agreements = [_agreement(metric, each, roots, seed) for each in (score, score - difference)]

    def row(size: int) -> dict[str, float]:
        return _power_at(roots, agreements, {**held, over: size}, metric, alpha, shared, simulations, seed)

    rows: dict[int, dict[str, float]] = {}
    for size in sizes or _doubled(over, largest):
        rows[size] = row(size)
        if sizes is None and rows[size]["power"] >= power:
            break
    if sizes is None:
        for _ in range(_REFINEMENTS):
            between = _between(rows, power)
            if between is None:
                break
            rows[between] = row(between)
    table = pd.DataFrame([{"size": size, **rows[size]} for size in sorted(rows)])
    words = (
        f"{score:g} against {score - difference:g} by {metric}, "
        + ", ".join(f"{size:,} {name}" for name, size in held.items() if name != over)
        + f", {simulations} simulations of each size"
    )
    return PowerCurve(_required(table, power), over, power, table, words)


def _power_at(
    roots: tuple[np.ndarray, np.ndarray],
    agreements: Sequence[float],
    design: dict[str, int],
    metric: str,
    alpha: float,
    shared: float,
    simulations: int,
    seed: int,
) -> dict[str, float]:
    units = np.random.default_rng(seed).permutation(roots[0].shape[1])[: design["neuroids"]]
    given = metric, seed, simulations, design["stimuli"], *(root[:, units] for root in roots)
    found = _simulated(*given, agreements, design["repetitions"], shared).astype(float)
    ahead, error = found[:, 0] - found[:, 1], found[:, 2]
    significant = ahead > scipy.stats.t(design["stimuli"] - 1).isf(alpha / 2) * error
    hits = int(significant.sum())
    # Clopper-Pearson interval of a proportion.
    low = scipy.stats.beta(hits, simulations - hits + 1).ppf(0.025) if hits else 0.0
    high = scipy.stats.beta(hits + 1, simulations - hits).ppf(0.975) if hits < simulations else 1.0
    scores = np.nanmean(found[:, :2], axis=0)
    return {"power": hits / simulations, "low": float(low), "high": float(high), "score": scores[0], "other": scores[1]}


def _simulated(
    metric: str, seed: int, simulations: int, stimuli: int, signal: np.ndarray, noise: np.ndarray, *numbers: Any
) -> np.ndarray:
    """The scores of the two models in simulated experiments, and the standard error of their difference."""
    with precision():
        keys = jax.random.split(jax.random.key(seed), simulations)
    given = [np.asarray(each, float) for each in (signal, noise, *numbers)]
    return run(simulated_differences, keys, *given, stimuli=stimuli, similarity=_SIMILARITIES[metric])


def _roots(trials: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Matrix square roots of the signal and noise covariances over neuroids."""
    fitted = fit_signal_and_noise(trials)
    found = []
    for name in ("signal_covariance", "noise_covariance"):
        covariance = fitted[name].values
        values, vectors = np.linalg.eigh(np.nan_to_num(covariance))
        found.append((vectors * np.sqrt(np.maximum(values, 0))).T)
    if not np.isfinite(fitted["signal_covariance"].values).all():
        raise ValueError("signal and noise cannot be separated: some stimuli must have at least two repetitions")
    if not (found[0] ** 2).sum():
        raise ValueError("these trials have no signal: the stimulus means vary no more than by noise")
    return found[0], found[1]


def _agreement(metric: str, score: float, roots: tuple[np.ndarray, np.ndarray], seed: int) -> float:
    """The agreement of a model with the signal that gives it this noise-free score."""
    if metric in _AGREEMENTS:
        return _AGREEMENTS[metric](score)
    low, high = 0.0, 1.0
    signal, no_noise = roots[0], np.zeros_like(roots[0])
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = _simulated(metric, seed, 2, _STIMULI_OF_A_STEP, signal, no_noise, [middle] * 2, 1.0, 0.0)
        low, high = (middle, high) if np.mean(found[:, :2]) < score else (low, middle)
    return (low + high) / 2


def _doubled(over: Design, largest: int) -> list[int]:
    sizes = [_LEAST[over] << doubling for doubling in range(_MOST_DOUBLINGS + 1)]
    return sorted({min(size, largest) for size in sizes})


def _between(rows: dict[int, dict[str, float]], power: float) -> int | None:
    """A size between the largest insufficient and the smallest sufficient one, to refine the curve."""
    enough = [size for size, row in rows.items() if row["power"] >= power]
    short = [size for size, row in rows.items() if row["power"] < power and size < min(enough, default=0)]
    if not enough or not short:
        return None
    low, high = max(short), min(enough)
    middle = round(math.sqrt(low * high))
    return middle if low < middle < high and high > 1.1 * low else None


def _required(table: pd.DataFrame, power: float) -> int | None:
    """The smallest size with the power, by linear interpolation on a logarithmic scale of sizes."""
    sizes, powers = table["size"].to_numpy(), np.maximum.accumulate(table["power"].to_numpy())
    enough = np.flatnonzero(powers >= power)
    if not enough.size:
        return None
    first = enough[0]
    if first == 0:
        return int(sizes[0])
    share = (power - powers[first - 1]) / (powers[first] - powers[first - 1])
    return math.ceil(math.exp(np.interp(share, [0, 1], np.log(sizes[first - 1 : first + 1]))) - 1e-9)


def _check(difference: float, score: float, metric: str, over: str, power: float, alpha: float, shared: float) -> None:
    if metric not in _SIMILARITIES:
        raise ValueError(f"metric must be one of {', '.join(_SIMILARITIES)}, got {metric!r}")
    if over not in get_args(Design):
        raise ValueError(f"over must be one of {', '.join(get_args(Design))}, got {over!r}")
    if not 0 < score <= 1 or not 0 <= difference <= score:
        raise ValueError(
            "score, of the better model, must be above 0 and at most 1, and difference between 0 and score; got "
            f"score={score!r} and difference={difference!r}"
        )
    for name, value in (("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    if not -1 <= shared <= 1:
        raise ValueError(f"shared must be a correlation, between -1 and 1, got {shared!r}")


def _check_size(over: Design, size: int, largest: int) -> None:
    if size > largest:
        known = f"{largest:,} were recorded" if over == "neuroids" else f"at most {largest:,} are simulated"
        raise ValueError(f"{size:,} {over} are too many: {known}")
