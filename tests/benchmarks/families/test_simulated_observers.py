"""Observers whose behaviour is drawn from a model that is known: scores and ceilings say what is true of them."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from bsjax import BehavioralAssembly, PropertyAssembly, load_benchmark, load_metric
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.labelled.normalise import each_split_over_sqrt_ceiling
from bsjax.models import PrecomputedFeatures
from tests.support import served_data as served
from tests.support.observers import VernierObserver, threshold

TRUTH = np.array(["cat", "dog"])


def assembly(values, **coords):
    columns = {name: ("presentation", np.asarray(column)) for name, column in coords.items()}
    return BehavioralAssembly(values, coords=columns, dims=["presentation"])


def named(right, truth):
    """The right name, or the other one."""
    return np.where(right, truth, np.where(truth == "cat", "dog", "cat"))


def benchmark_of(people, metric, **more):
    task = more.pop("task", "label")
    return BehavioralBenchmark("Simulated", people, task, metric, ceiling_func=partial(metric.ceiling, people), **more)


def naming(right_of_people, right_of_model):
    """People and a model who are right or wrong about the same images: (assembly of people, model)."""
    n = right_of_people.shape[1]
    stimuli, truth = served.stimuli_of(0), np.tile(TRUTH, n // 2)
    ids = np.array([f"image{row:05d}" for row in range(n)])
    stimuli = type(stimuli)({"stimulus_id": ids})
    who = np.repeat([f"p{k}" for k in range(len(right_of_people))], n)
    everyone = {"stimulus_id": np.tile(ids, len(right_of_people)), "truth": np.tile(truth, len(right_of_people))}
    people = assembly(
        named(right_of_people, truth).ravel(), **everyone, subject=who, condition=np.full(len(who), "all")
    )
    one = {"stimulus_id": ids, "truth": truth, "condition": np.full(n, "all")}
    model = PrecomputedFeatures(assembly(named(right_of_model, truth), **one), visual_degrees=8)
    return people.assign_attrs(stimulus_set=stimuli), model


@pytest.mark.parametrize("copied", [0.5, 0.9])
def test_error_consistency(copied):
    """Whoever is right or wrong as a common pattern has it on a share q of the images, else by chance: kappa is q q'.

    Two observers of the same accuracy agree by chance, but for the images on which both follow the pattern.
    """
    rng, n, q = np.random.default_rng(0), 6000, 0.7
    pattern = rng.random(n) < 0.75

    def observer(share):
        return np.where(rng.random(n) < share, pattern, rng.random(n) < 0.75)

    people, model = naming(np.stack([observer(q) for _ in range(6)]), observer(copied))
    benchmark = benchmark_of(people, load_metric("error_consistency"))
    score = benchmark(model)
    # The standard error of kappa is sqrt(o (1 - o) / n) / (1 - e); the model's own share in it does not average out.
    error = np.sqrt(0.25 / n) / 0.375
    assert float(score.unceiled) == pytest.approx(q * copied, abs=2 * error)
    assert float(benchmark.ceiling) == pytest.approx(q * q, abs=2 * error)
    assert float(score) == pytest.approx(copied / q, abs=3 * error / q**2)
    assert score.unceiled.error == pytest.approx(error, rel=1)


def test_accuracy_distance():
    rng, n = np.random.default_rng(1), 6000
    shares, own = np.array([0.6, 0.7, 0.8, 0.95]), 0.65
    people, model = naming(rng.random((4, n)) < shares[:, None], rng.random(n) < own)
    benchmark = benchmark_of(people, load_metric("accuracy_distance"))
    score = benchmark(model)
    truth = np.mean([1 - abs(own - q) / q for q in shares])
    ceiling = np.mean([1 - abs(p - q) / q for p, q in combinations(shares, 2)])
    error = 2 * np.sqrt(0.25 / n) / 0.6
    assert float(score.unceiled) == pytest.approx(truth, abs=error)
    assert float(benchmark.ceiling) == pytest.approx(ceiling, abs=error)
    assert float(score) == pytest.approx(truth / ceiling, abs=2 * error)


class Objects:
    """Images whose d' against each other object is known: with an effect of the image and one of the distractor.

    The shares of wrong choices follow from the d', the false alarms of an object from those of the others' images.
    """

    names = np.array(["bear", "car", "elephant", "plane", "table"])

    def __init__(self, seed, each=12, spread=0.5):
        rng = np.random.default_rng(seed)
        self.truth = np.repeat(np.arange(5), each)
        self.ids = np.array([f"image{row:03d}" for row in range(len(self.truth))])
        self.log_odds = 0.8 + spread * rng.normal(size=(len(self.truth), 5))

    def model(self, log_odds):
        """Probabilities whose pairwise odds, the right object against another, are given."""
        against = np.exp(-log_odds)
        against[np.arange(len(self.truth)), self.truth] = 1
        coords = {"stimulus_id": ("presentation", self.ids), "choice": self.names}
        values = against / against.sum(axis=1, keepdims=True)
        return BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])

    def trials(self, n, seed):
        rng = np.random.default_rng(seed)
        image = rng.integers(0, len(self.ids), n)
        other = (self.truth[image] + rng.integers(1, 5, n)) % 5
        right = rng.random(n) < 1 / (1 + np.exp(-self.log_odds[image, other]))
        sample, distractor = self.names[self.truth[image]], self.names[other]
        choice = np.where(right, sample, distractor)
        coords = {"stimulus_id": self.ids[image], "truth": sample, "sample_obj": sample, "dist_obj": distractor}
        stimuli = type(served.stimuli_of(0))({"stimulus_id": self.ids})
        return assembly(choice, **coords).assign_attrs(stimulus_set=stimuli)

    def d_primes(self, log_odds):
        """d' relative to the object, of shares of wrong choices that are known exactly."""
        wrong = 1 / (1 + np.exp(log_odds))
        wrong[np.arange(len(self.truth)), self.truth] = np.nan
        alarms = np.array(
            [[np.nanmean(wrong[self.truth == o, t]) if o != t else 0.5 for o in range(5)] for t in self.truth]
        )
        d = norm.ppf(1 - wrong) - norm.ppf(alarms)
        for t in range(5):
            d[self.truth == t] -= d[self.truth == t].mean(axis=0)
        return d[np.isfinite(d)]


@pytest.mark.slow
def test_object_confusions():
    """The model that the trials are drawn from reaches the ceiling; another one its true correlation with it."""
    world = Objects(seed=2)
    people = world.trials(60_000, seed=3)
    metric = load_metric("i2n", repetitions=10)
    benchmark = benchmark_of(
        people, metric, task="probabilities", fitting_stimuli=["none"], normalisation=each_split_over_sqrt_ceiling
    )
    itself = benchmark(PrecomputedFeatures(world.model(world.log_odds), visual_degrees=8))
    assert float(itself) == pytest.approx(1.0, abs=max(2 * itself.error, 0.02))
    other = world.log_odds + 0.5 * np.random.default_rng(4).normal(size=world.log_odds.shape)
    truth = np.corrcoef(world.d_primes(other), world.d_primes(world.log_odds))[0, 1]
    score = benchmark(PrecomputedFeatures(world.model(other), visual_degrees=8))
    assert 0.5 < truth < 0.8 and float(score) == pytest.approx(truth, abs=max(2 * score.error, 0.03))
    # Twice the trials: the reliability grows as Spearman and Brown say.
    less, more = float(metric.ceiling(world.trials(30_000, seed=5))), float(benchmark.ceiling)
    assert more == pytest.approx(2 * less / (1 + less), abs=0.03)


@pytest.mark.slow
def test_thresholds(serve):
    """From choices with lapses to the elevation that they were drawn from, and to the nearness of people's."""
    offsets = np.linspace(10.0, 400.0, 14)
    columns = {"vernier_offset_arcsec": np.tile(offsets, 20), "image_label": ["left", "right"] * 140}
    people = np.array([1.3, 1.6, 2.0, 2.4])
    for name, flankers, of_people in (("vernier_only", 0, np.ones(4)), ("short2", 2, people)):
        thresholds = PropertyAssembly(100 * of_people, coords={"subject": ("subject", list("abcd"))}, dims=["subject"])
        serve(f"Malania2007.{name}", thresholds)
        serve(f"Malania2007.{name}", stimuli=served.stimuli_of(280, name, num_flankers=[flankers] * 280, **columns))
    serve("Malania2007.short2_fit", stimuli=served.stimuli_of(2, "fit", image_label=["left", "right"]))
    benchmark = load_benchmark("Malania2007.short2-threshold_elevation")
    midpoints = {0: 100.0, 2: 180.0}
    truth = threshold(midpoints[2]) / threshold(midpoints[0])
    scores = [benchmark(VernierObserver(midpoints, seed)) for seed in range(6)]
    found = np.array([score.unceiled.provenance["threshold"] for score in scores])
    assert found.mean() == pytest.approx(truth, abs=2.6 * found.std(ddof=1) / np.sqrt(6))
    assert found.std(ddof=1) < 0.06 * truth
    nearness = np.mean(1 - np.abs(people - truth) / people)
    for score in scores:
        assert float(score.unceiled) == pytest.approx(nearness, abs=score.unceiled.error)
    # A model as good as one of the people scores, on average, what the people score against each other.
    alike = [[1 - abs(t - s) / t for t in people if t != s] for s in people]
    assert float(benchmark.ceiling) == pytest.approx(np.clip(alike, 0, None).mean())
