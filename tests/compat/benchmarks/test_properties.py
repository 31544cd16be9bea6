"""Properties of single neurons, with the names and arguments that plugins know."""

import itertools

import jax
import jax.numpy as jnp
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
    calc_orthogonal_preferred_ratio,
    calc_size_tuning,
    calc_sparseness,
    calc_spatial_frequency_tuning,
    calc_texture_modulation,
    calc_variance_ratio,
    check_gratings,
)
from bsjax.compat.sides.scores import MetricForPlugins
from bsjax.data import StimulusSet
from bsjax.metrics.tuning import orientation, size, sparseness, spatial_frequency
from tests.support import v1_neurons

ANGLES = np.arange(0, 180, 15.0)
COLUMNS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


def curves_of(n):
    return np.random.default_rng(0).gamma(1.0, size=(15, n))


@pytest.mark.slow
def test_orientation_tuning_is_that_of_the_kernels():
    curves = curves_of(12)
    angles = tuple(ANGLES.tolist())
    with jax.enable_x64(True):
        of_kernels = jnp.asarray(curves)
        variance = orientation.circular_variance(of_kernels, orientations=angles)
        ratio = orientation.orthogonal_preferred_ratio(of_kernels)
        half = orientation.half_bandwidth(of_kernels, orientations=angles)
        preferred = orientation.preferred_orientation(of_kernels, orientations=angles)
    for number, curve in enumerate(curves):
        assert calc_circular_variance(curve, ANGLES) == pytest.approx(float(variance[number]), abs=1e-12)
        assert calc_orthogonal_preferred_ratio(curve, ANGLES) == pytest.approx(float(ratio[number]), abs=1e-12)
        width = calc_bandwidth(curve, ANGLES, filt_type="hanning", thrsh=0.707, mode="half")[0]
        assert width == pytest.approx(float(half[number]), nan_ok=True)
        best = calc_bandwidth(curve, ANGLES, filt_type="smooth", thrsh=0.5)[1]
        assert (best - 180 if best >= 157.5 else best) == float(preferred[number])


@pytest.mark.slow
def test_other_tuning_is_that_of_the_kernels():
    frequencies, radii = 2.0 ** np.arange(-2, 4, 0.5), np.arange(1.0, 13) / 2
    curves = curves_of(12)
    with jax.enable_x64(True):
        of_kernels, at = jnp.asarray(curves), jnp.asarray(radii)
        peaks = spatial_frequency.peak_spatial_frequency(of_kernels, frequencies=tuple(frequencies.tolist()))
        widths = spatial_frequency.spatial_frequency_bandwidth(of_kernels, frequencies=tuple(frequencies.tolist()))
        sizes = [size.grating_summation_field(of_kernels, at), size.surround_diameter(of_kernels, at)]
        suppression, sparse = size.surround_suppression_index(of_kernels), sparseness(of_kernels)
    for number, curve in enumerate(curves):
        found = calc_spatial_frequency_tuning(curve, frequencies, filt_type="smooth")
        assert found[:2] == pytest.approx((float(widths[number]), float(peaks[number])), nan_ok=True)
        field, surround, ratio, index = calc_size_tuning(curve, radii)
        assert (field, surround, index) == pytest.approx(
            (*(float(each[number]) for each in sizes), float(suppression[number])), nan_ok=True
        )
        assert ratio == pytest.approx(surround / field, nan_ok=True)
        assert calc_sparseness(curve) == pytest.approx(float(sparse[number]), abs=1e-12)
    with pytest.raises(ValueError, match="radii must ascend, as the curve is taken to end at the largest"):
        calc_size_tuning(np.array([9, 10, 8, 7, 6, 5]), radii[:6][::-1])


@pytest.mark.parametrize(("kind", "around"), [("hanning", (0, 0.4, 1)), ("triangle", (0.5, 0.75, 1))])
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


def test_texture_modulation():
    mean, by_family = calc_texture_modulation(np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 1.0]]))
    assert by_family.tolist() == [0.5, 0, -0.6] and mean == pytest.approx(-0.1 / 3)
    responses = np.random.default_rng(0).uniform(1, 2, size=(5, 2, 3, 4))  # neuroids, types, families, samples
    found = calc_texture_modulation(responses[:, 1], responses[:, 0])
    np.testing.assert_allclose(found, [calc_texture_modulation(each.mean(-1))[0] for each in responses])


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
    for wrong in (rows[::-1], rows[:-1]):
        with pytest.raises(ValueError, match="gratings must come in the order of position_y, position_x, contrast"):
            check_gratings(gratings(wrong))


@pytest.mark.slow
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
