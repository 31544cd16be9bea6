"""Simulated V1: recordings with known noise, for testing the whole pipeline without a download.

The neuroids are a seeded random subset of the V1 units of the built-in model ``gabor-v1``, observed through Poisson
spike counts. Each unit's response to procedural images is scaled and shifted to a firing rate, and the count of each
trial is drawn from a Poisson distribution with that rate. The generating model ``gabor-v1`` should therefore score 1
once the noise is accounted for, and any other model less. The reliability that the estimated ceiling should recover
follows from the rates in closed form (:func:`true_reliability`).
"""

import io
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import jax
import numpy as np
from numpy.typing import NDArray

from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.benchmarks.kinds.comparisons import neural_benchmark
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.files import cache_dir, optional, write_atomically
from bsjax.core.identity.source import OF_ACTIVATIONS, own_source
from bsjax.core.identity.values import identity_of
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.models import load_model

GENERATOR = "gabor-v1"
"""Identifier of the model whose units the neuroids are taken from."""

N_TRIALS = 8
N_NEUROIDS = 96
_N_PER_KIND = 80
_N_PIXELS = 96
_VISUAL_DEGREES = 8.0
_MEAN_COUNTS = (0.2, 1.0)  # range over neuroids of the spikes per 100 ms trial, averaged over stimuli
_SPONTANEOUS = 0.25  # share of the spikes that does not depend on the stimulus
_TIME_BIN = (0, 100)  # ms
_SEED = 2


class Population(NamedTuple):
    """The simulated neuroids.

    Attributes:
        stimuli: the images.
        unit_ids: ids of the generating model's units, shape ``(neuroids,)``.
        rates: expected spikes per trial, shape ``(stimuli, neuroids)``.
        counts: spike counts, shape ``(trials, stimuli, neuroids)``.
    """

    stimuli: StimulusSet
    unit_ids: NDArray[np.str_]
    rates: NDArray[np.float64]
    counts: NDArray[np.int64]


def population() -> Population:
    """The simulated neuroids, computed once and cached below ``$BSJAX_HOME`` until the code or libraries change.

    Example:
        >>> simulated = population()
        >>> simulated.counts.shape == (N_TRIALS, len(simulated.stimuli), N_NEUROIDS)
        True
    """
    return _population(cache_dir())


@lru_cache(maxsize=1)
def _population(home: Path) -> Population:  # the images are below home, so each home has its own population
    stimuli = procedural_stimuli("Simulated.V1", _N_PER_KIND, _N_PIXELS, _VISUAL_DEGREES, seed=_SEED)
    config = [getattr(jax.config, name) for name in ("jax_enable_x64", "jax_default_matmul_precision")]
    computed_by = [jax.__version__, np.__version__, jax.default_backend(), *config]
    place = home / "simulated" / f"{identity_of([own_source(*OF_ACTIVATIONS, 'benchmarks'), computed_by])}.npz"
    try:
        with open(place, "rb") as file, np.load(file, allow_pickle=False) as kept:
            return Population(stimuli, kept["unit_ids"], kept["rates"], kept["counts"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        unit_ids, rates, counts = _simulated(stimuli)
    content = io.BytesIO()
    np.savez(content, unit_ids=unit_ids, rates=rates, counts=counts)
    with optional("keep simulated recordings", place.parent):
        write_atomically(place, content.getvalue(), sync=False)
    return Population(stimuli, unit_ids, rates, counts)


def _simulated(stimuli: StimulusSet) -> tuple[NDArray[np.str_], NDArray[np.float64], NDArray[np.int64]]:
    """The model's unit ids of the neuroids, their rates, and their counts."""
    model = load_model(GENERATOR)
    model.start_recording("V1", time_bins=[_TIME_BIN])
    recording = model.look_at(stimuli).transpose("presentation", "neuroid")
    responses = recording.values.astype(np.float64)
    mean, peak = responses.mean(axis=0), responses.max(axis=0)
    # exclude units that are nearly silent, and units that respond to only a few images
    eligible = np.flatnonzero((mean > 0.2 * mean.mean()) & (peak < 12 * mean))
    rng = np.random.default_rng(_SEED)
    chosen = np.sort(rng.choice(eligible, size=N_NEUROIDS, replace=False))
    drive = responses[:, chosen] - responses[:, chosen].min(axis=0)
    low, high = np.log(_MEAN_COUNTS)
    mean_counts = np.exp(rng.uniform(low, high, size=N_NEUROIDS))
    rates = mean_counts * (_SPONTANEOUS + (1 - _SPONTANEOUS) * drive / drive.mean(axis=0))
    counts = rng.poisson(rates, size=(N_TRIALS, *rates.shape))
    return recording["neuroid_id"].values[chosen], rates, counts


def assembly() -> NeuroidAssembly:
    """The spike counts of all trials as an assembly.

    Returns:
        Spikes per 100 ms, dims ``(presentation, neuroid, time_bin)``, one presentation for each stimulus and
        repetition.

    Example:
        >>> assembly().sizes["presentation"] == N_TRIALS * len(population().stimuli)
        True
    """
    simulated = population()
    stimuli = simulated.stimuli
    columns = {name: np.tile(stimuli[name].to_numpy(), N_TRIALS) for name in ("stimulus_id", "object_name")}
    return NeuroidAssembly(
        simulated.counts.reshape(-1, N_NEUROIDS, 1).astype(np.float64),
        coords={
            **{name: ("presentation", values) for name, values in columns.items()},
            "repetition": ("presentation", np.repeat(np.arange(N_TRIALS), len(stimuli))),
            "neuroid_id": ("neuroid", [f"simulated-{number:03d}" for number in range(N_NEUROIDS)]),
            "generating_unit": ("neuroid", simulated.unit_ids),
            "region": ("neuroid", ["V1"] * N_NEUROIDS),
            "time_bin_start": ("time_bin", [_TIME_BIN[0]]),
            "time_bin_end": ("time_bin", [_TIME_BIN[1]]),
        },
        dims=["presentation", "neuroid", "time_bin"],
        attrs={"stimulus_set": stimuli, "stimulus_set_identifier": stimuli.identifier},
    )


def true_reliability() -> NDArray[np.float64]:
    """Exact reliability of each neuroid's response averaged over all trials, from its rates.

    With rate λ(s) for stimulus s, the mean of R Poisson counts has the signal variance Var_s(λ) over stimuli, and on
    average over stimuli the noise variance mean_s(λ)/R. The reliability, i.e. the correlation expected between two such
    averages, is the signal's share of the variance: Var_s(λ) / (Var_s(λ) + mean_s(λ)/R). Split halves with the
    Spearman-Brown correction estimate this ceiling.

    Returns:
        Shape ``(neuroids,)``, in (0, 1).

    Example:
        >>> reliability = true_reliability()
        >>> reliability.shape == (N_NEUROIDS,), bool((0 < reliability).all() and (reliability < 1).all())
        (True, True)
    """
    rates = population().rates
    signal = rates.var(axis=0, ddof=1)
    return signal / (signal + rates.mean(axis=0) / N_TRIALS)


def simulated(row: BenchmarkRow) -> NeuralBenchmark:
    """One comparison with the simulated neuroids.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Simulated.V1-cka").normalisation
        'r_over_sqrt_ceiling'
    """
    return neural_benchmark(row, assembly)
