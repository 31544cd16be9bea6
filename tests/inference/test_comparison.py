"""Comparisons of scores: what is tested, what is said of it, and scores that have nothing to be compared by."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from bsjax import Score
from bsjax.inference.comparison import compare
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.uncertainty import Uncertainty, of_draws

NAMES = ["a", "b", "c", "d"]
MEANS = [0.5, 0.45, 0.2, 0.0]


def per_unit(n=14, dim="subject", coord="subject", seed=0, **made):
    rng = np.random.default_rng(seed)
    shared, ids = rng.normal(0, 0.2, n), [f"id{i}" for i in range(n)]
    scores = {}
    for name, mean in zip(NAMES, MEANS, strict=True):
        raw = xr.DataArray(mean + shared + rng.normal(0, 0.05, n), {coord: (dim, ids)}, [dim])
        scores[name] = Score(float(raw.mean()), raw=raw, **made)
    return scores


def drawn(n=40, seed=0, plan="1:a", over=("stimuli",), **made):
    rng = np.random.default_rng(seed)
    units = rng.normal(0, 0.3, (n, 1)) + np.array(MEANS) + rng.normal(0, 0.1, (n, 4))
    counts = rng.multinomial(n, np.full(n, 1 / n), 500) / n
    scores = {}
    for name, values in zip(NAMES, units.T, strict=True):
        draws = xr.DataArray(counts @ values, dims=["draw"])
        known = of_draws(float(values.mean()), draws, over, "500 bootstrap draws", dof=n - 1, plan=plan)
        scores[name] = Score(float(values.mean()), uncertainty=known, **made)
    return scores


def test_units_are_matched_by_their_identifiers():
    scores = per_unit()
    raw = scores["b"].raw.isel(subject=slice(None, None, -1))
    turned = {**scores, "b": Score(float(raw.mean()), raw=raw)}
    found = compare(scores, test="t")
    assert compare(turned, test="t").table["p"].tolist() == pytest.approx(found.table["p"].tolist())
    x, y = (scores[name].raw.values for name in "ab")
    row = found.table.iloc[0]
    assert (row["model"], row["other"]) == ("a", "b")
    assert row["p"] == pytest.approx(stats.ttest_rel(x, y).pvalue, rel=1e-9)
    assert row["difference"] == pytest.approx((x - y).mean())


def test_ranks_letters_and_words_follow_from_the_pairs():
    found = compare(per_unit())
    assert found.over == ("subjects",) and found.test == "sign-flip"
    assert found.models.index.tolist() == NAMES and found.models["rank"].tolist() == [1, 2, 3, 4]
    differs = found.differs
    assert (differs == differs.T).all().all() and not np.diag(differs).any()
    better = found.table[found.table["significant"]]
    for name, row in found.models.iterrows():
        assert row["rank_low"] == 1 + (better["other"] == name).sum()
        assert row["rank_high"] == 4 - (better["model"] == name).sum()
    for words in ("sign-flip test over subjects", "Holm", "hold jointly at 95 %"):
        assert words in found.statement
    assert "4 models" in repr(found) and found._repr_html_().count("<table") == 2


def test_too_few_units_for_flips_are_tested_by_t():
    assert compare(per_unit(n=6)).test == "t"
    found = compare(per_unit(n=6), test="sign-flip")
    assert not found.table["significant"].any() and "no pair can, because no p value is below 0.19" in found.statement


def test_neuroids_are_averaged_over_splits_and_undefined_ones_left_out():
    scores = per_unit(dim="neuroid", coord="neuroid_id")
    split = {name: xr.concat([one.raw - 0.1, one.raw + 0.1], "split") for name, one in scores.items()}
    split["c"][:, 3] = np.nan
    found = compare({name: Score(float(raw.mean()), raw=raw) for name, raw in split.items()}, over="neuroids", test="t")
    assert "13 neuroids" in found.words and "1 left out" in found.words
    keep = np.arange(14) != 3
    x, y = (scores[name].raw.values[keep] for name in "ab")
    assert found.table["p"][0] == pytest.approx(stats.ttest_rel(x, y).pvalue, rel=1e-9)


def test_draws_are_compared_pair_by_pair():
    found = compare(drawn(), equivalence=0.3)
    assert found.over == ("stimuli",) and found.test == "bootstrap"
    pairs = found.table.set_index(["model", "other"])
    assert pairs.loc[("b", "c"), "significant"] and pairs.loc[("a", "d"), "significant"]
    # The scores share the noise of the stimuli, which each interval has and the difference has not.
    widths = found.models["high"] - found.models["low"]
    assert (found.table["high"] - found.table["low"]).max() < widths.min()
    assert pairs.loc[("a", "b"), "equivalent"] and not pairs.loc[("a", "d"), "equivalent"]
    assert found.models.loc["a", "above_chance"] and not found.models.loc["d", "above_chance"]


def test_equivalence_is_where_the_90_percent_interval_is_within_the_margin():
    found = compare(drawn(), test="t", alpha=0.1, equivalence=0.1, correction="none").table
    within = (found["low"] > -0.1) & (found["high"] < 0.1)
    inner = compare(drawn(), test="t", alpha=0.05, equivalence=0.1, correction="none").table
    assert inner["equivalent"].tolist() == within.tolist()


def test_normalised_scores_are_tested_against_one():
    ceiling = Score(0.5, uncertainty=Uncertainty(("stimuli",), 0.05, "jackknife", dof=9))
    found = compare(drawn(ceiling=ceiling, formula="r/c"))
    assert found.ceiling[:2] == (1.0, 1.0) and found.ceiling.p_chance < 1e-5
    assert found.models["below_ceiling"].all()


def test_both_ends_of_a_ceiling_are_on_the_scale_of_the_scores():
    raw = xr.DataArray([[0.4, 0.6], [0.7, 0.9]], {"bound": ["lower", "upper"]}, ["bound", "subject"])
    for formula, power in (("r/c", 1), ("(r/c)²", 2), ("r/√c", 0.5)):
        found = compare(drawn(ceiling=Score(0.5, raw=raw), formula=formula))
        assert found.ceiling[:2] == pytest.approx((1.0, 1.6**power))


def test_a_ceiling_is_drawn_with_the_scores_or_stands_fast():
    scores = drawn()
    top = scores.pop("a")
    found = compare(scores, ceiling=top, test="t")
    direct = compare({"a": top, "c": scores["c"]}, test="t").table["p"][0]
    assert found.models.loc["c", "p_ceiling"] == pytest.approx(direct / 2, rel=1e-6)
    assert compare(scores, ceiling=0.3).models["below_ceiling"].tolist() == [False, True, True]
    with pytest.raises(ValueError, match="not resampled together with the scores"):
        compare(scores, ceiling=Score(0.5))


def test_units_are_tested_against_ceilings_of_their_own():
    ids = [f"id{i}" for i in range(14)]
    raw = xr.DataArray(np.full(14, 0.64), {"subject": ids}, ["subject"])
    found = compare(per_unit(ceiling=Score(0.64, raw=raw), formula="r²/c"), test="t")
    values = per_unit()["c"].raw.values
    assert found.models.loc["c", "p_ceiling"] == pytest.approx(
        stats.ttest_1samp(values, 0.8, alternative="less").pvalue
    )


def test_chance_is_a_number_or_one_for_each_model():
    one, each = compare(drawn(), chance=0.1), compare(drawn(), chance=dict.fromkeys(NAMES, 0.1))
    assert one.models["p_chance"].tolist() == each.models["p_chance"].tolist()
    with pytest.raises(ValueError, match="chance has no value for b; it has values for a"):
        compare(drawn(), chance={"a": 0.1})


@pytest.mark.parametrize(
    ("metric", "settings", "known"),
    [
        ("cka", {}, True),
        ("mine", {}, False),
        ("procrustes", {}, False),
        ("accuracy", {}, False),
        ("kernel_cka", {"unbiased": True}, True),
        ("kernel_cka", {"unbiased": False}, False),
    ],
)
def test_no_model_is_above_a_chance_that_is_not_known(metric, settings, known):
    made = Provenance(metric=metric, settings=settings)
    found = compare(drawn(provenance=made))
    assert found.models["above_chance"].any() == found.models["p_chance"].notna().all() == known
    assert ("?" in repr(found)) == ("pass chance=" in found.statement) == (not known)
    given = compare(drawn(provenance=made), chance=0.0)
    assert given.models["above_chance"].any() and "?" not in repr(given)


def test_two_factors_are_tested_by_t():
    scores = {}
    for name, one in drawn().items():
        known = one.uncertainty.draws
        draws = xr.concat([1.4 * known, known, 0.5 * known], "factor")
        both = of_draws(float(one), draws, ("stimuli", "subjects"), "draws", dof=9, plan="2:a")
        scores[name] = Score(float(one), uncertainty=both)
    found = compare(scores, over=("subjects", "stimuli"))
    assert (found.test, found.over) == ("t", ("stimuli", "subjects"))
    with pytest.raises(ValueError, match="do not allow the test 'bootstrap'; there are 't' over stimuli and subjects"):
        compare(scores, test="bootstrap")


def test_undefined_scores_are_listed_and_not_compared():
    scores = {"x": Score(float("nan")), **drawn()}
    found = compare(scores)
    assert found.models.index[-1] == "x" and found.models.loc["x", "letters"] == ""
    assert len(found.table) == 6 and not found.differs.loc["x"].any()
    with pytest.raises(ValueError, match="two models with a score; 1 of 2 have one"):
        compare({"x": scores["x"], "a": scores["a"]})


@pytest.mark.parametrize("field", ["benchmark", "benchmark_version", "data", "region", "metric"])
def test_scores_of_different_experiments_are_refused(field):
    kind = int if field == "benchmark_version" else str
    made = {name: Score(drawn()[name], provenance={field: kind(n)}) for n, name in enumerate("ab")}
    with pytest.raises(ValueError, match=f"differ in their {field.replace('_', ' ')}: .* of a, .* of b"):
        compare(made)


def test_scores_that_share_nothing_are_refused_with_what_to_do():
    scores = drawn()
    with pytest.raises(ValueError, match="cannot be paired: a, b were scored without resampling.*To pair them"):
        compare({"a": Score(0.5), "b": Score(0.4)})
    with pytest.raises(ValueError, match="different splits, resamples or stimuli"):
        compare(scores | {"b": drawn(plan="1:other")["b"]})
    with pytest.raises(ValueError, match="cannot be paired over neuroids.*or compare them over stimuli"):
        compare(scores, over="neuroids")
    units = per_unit()
    raw = units["b"].raw.assign_coords(subject=[f"other{i}" for i in range(14)])
    with pytest.raises(ValueError, match="a and b were not scored on the same subjects"):
        compare(units | {"b": Score(0.4, raw=raw)})
    resolved = Score(xr.DataArray([0.1, 0.2], dims=["time_bin"]))
    with pytest.raises(ValueError, match="the score of t has 2 time_bin: compare one value"):
        compare(scores | {"t": resolved})
