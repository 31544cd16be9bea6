"""Whether 95 % intervals over draws hold the mean of a metric of noise, for every metric and ceiling in the registry.

``python -m benchmarks_perf.calibration.noise`` scores noise of tiny size from ``--sets`` seeds in each row, a metric
and what is drawn, and prints in how many its interval holds the mean of the metric on independent noise of that size.
That is not 0 for accuracy, biased CKA or ceilings: ``--truth`` simulates it anew and writes ``noise_truth.json``.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from sklearn.neighbors import KNeighborsRegressor

from benchmarks_perf.calibration.simulated import asked, labelled
from bsjax import Resampling, load_metric
from bsjax.labelled import Score
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import Factor, in_draws

TRUTH = Path(__file__).with_name("noise_truth.json")
# Of 100 seeds so many intervals hold, or more.
BAR = 88
_STIMULI, _NEUROIDS, _TRIALS, _BINS, _SUBJECTS, _IMAGES, _DRAWS = 24, 6, 4, 2, 8, 60, 50
_FOR_TRUTH = 400
_SPLITS = {"crossvalidation_kwargs": {"splits": 4, "train_size": 0.75, "stratification_coord": None}}
_KINDS, _UNIT = np.array(["bear", "car", "dog"]), np.arange(_NEUROIDS)

Data = tuple[Any, ...]


class Row(NamedTuple):
    """A metric of noise, and what can be drawn of it.

    Attributes:
        over: what is drawn, one after the other; anything else is refused.
        data: ``data(rng)``, the assemblies of one seed.
        settings: of the metric.
    """

    over: tuple[Factor, ...]
    data: Callable[[np.random.Generator], Data]
    settings: dict[str, Any] = {}


def _responses(rng: np.random.Generator, stimuli: Any = None, name: str = "n", **shown: Any) -> xr.DataArray:
    ids = np.arange(_STIMULI) if stimuli is None else stimuli
    units = {"neuroid_id": [f"{name}{i}" for i in range(_NEUROIDS)]}
    values = rng.normal(size=(len(ids), _NEUROIDS))
    return labelled(values, presentation={"stimulus_id": ids, **shown}, neuroid=units)


def _placed(side: xr.DataArray, **coords: Any) -> xr.DataArray:
    """With further coordinates of its neuroids."""
    return side.assign_coords({name: ("neuroid", each) for name, each in coords.items()})


def _pair(rng: np.random.Generator) -> Data:
    return _responses(rng, name="m"), _responses(rng)


def _latents(rng: np.random.Generator) -> Data:
    """Sides whose units agree among themselves, and not with those of the other."""
    return tuple(side + rng.normal(size=(_STIMULI, 1)) * 3.0 * rng.uniform(0.5, 1.5, _NEUROIDS) for side in _pair(rng))


def _channels(rng: np.random.Generator) -> Data:
    source, target = _pair(rng)
    zero = np.zeros(_NEUROIDS, int)
    return _placed(source, channel=_UNIT % 2, channel_x=_UNIT // 2, channel_y=zero), target


def _split(rng: np.random.Generator) -> Data:
    train, test = np.arange(_STIMULI), np.arange(_STIMULI, 2 * _STIMULI)
    return tuple(_responses(rng, ids, name) for name in "mn" for ids in (train, test))


def _in_bins(data: Callable[[np.random.Generator], Data], rng: np.random.Generator, bins: int = _BINS) -> Data:
    starts = {"time_bin_start": ("time_bin", np.arange(bins)), "time_bin_end": ("time_bin", np.arange(bins) + 1)}
    sides = zip(*(data(rng) for _ in range(bins)), strict=True)
    joined = (xr.concat(side, "time_bin").transpose("presentation", "neuroid", "time_bin") for side in sides)
    return tuple(side.assign_coords(starts) for side in joined)


def _trials(rng: np.random.Generator) -> Data:
    repetition = np.repeat(np.arange(_TRIALS), _STIMULI)
    return (_responses(rng, np.tile(np.arange(_STIMULI), _TRIALS), repetition=repetition),)


def _pair_of_trials(rng: np.random.Generator) -> Data:
    return _trials(rng) + _trials(rng)


def _prediction_and_trials(rng: np.random.Generator) -> Data:
    """Trials of neuroids that respond to the stimuli, which a prediction does not know: a reliability of noise is 0."""
    (trials,) = _trials(rng)
    signal = np.tile(rng.normal(size=(_STIMULI, _NEUROIDS)), (_TRIALS, 1))
    return _responses(rng), trials + signal


def _of_subjects(rng: np.random.Generator) -> Data:
    units = {
        "neuroid_id": np.arange(_SUBJECTS * _NEUROIDS),
        "subject": np.repeat([f"s{i}" for i in range(_SUBJECTS)], _NEUROIDS),
    }
    values = rng.normal(size=(_STIMULI, _SUBJECTS * _NEUROIDS))
    return (labelled(values, presentation={"stimulus_id": np.arange(_STIMULI)}, neuroid=units),)


def _properties(rng: np.random.Generator) -> Data:
    named, bins = {"neuroid_property": ["osi"]}, np.linspace(0, 1, 6)
    return tuple(
        labelled(rng.random((n, 1)), neuroid={"neuroid_id": np.arange(n)}, neuroid_property=named).assign_attrs(
            osi_bins=bins
        )
        for n in (60, 30)
    )


def _pairs_of_factors(rng: np.random.Generator) -> Data:
    kinds = {"factor": np.repeat(["shape", "colour"], _STIMULI // 2), "sample": np.tile(np.arange(_STIMULI // 2), 2)}
    return _responses(rng, **kinds), _responses(rng, **kinds)


def _solution_times(rng: np.random.Generator) -> Data:
    source, _ = _in_bins(_pair, rng)
    named = {"image_label": np.array(["a", "b"])[np.arange(_STIMULI) % 2]}
    source = source.assign_coords(image_label=("presentation", named["image_label"]))
    shown = {"stimulus_id": source["stimulus_id"].values, "i1": rng.normal(size=_STIMULI), **named}
    return source, labelled(rng.random(_STIMULI), presentation=shown)


def _choices(rng: np.random.Generator, subjects: int, stimuli: int = _IMAGES, name: str = "s") -> xr.DataArray:
    """Guesses of one of three kinds, each subject of each stimulus."""
    n = stimuli * subjects
    image = np.tile(np.arange(stimuli), subjects)
    shown = {
        "stimulus_id": image,
        "subject": np.repeat([f"{name}{i}" for i in range(subjects)], stimuli),
        "truth": _KINDS[image % 3],
        "condition": np.array(["clear", "noisy"])[image // 3 % 2],
    }
    return labelled(_KINDS[rng.integers(0, 3, n)], presentation=shown)


def _people(rng: np.random.Generator) -> Data:
    """One and the same model, which has an accuracy of its own, and other people."""
    return _choices(np.random.default_rng(0), 1, name="model"), _choices(rng, _SUBJECTS)


def _right_or_wrong(rng: np.random.Generator) -> Data:
    people = _choices(rng, _SUBJECTS)
    return people, people.copy(data=people["truth"].values)


def _probabilities(rng: np.random.Generator, stimuli: int, **shown: Any) -> xr.DataArray:
    image = np.arange(stimuli)
    shown = {"stimulus_id": image, "image_label": _KINDS[image % 3], **shown}
    return labelled(rng.dirichlet([1, 1, 1], stimuli), presentation=shown, choice={"choice": _KINDS})


def _signatures(rng: np.random.Generator) -> Data:
    image = np.repeat(np.arange(_IMAGES), 12)
    truth = image % 3
    other = (truth + rng.integers(1, 3, len(image))) % 3
    of_truth = dict.fromkeys(("truth", "sample_obj"), _KINDS[truth])
    chosen = _KINDS[np.where(rng.random(len(image)) < 0.5, truth, other)]
    people = labelled(chosen, presentation={"stimulus_id": image, **of_truth, "dist_obj": _KINDS[other]})
    return _probabilities(rng, _IMAGES), people


def _confusions(rng: np.random.Generator) -> Data:
    """Choices by task, of which a model's stimuli have the same."""
    tasks = ("control", "clutter_heavy", "clutter_light", "phasescrambling_lowpass", "phasescrambling_highpass")
    kinds = np.array([(kind, detail or kind) for kind, _, detail in (task.partition("_") for task in tasks)])
    task = np.arange(60) // 3 % 5
    named = {"manipulation": kinds[task, 0], "manipulation_details": kinds[task, 1]}
    people = _choices(rng, _SUBJECTS, len(task))
    done = np.array([name.removeprefix("phase") for name in tasks])[task[people["stimulus_id"].values]]
    shown = {"image_label": people["truth"], "prediction": people, "task": done, "subject_id": people["subject"]}
    coords = {key: ("presentation", np.asarray(values)) for key, values in shown.items()}
    return _probabilities(rng, len(task), **named), people.assign_coords(coords)


def _altered(rng: np.random.Generator) -> Data:
    """Accuracies of whole images, which people see better, and of altered ones."""
    sides = []
    for subjects, name, by in ((1, "model", np.random.default_rng(0)), (_SUBJECTS, "s", rng)):
        side = _choices(by, subjects, 120, name)
        whole = side["stimulus_id"].values // 3 % 2 == 0
        kinds = {"image_type": ("presentation", np.where(whole, "w", "f")), "animal": side["truth"]}
        right = whole & (by.random(len(side)) < 0.6)
        sides.append(side.copy(data=np.where(right, side["truth"], side)).assign_coords(kinds))
    model, people = sides
    return model, people.copy(data=(people == people["truth"]).values.astype(int))


def _thresholds(rng: np.random.Generator, relative_to: float = 1.0) -> Data:
    """One and the same model's choices at eight levels, and thresholds of people."""
    levels, draw = np.repeat(np.linspace(1.0, 8.0, 8), 30), np.random.default_rng(0)
    left = np.where(draw.random(len(levels)) < 0.5 + 0.45 / (1 + np.exp(4.5 - levels)), 0.8, 0.2)
    shown = {"x": levels, "image_label": ["left"] * len(levels), "stimulus_id": np.arange(len(levels))}
    model = labelled(np.stack([left, 1 - left], 1), presentation=shown, choice={"choice": ["left", "right"]})
    names = [f"s{i}" for i in range(_SUBJECTS)]
    return model, labelled(rng.uniform(3, 7, _SUBJECTS) / relative_to, subject={"subject": names})


def _elevations(rng: np.random.Generator) -> Data:
    return 1.2, _thresholds(rng, relative_to=4)[1]


def _numbers(rng: np.random.Generator) -> Data:
    return float(rng.normal()), float(rng.normal())


def _on_a_sheet(rng: np.random.Generator) -> Data:
    """Neuroids on a grid, and gratings of a few orientations."""
    return (_placed(_responses(rng, orientation=22.5 * (np.arange(_STIMULI) % 8)), x=_UNIT % 3, y=_UNIT // 3),)


_S, _N, _P = "stimuli", "neuroids", "subjects"
_FEW = {"n_components": 2}
# Splits of few stimuli that are tested would leave few pairs of different stimuli in a draw.
_HALVES = {"crossvalidation_kwargs": {"splits": 4, "test_size": 0.5, "stratification_coord": None}}
_UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None}}
FURTHER: dict[str, dict[str, Any]] = {
    **{"pcr": _FEW, "reduced_rank": {"rank": 2}, "rotation": {}, "nnls": {}, "kernel_ridge": {}},
    **{"elastic_net": {"alpha": 0.01}, "lasso": {"alpha": 0.01}},
    "banded_ridge": {"bands": (2, 4), "candidates": 2, "cv": 2},
    "multiple_kernel_ridge": {"candidates": 2, "cv": 2},
    "stacked_regression": {"bands": (2, 4), "cv": 2},
}
_FORWARD = {"pls": _FEW, **{_name: {} for _name in ("ridge", "ridgecv", "linear_predictivity", "neuron_to_neuron")}}
_REVERSE = {f"reverse_{_name}": _settings for _name, _settings in (FURTHER | {"pls": _FEW}).items()}
_PLAIN: dict[Callable[[np.random.Generator], Data], dict[tuple[Factor, ...], str]] = {
    _pair: {
        (_S, _N): "cka cka_biased rdm procrustes shape cca svcca pwcca kernel_cka permutation_shape one_to_one "
        "soft_matching semi_matching"
    },
    _latents: {(_S, _N): "cka_of_sampled_units"},
    _split: {(_S, _N): "dual_ridge_split dual_ridgecv_split"},
    _on_a_sheet: {(_S, _N): "tuning_smoothness wiring_economy", (_S,): "pinwheel_density"},
    _signatures: {(_S,): "i1 i2n"},
    _right_or_wrong: {(_S, _P): "accuracy"},
    _people: {(_S, _P): "error_consistency kato_error_consistency accuracy_distance kato_accuracy_distance"},
    _confusions: {(_S, _P): "confusion_similarity tasks_consistency"},
    _numbers: {(): "value_delta"},
    _prediction_and_trials: {(_S,): "noise_corrected_r2"},
    _pair_of_trials: {(_S, _N): "stochastic_shape"},
    _trials: {(_S, _N): "internal_consistency noise_ceiling_snr"},
    partial(_in_bins, _trials): {(_S, _N): "internal_consistency_temporal"},
    _of_subjects: {(_S, _P): "rsa_ceiling", (_S, _N, _P): "cross_subject_consistency"},
}
ROWS: dict[str, Row] = {
    name: Row(over, data)
    for data, by_factors in _PLAIN.items()
    for over, names in by_factors.items()
    for name in names.split()
}
for _name, _settings in (_FORWARD | FURTHER | _REVERSE).items():
    ROWS |= {_form: Row((_S, _N), _pair, _SPLITS | _settings) for _form in (_name, f"{_name}_cv")}
    ROWS[f"{_name}_split"] = Row((_S,) if _name in _REVERSE else (_S, _N), _split, _settings)
for _name in ("pls_by_components", "reverse_pls_by_components"):
    ROWS[_name] = Row((_S, _N), _pair, _SPLITS | _FEW)
# Copies of a stimulus in a draw are neighbours.
ROWS |= {_name: Row((_N,), _pair, {"k": 5}) for _name in ("mutual_nearest_neighbours", "cknna")}
ROWS |= {_name: Row((_S, _N), _pair, _HALVES) for _name in ("feature_reweighted_rdm", "encoding_rdm")}
ROWS |= {_name: Row((_S,), _pair, _UNSTRATIFIED) for _name in ("cka_cv", "rdm_cv")}
for _name in ("weighted_rdm", "selected_rdm", "interpolated_rdm"):
    ROWS[_name] = Row((_S, _N), _pair, _HALVES | {"bands": (3, 3)})
_BY_OSI = {"property_name": "osi", "ns": 50}
_AGAINST = {"baseline_condition": "one", "test_condition": "two"}
_BY_LABEL = {"splits": 2, "test_size": 0.5, "stratification_coord": "image_label"}
ROWS |= {
    "spantime_ridge": Row((_S, _N), partial(_in_bins, _pair), _SPLITS),
    "spantime_pls": Row((_S, _N), partial(_in_bins, _pair), _SPLITS | _FEW),
    "dsa": Row((_S, _N), partial(_in_bins, _pair, bins=6), {"delays": 2, "rank": 3}),
    "mask_regression": Row((_S, _N), _channels, _SPLITS | {"max_epochs": 2}),
    "regression": Row((_S, _N), _pair, _SPLITS | {"estimator": KNeighborsRegressor(1)}),
    "regression_split": Row((_S,), _split, {"estimator": KNeighborsRegressor(1)}),
    "ks_similarity": Row((_N,), _properties, _BY_OSI),
    "property_ceiling": Row(
        (_N,), lambda rng: _properties(rng)[1:], {"similarity_metric": load_metric("ks_similarity", **_BY_OSI)}
    ),
    "factor_dimensionality": Row((), _pairs_of_factors, {"factor": "shape", "whole_neuroids": False}),
    "ost": Row((_S,), _solution_times, {"crossvalidation_kwargs": _BY_LABEL, "decoder": {"epochs": 1}}),
    "baker_accuracy_delta": Row((_S, _P), _altered, {"image_types": ["w", "f"], "splits": 10}),
    "threshold": Row((_P,), _thresholds, {"independent_variable": "x", "threshold_accuracy": 0.75}),
    "threshold_elevation": Row((_P,), _elevations, {"independent_variable": "x", **_AGAINST}),
    "rdm_of_trials": Row((_S,), _prediction_and_trials, {"comparison": "corr"}),
    "predictor_consistency": Row((_S, _N), _trials, {"n_splits": 10}),
    "gsn_rsa_ceiling": Row((_S, _N), _trials, {"draws": 5, "stimuli": 12}),
    "cross_subject_consistency, ridge": Row((_S, _P), _of_subjects, {"metric": "ridge", **_SPLITS}),
    "internal_consistency, cka": Row((_S, _N), _trials, {"consistency_metric": load_metric("cka")}),
}
for _name in ("error_consistency", "accuracy_distance", "i1", "baker_accuracy_delta", "confusion_similarity",
              "tasks_consistency", "threshold"):  # fmt: skip
    ROWS[f"{_name}, ceiling"] = ROWS[_name]._replace(data=lambda rng, data=ROWS[_name].data: data(rng)[-1:])


def identifier(name: str) -> str:
    """The metric of a row in the registry; a row may say more after a comma."""
    return name.partition(",")[0]


def metric_of(name: str, **settings: Any) -> Any:
    """The metric of a row, or its ceiling."""
    metric = load_metric(identifier(name), **ROWS[name].settings | settings)
    return metric.ceiling if name.endswith(", ceiling") else metric


def noise_score(name: str, factor: str | None, seed: int, draws: int = _DRAWS) -> Score:
    """The score of one seed of noise, in draws of a factor."""
    data = ROWS[name].data(np.random.default_rng([seed, 5]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if factor is None:
            return metric_of(name)(*data)
        plan: Any = Resampling(factor, draws=draws)
        with in_draws(plan):
            return scored(metric_of(name), *data)


def simulate_truth(names: list[str], sets: int) -> None:
    """Means of each metric over independent noise, and how surely they are known, into ``noise_truth.json``."""
    found = json.loads(TRUTH.read_text()) if TRUTH.exists() else {}
    for name in names:
        values = [np.asarray(noise_score(name, None, 10_000 + i).value, float) for i in range(sets)]
        mean, error = np.nanmean(values, axis=0), np.nanstd(values, axis=0) / np.sqrt(sets)
        found[name] = {"mean": np.round(mean, 5).tolist(), "error": np.round(error, 5).tolist()}
        TRUTH.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def holds(name: str, factor: str, seeds: range, draws: int = _DRAWS) -> tuple[float, int]:
    """In how many seeds the interval holds the mean on independent noise, and how many seeds have an interval."""
    truth = np.asarray(json.loads(TRUTH.read_text())[name]["mean"])
    held: list[float] = []
    for seed in seeds:
        ends = noise_score(name, factor, seed, draws).interval()
        if ends is not None and np.isfinite(np.asarray([ends.low, ends.high])).all():
            held.append(float(np.mean((np.asarray(ends.low) <= truth) & (truth <= np.asarray(ends.high)))))
    return sum(held), len(held)


def main() -> None:
    """Measure and print."""
    sets, wanted, given = asked(__doc__, 100, truth="simulate the means anew")
    names = [name for name in ROWS if wanted(name)]
    if given.truth:
        simulate_truth(names, _FOR_TRUTH)
    print("| metric | interval over | holds | of | |\n|---|---|---|---|---|")
    for name in names:
        for factor in ROWS[name].over:
            start = time.perf_counter()
            held, of = holds(name, factor, range(sets))
            short = "too few" if held < BAR / 100 * of else ""
            print(f"| {name} | {factor} | {held:g} | {of} | {short} | {time.perf_counter() - start:.1f}", flush=True)


if __name__ == "__main__":
    main()
