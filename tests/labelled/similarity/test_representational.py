import numpy as np
import pytest

from bsjax import Resampling, load_metric
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.similarity.representational import RepresentationalSimilarity
from bsjax.metrics.similarity.similarity import Similarity

pytestmark = pytest.mark.slow


@pytest.fixture
def more(make):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 12))
    return make(x), make(x[:, :7] + rng.normal(size=(60, 7)), prefix="site")


def test_an_undefined_similarity_is_nan_and_counted(more):
    source, target = more
    flat = source.copy(data=np.full(source.shape, 2.0))
    for name in ("cka", "rdm"):
        score = load_metric(name)(flat, target)
        assert np.isnan(float(score)) and score.n_undefined == 1


def test_too_few_stimuli(more):
    source, target = more
    with pytest.raises(ValueError, match="cka needs at least 4 stimuli, there are 3"):
        load_metric("cka")(source[:3], target[:3])
    with pytest.raises(ValueError, match="too few stimuli for a jackknife"):
        load_metric("cka", error="jackknife")(source[:6], target[:6])
    mine = Similarity(lambda x, y: 0.0, 4, compares_pairs=True)
    with pytest.raises(ValueError, match="mine has no error by bootstrap: pass error='jackknife', or None"):
        RepresentationalSimilarity(mine, "mine", "bootstrap")


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [("cka", "jackknife", "jackknife of 10 groups"), ("rdm", "bootstrap", "50 bootstrap draws")],
)
def test_the_error_is_that_of_new_stimuli(make, name, error, words):
    def draw(seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(50, 6))
        return [make(side).drop_vars("object_name") for side in (x, x[:, :4] + rng.normal(size=(50, 4)))]

    metric, plain = load_metric(name, error=error, n_bootstraps=50), load_metric(name)
    scores = [metric(*draw(seed)) for seed in range(15)]
    assert 0.6 < np.mean([s.error for s in scores]) / np.std([float(s) for s in scores]) < 1.7
    assert words in scores[0].error_kind and plain(*draw(0)).error is None
    assert float(scores[0]) == pytest.approx(float(plain(*draw(0))), abs=1e-12)
    if error == "bootstrap":
        assert scores[0].raw.shape == (50,) and scores[0].raw.values.std() > 0


@pytest.mark.parametrize("name", ["procrustes", "rdm"])
@pytest.mark.parametrize("over", ["neuroids", "stimuli"])
def test_an_error_by_draws_of_its_own_gives_way_to_a_plan(more, name, over):
    with in_draws(Resampling(over, draws=10)):
        own, plain = (scored(load_metric(name, error=error), *more) for error in ("bootstrap", None))
    assert own.interval() == plain.interval() and own.raw.shape == (10,)


@pytest.mark.parametrize("how", ["error", "draws"])
def test_the_error_of_heavy_tailed_responses_is_that_of_new_stimuli(make, how):
    """Of which few stimuli carry the variance: derivatives give two thirds of it."""

    def data(seed):
        rng = np.random.default_rng(seed)
        x = np.exp(0.8 * rng.normal(size=(40, 6)))
        return make(x), make(x @ np.random.default_rng(0).normal(size=(6, 5)) + rng.normal(size=(40, 5)))

    if how == "error":
        scores = [load_metric("cka", error="influence")(*data(seed)) for seed in range(24)]
    else:
        with in_draws(Resampling(draws=4)):
            scores = [scored(load_metric("cka"), *data(seed)) for seed in range(24)]
    spread = np.std([float(score) for score in scores], ddof=1)
    assert 0.85 * spread < np.sqrt(np.mean([score.error**2 for score in scores])) < 1.5 * spread


def test_few_stimuli_that_carry_all_are_warned_of(make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 6))
    x[:2] *= 100
    with pytest.warns(UserWarning, match=r"most of the error of cka is that of [123] of 60 stimuli.*heavy tails"):
        load_metric("cka", error="influence")(make(x), make(x + 3 * rng.normal(size=x.shape)))


@pytest.mark.parametrize(("metric", "fewest"), [("cka", 4), ("rdm", 3)])
def test_as_few_stimuli_as_a_similarity_takes_give_no_error(make, metric, fewest):
    rng = np.random.default_rng(0)
    for n, known in ((fewest, False), (fewest + 1, True)):
        score = load_metric(metric, error="influence")(*(make(rng.normal(size=(n, 30))) for _ in range(2)))
        assert np.isfinite(float(score)) and (score.error is not None) is known, n
        if not known:
            assert score.error_kind.startswith("none: ") and score.interval() is None


@pytest.mark.parametrize(("metric", "factor"), [("rdm", "neuroids"), ("cka", "subjects")])
def test_the_error_over_neuroids_leaves_each_out(more, metric, factor):
    """Draws of few neuroids spread too little: of six, for CKA of noise, .04 where data sets spread by .06."""
    source, target = more
    who = target.assign_coords(subject=("neuroid", list("aabbccc")))
    with in_draws(Resampling(factor, draws=5)):
        score = scored(load_metric(metric), source, who)
    labels = who["neuroid_id" if factor == "neuroids" else "subject"].values
    without = [float(load_metric(metric)(source, target[:, labels != label])) for label in np.unique(labels)]
    n = len(without)
    assert score.error == pytest.approx(np.sqrt((n - 1) ** 2 / n * np.var(without, ddof=1)), rel=1e-6)
    assert score.uncertainty.dof == n - 1
