"""Settings that are no such number, stimuli that cannot be told apart, nothing to compare: one clear line each."""

import unicodedata

import numpy as np
import pytest
import xarray as xr
from scipy.spatial.distance import pdist, squareform

from bsjax import BehavioralAssembly, load_ceiling, load_metric
from bsjax.adapters.stored.model import from_stored
from bsjax.benchmarks.uncertainty import with_error_over_stimuli
from bsjax.labelled.splits import CrossValidation
from tests.support.responses import assembly

NO_COUNTS = (0, 1.5, True, float("nan"), "3")
COUNTS = {
    "splits": lambda n: CrossValidation.from_kwargs({"splits": n}),
    "n_components": lambda n: load_metric("pls", n_components=n),
    "repetitions": lambda n: load_metric("i1", repetitions=n),
    "n_groups": lambda n: with_error_over_stimuli(load_ceiling("internal_consistency"), responses(10), n_groups=n),
}


def responses(stimuli=20, units=4, ids=None, seed=0):
    n = stimuli if ids is None else len(ids)
    return assembly(np.random.default_rng(seed).normal(size=(n, units)), ids)


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_a_whole_number(name):
    for value in NO_COUNTS:
        with pytest.raises(ValueError, match=f"^{name} must be a whole number of at least [12], got "):
            COUNTS[name](value)


@pytest.mark.parametrize("name", ["train_size", "test_size"])
def test_a_size_is_a_share_or_a_number(name):
    for value in (0, -3, 0.0, 1.0, 1.5, True, float("nan"), "0.9"):
        with pytest.raises(ValueError, match=f"{name} must be a share between 0 and 1, or a number of stimuli"):
            CrossValidation.from_kwargs({name: value})
    for value in (0.5, 3, np.float64(0.5), np.int64(3)):
        CrossValidation.from_kwargs({name: value})


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), True, "1"])
def test_a_penalty_is_a_finite_number(value):
    with pytest.raises(ValueError, match="alpha must be a finite number that is not negative"):
        load_metric("ridge", alpha=value)
    with pytest.raises(ValueError, match="cv must be a whole number of at least 2"):
        load_metric("ridgecv", cv=value)


def test_no_neuroid_is_nothing_to_compare():
    with pytest.raises(ValueError, match="source has no neuroid: there is nothing to compare"):
        load_metric("ridge")(responses()[:, :0], responses())
    with pytest.raises(ValueError, match="target has no neuroid: there is nothing to compare"):
        load_metric("cka")(responses(), responses()[:, :0])


COMPOSED, DECOMPOSED = ([unicodedata.normalize(form, f"é{i}") for i in range(9)] for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (range(9), [str(i) for i in range(9)], "differ in type, int in source and str in target: convert those of one"),
        (COMPOSED, [COMPOSED[0], *DECOMPOSED[1:]], r"such as 'é1' differ in their Unicode form alone \(NFC or NFD"),
    ],
)
def test_ids_that_differ_in_their_type_or_form_alone(source, target, message):
    with pytest.raises(ValueError, match=message):
        load_metric("cka")(responses(ids=source), responses(ids=target))


def choices(**labels):
    labels = {"stimulus_id": "ab", "truth": ("cat", "dog"), "condition": "xy", "subject": "AA"} | labels
    coords = {name: ("presentation", np.array(list(values), object)) for name, values in labels.items()}
    return BehavioralAssembly(["cat", "cat"], dims=["presentation"], coords=coords)


@pytest.mark.parametrize("missing", [float("nan"), None])
@pytest.mark.parametrize("name", ["condition", "truth", "stimulus_id"])
def test_trials_without_a_condition_a_truth_or_an_id(name, missing):
    for sides in ((choices(**{name: ("x", missing)}), choices()), (choices(), choices(**{name: ("x", missing)}))):
        with pytest.raises(ValueError, match=rf"has no {name} for 1 of its presentations \(1\): give each one"):
            load_metric("error_consistency")(*sides)


@pytest.mark.parametrize("name", ["condition", "stimulus_id"])
def test_labels_of_trials_that_differ_in_type_alone(name):
    with pytest.raises(ValueError, match=rf"differ in type, int in source and str in target.*source\[\"{name}\"\]"):
        load_metric("error_consistency")(choices(**{name: (1, 2)}), choices(**{name: ("1", "2")}))


def test_dissimilarities_are_no_responses():
    matrix = responses(20, 20).copy(data=squareform(pdist(responses().values)))
    with pytest.raises(ValueError, match="target is a matrix of dissimilarities, 20 x 20, .*RDMAssembly"):
        load_metric("ridge", {"stratification_coord": None})(responses(), matrix)


@pytest.mark.parametrize("missing", [float("nan"), None])
def test_missing_ids(missing):
    ids = np.array(["a", missing, "b", "c", "d"], dtype=object)
    lacking, whole = responses(ids=ids), responses(ids=list("aebcd"))
    for what, sides in (("source", (lacking, whole)), ("target", (whole, lacking))):
        with pytest.raises(ValueError, match=rf"{what} has no stimulus_id for 1 of its presentations \(1\)"):
            load_metric("cka")(*sides)
    with pytest.raises(ValueError, match=r"'net' have no stimulus id in rows 1$"):
        from_stored({"layer": np.zeros((5, 2))}, "net", stimulus_ids=ids)


@pytest.mark.slow
def test_single_trials_of_a_stimulus_train_together_or_test_together():
    source, target = responses(20, 6), responses(20, 3, seed=1)
    trials = xr.concat([target, target + 0.1 * responses(20, 3, seed=2).values], "presentation")
    kwargs = {"splits": 4, "train_size": 0.8, "stratification_coord": None, "unique_split_values": True}
    score = load_metric("ridge", kwargs)(source, trials)
    # The same source for each trial, told apart, and splits of which none has one stimulus on both sides.
    apart = [f"{stimulus}.{i // 20}" for i, stimulus in enumerate(trials["stimulus_id"].values)]
    repeated = source.sel(presentation=list(range(20)) * 2).assign_coords(stimulus_id=("presentation", apart))
    stimuli = trials["stimulus_id"].values
    trials = trials.assign_coords(stimulus_id=("presentation", apart), picture=("presentation", stimuli))
    kwargs |= {"split_coord": "picture"}
    expected = load_metric("ridge", kwargs)(repeated, trials)
    np.testing.assert_array_equal(score.raw, expected.raw)
    for train, test in CrossValidation.from_kwargs(kwargs).of(trials):
        assert not set(stimuli[train]) & set(stimuli[test])
