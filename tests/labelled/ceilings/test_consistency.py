from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from bsjax import KernelMetric, Resampling, Score, load_ceiling, load_metric
from bsjax.labelled import aligned_values
from bsjax.labelled.ceilings.consistency import InternalConsistency, TemporalInternalConsistency
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.similarity.trials import by_repetition
from bsjax.metrics import Ridge
from tests.support.single_trials import trials


def ragged(stimulus, repetition):
    return repetition < 2 + stimulus % 5


def test_says_how_far_the_correction_is_off_and_leaves_it_as_it_is():
    score = load_ceiling("internal_consistency")(trials(noise=2.0))
    corrected = score.raw.mean("split").values
    r = corrected / (2 - corrected)
    expected = -2 * (1 - r) ** 2 / ((1 + r) * 29) - r * (1 - r) / (30 * (1 + r))
    assert score.provenance["expected_bias"] == pytest.approx(np.median(expected), abs=1e-12)
    of_rdms = load_ceiling("internal_consistency", load_metric("rdm"))(trials())
    assert "expected_bias" not in of_rdms.provenance


def test_ragged_halves_take_half_of_what_each_stimulus_has():
    arranged = by_repetition(trials(keep=ragged), "repetition")
    assert not arranged.balanced
    first, mask = InternalConsistency()._halves(arranged), arranged.mask
    assert (first & ~mask).sum() == 0
    np.testing.assert_array_equal(first.sum(axis=1), np.broadcast_to(mask.sum(axis=0) // 2, (10, 30)))
    assert (first[0] != first[1]).any()


def test_trials_in_order_are_not_copied():
    assembly = trials()
    in_order = assembly.sortby(["repetition", "stimulus_id"])
    arranged = by_repetition(in_order, "repetition")
    assert np.shares_memory(arranged.values, in_order.values)
    np.testing.assert_array_equal(arranged.values, by_repetition(assembly, "repetition").values)
    np.testing.assert_array_equal(arranged.values, assembly.values.reshape(30, 6, 5).swapaxes(0, 1))


def test_a_presentation_without_any_value_did_not_happen():
    full = trials(keep=ragged)
    blank = trials()
    missing = ~ragged(np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30))
    blank.values[missing] = np.nan
    ceiling = load_ceiling("internal_consistency")
    assert float(ceiling(blank)) == pytest.approx(float(ceiling(full)), abs=1e-12)


def test_a_trial_twice_is_shown():
    assembly = trials()
    twice = assembly.isel(presentation=[0, *range(180)])
    with pytest.raises(ValueError, match=r"same repetition more than once for 1 stimulus_id \(s000\)"):
        load_ceiling("internal_consistency")(twice)


def over_time(order=("presentation", "neuroid", "time_bin"), **settings):
    parts = [trials(seed=seed, **settings) for seed in range(3)]
    starts = {"time_bin_start": ("time_bin", [0, 10, 20]), "time_bin_end": ("time_bin", [10, 20, 30])}
    return xr.concat(parts, "time_bin").assign_coords(starts).transpose(*order), parts


@pytest.mark.parametrize(("keep", "similarity"), [(None, "rdm"), (ragged, None)], ids=["balanced", "ragged"])
def test_over_time_equals_bin_by_bin(keep, similarity):
    assembly, parts = over_time(n=12, r=4, u=3, keep=keep, order=("time_bin", "presentation", "neuroid"))
    metric = None if similarity is None else load_metric(similarity)
    score = TemporalInternalConsistency(metric)(assembly)
    each = [InternalConsistency(metric)(part) for part in parts]
    for name in ("value", "error", "raw"):
        np.testing.assert_allclose(getattr(score, name), [getattr(part, name) for part in each], atol=1e-12)
    assert score.raw.dims == (("time_bin", "split", "neuroid") if similarity is None else ("time_bin", "split"))
    assert score.value["time_bin_end"].values.tolist() == [10, 20, 30]
    assert score.provenance["metric"].startswith("internal_consistency_temporal")


def test_over_time_a_trial_missing_in_one_bin_is_missing_there_alone():
    assembly, _ = over_time(n=12, r=4, u=3)
    holed = assembly.copy()
    holed.values[5, :, 1] = np.nan
    full, score = TemporalInternalConsistency()(assembly), TemporalInternalConsistency()(holed)
    np.testing.assert_array_equal(abs(full.value.values - score.value.values) < 1e-12, [True, False, True])


@dataclass(frozen=True)
class MeanCorrelation(KernelMetric):
    """The correlation of mean responses over neuroids."""

    identifier = "mean-correlation"

    def arrays(self, source, target):
        return aligned_values(source, target)

    def kernel(self, x, y):
        return jnp.corrcoef(x.mean(1), y.mean(1))[0, 1]

    def summary(self, value, source, target):
        return Score(float(value))


def mean_correlation(source, target):
    return np.corrcoef(source.mean("neuroid"), target.mean("neuroid"))[0, 1]


def shown_once(stimulus, repetition):
    return (stimulus > 0) | (repetition == 0)


def test_a_stimulus_shown_once_is_left_out():
    ceiling = load_ceiling("internal_consistency")
    once, never = (ceiling(trials(n=400, keep=keep)) for keep in (shown_once, lambda stimulus, _: stimulus > 0))
    assert float(once) == pytest.approx(float(never), abs=0.01) and np.isfinite(once.raw.values).all()


@pytest.mark.parametrize("metric", [MeanCorrelation(), mean_correlation])
def test_a_metric_or_function_of_ones_own_has_the_ceiling_of_its_halves(metric):
    assembly, ceiling = trials(noise=0.5), load_ceiling("internal_consistency", consistency_metric=metric)
    means = assembly.mean("neuroid").expand_dims(neuroid=["mean"], axis=1)
    expected = load_ceiling("internal_consistency")(means)  # of the mean neuroid, by the same halves
    np.testing.assert_allclose(ceiling(assembly).raw.values, expected.raw.values[:, 0], rtol=1e-9)
    # Only a function can be called without a stimulus that has no second half.
    assert np.isfinite(ceiling(trials(keep=shown_once))) == (metric is mean_correlation)
    bins, _ = over_time(n=12, r=4, u=3)
    in_time = TemporalInternalConsistency(consistency_metric=metric)(bins)
    assert in_time.raw.dims == ("time_bin", "split")
    assert in_time.value.values[1] == pytest.approx(float(ceiling(bins.isel(time_bin=[1]))))


@pytest.mark.parametrize(
    ("metric", "message"), [(Ridge(1.0), "got Ridge"), (load_ceiling("internal_consistency"), "two assemblies")]
)
def test_what_does_not_compare_halves_is_refused(metric, message):
    with pytest.raises(ValueError, match=message):
        load_ceiling("internal_consistency", consistency_metric=metric)


class WeightedMeanCorrelation(MeanCorrelation):
    """The same, in draws by the weights of the stimuli."""

    def weighted_kernel(self, weights, x, y):
        return jnp.cov(x.mean(1), y.mean(1), aweights=weights)[0, 1] / jnp.sqrt(
            jnp.cov(x.mean(1), aweights=weights) * jnp.cov(y.mean(1), aweights=weights)
        )


def test_copies_of_a_stimulus_in_a_draw_have_their_original_in_both_halves():
    found = []

    def originals(source, target):
        if "drawn_from" in source.coords:
            found.append([side["drawn_from"].values.tolist() for side in (source, target)])
        return 0.5

    with in_draws(Resampling("stimuli", draws=2)):
        scored(load_ceiling("internal_consistency", consistency_metric=originals), trials(n=6))
    assert len(found) == 20 and all(one == other and len(set(one)) < 6 for one, other in found)


@pytest.mark.slow
@pytest.mark.parametrize("over", ["stimuli", "neuroids"])
def test_a_metric_of_ones_own_is_drawn_with_its_ceiling(over):
    assembly = trials(noise=0.5)
    means = assembly.mean("neuroid").expand_dims(neuroid=["mean"], axis=1)
    with in_draws(Resampling(over, draws=8)):
        metrics = MeanCorrelation(), WeightedMeanCorrelation(), mean_correlation
        ceilings = [load_ceiling("internal_consistency", consistency_metric=metric) for metric in metrics]
        first, *others = (scored(ceiling, assembly).uncertainty.draws.values for ceiling in ceilings)
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-9)
        by_rows, by_weights = (
            scored(metric, assembly[::6], assembly[1::6]).uncertainty.draws for metric in metrics[:2]
        )
        np.testing.assert_allclose(by_weights, by_rows, rtol=1e-9)
        if over == "stimuli":  # as of the mean neuroid
            expected = scored(load_ceiling("internal_consistency"), means).uncertainty.draws.values
            np.testing.assert_allclose(first, expected, rtol=1e-9)
