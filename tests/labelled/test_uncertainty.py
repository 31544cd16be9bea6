"""How else a score could have come out: intervals, their kinds, and errors that are carried through a ceiling."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from bsjax import Score
from bsjax.labelled.aggregate import error_over, mean_score, of_splits, of_subsets, over_splits
from bsjax.labelled.normalise import NORMALISATIONS, explained_variance
from bsjax.labelled.uncertainty import Uncertainty, carried_over, derivatives, mean_of_paired, of_draws


def drawn(values, plan="plan", over=("stimuli",), **known):
    values = np.asarray(values, float)
    return of_draws(values.mean(), xr.DataArray(values, dims=["draw"]), over, "bootstrap draws", plan=plan, **known)


def test_an_interval_of_a_standard_error_is_that_of_students_t():
    known = Uncertainty(("subjects",), 0.1, "standard error over 9 subjects", dof=8)
    found = Score(0.5, uncertainty=known).interval(0.9)
    np.testing.assert_allclose([found.low, found.high], stats.t(8, 0.5, 0.1).interval(0.9), rtol=1e-12)
    assert (found.kind, found.over, 0.5 in found, 0.9 in found) == ("t", ("subjects",), True, False)
    normal = Score(0.5, error=0.1, error_kind="known").interval()
    np.testing.assert_allclose([normal.low, normal.high], stats.norm(0.5, 0.1).interval(0.95), rtol=1e-12)
    assert Score(0.5).interval() is None


def test_the_kinds_that_there_are_depend_on_what_is_known():
    values = np.random.default_rng(0).normal(0.5, 0.1, 500)
    plain = drawn(values)
    assert plain.kinds == ("percentile", "t")
    assert drawn(values, influence=xr.DataArray(np.ones(3), dims=["unit"])).kinds[0] == "bca"
    assert drawn(values, errors=xr.DataArray(np.ones(500), dims=["draw"])).kinds[0] == "studentised"
    assert drawn(values, kind="t").kinds[0] == "t"
    with pytest.raises(ValueError, match="no bca interval can be made .* percentile, t.*resampling="):
        Score(0.5, uncertainty=plain).interval(kind="bca")
    with pytest.raises(ValueError, match="between 0 and 1"):
        Score(0.5, uncertainty=plain).interval(95)
    with pytest.raises(ValueError, match="what was sampled"):
        Uncertainty((), 0.1, "nothing")


def test_of_two_things_that_were_drawn_the_noise_counts_once():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(scale=scale, size=4000) for scale in np.sqrt([0.5, 0.25, 0.15])])
    draws = xr.DataArray(values, {"factor": ["both", "stimuli", "subjects"]}, ["factor", "draw"])
    known = of_draws(0.0, draws, ("stimuli", "subjects"), "draws")
    both, first, second = values.var(axis=1, ddof=1)
    np.testing.assert_allclose(known.standard_error**2, 2 * (first + second) - both, rtol=1e-9)
    assert known.kinds == ("t",)


@pytest.mark.parametrize("name", ["explained_variance", "ceil_score", "r_over_sqrt_ceiling", "squared_ceil_score"])
def test_a_score_and_a_ceiling_that_were_drawn_together_are_normalised_draw_by_draw(name):
    rng = np.random.default_rng(0)
    shared = rng.normal(scale=0.05, size=2000)
    r, c = 0.5 + shared, 0.8 + 2 * shared
    normalise = NORMALISATIONS[name]
    score = normalise(Score(0.5, uncertainty=drawn(r)), Score(0.8, uncertainty=drawn(c)))
    each = [float(normalise(Score(a), Score(b))) for a, b in zip(r[:50], c[:50], strict=True)]
    np.testing.assert_allclose(score.uncertainty.draws[:50], each, rtol=1e-12)
    np.testing.assert_allclose(score.error, score.uncertainty.draws.values.std(ddof=1), rtol=1e-12)
    assert "the ceiling drawn with it" in score.error_kind
    # What goes up and down with the score moves it less than a ceiling of its own does.
    apart = normalise(Score(0.5, uncertainty=drawn(r)), Score(0.8, uncertainty=drawn(c, plan="another")))
    assert score.error < apart.error and "drawn by itself" in apart.error_kind


def test_a_ceiling_without_draws_is_drawn_by_its_error_and_a_known_one_not_at_all():
    r = np.random.default_rng(0).normal(0.5, 0.02, 4000)
    sure = explained_variance(Score(0.5, uncertainty=drawn(r)), Score(0.8))
    known = Uncertainty(("stimuli",), 0.05, "jackknife")
    unsure = explained_variance(Score(0.5, uncertainty=drawn(r, kind="t")), Score(0.8, uncertainty=known))
    interval = unsure.interval()
    assert interval.kind == "t" and (interval.low + interval.high) / 2 == pytest.approx(float(unsure))
    np.testing.assert_allclose(sure.error, 2 * 0.5 / 0.8 * 0.02, rtol=0.05)
    np.testing.assert_allclose(unsure.error, np.hypot(2 * 0.5 / 0.8 * 0.02, 0.25 / 0.64 * 0.05), rtol=0.05)


def test_without_draws_errors_are_carried_over_by_the_delta_method_and_influences_with_their_signs():
    def ratio(a, b):
        return a / b

    def known(values, plan):
        influence = xr.DataArray(np.asarray(values), dims=["unit"])
        return Uncertainty(("stimuli",), float(np.linalg.norm(values)), "jackknife", influence=influence, plan=plan)

    by_either = derivatives(ratio, np.array(0.5), np.array(1.0))
    np.testing.assert_allclose(by_either, [1.0, -0.5], rtol=1e-15)
    one, other = known([0.1, -0.1], "a"), known([0.2, -0.2], "a")
    together = carried_over(0.5, ratio, by_either, (np.array(0.5), one), (np.array(1.0), other))
    # 0.1 - 0.5 * 0.2 = 0: the two move as one.
    assert together.standard_error == pytest.approx(0.0, abs=1e-12)
    apart = carried_over(0.5, ratio, by_either, (np.array(0.5), one), (np.array(1.0), known([0.2, -0.2], "b")))
    assert apart.standard_error == pytest.approx(np.hypot(np.sqrt(0.02), 0.5 * np.sqrt(0.08)))


def test_splits_that_share_stimuli_are_no_independent_values():
    raw = np.random.default_rng(0).normal(0.5, 0.1, (10, 1))
    splits = [(np.arange(90), np.arange(10))] * 10
    score = over_splits(raw, {}, {}, shared=of_splits(splits, np.arange(100)))
    corrected = np.sqrt((1 / 10 + 1 / 9) * raw[:, 0].var(ddof=1))
    assert score.uncertainty.standard_error == pytest.approx(corrected) and score.uncertainty.dof == 9
    assert score.error == pytest.approx(raw[:, 0].std() / np.sqrt(10))  # Brain-Score's
    subsets = over_splits(raw[:, 0], {}, {}, shared=of_subsets([np.arange(90)] * 10, np.arange(100)))
    assert subsets.uncertainty.standard_error == pytest.approx(3 * raw[:, 0].std(ddof=1))
    assert np.isnan(of_subsets([np.arange(100)], np.arange(100)).times)


def test_halves_of_the_trials_say_nothing_of_other_stimuli_but_of_other_neuroids():
    rng = np.random.default_rng(0)
    raw = rng.normal(0.5, 0.1, (10, 400)) * 0.1 + rng.normal(0.5, 0.2, 400)
    known = over_splits(raw, {}, {}).uncertainty
    draws = np.median(raw.mean(axis=0)[rng.integers(0, 400, (4000, 400))], axis=1)
    assert known.over == ("neuroids",) and known.standard_error == pytest.approx(draws.std(), rel=0.25)
    assert over_splits(raw[:, :1], {}, {}).uncertainty.over == ()


def test_whatever_the_error_is_the_interval_is_of_the_mean_as_an_estimate():
    values = np.array([0.1, 0.2, 0.4, 0.5])
    assert error_over(values, "halves", kind="standard deviation")["uncertainty"] is None
    for ddof in (0, 1):
        known = error_over(values, "conditions", kind="standard error", ddof=ddof)["uncertainty"]
        assert known.standard_error == pytest.approx(values.std(ddof=1) / 2) and known.over == ("conditions",)
    bins = mean_score(xr.DataArray(np.tile(values, (2, 1)), dims=["time_bin", "subject"]), "subject")
    assert bins.interval().low.dims == ("time_bin",) and bins.interval().low.sizes == {"time_bin": 2}
    assert mean_score(xr.DataArray(values, dims=["subject"]), "subject", value=0.0).uncertainty.over == ()


@pytest.mark.parametrize("of", ["splits", "neuroids", "subjects"])
def test_a_time_bin_without_values_leaves_the_intervals_of_the_others(of):
    raw = np.random.default_rng(0).normal(0.5, 0.1, (3, 10, 30))
    raw[1] = np.nan
    shared = of_splits([(np.arange(90), np.arange(10))] * 10, np.arange(100)) if of == "splits" else None

    def mean(bins):
        if of == "subjects":
            return mean_score(xr.DataArray(raw[bins, 0], dims=["time_bin", "subject"]), "subject")
        return over_splits(raw[bins], {}, {}, dims=("time_bin", "split", "neuroid"), shared=shared)

    got, alone = mean([0, 1, 2]), mean([0, 2])
    assert got.uncertainty.over == alone.uncertainty.over and got.uncertainty.dof == alone.uncertainty.dof
    np.testing.assert_array_equal(got.interval().low[[0, 2]], alone.interval().low)
    assert np.isfinite(alone.interval().low).all() and np.isnan(got.interval().low[1])


def test_the_mean_of_scores_that_were_drawn_together_is_drawn_with_them():
    rng = np.random.default_rng(0)
    one, two = rng.normal(0.5, 0.1, (2, 300))
    scores = {name: Score(values.mean(), uncertainty=drawn(values)) for name, values in (("a", one), ("b", two))}
    mean = mean_score(scores, "subject")
    np.testing.assert_allclose(mean.uncertainty.draws, (one + two) / 2)
    assert mean.error == pytest.approx(((one + two) / 2).std(ddof=1)) and "stimuli" in mean.error_kind
    assert mean_of_paired([scores["a"].uncertainty, drawn(two, plan="another")]) is None


def test_what_is_known_is_written_and_read_without_a_loss():
    values = np.r_[np.random.default_rng(0).normal(size=5), np.nan]
    known = drawn(values, influence=xr.DataArray(np.arange(3.0), dims=["unit"]), dof=2.0)
    score = Score(0.25, error=0.1, uncertainty=known, ceiling=Score(0.5, uncertainty=known))
    again = Score.from_dict(score.to_dict())
    for read in (again.uncertainty, again.ceiling.uncertainty):
        assert known.to_dict() == read.to_dict()
        xr.testing.assert_identical(known.draws, read.draws)
    assert again.interval() == score.interval()
