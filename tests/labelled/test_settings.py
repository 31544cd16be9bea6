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

UNSTRATIFIED = {"stratification_coord": None}
NO_COUNTS = (0, 1.5, True, float("nan"), "3")
COUNTS = {
    "splits": lambda n: CrossValidation.from_kwargs({"splits": n}),
    "n_components": lambda n: load_metric("pls", n_components=n),
    "n_bootstraps": lambda n: load_metric("cka", n_bootstraps=n),
    "repetitions": lambda n: load_metric("i1", repetitions=n),
    "n_groups": lambda n: with_error_over_stimuli(load_ceiling("internal_consistency"), responses(10), n_groups=n),
}


def responses(stimuli=20, units=4, ids=None, seed=0):
    n = stimuli if ids is None else len(ids)
    return assembly(np.random.default_rng(seed).normal(size=(n, units)), ids)


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_a_whole_number(name):
    for value in NO_COUNTS:
        with pytest.raises(ValueError, match=f"^{name.split()[0]} must be a whole number of at least [12], got "):
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
    for name in ("ridge", "ridge_split", "spantime_ridge"):
        with pytest.raises(ValueError, match="alpha must be a finite number that is not negative"):
            load_metric(name, alpha=value)
    with pytest.raises(ValueError, match="cv must be a whole number of at least 2"):
        load_metric("ridgecv", cv=value)


@pytest.mark.parametrize(("metric", "side"), [("ridge", "source"), ("cka", "target")])
def test_no_neuroid_is_nothing_to_compare(metric, side):
    given = {"source": responses(), "target": responses()}
    given[side] = given[side][:, :0]
    with pytest.raises(ValueError, match=f"{side} has no neuroid: there is nothing to compare"):
        load_metric(metric)(given["source"], given["target"])


COMPOSED, DECOMPOSED = ([unicodedata.normalize(form, f"é{i}") for i in range(9)] for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (range(9), [str(i) for i in range(9)], "differ in type, int in source and str in target: convert those of one"),
        (COMPOSED, [COMPOSED[0], *DECOMPOSED[1:]], r"such as 'é1' differ in their Unicode form alone \(NFC or NFD"),
        (list("0123"), [b"0", b"1", b"2", b"3"], "differ in type, str in source and bytes in target"),
    ],
)
def test_ids_that_differ_in_their_type_or_form_alone(source, target, message):
    with pytest.raises(ValueError, match=message):
        load_metric("cka")(responses(ids=source), responses(ids=target))


def choices(condition=("x", "y"), truth=("cat", "dog"), subject=("A", "A"), ids=("a", "b")):
    coords = {"stimulus_id": ids, "truth": truth, "condition": condition, "subject": subject}
    return BehavioralAssembly(
        ["cat", "cat"],
        dims=["presentation"],
        coords={name: ("presentation", np.array(values, object)) for name, values in coords.items()},
    )


@pytest.mark.parametrize("missing", [float("nan"), None])
@pytest.mark.parametrize("label", ["condition", "truth", "ids"])
def test_trials_without_a_condition_a_truth_or_an_id(label, missing):
    name = "stimulus_id" if label == "ids" else label
    for sides in ((choices(**{label: ("x", missing)}), choices()), (choices(), choices(**{label: ("x", missing)}))):
        with pytest.raises(ValueError, match=rf"has no {name} for 1 of its presentations \(1\): give each one"):
            load_metric("error_consistency")(*sides)


@pytest.mark.parametrize("label", ["condition", "ids"])
def test_labels_of_trials_that_differ_in_type_alone(label):
    name = "stimulus_id" if label == "ids" else label
    with pytest.raises(ValueError, match=rf"differ in type, int in source and str in target.*source\[\"{name}\"\]"):
        load_metric("error_consistency")(choices(**{label: (1, 2)}), choices(**{label: ("1", "2")}))


@pytest.mark.parametrize(("metric", "side"), [("rdm", "source"), ("ridge", "target")])
def test_dissimilarities_are_no_responses(metric, side):
    given = {"source": responses(), "target": responses()}
    matrix = squareform(pdist(given[side].values))
    given[side] = responses(20, 20).copy(data=matrix)
    with pytest.raises(ValueError, match=f"{side} is a matrix of dissimilarities, 20 x 20, .*RDMAssembly"):
        load_metric(metric, **({} if metric != "ridge" else {"crossvalidation_kwargs": UNSTRATIFIED}))(*given.values())


@pytest.mark.parametrize("missing", [float("nan"), None])
def test_missing_ids(missing):
    ids = np.array(["a", missing, "b", "c", "d"], dtype=object)
    for sides in (
        (responses(ids=ids), responses(ids=list("aebcd"))),
        (responses(ids=list("aebcd")), responses(ids=ids)),
    ):
        what = "source" if sides[0]["stimulus_id"].isnull().any() else "target"
        with pytest.raises(ValueError, match=rf"{what} has no stimulus_id for 1 of its presentations \(1\)"):
            load_metric("cka")(*sides)
    with pytest.raises(ValueError, match=r"'net' have no stimulus id in rows 1$"):
        from_stored({"layer": np.zeros((5, 2))}, "net", stimulus_ids=ids)


@pytest.mark.slow
def test_single_trials_of_a_stimulus_train_together_or_test_together():
    source, target = responses(20, 6), responses(20, 3, seed=1)
    trials = xr.concat([target, target + 0.1 * responses(20, 3, seed=2).values], "presentation")
    kwargs = {"splits": 4, "train_size": 0.8, "stratification_coord": None}
    with pytest.raises(ValueError, match="more than once"):
        load_metric("ridge", crossvalidation_kwargs=kwargs)(source, trials)

    kwargs |= {"unique_split_values": True}
    score = load_metric("ridge", crossvalidation_kwargs=kwargs)(source, trials)
    # The same source for each trial, told apart, and splits of which none has one stimulus on both sides.
    apart = [f"{stimulus}.{i // 20}" for i, stimulus in enumerate(trials["stimulus_id"].values)]
    repeated = source.sel(presentation=list(range(20)) * 2).assign_coords(stimulus_id=("presentation", apart))
    stimuli = trials["stimulus_id"].values
    trials = trials.assign_coords(stimulus_id=("presentation", apart), picture=("presentation", stimuli))
    kwargs |= {"split_coord": "picture"}
    expected = load_metric("ridge", crossvalidation_kwargs=kwargs)(repeated, trials)
    np.testing.assert_array_equal(score.raw, expected.raw)
    for train, test in CrossValidation.from_kwargs(kwargs).of(trials):
        assert not set(stimuli[train]) & set(stimuli[test])
