"""How often 95 % intervals hold the true score, on simulated recordings.

``python -m benchmarks_perf.calibration.coverage`` simulates 500 data sets for each row and prints the table of the
documentation; ``--rows "cka;rdm, heavy"`` some of them, ``--sets N`` fewer. What is drawn anew from one data set to the
next is what the interval is over. The true score of a similarity over stimuli is that of very many of them. Scores that
depend on how many there are, as of a regression on the stimuli that train it, or of a similarity on its neuroids, have
as true score the mean over data sets of that size.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bsjax import BehavioralAssembly, NeuroidAssembly, Resampling, load_ceiling, load_metric
from bsjax.labelled import Score
from bsjax.labelled.metric import scored
from bsjax.labelled.normalise import r_over_sqrt_ceiling
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.similarity.rdms.subject_responses import SubjectRDMSimilarity

LEVEL = 0.95
_LATENT, _FEATURES, _NEUROIDS, _TRIALS = 8, 20, 24, 4
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


class Coverage(NamedTuple):
    """What was found of a row: ``kind`` of interval -> share of data sets, and the mean width."""

    row: Row
    shares: dict[str, float]
    widths: dict[str, float]
    seconds: float


def _fixed(*shape: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def _recordings(stimuli: np.ndarray, weights: np.ndarray, rng: np.random.Generator, trials: int = 1) -> NeuroidAssembly:
    """Responses of neuroids with these weights, with noise, one presentation a trial."""
    n, units = len(stimuli), weights.shape[1]
    values = np.concatenate([stimuli @ weights + 3 * rng.normal(size=(n, units)) for _ in range(trials)])
    coords = {
        "stimulus_id": ("presentation", np.tile(np.arange(n), trials)),
        "repetition": ("presentation", np.repeat(np.arange(trials), n)),
        "neuroid_id": ("neuroid", np.arange(units)),
    }
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


def _features(stimuli: np.ndarray, rng: np.random.Generator) -> NeuroidAssembly:
    values = stimuli @ _fixed(_LATENT, _FEATURES) + 2 * rng.normal(size=(len(stimuli), _FEATURES))
    return NeuroidAssembly(
        values,
        coords={"stimulus_id": ("presentation", np.arange(len(stimuli))), "neuroid_id": ("neuroid", range(_FEATURES))},
        dims=["presentation", "neuroid"],
    )


def _over_stimuli(metric: Any, and_neuroids: bool = False) -> Callable[[np.random.Generator, int], Score]:
    def simulate(rng: np.random.Generator, n: int) -> Score:
        stimuli = rng.normal(size=(n, _LATENT))
        weights = rng.normal(size=(_LATENT, _NEUROIDS)) if and_neuroids else _fixed(_LATENT, _NEUROIDS)
        return scored(metric, _features(stimuli, rng), _recordings(stimuli, weights, rng))

    return simulate


def _over_neuroids(metric: Any, stimuli: int = 60) -> Callable[[np.random.Generator, int], Score]:
    def simulate(rng: np.random.Generator, n: int) -> Score:
        shown = _fixed(stimuli, _LATENT)
        features = _features(shown, np.random.default_rng(3))
        return scored(metric, features, _recordings(shown, rng.normal(size=(_LATENT, n)), rng))

    return simulate


def _of_subjects(both: bool, stimuli: int = 30) -> Callable[[np.random.Generator, int], Score]:
    """RSA of subjects who share most of what they respond to; ``n`` subjects, stimuli drawn anew as well or not."""

    def simulate(rng: np.random.Generator, n: int) -> Score:
        shown = rng.normal(size=(stimuli, _LATENT)) if both else _fixed(stimuli, _LATENT)
        features = _features(shown, rng if both else np.random.default_rng(3))
        weights = np.concatenate([_fixed(_LATENT, 10) + 0.7 * rng.normal(size=(_LATENT, 10)) for _ in range(n)], axis=1)
        subjects = _recordings(shown, weights, rng)
        named = subjects.assign_coords(subject=("neuroid", np.repeat([f"s{i}" for i in range(n)], 10)))
        return scored(SubjectRDMSimilarity(), features, named)

    return simulate


def _choices(metric: str, **settings: Any) -> Callable[[np.random.Generator, int], Score]:
    """A model and people on the same images, which are hard to a different degree."""
    made = load_metric(metric, **settings)

    def simulate(rng: np.random.Generator, n: int) -> Score:
        hard = rng.normal(size=n)
        coords = {
            "stimulus_id": ("presentation", np.arange(n)),
            "truth": ("presentation", ["dog"] * n),
            "condition": ("presentation", ["clear"] * n),
            "subject": ("presentation", ["model"] * n),
        }
        sides = []
        for subject in ("model", "person"):
            right = hard + rng.normal(size=n) < 0.7
            named = coords | {"subject": ("presentation", [subject] * n)}
            sides.append(BehavioralAssembly(np.where(right, "dog", "cat"), coords=named, dims=["presentation"]))
        if metric == "accuracy":
            sides[1] = sides[1].copy(data=np.full(n, "dog"))
        return scored(made, *sides)

    return simulate


def _people(metric: Any, of: str, images: int = 40) -> Callable[[np.random.Generator, int], Score]:
    """A model and ``n`` people, who find the same images hard; or one another, where it is a ceiling."""

    def simulate(rng: np.random.Generator, n: int) -> Score:
        hard = _fixed(images)
        who = ["model", *(f"p{i}" for i in range(n))]
        skill = np.r_[0.5, rng.normal(0.6, 0.4, n)]
        right = skill[:, None] > hard + np.r_[_fixed(1, images, seed=8), rng.normal(size=(n, images))]
        coords = {
            "stimulus_id": ("presentation", np.tile(np.arange(images), n + 1)),
            "truth": ("presentation", ["dog"] * images * (n + 1)),
            "condition": ("presentation", ["clear"] * images * (n + 1)),
            "subject": ("presentation", np.repeat(who, images)),
        }
        every = BehavioralAssembly(np.where(right.ravel(), "dog", "cat"), coords=coords, dims=["presentation"])
        people = every.isel(presentation=slice(images, None))
        return scored(metric.ceiling, people) if of == "ceiling" else scored(metric, every[:images], people)

    return simulate


def _signatures(metric: Any, objects: int = 4, trials: int = 40) -> Callable[[np.random.Generator, int], Score]:
    """Two-way choices of a crowd and a model's probabilities, of ``n`` images that differ in how hard they are."""
    names = np.array([f"object{i}" for i in range(objects)])

    def simulate(rng: np.random.Generator, n: int) -> Score:
        truth = np.arange(n) % objects
        confused = rng.normal(size=(n, objects))  # how much each image looks like each object
        confused[np.arange(n), truth] += 2
        ours = np.exp(confused + 0.5 * rng.normal(size=(n, objects)))
        image = np.repeat(np.arange(n), trials)
        other = (truth[image] + rng.integers(1, objects, len(image))) % objects
        odds = confused[image, truth[image]] - confused[image, other]
        chosen = np.where(rng.random(len(image)) < 1 / (1 + np.exp(-odds)), truth[image], other)
        source = BehavioralAssembly(
            ours,
            coords={"stimulus_id": ("presentation", np.arange(n)), "choice": ("choice", names)},
            dims=["presentation", "choice"],
        )
        coords = {"stimulus_id": image, "truth": names[truth[image]], "sample_obj": names[truth[image]]}
        coords |= {"dist_obj": names[other]}
        target = BehavioralAssembly(
            names[chosen], coords={name: ("presentation", c) for name, c in coords.items()}, dims=["presentation"]
        )
        return scored(metric, source, target)

    return simulate


def _ceiling(over: str) -> Callable[[np.random.Generator, int], Score]:
    metric = load_ceiling("internal_consistency")

    def simulate(rng: np.random.Generator, n: int) -> Score:
        if over == "stimuli":
            stimuli, weights = rng.normal(size=(n, _LATENT)), _fixed(_LATENT, _NEUROIDS)
        else:
            stimuli, weights = _fixed(60, _LATENT), rng.normal(size=(_LATENT, n))
        return scored(metric, _recordings(stimuli, weights, rng, _TRIALS))

    return simulate


def _on_a_sheet(name: str, units: int = 20) -> Callable[[np.random.Generator, int], Score]:
    """Neuroids at random places, tuned alike where they are near, with as much noise."""
    metric, places = load_metric(name), 2 * _fixed(units, 2)
    near = np.exp(-(np.linalg.norm(places[:, None] - places[None], axis=2) ** 2) / 2)
    tuning = np.linalg.cholesky(near + 1e-9 * np.eye(units)).T

    def simulate(rng: np.random.Generator, n: int) -> Score:
        values = rng.normal(size=(n, units)) @ tuning + rng.normal(size=(n, units))
        coords = {"stimulus_id": ("presentation", np.arange(n)), "neuroid_id": ("neuroid", np.arange(units))}
        coords |= {name: ("neuroid", places[:, axis]) for axis, name in enumerate("xy")}
        return scored(metric, NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"]))

    return simulate


def _ceiled(rng: np.random.Generator, n: int) -> Score:
    """CKA over the root of its ceiling, both drawn together."""
    metric = load_metric("cka")
    stimuli = rng.normal(size=(n, _LATENT))
    trials = _recordings(stimuli, _fixed(_LATENT, _NEUROIDS), rng, _TRIALS)
    averages = trials.values.reshape(_TRIALS, n, -1).mean(axis=0)
    target = trials.isel(presentation=slice(n)).copy(data=averages)
    score = scored(metric, _features(stimuli, rng), target)
    ceiling = scored(load_ceiling("internal_consistency", consistency_metric=metric), trials)
    return r_over_sqrt_ceiling(score, ceiling)


def rows() -> Iterator[Row]:
    """All rows of the table."""
    stimuli, neuroids = Resampling("stimuli", draws=400), Resampling("neuroids", draws=400)
    refitted = Resampling("stimuli", draws=100)
    for name in ("cka", "rdm"):
        by_influence = load_metric(name, error="influence")
        for n in (30, 100):
            yield Row(name, f"{n} stimuli", stimuli, _over_stimuli(by_influence), n, _MANY)
        yield Row(name, f"{_NEUROIDS} neuroids", neuroids, _over_neuroids(load_metric(name)), _NEUROIDS)
        both = Resampling(("stimuli", "neuroids"), draws=200)
        yield Row(
            name, f"60 stimuli x {_NEUROIDS} neuroids", both, _over_stimuli(load_metric(name), and_neuroids=True), 60
        )
        yield Row(
            f"{name}, jackknife", "30 stimuli", None, _over_stimuli(load_metric(name, error="jackknife")), 30, _MANY
        )
    yield Row("cka_cv", "100 stimuli", None, _over_stimuli(load_metric("cka_cv", **_UNSTRATIFIED)), 100, None)
    yield Row("cka over its ceiling", "60 stimuli", stimuli, _ceiled, 60, _MANY)
    for name in ("ridge", "pls", "neuron_to_neuron"):
        settings = {"n_components": 5} if name == "pls" else {}
        metric = load_metric(name, **_UNSTRATIFIED, **settings)
        for n in (40, 200):
            yield Row(name, f"{n} stimuli", None, _over_stimuli(metric), n)
        if name != "pls":
            yield Row(name, "40 stimuli", refitted, _over_stimuli(metric), 40)
            yield Row(name, "200 stimuli", refitted, _over_stimuli(metric), 200)
        yield Row(name, f"{_NEUROIDS} neuroids", neuroids, _over_neuroids(metric, 100), _NEUROIDS)
    yield Row("rdm of each subject", "15 subjects", None, _of_subjects(False), 15)
    both = Resampling(("stimuli", "subjects"), draws=200)
    yield Row("rdm of each subject", "15 subjects x 30 stimuli", both, _of_subjects(True), 15, None)
    for name in ("accuracy", "error_consistency"):
        for n in (30, 200):
            yield Row(name, f"{n} stimuli", Resampling("stimuli", draws=200), _choices(name), n, None)
    subjects = Resampling("subjects", draws=200)
    for of in ("people", "ceiling"):
        for n in (8, 30):
            name = "error_consistency" + (", ceiling" if of == "ceiling" else "")
            yield Row(name, f"{n} people", subjects, _people(load_metric("error_consistency"), of), n)
    for name in ("i1", "i2n"):
        for n in (40, 120):
            yield Row(name, f"{n} images", Resampling("stimuli", draws=200), _signatures(load_metric(name)), n)
    for n in (30, 100):
        yield Row("internal_consistency", f"{n} stimuli", stimuli, _ceiling("stimuli"), n, None)
    for name in ("tuning_smoothness", "wiring_economy"):
        for n in (30, 100):
            yield Row(name, f"{n} stimuli", stimuli, _on_a_sheet(name), n, None)
    yield Row("internal_consistency", "60 neuroids", None, _ceiling("neuroids"), 60, None)


def coverage(row: Row, sets: int) -> Coverage:
    """The share of data sets whose interval holds the true score, by kind of interval."""
    start = time.perf_counter()
    truth = _truth(row, sets)
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for number in range(sets):
        with in_draws(row.plan):
            score = row.simulate(np.random.default_rng([1, number]), row.n)
        known = score.sampling_uncertainty
        for kind in () if known is None else known.kinds:
            ends = score.interval(LEVEL, kind)
            if ends is not None and np.isfinite([ends.low, ends.high]).all():
                held.setdefault(kind, []).append(bool(ends.low <= truth <= ends.high))
                widths.setdefault(kind, []).append(float(ends.high - ends.low))
    shares = {kind: float(np.mean(each)) for kind, each in held.items()}
    return Coverage(row, shares, {k: float(np.mean(each)) for k, each in widths.items()}, time.perf_counter() - start)


def _truth(row: Row, sets: int) -> float:
    if row.many is not None:
        return float(np.mean([float(row.simulate(np.random.default_rng([2, i]), row.many)) for i in range(8)]))
    values = [float(row.simulate(np.random.default_rng([2, i]), row.n)) for i in range(_FOR_TRUTH * sets)]
    return float(np.nanmean(values))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--rows", default="", help="beginnings of rows (metric, data), with ; between")
    given = parser.parse_args()
    wanted = [name for name in given.rows.split(";") if name]
    warnings.simplefilter("ignore")
    print("| metric | data | interval over | share that holds the true score, by kind | s |")
    print("|---|---|---|---|---|")
    for row in rows():
        if wanted and not any(f"{row.name}, {row.size}".startswith(name) for name in wanted):
            continue
        found = coverage(row, given.sets)
        over = "by default" if row.plan is None else " and ".join(row.plan.factors)
        shares = ", ".join(f"{kind} {share:.3f}" for kind, share in found.shares.items())
        print(f"| {row.name} | {row.size} | {over} | {shares} | {found.seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
