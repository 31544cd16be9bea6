"""A metric whose author defines its arrays, kernel and summary, and nothing else: what it gets for that."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bsjax
from bsjax import KernelMetric, Resampling, Score, load_metric
from bsjax.labelled.align import aligned_values
from bsjax.labelled.metric import CallableMetric, CeilingOf, WithCeiling, as_metric, scored
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.splits import CrossValidation
from bsjax.metrics import pearson
from tests.support.responses import assembly

N = 40
SPLITS = CrossValidation(splits=4, train_size=0.75, stratification_coord=None)
drawn_splits = []


@dataclass(frozen=True)
class Nearest(KernelMetric):
    """Correlation of the responses to held-out stimuli with those to the training stimulus of the nearest features."""

    identifier = "nearest"

    power: float = 2.0

    def arrays(self, source, target):
        splits = SPLITS.of(target)
        if "drawn_from" in target.coords:
            drawn_splits.extend((target["drawn_from"].values[rows] for rows in split) for split in splits)
        held_out = np.stack([np.isin(np.arange(len(target)), test) for _, test in splits])
        return *aligned_values(source, target), held_out

    def kernel(self, x, y, held_out):
        distances = (jnp.abs(x[:, None] - x[None]) ** self.power).sum(axis=-1)

        def of_split(test):
            nearest = jnp.argmin(jnp.where(test, jnp.inf, distances), axis=1)
            return pearson(y[nearest].ravel(), y.ravel(), where=jnp.repeat(test, y.shape[1]))

        return jax.vmap(of_split)(held_out)

    def summary(self, r, source, target):
        return Score(float(r.mean()))


def responses(seed, width, **coords):
    return assembly(np.random.default_rng(seed).normal(size=(N, width)), **coords)


def test_draws_of_noise_straddle_zero_by_splits_that_keep_copies_together():
    objects = {"object_name": ("presentation", np.repeat(list("abcdefgh"), N // 8))}
    for groups in (None, "object_name"):
        drawn_splits.clear()
        with in_draws(Resampling("stimuli", draws=30, groups=groups)):
            score = scored(Nearest(power=1.0), responses(0, 20, **objects), responses(1, 3, **objects))
        assert 0 in score.interval() and score.uncertainty.draws.sizes["draw"] == 30
        assert score.provenance.metric == "nearest" and score.provenance["power"] == 1
        assert len(drawn_splits) == 30 * 4
        assert not any(set(train) & set(test) for train, test in drawn_splits)


def test_it_is_scored_where_metrics_are():
    x = responses(0, 5)
    near, far = x + 0.01 * responses(2, 5).values, responses(3, 5)
    found = bsjax.score_sources(Nearest(), {"near": near, "far": far}, x)
    assert found["near"] > 0.2 > found["far"]
    assert bsjax.score_arrays(near.values, x.values, metric=Nearest()) == found["near"]


def test_one_without_a_kernel_cannot_be_defined():
    with pytest.raises(TypeError, match="must define kernel, summary"):

        class Kernelless(KernelMetric):
            def arrays(self, source, target):
                return aligned_values(source, target)


def test_whatever_is_called_is_a_metric():
    cka, i1 = load_metric("cka"), load_metric("i1")
    assert as_metric(cka) is cka and isinstance(as_metric(i1.ceiling), CeilingOf)
    plain = as_metric(lambda source, target: Score(1.0))
    assert isinstance(plain, CallableMetric) and plain.depends_on == "features" and not plain.symmetric
    x = responses(0, 5)
    assert as_metric(lambda source, target: 0.5)(x, x) == Score(0.5)
    with pytest.raises(TypeError) as raised:
        as_metric(lambda source, target: source @ None)(x, x)
    assert "KernelMetric" in raised.value.__notes__[0]


def test_draws_without_a_value_are_nan_and_a_metric_that_has_none_says_why():
    x = responses(0, 5)

    def refusing(source, target, fewest):
        if len(np.unique(target["drawn_from"])) < fewest:
            raise ValueError("too few stimuli")
        return Score(0.5)

    drawn = Resampling("stimuli", draws=40).sample([x, x])
    values = drawn.one_by_one(partial(refusing, fewest=26), [x, x])["values"]
    assert 0 < int(values.isnull().sum()) < 40
    with pytest.raises(ValueError, match="too few stimuli"):
        drawn.one_by_one(partial(refusing, fewest=N + 1), [x, x])


@pytest.mark.parametrize("name", ["ridge", "reverse_pls", "cka", "accuracy"])
def test_equal_metrics_have_equal_hashes(name):
    one, other = load_metric(name), load_metric(name)
    assert one == other and hash(one) == hash(other) and {one: 1}[other] == 1


def test_a_ceiling_beside_a_metric_has_draws_and_its_name():
    class Spread(WithCeiling):
        identifier = "spread"

        def __call__(self, source, target):
            return Score(float((source.values - target.values).std()))

        def ceiling(self, assembly):
            return Score(float(assembly.values.std()))

    with in_draws(Resampling("stimuli", draws=5)):
        score = scored(Spread().ceiling, responses(0, 3))
    assert score.uncertainty.draws.sizes["draw"] == 5 and score.provenance.metric == "spread"


@pytest.mark.parametrize(("draws", "calls"), [(4, 1), (5, 6)])
def test_only_draws_by_the_plan_that_is_asked_for_are_kept(draws, calls):
    called = []

    def with_its_own(source, target):
        called.append(1)
        with in_draws(Resampling("stimuli", draws=4)):
            return scored("cka", source, target)

    with in_draws(Resampling("stimuli", draws=draws)):
        score = scored(with_its_own, responses(0, 5), responses(1, 5))
    assert score.uncertainty.draws.sizes["draw"] == draws and len(called) == calls
