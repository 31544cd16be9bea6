"""Draws by identifiers: of a score, its ceiling and other models alike, whatever the order of rows."""

import numpy as np
import pytest
from scipy import stats

import bsjax
from bsjax import Resampling, Score, load_ceiling, load_metric
from bsjax.engine.precision import precision
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.similarity import representational
from bsjax.labelled.similarity.rdms.subject_responses import SubjectRDMSimilarity
from bsjax.metrics import cka_bootstraps, compiled, rdm_bootstraps
from bsjax.metrics.resampling import bootstraps
from tests.support.responses import assembly
from tests.support.single_trials import recording

UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 3, "train_size": 0.8}}


def responses(values, ids=None, **of_neuroids):
    return assembly(values, ids, **{name: ("neuroid", labels) for name, labels in of_neuroids.items()})


@pytest.fixture
def sides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6))
    return responses(x), responses(x[:, :4] + rng.normal(size=(40, 4)), subject=["a", "a", "b", "b"])


def test_what_a_draw_holds_depends_on_identifiers_and_not_on_their_order():
    plan, ids = Resampling("stimuli", draws=20), np.array([f"image{i}" for i in range(30)])
    order = np.random.default_rng(0).permutation(30)
    np.testing.assert_array_equal(plan.counts("stimuli", ids)[:, order], plan.counts("stimuli", ids[order]))
    assert (plan.counts("stimuli", ids).sum(axis=1) == 30).all()
    assert plan.key({"stimuli": ids}) == plan.key({"stimuli": ids[order]}) != plan.key({"stimuli": ids[1:]})
    assert plan.key({"stimuli": ids}) != Resampling("stimuli", draws=20, seed=1).key({"stimuli": ids})
    other = plan.counts("neuroids", ids)  # drawn by themselves
    assert not np.array_equal(other, plan.counts("stimuli", ids))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"over": "images"}, "over must be one or two different ones of stimuli, neuroids, subjects"),
        ({"draws": 1}, "draws"),
        ({"over": "neuroids", "groups": "object_name"}, "groups is a coordinate of the stimuli"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(given, says):
    with pytest.raises(ValueError, match=says):
        Resampling(**given)
    for text in ("stimuli:many", "images", ""):
        with pytest.raises(ValueError, match="over must be|number of draws"):
            Resampling.parse(text)


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "kernel"), [("cka", cka_bootstraps), ("rdm", rdm_bootstraps)])
def test_draws_of_a_similarity_are_its_bootstraps(sides, metric, kernel):
    source, target = sides
    plan = Resampling("stimuli", draws=30)
    with in_draws(plan):
        score = scored(load_metric(metric), source[np.random.default_rng(1).permutation(40)], target)
    counts = plan.counts("stimuli", target["stimulus_id"].values)
    with precision("float64"):
        expected = np.asarray(compiled(kernel)(source.values, target.values, counts))
    np.testing.assert_allclose(score.uncertainty.draws, expected, rtol=1e-9)
    assert float(score) == pytest.approx(float(load_metric(metric)(source, target)), abs=1e-14)
    assert score.error == pytest.approx(np.linalg.norm(score.uncertainty.influence))
    assert score.error == pytest.approx(expected.std(ddof=1), rel=0.3)
    assert score.error_kind == "standard error over stimuli, 30 bootstrap draws"


@pytest.mark.slow
def test_score_draws_and_influence_of_an_rdm_are_of_sides_aligned_once_and_rdms_formed_once(sides, monkeypatch):
    called = []
    for module, name in ((representational, "order_of"), (bootstraps, "rdm_to_compare")):
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, w=whole, n=name: called.append(n) or w(*args))
    metric, source = load_metric("rdm", comparison="cosine"), sides[0].isel(neuroid=slice(1, None))
    with in_draws(Resampling("stimuli", draws=7)):
        score = scored(metric, source, sides[1])
    assert sorted(called) == ["order_of", "rdm_to_compare", "rdm_to_compare"]
    assert float(score) == pytest.approx(float(metric(source, sides[1])), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "over"),
    [
        ("cka", ("stimuli", "neuroids")),
        ("ridge", ("stimuli", "subjects")),
        ("ridge", ("neuroids", "subjects")),
    ],
)
def test_neuroids_and_subjects_are_drawn_alone_and_with_stimuli(sides, metric, over):
    source, target = sides
    arguments = UNSTRATIFIED if metric == "ridge" else {}
    plan = Resampling(over, draws=12)
    with in_draws(plan):
        score = scored(load_metric(metric, **arguments), source, target)
    known = score.uncertainty
    assert known.over == plan.factors and np.isfinite(known.standard_error)
    factor = plan.factors[-1]
    counts = plan.counts(factor, np.unique(target["neuroid_id" if factor == "neuroids" else "subject"]))
    held = counts if factor == "neuroids" else np.repeat(counts, 2, axis=1)
    alone = known.draws.sel(factor=factor)
    for draw in range(3):
        copies = target.isel(neuroid=np.repeat(np.arange(4), held[draw]))
        assert alone[draw] == pytest.approx(float(load_metric(metric, **arguments)(source, copies)), rel=1e-6)
    if over == ("neuroids", "subjects"):  # a neuroid is as often in a draw of both as its own draw times its subject's
        times = plan.counts("neuroids", target["neuroid_id"].values) * held
        copies = target.isel(neuroid=np.repeat(np.arange(4), times[2]))
        found = float(load_metric(metric, **arguments)(source, copies))
        assert known.draws.sel(factor="both")[2] == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("over", ["neuroids", ("subjects", "neuroids")])
def test_neuroids_whose_identifiers_repeat_are_those_of_their_subjects(sides, over):
    source, target = sides
    target, metric = target.assign_coords(neuroid_id=("neuroid", [0, 1, 0, 1])), load_metric("cka")
    plan = Resampling(over, draws=5)
    assert plan.sample([target]).drawn_alike("neuroids") == (4, 3)
    with in_draws(plan):
        at_once, one_by_one = (scored(each, source, target).uncertainty for each in (metric, metric.__call__))
    np.testing.assert_allclose(at_once.draws, one_by_one.draws, rtol=1e-9)
    if over == "neuroids":
        with pytest.raises(ValueError, match=r"unique in each subject; more than once: 2 identifiers \(0, 1\)"):
            plan.sample([target.drop_vars("subject")])


def test_draws_do_not_depend_on_how_stimuli_are_written(sides):
    ids = np.arange(40)
    kinds = [{"stimulus_id": ("presentation", each), "row": ("presentation", ids)} for each in (ids, 1.0 * ids)]
    whole, floats = ([side.assign_coords(kind) for side in sides] for kind in kinds)
    stacked = [side.set_index(presentation=["stimulus_id", "row"]) for side in whole]
    found = []
    for pair in (whole, [floats[0], whole[1]], stacked):
        with in_draws(Resampling(draws=3)):
            found.append(scored(load_metric("cka").__call__, *pair).uncertainty.draws)
    np.testing.assert_array_equal(found[1:], found[:1] * 2)
    with pytest.raises(ValueError, match=r"lack 10 stimulus_id \(30, 31, 32, 33, 34 ...\)"):
        Resampling(draws=3).sample([whole[1][:30]]).in_order("stimuli", ids)


@pytest.mark.slow
def test_a_ceiling_is_drawn_with_the_score():
    plan = Resampling("stimuli", draws=20)
    score = bsjax.score("pixels", "Simulated.V1-ridge", resampling=plan)
    assert score.uncertainty.plan == score.unceiled.uncertainty.plan == score.ceiling.uncertainty.plan
    r, c = (part.uncertainty.draws.values for part in (score.unceiled, score.ceiling))
    np.testing.assert_allclose(score.uncertainty.draws, np.abs(r) * r / c)
    plain = bsjax.score("pixels", "Simulated.V1-ridge")
    assert plain == score and plain.ceiling == score.ceiling and plain.uncertainty.draws is None


def test_draws_of_a_ceiling_are_the_ceilings_of_the_drawn_stimuli():
    trials, plan = recording(n=30, u=3).sortby(["repetition", "stimulus_id"]), Resampling("stimuli", draws=10)
    ceiling = load_ceiling("internal_consistency")
    with in_draws(plan):
        score = scored(ceiling, trials)
    drawn = plan.sample([trials])
    for draw in range(3):
        rows = np.repeat(np.arange(30), drawn.counts["stimuli"][draw])
        every = (np.arange(4)[:, None] * 30 + rows).ravel()
        copied = trials.isel(presentation=every)
        copied["stimulus_id"] = "presentation", np.tile(np.arange(30), 4)
        assert score.uncertainty.draws[draw] == pytest.approx(float(ceiling(copied)), rel=1e-9)
    assert score.interval().low < float(score) < score.interval().high


def test_what_has_no_identifiers_cannot_be_drawn(sides):
    source, target = sides
    with pytest.raises(ValueError, match="resampling subjects needs the coordinate 'subject'"), in_draws("subjects"):
        scored(load_metric("cka"), source, target.drop_vars("subject"))
    with pytest.raises(ValueError, match="cannot resample stimuli"), in_draws("stimuli"):
        scored(load_metric("rdm", comparison="tau-a"), source, target)
    with pytest.raises(ValueError, match="at least 2"), in_draws("neuroids"):
        scored(load_metric("cka"), source, target.isel(neuroid=[0]))


@pytest.mark.slow
def test_the_rdms_of_subjects_are_drawn_over_stimuli_and_subjects():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(12, 4))
    values = np.concatenate([shared + rng.normal(size=shared.shape) for _ in range(3)], axis=1)
    subjects = responses(values, subject=np.repeat(["a", "b", "c"], 4))
    plan = Resampling(("stimuli", "subjects"), draws=8)
    metric, ceiling = SubjectRDMSimilarity(), load_ceiling("rsa_ceiling")
    with in_draws(plan):
        score, high = scored(metric, responses(shared), subjects), scored(ceiling, subjects)
    assert score.uncertainty.plan == high.uncertainty.plan and score.uncertainty.over == ("stimuli", "subjects")
    counts = plan.counts("subjects", ["a", "b", "c"])
    alone = score.uncertainty.draws.sel(factor="subjects")
    np.testing.assert_allclose(alone, counts @ score.raw.values / 3, rtol=1e-9)
    # Stimuli that a draw holds once each are the stimuli of a smaller experiment, in which copies make no pairs.
    held = plan.counts("stimuli", subjects["stimulus_id"].values)[0]
    rows = np.repeat(np.arange(12), held)
    apart = rows[:, None] != rows[None, :]
    # Dissimilarities of copies are equal, which BLAS gives other last digits.
    rdms = [np.round(1 - np.corrcoef(side[rows]), 12) for side in (shared, *np.split(values, 3, axis=1))]
    pairs = [rdm[np.triu(apart, 1)] for rdm in rdms]
    each = [stats.spearmanr(pairs[0], pairs[1 + s]).statistic for s in range(3)]
    np.testing.assert_allclose(score.uncertainty.draws.sel(factor="stimuli")[0], np.mean(each), rtol=1e-9)
    np.testing.assert_allclose(score.uncertainty.draws.sel(factor="both")[0], counts[0] @ each / 3, rtol=1e-9)
    pooled = np.average(pairs[1:], axis=0, weights=counts[0])
    upper = [stats.spearmanr(pooled, pairs[1 + s]).statistic for s in range(3)]
    np.testing.assert_allclose(high.uncertainty.draws.sel(factor="both")[0], counts[0] @ upper / 3, rtol=1e-9)
    with pytest.raises(ValueError, match="not over neuroids"), in_draws("neuroids"):
        scored(metric, responses(shared), subjects)


class _Rows:
    """An estimator that notes which rows it trains on and tests, and predicts what the nearest one was."""

    def __init__(self):
        self.shared = 0

    def fit(self, x, y):
        self.x, self.y = x, y
        return self

    def predict(self, x):
        distances = ((x[:, None] - self.x[None]) ** 2).sum(axis=2)
        self.shared += int((distances < 1e-20).sum())
        return self.y[distances.argmin(axis=1)]


SPLITTERS = [
    {"splits": 3, "train_size": 0.8, "stratification_coord": "object_name"},
    {"splits": 3, "kfold": True, "group_coord": "object_name"},
    {"splits": 3, "contiguous": True},
    {"splits": 3, "split_coord": "image_id"},
]


@pytest.mark.slow
@pytest.mark.parametrize("kwargs", SPLITTERS, ids=str)
def test_no_splitter_parts_the_copies_of_a_stimulus(kwargs):
    rng = np.random.default_rng(0)
    labels = {"object_name": ("presentation", list("abcdef") * 6), "image_id": ("presentation", np.arange(36) * 7)}
    source, target = (responses(rng.normal(size=(36, w))).assign_coords(labels) for w in (4, 5))
    estimator = _Rows()
    kwargs = {"stratification_coord": None, **kwargs}
    metric = load_metric("regression", crossvalidation_kwargs=kwargs, estimator=estimator)
    metric(source, target)
    assert estimator.shared == 0
    with in_draws(Resampling("stimuli", draws=8)):
        score = scored(metric, source, target)
    assert np.isfinite(score.uncertainty.draws).all() and estimator.shared == 0


@pytest.mark.slow
@pytest.mark.parametrize("over", ["stimuli", "subjects"])
def test_draws_of_subjects_of_noise_straddle_zero(over):
    """A copy of a subject on the other side of a fit would be predicted from itself."""
    target = responses(np.random.default_rng(1).normal(size=(60, 6)), subject=list("aabbcc"))
    metric = load_metric("cross_subject_consistency", metric="ridge", how="leave_one_out", **UNSTRATIFIED)
    with in_draws(Resampling(over, draws=10)):
        score = scored(metric, target)
    assert abs(float(score.uncertainty.draws.mean()) - float(score)) < 0.15 and 0 in score.interval()


def test_values_that_are_all_equal_say_nothing(sides):
    with in_draws(Resampling("stimuli", draws=5)):
        score = scored(lambda source, target: Score(0.25 + 1e-17 * len(source)), *sides)
    assert np.isnan(score.interval().low) and score.error is None and "equal up to rounding" in score.error_kind


@pytest.mark.slow
def test_the_influences_of_a_group_are_summed_and_those_of_a_stratum_centred():
    rng = np.random.default_rng(0)
    kinds = np.repeat(list("abcdefgh"), 8)
    common = np.repeat(rng.normal(size=(8, 10)), 8, axis=0)
    sides = [assembly(common + rng.normal(size=(64, 10)), kind=("presentation", kinds)) for _ in range(2)]
    known = []
    for settings in ({}, {"groups": "kind"}, {"strata": "kind"}):
        with in_draws(Resampling("stimuli", draws=100, **settings)):
            known.append(scored(load_metric("cka"), *sides).uncertainty)
    plain, groups, strata = known
    assert (plain.dof, groups.dof, strata.dof) == (63, 7, 56)
    order = np.argsort(sides[1]["stimulus_id"].values.astype(str), kind="stable")
    sums = np.array([plain.influence.values[kinds[order] == kind].sum() for kind in "abcdefgh"])
    np.testing.assert_allclose(groups.influence, sums * np.sqrt((8 / 7) / (64 / 63)), atol=1e-12)
    # Draws of groups spread by what the groups add; those within strata less than those of all.
    assert groups.standard_error == pytest.approx(float(groups.draws.std()), rel=0.5)
    assert strata.standard_error < plain.standard_error < groups.standard_error


@pytest.mark.slow
def test_training_stimuli_of_a_fixed_split_are_drawn_in_groups(sides, monkeypatch):
    labels = {"object_name": ("presentation", np.repeat(list("abcdefgh"), 5))}
    source, target = (side.assign_coords(labels) for side in sides)
    parts = [side[first::2] for side in (source, target) for first in (0, 1)]
    seen, counts = [], Resampling.counts
    monkeypatch.setattr(Resampling, "counts", lambda *given, **more: seen.append(counts(*given, **more)) or seen[-1])
    bare = [part.drop_vars("object_name") for part in parts]
    with in_draws(Resampling("stimuli", draws=5, groups="object_name")):
        scored(load_metric("ridge_split"), *parts)
        scored(load_metric("ridge_split"), parts[0], parts[1], bare[2], parts[3])  # the source says the groups
        with pytest.raises(ValueError, match="have a coordinate 'object_name' of the training stimuli"):
            scored(load_metric("ridge_split"), *bare[:3], parts[3])
    for found, part in zip(seen[:4], (parts[3], parts[2]) * 2, strict=True):
        for name in "abcdefgh":  # all of a group as often
            assert (np.ptp(found[:, part["object_name"].values == name], axis=1) == 0).all()


def test_draws_of_different_width_are_refused_where_zeros_would_count(sides):
    target = sides[1].assign_coords(subject=("neuroid", list("abbb")))
    drawn = Resampling("subjects", draws=10).sample([target])
    assert (drawn.places(["subjects"], target) < 0).any()
    with pytest.raises(ValueError, match="different numbers of neuroids"):
        drawn.places(["subjects"], target, may_pad=False)
