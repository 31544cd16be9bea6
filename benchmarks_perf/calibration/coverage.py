"""How often 95 % intervals hold the true score, on simulated recordings.

``python -m benchmarks_perf.calibration.coverage`` simulates 500 data sets for each row and prints the table of the
documentation; ``--rows "cka;rdm, heavy"`` some of them, ``--sets N`` fewer. What is drawn anew from one data set to the
next is what the interval is over. The true score of a similarity over stimuli is that of very many of them. Scores that
depend on how many there are, as of a regression on the stimuli that train it, or of a similarity on its neuroids, have
as true score the mean over data sets of that size.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from benchmarks_perf.calibration.simulated import asked, labelled
from bsjax import Resampling, load_ceiling, load_metric
from bsjax.labelled import Score
from bsjax.labelled.metric import scored
from bsjax.labelled.normalise import r_over_sqrt_ceiling
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.similarity.rdms.subject_responses import SubjectRDMSimilarity

LEVEL = 0.95
_LATENT, _FEATURES, _NEUROIDS, _TRIALS, _UNITS, _SHOWN, _IMAGES = 8, 20, 24, 4, 10, 30, 40
_UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None}}
# Stimuli that give the true score.
_MANY = 600
# Data sets that the mean score of a size is taken from, for each that an interval is made of.
_FOR_TRUTH = 4


class Row(NamedTuple):
    """An interval whose coverage is measured.

    Attributes:
        name: of the metric.
        size: of the data, in words.
        plan: the draws; None for the interval that every score has.
        simulate: ``simulate(rng, n) -> Score`` of one data set, with ``n`` of what is drawn anew.
        n: how many there are of that.
        many: how many make the true score; None for the mean over data sets.
    """

    name: str
    size: str
    plan: Resampling | None
    simulate: Callable[[np.random.Generator, int], Score]
    n: int
    many: int | None = None


def _fixed(*shape: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def _recordings(
    stimuli: np.ndarray, weights: np.ndarray, rng: np.random.Generator, trials: int = 1, **named: Any
) -> xr.DataArray:
    """Responses of neuroids with these weights, with noise, one presentation a trial."""
    n, units = len(stimuli), weights.shape[1]
    values = np.concatenate([stimuli @ weights + 3 * rng.normal(size=(n, units)) for _ in range(trials)])
    shown = {"stimulus_id": np.tile(np.arange(n), trials), "repetition": np.repeat(np.arange(trials), n)}
    return labelled(values, presentation=shown, neuroid={"neuroid_id": np.arange(units), **named})


def _features(stimuli: np.ndarray, rng: np.random.Generator) -> xr.DataArray:
    values = stimuli @ _fixed(_LATENT, _FEATURES) + 2 * rng.normal(size=(len(stimuli), _FEATURES))
    shown = {"stimulus_id": np.arange(len(stimuli))}
    return labelled(values, presentation=shown, neuroid={"neuroid_id": np.arange(_FEATURES)})


def _over_stimuli(metric: Any, rng: np.random.Generator, n: int, and_neuroids: bool = False) -> Score:
    stimuli = rng.normal(size=(n, _LATENT))
    weights = rng.normal(size=(_LATENT, _NEUROIDS)) if and_neuroids else _fixed(_LATENT, _NEUROIDS)
    return scored(metric, _features(stimuli, rng), _recordings(stimuli, weights, rng))


def _over_neuroids(metric: Any, rng: np.random.Generator, n: int, stimuli: int = 60) -> Score:
    shown = _fixed(stimuli, _LATENT)
    features = _features(shown, np.random.default_rng(3))
    return scored(metric, features, _recordings(shown, rng.normal(size=(_LATENT, n)), rng))


def _of_subjects(both: bool, rng: np.random.Generator, n: int) -> Score:
    """RSA of subjects who share most of what they respond to; ``n`` subjects, stimuli drawn anew as well or not."""
    shown = rng.normal(size=(_SHOWN, _LATENT)) if both else _fixed(_SHOWN, _LATENT)
    features = _features(shown, rng if both else np.random.default_rng(3))
    each = [_fixed(_LATENT, _UNITS) + 0.7 * rng.normal(size=(_LATENT, _UNITS)) for _ in range(n)]
    subject = np.repeat([f"s{i}" for i in range(n)], _UNITS)
    return scored(SubjectRDMSimilarity(), features, _recordings(shown, np.hstack(each), rng, subject=subject))


def _chosen(right: np.ndarray, subjects: list[str]) -> xr.DataArray:
    """Choices between two kinds, by each subject for each image."""
    of_image = {"truth": ["dog"] * right.size, "condition": ["clear"] * right.size}
    image, subject = np.tile(np.arange(right.shape[1]), len(right)), np.repeat(subjects, right.shape[1])
    shown = {"stimulus_id": image, "subject": subject, **of_image}
    return labelled(np.where(right.ravel(), "dog", "cat"), presentation=shown)


def _choices(metric: Any, beside_truth: bool, rng: np.random.Generator, n: int) -> Score:
    """A model and people, or the truth, on the same images, which are hard to a different degree."""
    hard = rng.normal(size=n)
    model, person = (_chosen(hard + rng.normal(size=(1, n)) < 0.7, [who]) for who in ("model", "person"))
    return scored(metric, model, person.copy(data=person["truth"]) if beside_truth else person)


def _people(metric: Any, of_ceiling: bool, rng: np.random.Generator, n: int) -> Score:
    """A model and ``n`` people, who find the same images hard; or one another, where it is a ceiling."""
    skill = np.r_[0.5, rng.normal(0.6, 0.4, n)]
    right = skill[:, None] > _fixed(_IMAGES) + np.r_[_fixed(1, _IMAGES, seed=8), rng.normal(size=(n, _IMAGES))]
    every = _chosen(right, ["model", *(f"p{i}" for i in range(n))])
    people = every[_IMAGES:]
    return scored(metric.ceiling, people) if of_ceiling else scored(metric, every[:_IMAGES], people)


def _signatures(metric: Any, rng: np.random.Generator, n: int, objects: int = 4, trials: int = 40) -> Score:
    """Two-way choices of a crowd and a model's probabilities, of ``n`` images that differ in how hard they are."""
    names = np.array([f"object{i}" for i in range(objects)])
    truth = np.arange(n) % objects
    confused = rng.normal(size=(n, objects))  # how much each image looks like each object
    confused[np.arange(n), truth] += 2
    ours = np.exp(confused + 0.5 * rng.normal(size=(n, objects)))
    image = np.repeat(np.arange(n), trials)
    other = (truth[image] + rng.integers(1, objects, len(image))) % objects
    odds = confused[image, truth[image]] - confused[image, other]
    chosen = np.where(rng.random(len(image)) < 1 / (1 + np.exp(-odds)), truth[image], other)
    source = labelled(ours, presentation={"stimulus_id": np.arange(n)}, choice={"choice": names})
    of_truth = dict.fromkeys(("truth", "sample_obj"), names[truth[image]])
    shown = {"stimulus_id": image, **of_truth, "dist_obj": names[other]}
    return scored(metric, source, labelled(names[chosen], presentation=shown))


def _ceiling(over: str, rng: np.random.Generator, n: int) -> Score:
    if over == "stimuli":
        stimuli, weights = rng.normal(size=(n, _LATENT)), _fixed(_LATENT, _NEUROIDS)
    else:
        stimuli, weights = _fixed(60, _LATENT), rng.normal(size=(_LATENT, n))
    return scored(load_ceiling("internal_consistency"), _recordings(stimuli, weights, rng, _TRIALS))


def _on_a_sheet(metric: Any, rng: np.random.Generator, n: int, units: int = 20) -> Score:
    """Neuroids at random places, tuned alike where they are near, with as much noise."""
    places = 2 * _fixed(units, 2)
    near = np.exp(-(np.linalg.norm(places[:, None] - places[None], axis=2) ** 2) / 2)
    tuning = np.linalg.cholesky(near + 1e-9 * np.eye(units)).T
    values = rng.normal(size=(n, units)) @ tuning + rng.normal(size=(n, units))
    neuroids = {"neuroid_id": np.arange(units), "x": places[:, 0], "y": places[:, 1]}
    return scored(metric, labelled(values, presentation={"stimulus_id": np.arange(n)}, neuroid=neuroids))


def _ceiled(rng: np.random.Generator, n: int) -> Score:
    """CKA over the root of its ceiling, both drawn together."""
    metric = load_metric("cka")
    stimuli = rng.normal(size=(n, _LATENT))
    trials = _recordings(stimuli, _fixed(_LATENT, _NEUROIDS), rng, _TRIALS)
    averages = trials.values.reshape(_TRIALS, n, -1).mean(axis=0)
    score = scored(metric, _features(stimuli, rng), trials[:n].copy(data=averages))
    ceiling = scored(load_ceiling("internal_consistency", consistency_metric=metric), trials)
    return r_over_sqrt_ceiling(score, ceiling)


def _each(
    name: str, unit: str, plan: Resampling | None, simulate: Any, *sizes: int, many: int | None = None
) -> list[Row]:
    """A row of each size."""
    return [Row(name, f"{n} {unit}", plan, simulate, n, many) for n in sizes]


def rows() -> Iterator[Row]:
    """All rows of the table."""
    stimuli, fewer, neuroids = Resampling("stimuli", 400), Resampling("stimuli", 200), Resampling("neuroids", 400)
    for name in ("cka", "rdm"):
        drawn = partial(_over_stimuli, load_metric(name, error="influence"))
        yield from _each(name, "stimuli", stimuli, drawn, 30, 100, many=_MANY)
        yield from _each(name, "neuroids", neuroids, partial(_over_neuroids, load_metric(name)), _NEUROIDS)
        both = Resampling(("stimuli", "neuroids"), 200)
        drawn = partial(_over_stimuli, load_metric(name), and_neuroids=True)
        yield from _each(name, f"stimuli x {_NEUROIDS} neuroids", both, drawn, 60)
        drawn = partial(_over_stimuli, load_metric(name, error="jackknife"))
        yield from _each(f"{name}, jackknife", "stimuli", None, drawn, 30, many=_MANY)
    yield from _each("cka_cv", "stimuli", None, partial(_over_stimuli, load_metric("cka_cv", **_UNSTRATIFIED)), 100)
    yield from _each("cka over its ceiling", "stimuli", stimuli, _ceiled, 60, many=_MANY)
    for name, settings in (("ridge", {}), ("pls", {"n_components": 5}), ("neuron_to_neuron", {})):
        metric = load_metric(name, **_UNSTRATIFIED, **settings)
        for plan in (None, Resampling("stimuli", 100))[: 1 if name == "pls" else 2]:
            yield from _each(name, "stimuli", plan, partial(_over_stimuli, metric), 40, 200)
        yield from _each(name, "neuroids", neuroids, partial(_over_neuroids, metric, stimuli=100), _NEUROIDS)
    yield from _each("rdm of each subject", "subjects", None, partial(_of_subjects, False), 15)
    both, drawn = Resampling(("stimuli", "subjects"), 200), partial(_of_subjects, True)
    yield from _each("rdm of each subject", f"subjects x {_SHOWN} stimuli", both, drawn, 15)
    for name in ("accuracy", "error_consistency"):
        drawn = partial(_choices, load_metric(name), name == "accuracy")
        yield from _each(name, "stimuli", fewer, drawn, 30, 200)
    for name, of_ceiling in (("error_consistency", False), ("error_consistency, ceiling", True)):
        drawn = partial(_people, load_metric("error_consistency"), of_ceiling)
        yield from _each(name, "people", Resampling("subjects", 200), drawn, 8, 30)
    for name in ("i1", "i2n"):
        yield from _each(name, "images", fewer, partial(_signatures, load_metric(name)), 40, 120)
    yield from _each("internal_consistency", "stimuli", stimuli, partial(_ceiling, "stimuli"), 30, 100)
    for name in ("tuning_smoothness", "wiring_economy"):
        yield from _each(name, "stimuli", stimuli, partial(_on_a_sheet, load_metric(name)), 30, 100)
    yield from _each("internal_consistency", "neuroids", None, partial(_ceiling, "neuroids"), 60)


def coverage(row: Row, sets: int) -> dict[str, float]:
    """The share of data sets whose interval holds the true score, by kind of interval."""
    truth = _truth(row, sets)
    held: dict[str, list[bool]] = {}
    for number in range(sets):
        with in_draws(row.plan):
            score = row.simulate(np.random.default_rng([1, number]), row.n)
        known = score.sampling_uncertainty
        for kind in () if known is None else known.kinds:
            ends = score.interval(LEVEL, kind)
            if ends is not None and np.isfinite([ends.low, ends.high]).all():
                held.setdefault(kind, []).append(bool(ends.low <= truth <= ends.high))
    return {kind: float(np.mean(each)) for kind, each in held.items()}


def _truth(row: Row, sets: int) -> float:
    """Of very many stimuli, or the mean over data sets of the same size."""
    size, data_sets = (row.n, _FOR_TRUTH * sets) if row.many is None else (row.many, 8)
    return float(np.nanmean([float(row.simulate(np.random.default_rng([2, i]), size)) for i in range(data_sets)]))


def main() -> None:
    """Measure and print."""
    sets, wanted, _ = asked(__doc__, 500)
    warnings.simplefilter("ignore")
    print("| metric | data | interval over | share that holds the true score, by kind | s |")
    print("|---|---|---|---|---|")
    for row in rows():
        if not wanted(f"{row.name}, {row.size}"):
            continue
        start = time.perf_counter()
        shares = ", ".join(f"{kind} {share:.3f}" for kind, share in coverage(row, sets).items())
        over = "by default" if row.plan is None else " and ".join(row.plan.factors)
        print(f"| {row.name} | {row.size} | {over} | {shares} | {time.perf_counter() - start:.0f} |", flush=True)


if __name__ == "__main__":
    main()
