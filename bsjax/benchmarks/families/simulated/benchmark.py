"""Simulated V1: recordings whose noise is known in closed form, to prove the whole pipeline without a
download.

The neuroids are units of the built-in model ``gabor-v1``, looked at through Poisson spike counts: of that
model's V1 units a seeded subset is drawn, each one's response to procedural images is scaled and shifted into
a firing rate, and each trial's count is drawn from a Poisson distribution with that rate. So the model that
generated the data is ``gabor-v1`` itself and should score 1 once the noise is accounted for, any other model
should score less, and the reliability that the estimated ceiling has to recover follows from the rates
(:func:`true_reliability`).
"""

from __future__ import annotations

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
from bsjax.core.disk_errors import optional
from bsjax.core.files import cache_dir, write_atomically
from bsjax.core.identity.source import OF_ACTIVATIONS, own_source
from bsjax.core.identity.values import identity_of
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.models import load_model

GENERATOR = "gabor-v1"
"""Identifier of the model whose units the neuroids are."""

N_TRIALS = 8
N_NEUROIDS = 96
_N_PER_KIND = 80
_N_PIXELS = 96
_VISUAL_DEGREES = 8.0
_MEAN_COUNTS = (0.2, 1.0)  # spikes per trial of 100 ms, averaged over stimuli: the range over neuroids
_SPONTANEOUS = 0.25  # their share that does not depend on the stimulus
_TIME_BIN = (0, 100)  # ms
_SEED = 2


class Population(NamedTuple):
    """The simulated neuroids.

    Attributes:
        stimuli: the images.
        unit_ids: which units of the generating model the neuroids are, shape ``(neuroids,)``.
        rates: expected spikes per trial, shape ``(stimuli, neuroids)``.
        counts: spikes of each trial, shape ``(trials, stimuli, neuroids)``.
    """

    stimuli: StimulusSet
    unit_ids: NDArray[np.str_]
    rates: NDArray[np.float64]
    counts: NDArray[np.int64]


def population() -> Population:
    """The simulated neuroids; made once, and kept below ``$BSJAX_HOME`` for as long as what makes them is the same.

    Example:
        >>> simulated = population()
        >>> simulated.counts.shape == (N_TRIALS, len(simulated.stimuli), N_NEUROIDS)
        True
    """
    return _population(cache_dir())


@lru_cache(maxsize=1)
def _population(home: Path) -> Population:  # the images lie below home: another home is another population
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
    """Of the neuroids which units of the model they are, their rates, and their counts."""
    model = load_model(GENERATOR)
    model.start_recording("V1", time_bins=[_TIME_BIN])
    recording = model.look_at(stimuli).transpose("presentation", "neuroid")
    responses = recording.values.astype(np.float64)
    mean, peak = responses.mean(axis=0), responses.max(axis=0)
    # no unit that is all but silent, and none that lives from a few images
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
        Dims ``(presentation, neuroid, time_bin)``, one presentation for each stimulus and repetition; spikes
        per 100 ms.

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
    """Reliability of each neuroid's response averaged over all trials, exact, from its rates.

    With rate λ(s) for stimulus s, the mean of R Poisson counts has the variance Var_s(λ) over stimuli that is
    signal, and on average over stimuli the variance mean_s(λ)/R that is noise. The reliability, the
    correlation expected between two such averages, is the signal's share: Var_s(λ) / (Var_s(λ) +
    mean_s(λ)/R). This is the ceiling that split halves and the Spearman-Brown correction estimate.

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
