"""Properties of single neurons, with the names and arguments that plugins know."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import f_oneway

from bsjax import load_metric
from bsjax.benchmarks.families.marques2020.histograms import recorded
from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark as OfBsjax
from bsjax.compat.assemblies import NeuroidAssembly, PropertyAssembly, for_plugins
from bsjax.compat.benchmarks.properties import (
    PropertiesBenchmark,
    calc_bandwidth,
    calc_circular_variance,
    calc_size_tuning,
    calc_sparseness,
    calc_spatial_frequency_tuning,
    calc_texture_modulation,
    calc_variance_ratio,
    check_gratings,
    check_textures,
    get_stimulus_position,
)
from bsjax.compat.sides.scores import MetricForPlugins
from bsjax.data import StimulusSet
from tests.support import v1_neurons

ANGLES = np.arange(0, 180, 15.0)
COLUMNS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


@pytest.mark.parametrize(
    ("curve", "expected"), [([0, 5, 0, 0], 0), ([2, 2, 2, 2], 1), ([3, 1, 1, 1], 2 / 3), ([2, 1, 0, 1], 1 / 2)]
)
def test_circular_variance(curve, expected):
    angles = np.array([0, 45, 90, 135])  # twice of which are the four directions of a plane
    assert calc_circular_variance(np.array(curve), angles) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("best", [0, 45, 165])
def test_the_width_of_a_curve(best):
    angles = np.arange(0, 180, 5.0)
    away = np.abs((angles - best + 90) % 180 - 90)
    curve = np.exp(-((away / 12) ** 2) / 2)
    # The borders are those whole degrees at which the curve has fallen to the share.
    for share in (0.5, 0.707):
        side = 12 * math.sqrt(-2 * math.log(share))
        width, preferred, fine, smooth = calc_bandwidth(curve, angles, filt_type=None, thrsh=share)
        assert (width, preferred) == (2 * math.ceil(side), best)
        assert calc_bandwidth(curve, angles, filt_type=None, thrsh=share, mode="half")[0] == math.ceil(side)
    assert fine.tolist() == list(range(180))
    np.testing.assert_allclose(smooth[angles.astype(int)], curve, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "around"),
    [("hanning", (0, 0.4, 1)), ("smooth", (0, 0.2, 1)), ("flat", (1, 1, 1)), ("triangle", (0.5, 0.75, 1))],
)
def test_what_a_curve_is_smoothed_with(kind, around):
    left, middle, centre = np.array(around) / (2 * (around[0] + around[1]) + around[2])
    curve = np.where(ANGLES == 90, 1.0, 0.0)
    _, _, _, smooth = calc_bandwidth(curve, ANGLES, filt_type=kind)
    np.testing.assert_allclose(smooth[[45, 60, 75, 90, 105, 120]], [0, left, middle, centre, middle, left], atol=1e-9)
    _, _, _, fine, smooth = calc_spatial_frequency_tuning([0, 0, 0, 1, 0, 0, 0], 2.0 ** np.arange(7), filt_type=kind)
    np.testing.assert_allclose(fine[[0, 33, 66, 99]], [1, 4, 16, 64])
    np.testing.assert_allclose(smooth[[0, 33, 66, 99]], [0, middle, middle, 0], atol=1e-9)
    with pytest.raises(ValueError, match="filt_type must be None or one of hanning, flat, smooth, triangle, got 'box'"):
        calc_bandwidth(curve, ANGLES, filt_type="box")


def test_the_tuning_to_spatial_frequency():
    frequency = 2.0 ** np.arange(-3, 4.5, 0.5)
    curve = np.exp(-((np.log2(frequency) - 0.5) ** 2) / 2 / 0.8**2)
    step = 7 / 99  # octaves between two points of the smooth curve
    ratio, peak, r2, fine, smooth = calc_spatial_frequency_tuning(curve, frequency, filt_type=None)
    side = 0.8 * math.sqrt(-2 * math.log(0.707))
    assert abs(math.log2(peak) - 0.5) <= step and r2 == pytest.approx(1)
    assert abs(math.log2(ratio / 100) + 2 * side) <= 2 * step
    octaves = calc_spatial_frequency_tuning(curve, frequency, filt_type=None, mode="oct")[0]
    assert octaves == pytest.approx(100 / ratio - 1)
    assert fine.shape == smooth.shape == (100,) and fine[[0, -1]] == pytest.approx(frequency[[0, -1]])
    smoothed = calc_spatial_frequency_tuning(curve, frequency)
    assert smoothed[0] < ratio and smoothed[2] < 0.99  # wider, and not the curve itself


def test_the_tuning_to_size():
    radii = np.array([0.5, 1, 2, 3, 4, 5])
    assert calc_size_tuning(np.array([2, 9.6, 10, 6, 5.1, 5]), radii) == pytest.approx((2, 8, 4, 0.5))
    *none, suppression = calc_size_tuning(np.array([2, 9.6, 10, 9.9, 9.5, 9.5]), radii)
    assert np.isnan(none).all() and suppression == pytest.approx(0.05)
    *none, suppression = calc_size_tuning(np.array([1.0, 2, 3, 4, 5, 6]), radii)
    assert np.isnan(none).all() and suppression == 0
    with pytest.raises(ValueError, match="radii must ascend, as the curve is taken to end at the largest"):
        calc_size_tuning(np.array([9, 10, 8, 7, 6, 5]), radii[::-1])


def test_texture_modulation():
    mean, by_family = calc_texture_modulation(np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 1.0]]))
    assert by_family.tolist() == [0.5, 0, -0.6] and mean == pytest.approx(-0.1 / 3)
    mean, by_family = calc_texture_modulation(np.array([[1.0, np.nan], [3.0, 2.0]]))
    assert mean == 0.5 and np.isnan(by_family[1])


@pytest.mark.parametrize(
    ("response", "expected"), [([0, 0, 7, 0], 1), ([3, 3, 3], 0), ([1, 2, 3], 3 / 14), ([[1, 2], [3, 0]], 10 / 21)]
)
def test_sparseness(response, expected):
    assert calc_sparseness(np.array(response)) == pytest.approx(expected, abs=1e-12)


def test_variances_are_those_of_an_analysis_of_variance():
    response = np.random.default_rng(0).normal(size=(4, 6)) + np.arange(4)[:, None]
    ratio, of_samples, of_families = calc_variance_ratio(response)
    assert of_samples + of_families == pytest.approx(1)
    assert of_families / of_samples == pytest.approx((f_oneway(*response).statistic - 1) / 6)
    assert ratio == pytest.approx((of_families + 0.02) / (of_samples + 0.02))


def gratings(rows):
    coords = {name: ("presentation", [row[number] for row in rows]) for number, name in enumerate(COLUMNS)}
    return NeuroidAssembly(np.zeros((2, len(rows))), coords=coords, dims=["neuroid", "presentation"])


def test_gratings_in_order():
    levels = ([0.1, 0.2], [0.5, 0.6, 0.7], [1.0], [0.5], [2.0, 4.0], [0.0, 45.0, 90.0], [0.0, 180.0])
    rows = list(itertools.product(*levels))
    check_gratings(gratings(rows))
    # In another order of their places, though what is at each is in order.
    by_place = [row for place in (2, 0, 1, 5, 3, 4) for row in rows[12 * place : 12 * (place + 1)]]
    for wrong in (by_place, rows[::-1], [*rows[1:], rows[0]], rows[:-1]):
        with pytest.raises(ValueError, match="gratings must come in the order of position_y, position_x, contrast"):
            check_gratings(gratings(wrong))


def test_textures_are_complete():
    rows = np.array(list(itertools.product(["noise", "texture"], ["a", "b", "c"], ["1", "2"])))

    def textures(rows):
        coords = {name: ("presentation", rows[:, number]) for number, name in enumerate(("type", "family", "sample"))}
        return NeuroidAssembly(np.zeros((1, len(rows))), coords=coords, dims=["neuroid", "presentation"])

    check_textures(textures(np.random.default_rng(0).permutation(rows)))
    for wrong in (rows[1:], np.concatenate([rows, rows[:1]]), np.concatenate([rows[1:], rows[1:2]])):
        with pytest.raises(ValueError, match=f"12 textures are expected, each once, got {len(wrong)}"):
            check_textures(textures(wrong))


def test_where_stimuli_are():
    stimuli = StimulusSet({"stimulus_id": ["a", "b"], "position_y": [0.5, 0.5], "position_x": [0.7, 0.7]})
    assert get_stimulus_position(stimuli).tolist() == [0.5, 0.7]
    stimuli["position_x"] = [0.7, 0.8]
    with pytest.raises(ValueError, match=r"must have one position, theirs are y \[0.5\] and x \[0.7 0.8\]"):
        get_stimulus_position(stimuli)


def test_a_property_is_scored_as_by_bsjax():
    model = v1_neurons.Neurons(np.array([10.0, 75.0, 100.0, 170.0]), np.array([3.0, 3.0, 3.0, 3.0]))
    metric = load_metric("ks_similarity", property_name="preferred_orientation", ns=50)
    asked = []

    def preferred(responses):
        """The orientation of the greatest response of each neuroid."""
        best = responses["orientation"].values[responses.transpose("neuroid", "presentation").values.argmax(axis=1)]
        coords = {
            "neuroid_property": ["preferred_orientation"],
            "neuroid_id": ("neuroid", responses["neuroid_id"].values),
        }
        return PropertyAssembly(best[:, None], coords=coords, dims=["neuroid", "neuroid_property"])

    def of_plugin(model_identifier, responses, baseline):
        asked.append((model_identifier, responses.dims, baseline.sizes["presentation"]))
        assert (baseline.values < responses.values.max(axis=1, keepdims=True)).all() and responses.values.min() >= 0
        return preferred(responses)

    data = for_plugins(recorded("DeValois1982a"))
    data.attrs |= {"number_of_trials": 20, "stimulus_set": StimulusSet({"stimulus_id": ["a"]})}
    data.attrs["stimulus_set"].identifier = "Marques2020_orientation"
    benchmark = PropertiesBenchmark(
        "Mine-orientation", data, of_plugin, MetricForPlugins(metric), [(70, 170)],
        ceiling_func=lambda assembly: MetricForPlugins(metric)(assembly, assembly), version=1, parent="V1",
    )  # fmt: skip
    score = benchmark(model)
    assert asked == [("neurons", ("neuroid", "presentation"), 1)] and benchmark.region == "V1"
    own = OfBsjax(
        "Mine-orientation", lambda: recorded("DeValois1982a"), lambda responses, baseline: preferred(responses), metric,
        [(70, 170)], stimulus_set="Marques2020_orientation",
    )(model)  # fmt: skip
    assert float(score.raw) == pytest.approx(float(own.unceiled), abs=1e-12) and 0 < float(score.raw) < 1
    assert float(score) == pytest.approx(float(score.raw) / float(benchmark.ceiling))
