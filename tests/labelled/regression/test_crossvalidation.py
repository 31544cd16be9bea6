import warnings
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from bsjax import load_metric
from bsjax.labelled.regression.stimulus_coordinates import in_stimulus_coordinates
from bsjax.metrics import ALPHAS

PARTS = "source_train", "source_test", "target_train", "target_test"


@pytest.fixture
def parts(pair):
    return tuple(side[rows] for side in pair for rows in (slice(40), slice(40, None)))


@pytest.mark.slow
def test_aliases_and_the_fixed_split(pair, parts):
    assert load_metric("pls_cv", n_components=5)(*pair) == load_metric("pls", n_components=5)(*pair)
    score = load_metric("pls_split", n_components=5)(**dict(zip(PARTS, parts, strict=True)))
    assert score.raw.dims == ("neuroid",) and list(score.raw["neuroid_id"].values) == [f"site{i}" for i in range(4)]
    assert float(score) == pytest.approx(float(np.median(score.raw)))
    assert 0 < score.error < 0.5 and "200 bootstraps over 4 neuroids" in score.error_kind
    assert score.provenance["metric"] == "pls_split"


def test_what_a_score_holds(pair):
    score = load_metric("ridge")(*pair)
    assert score.raw.dims == ("split", "neuroid") and score.raw.shape == (10, 4)
    assert (score.n_units, score.n_undefined, score.formula) == (4, 0, "r")
    assert score.provenance["metric"] == "ridge" and score.provenance["dtype"] == "float64"
    assert score.provenance["random_state"] == 1


@pytest.mark.slow
def test_reverse_exchanges_source_and_target(pair, parts):
    for form, sides in (("", pair), ("_split", parts)):
        forward, backward = (load_metric(f"{way}pls{form}", n_components=3) for way in ("", "reverse_"))
        half = len(sides) // 2
        assert float(backward(*sides)) == float(forward(*sides[half:], *sides[:half]))


def test_the_users_jax_configuration_is_left_alone(pair):
    before = jnp.ones(1).dtype
    load_metric("ridge")(*pair)
    assert jnp.ones(1).dtype == before == np.float32
    assert not jax.config.read("jax_enable_x64")


def test_dtypes(pair):
    double, single = (load_metric("ridge", dtype=dtype)(*pair) for dtype in (None, "float32"))
    assert double.provenance["dtype"] == "float64" and single.provenance["dtype"] == "float32"
    assert float(single) == pytest.approx(float(double), abs=1e-5) and float(single) != float(double)
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64', got 'float16'"):
        load_metric("ridge", dtype="float16")(*pair)


def test_one_time_bin_is_squeezed(pair):
    source, target = pair
    score = load_metric("ridge")
    assert float(score(source, target.expand_dims(time_bin=1))) == float(score(source, target))


def fails(source, target, message, name="ridge", **settings):
    with pytest.raises(ValueError, match=message):
        load_metric(name, **settings)(source, target)


def doubled(side):
    return side.isel(presentation=[*range(60), 0, 1])


def relabelled(side):
    return side.assign_coords(object_name=("presentation", ["x", *side["object_name"].values[1:]]))


def with_value(side, value):
    side = side.copy()
    side[3, 2] = value
    return side


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x[2:], y[:-1]), r"1 .* \(stim059\) only in source; 2 .* \(stim000, stim001\) only in target"),
        (lambda x, y: (doubled(x), y), r"source holds 2 stimulus_id \(stim000, stim001\) more than once: average"),
        (lambda x, y: (x, doubled(y)), "target holds 2 stimulus_id"),
        (lambda x, y: (x.drop_vars("stimulus_id"), y), "source has no coordinate 'stimulus_id'.*are: object_name"),
        (lambda x, y: (relabelled(x), y), r"differ in 'object_name' for 1 stimulus_id \(stim000\)"),
        (lambda x, y: (with_value(x, np.nan), y), "source has 1 NaN or .*stimulus stim003, neuroid unit2"),
        (lambda x, y: (with_value(x, np.inf), y), "source has 1 NaN or infinite values"),
        (lambda x, y: (x.rename(neuroid="unit"), y), "presentation and neuroid, it has: presentation, unit"),
        (lambda x, y: (x, y.expand_dims(time_bin=2)), "target has 2 time bins.*isel"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused_by_what_is_wrong(pair, change, message):
    fails(*change(*pair), message)


def test_too_many_components_say_the_largest_possible(pair):
    fails(*pair, "12 features and 54 training stimuli: pass n_components=12 or fewer", name="pls")


@pytest.mark.parametrize(("name", "stimuli"), [("ridge", 8), ("regression", 20)])  # one and two test stimuli
def test_too_few_test_stimuli(pair, name, stimuli):
    x, y = (side[:stimuli] for side in pair)
    settings = {"estimator": LinearRegression()} if name == "regression" else {}
    message = f"at least 3 test stimuli, the smallest test set has {-(-stimuli // 10)}: use more stimuli"
    fails(x, y, message, name=name, crossvalidation_kwargs={"stratification_coord": None}, **settings)
    with pytest.raises(ValueError, match="at least 3 test stimuli, the smallest test set has 2"):
        load_metric(f"{name}_split", **settings)(x, pair[0][40:42], y, pair[1][40:42])


def test_bad_settings():
    with pytest.raises(ValueError, match=r"bands must be .* of each space, .* e\.g\. \(12, 40\), got 52"):
        load_metric("banded_ridge", bands=52)
    with pytest.raises(TypeError, match="alphas"):
        load_metric("ridge_split", alphas=[1.0])
    with pytest.raises(KeyError, match="unknown metric 'rigde'.*ridge"):
        load_metric("rigde")
    with pytest.raises(ValueError, match=r"above 0, got \[0.0\]"):
        load_metric("ridgecv_split", alphas=[0.0, 1.0])
    with pytest.raises(ValueError, match=r"xarray_kwargs\['stimulus_coord'\] can only be"):
        load_metric("ridgecv_split", xarray_kwargs={"stimulus_coord": "image_id"})


def test_different_neuroids_in_train_and_test(parts):
    *others, test = parts
    for changed, message in (
        (test[:, :3], "target_train has 4 neuroids and target_test 3"),
        (test[:, ::-1], "site0, site1, site2"),
        (test[1:], "source_test and target_test hold different stimuli"),
    ):
        with pytest.raises(ValueError, match=message):
            load_metric("ridge_split")(*others, changed)


def test_the_chosen_penalty_stands_beside_the_correlations(parts):
    name = "dual_ridgecv_split"
    score = load_metric(name)(*parts)
    assert score.raw["alpha"].ndim == 0 and float(score.raw["alpha"]) in ALPHAS
    each = load_metric(name, alpha_per_target=True)(*parts)
    assert each.raw["alpha"].dims == ("neuroid",)
    same = load_metric(name, regression_kwargs={"alpha_per_target": True})(*parts)
    np.testing.assert_array_equal(each.raw, same.raw)
    assert load_metric(name, alphas=[float(score.raw["alpha"])])(*parts) == float(score)


@pytest.mark.slow
def test_every_split_chooses_its_own_penalty(pair):
    score = load_metric("ridgecv", alphas=[1e-3, 1.0, 10.0, 1e4])(*pair)
    assert score.raw["alpha"].dims == ("split",)
    assert load_metric("ridgecv", alpha_per_target=True)(*pair).raw["alpha"].dims == ("split", "neuroid")


def test_a_penalty_at_the_edge_of_its_range_is_said(parts):
    with pytest.warns(UserWarning, match=r"the largest penalty, 0.01, was chosen in 100% of the fits"):
        load_metric("ridgecv_split", alphas=[0.001, 0.01])(*parts)


def test_the_ends_of_a_range_of_tiny_penalties_are_told_apart(parts):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        load_metric("ridgecv_split", alphas=np.logspace(-12, -8, 5))(*parts)
    assert [" smallest penalty" in str(one.message) for one in said] == [False]


@pytest.mark.slow
@pytest.mark.parametrize(("features", "warns"), [(52, False), (53, True)])
def test_least_squares_of_too_few_stimuli_says_so(make, features, warns):
    """54 of 60 stimuli train, and one is taken up by the intercept."""
    rng = np.random.default_rng(0)
    source, target = make(rng.normal(size=(60, features))), make(rng.normal(size=(60, 2)))
    message = f"linear_predictivity.* has {features} features for 54 training stimuli and no penalty.*ridgecv"
    parts = source[:54], source[54:], target[:54], target[54:]
    for name, sides in (("linear_predictivity", (source, target)), ("linear_predictivity_split", parts)):
        with pytest.warns(UserWarning, match=message) if warns else nullcontext():
            load_metric(name)(*sides)
    load_metric("ridge", alpha=1e-6)(source, target)


@pytest.mark.slow
@pytest.mark.parametrize(("features", "warns"), [(33, False), (80, True)])
def test_features_in_stimulus_coordinates_are_counted_as_what_they_are(make, features, warns):
    rng = np.random.default_rng(0)
    source, target = make(rng.normal(size=(60, features))), make(rng.normal(size=(60, 2)))
    padded = in_stimulus_coordinates(source, "inner products")
    assert padded.sizes["neuroid"] >= 53
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        load_metric("linear_predictivity")(padded, target)
    assert [f"has {features} features" in str(one.message) for one in said] == [True] * warns


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), [("linear_predictivity", 20), ("pcr", 80)])
def test_rcond_decides_the_rank_as_in_numpy(make, name, width):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, width)) * np.logspace(0, -3, width)
    y = x @ rng.normal(size=(width, 3)) + 0.1 * rng.normal(size=(60, 3))
    found = []
    for rcond in (1e-9, 0.02, 0.2):
        metric = load_metric(name, {"splits": 3}, rcond=rcond)
        score = metric(make(x), make(y))
        found.append(score.raw.values)
        for (train, test), of_split in zip(metric.folds_of(make(y)), found[-1], strict=True):
            centred = [side[train] - side[train].mean(axis=0) for side in (x, y)]
            predicted = x[test] @ np.linalg.lstsq(*centred, rcond=rcond)[0]
            expected = [np.corrcoef(predicted[:, unit], y[test, unit])[0, 1] for unit in range(3)]
            np.testing.assert_allclose(of_split, expected, atol=1e-9)
        assert score.provenance.settings["rcond"] == rcond
    assert not np.allclose(*found[1:], atol=1e-3)
    with pytest.raises(ValueError, match="rcond"):
        load_metric(name, rcond=-1.0)
