"""Whether 95 % intervals over draws hold the mean of a metric of noise, for every metric and ceiling in the registry.

``python -m benchmarks_perf.calibration.noise`` scores noise of tiny size from ``--sets`` seeds in each row, a metric
and what is drawn, and prints in how many its interval holds the mean of the metric on independent noise of that size.
That is not 0 for accuracy, biased CKA or ceilings: ``--truth`` simulates it anew and writes ``noise_truth.json``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from sklearn.neighbors import KNeighborsRegressor

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
_KINDS, _LEVELS = np.array(["bear", "car", "dog"]), np.linspace(1.0, 8.0, 8)

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


def _assembly(values: Any, dims: str, **coords: Any) -> xr.DataArray:
    """With coordinates as ``name=(dimension, values)``."""
    return xr.DataArray(np.asarray(values), coords, dims.split())


def _responses(rng: np.random.Generator, stimuli: Any = _STIMULI, name: str = "n", **coords: Any) -> xr.DataArray:
    ids = np.arange(stimuli) if isinstance(stimuli, int) else stimuli
    shown, units = ("presentation", ids), ("neuroid", [f"{name}{i}" for i in range(_NEUROIDS)])
    values = rng.normal(size=(len(ids), _NEUROIDS))
    return _assembly(values, "presentation neuroid", stimulus_id=shown, neuroid_id=units, **coords)


def _pair(rng: np.random.Generator) -> Data:
    return _responses(rng, name="m"), _responses(rng)


def _latents(rng: np.random.Generator) -> Data:
    """Sides whose units agree among themselves, and not with those of the other."""
    return tuple(side + rng.normal(size=(_STIMULI, 1)) * 3.0 * rng.uniform(0.5, 1.5, _NEUROIDS) for side in _pair(rng))


def _channels(rng: np.random.Generator) -> Data:
    source, target = _pair(rng)
    unit = np.arange(_NEUROIDS)
    places = {"channel": unit % 2, "channel_x": unit // 2, "channel_y": np.zeros(_NEUROIDS, int)}
    return source.assign_coords({name: ("neuroid", each) for name, each in places.items()}), target


def _split(rng: np.random.Generator) -> Data:
    train, test = np.arange(_STIMULI), np.arange(_STIMULI, 2 * _STIMULI)
    return tuple(_responses(rng, ids, name) for name in "mn" for ids in (train, test))


def _over_time(rng: np.random.Generator, bins: int = _BINS) -> Data:
    starts = {"time_bin_start": ("time_bin", np.arange(bins)), "time_bin_end": ("time_bin", np.arange(bins) + 1)}
    sides = zip(*(_pair(rng) for _ in range(bins)), strict=True)
    joined = (xr.concat(side, "time_bin").transpose("presentation", "neuroid", "time_bin") for side in sides)
    return tuple(side.assign_coords(starts) for side in joined)


def _trials(rng: np.random.Generator) -> Data:
    repetition = ("presentation", np.repeat(np.arange(_TRIALS), _STIMULI))
    return (_responses(rng, np.tile(np.arange(_STIMULI), _TRIALS), repetition=repetition),)


def _pair_of_trials(rng: np.random.Generator) -> Data:
    return _trials(rng)[0], _trials(rng)[0]


def _pair_of_series(rng: np.random.Generator) -> Data:
    return _over_time(rng, bins=6)


def _prediction_and_trials(rng: np.random.Generator) -> Data:
    """Trials of neuroids that respond to the stimuli, which a prediction does not know: a reliability of noise is 0."""
    (trials,) = _trials(rng)
    signal = np.tile(rng.normal(size=(_STIMULI, _NEUROIDS)), (_TRIALS, 1))
    return _responses(rng), trials + signal


def _trials_over_time(rng: np.random.Generator) -> Data:
    start = {"time_bin_start": ("time_bin", np.arange(_BINS)), "time_bin_end": ("time_bin", np.arange(_BINS) + 1)}
    bins = xr.concat([_trials(rng)[0] for _ in range(_BINS)], "time_bin")
    return (bins.transpose("presentation", "neuroid", "time_bin").assign_coords(start),)


def _of_subjects(rng: np.random.Generator) -> Data:
    units = _SUBJECTS * _NEUROIDS
    coords = {
        "stimulus_id": ("presentation", np.arange(_STIMULI)),
        "neuroid_id": ("neuroid", np.arange(units)),
        "subject": ("neuroid", np.repeat([f"s{i}" for i in range(_SUBJECTS)], _NEUROIDS)),
    }
    return (_assembly(rng.normal(size=(_STIMULI, units)), "presentation neuroid", **coords),)


def _properties(rng: np.random.Generator) -> Data:
    def of(n: int) -> xr.DataArray:
        neuroids = ("neuroid", np.arange(n))
        named = {"neuroid_id": neuroids, "neuroid_property": ["osi"]}
        return _assembly(rng.random((n, 1)), "neuroid neuroid_property", **named).assign_attrs(
            osi_bins=np.linspace(0, 1, 6)
        )

    return of(60), of(30)


def _sampled(rng: np.random.Generator) -> Data:
    return (_properties(rng)[1],)


def _pairs_of_factors(rng: np.random.Generator) -> Data:
    kinds = {"factor": ("presentation", np.repeat(["shape", "colour"], _STIMULI // 2)),
             "sample": ("presentation", np.tile(np.arange(_STIMULI // 2), 2))}  # fmt: skip
    return _responses(rng, **kinds), _responses(rng, **kinds)


def _solution_times(rng: np.random.Generator) -> Data:
    source, _ = _over_time(rng)
    ids, labels = source["stimulus_id"].values, np.arange(_STIMULI) % 2
    source = source.assign_coords(image_label=("presentation", np.array(["a", "b"])[labels]))
    shown = {"stimulus_id": ("presentation", ids), "i1": ("presentation", rng.normal(size=_STIMULI))}
    return source, _assembly(rng.random(_STIMULI), "presentation", **shown, image_label=source["image_label"])


def _choices(rng: np.random.Generator, subjects: int, stimuli: int = _IMAGES, name: str = "s") -> xr.DataArray:
    """Guesses of one of three kinds, each subject of each stimulus."""
    n = stimuli * subjects
    image = np.tile(np.arange(stimuli), subjects)
    truth = _KINDS[image % 3]
    coords = {
        "stimulus_id": image,
        "subject": np.repeat([f"{name}{i}" for i in range(subjects)], stimuli),
        "truth": truth,
        "condition": np.array(["clear", "noisy"])[image // 3 % 2],
    }
    labelled = {key: ("presentation", values) for key, values in coords.items()}
    return _assembly(_KINDS[rng.integers(0, 3, n)], "presentation", **labelled)


def _people(rng: np.random.Generator) -> Data:
    """One and the same model, which has an accuracy of its own, and other people."""
    return _choices(np.random.default_rng(0), 1, name="model"), _choices(rng, _SUBJECTS)


def _right_or_wrong(rng: np.random.Generator) -> Data:
    people = _choices(rng, _SUBJECTS)
    return people, people.copy(data=people["truth"].values)


def _probabilities(rng: np.random.Generator, stimuli: int, **coords: Any) -> xr.DataArray:
    image = np.arange(stimuli)
    shown = {"stimulus_id": ("presentation", image), "image_label": ("presentation", _KINDS[image % 3])}
    return _assembly(rng.dirichlet([1, 1, 1], stimuli), "presentation choice", **shown, choice=_KINDS, **coords)


def _signatures(rng: np.random.Generator) -> Data:
    image = np.repeat(np.arange(_IMAGES), 12)
    truth = image % 3
    other = (truth + rng.integers(1, 3, len(image))) % 3
    coords = {"stimulus_id": image, "truth": _KINDS[truth], "sample_obj": _KINDS[truth], "dist_obj": _KINDS[other]}
    labelled = {key: ("presentation", values) for key, values in coords.items()}
    chosen = _KINDS[np.where(rng.random(len(image)) < 0.5, truth, other)]
    return _probabilities(rng, _IMAGES), _assembly(chosen, "presentation", **labelled)


def _confusions(rng: np.random.Generator) -> Data:
    """Choices by task, of which a model's stimuli have the same."""
    tasks = np.array(["control", "clutter_heavy", "clutter_light", "scrambling_lowpass", "scrambling_highpass"])
    kinds = np.array([("control", "control"), *(("clutter", k) for k in ("heavy", "light")),
                      *(("phasescrambling", k) for k in ("lowpass", "highpass"))])  # fmt: skip
    stimuli = 60
    task = np.arange(stimuli) // 3 % 5
    named = {"manipulation": ("presentation", kinds[task, 0]), "manipulation_details": ("presentation", kinds[task, 1])}
    people = _choices(rng, _SUBJECTS, stimuli)
    image = people["stimulus_id"].values
    shown = {"image_label": people["truth"].values, "prediction": people.values, "task": tasks[task[image]],
             "subject_id": people["subject"].values}  # fmt: skip
    return _probabilities(rng, stimuli, **named), people.assign_coords(
        {key: ("presentation", values) for key, values in shown.items()}
    )


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


def _psychometric(rng: np.random.Generator) -> xr.DataArray:
    x = np.repeat(_LEVELS, 30)
    left = np.where(rng.random(len(x)) < 0.5 + 0.45 / (1 + np.exp(4.5 - x)), 0.8, 0.2)
    shown = {"x": ("presentation", x), "image_label": ("presentation", ["left"] * len(x))}
    shown["stimulus_id"] = ("presentation", np.arange(len(x)))
    return _assembly(np.stack([left, 1 - left], 1), "presentation choice", **shown, choice=["left", "right"])


def _thresholds(rng: np.random.Generator) -> Data:
    names = [f"s{i}" for i in range(_SUBJECTS)]
    return _psychometric(np.random.default_rng(0)), _assembly(rng.uniform(3, 7, _SUBJECTS), "subject", subject=names)


def _elevations(rng: np.random.Generator) -> Data:
    _, people = _thresholds(rng)
    return 1.2, people / 4


def _numbers(rng: np.random.Generator) -> Data:
    return float(rng.normal()), float(rng.normal())


def _on_a_sheet(rng: np.random.Generator) -> Data:
    """Neuroids on a grid, and gratings of a few orientations."""
    unit, shown = np.arange(_NEUROIDS), ("presentation", 22.5 * (np.arange(_STIMULI) % 8))
    return (_responses(rng, x=("neuroid", unit % 3), y=("neuroid", unit // 3), orientation=shown),)


def _last(data: Callable[[np.random.Generator], Data]) -> Callable[[np.random.Generator], Data]:
    return lambda rng: data(rng)[-1:]


_S, _N, _P = "stimuli", "neuroids", "subjects"
ROWS: dict[str, Row] = {}
for _name in ("ridge", "ridgecv", "pls", "linear_predictivity", "neuron_to_neuron"):
    _few = {"n_components": 2} if _name == "pls" else {}
    for _form in (_name, f"{_name}_cv"):
        ROWS[_form] = Row((_S, _N), _pair, _SPLITS | _few)
    ROWS[f"{_name}_split"] = Row((_S, _N), _split, _few)
for _name in ("reverse_pls", "reverse_pls_cv", "pls_by_components", "reverse_pls_by_components"):
    ROWS[_name] = Row((_S, _N), _pair, _SPLITS | {"n_components": 2})
ROWS["reverse_pls_split"] = Row((_S,), _split, {"n_components": 2})
FURTHER: dict[str, dict[str, Any]] = {
    **{"pcr": {"n_components": 2}, "reduced_rank": {"rank": 2}, "rotation": {}, "nnls": {}, "kernel_ridge": {}},
    **{"elastic_net": {"alpha": 0.01}, "lasso": {"alpha": 0.01}},
    "banded_ridge": {"bands": (2, 4), "candidates": 2, "cv": 2},
    "multiple_kernel_ridge": {"candidates": 2, "cv": 2},
    "stacked_regression": {"bands": (2, 4), "cv": 2},
}
for _name, _few in FURTHER.items():
    for _both in (_name, f"reverse_{_name}"):
        ROWS |= {_form: Row((_S, _N), _pair, _SPLITS | _few) for _form in (_both, f"{_both}_cv")}
        ROWS[f"{_both}_split"] = Row((_S, _N) if _both == _name else (_S,), _split, _few)
_WHOLE = ("procrustes", "shape", "cca", "svcca", "pwcca", "kernel_cka")
ROWS["cka_of_sampled_units"] = Row((_S, _N), _latents)
_OF_UNITS = ("permutation_shape", "one_to_one", "soft_matching", "semi_matching")
ROWS |= {_name: Row((_S, _N), _pair) for _name in (*_WHOLE, *_OF_UNITS)}
# Copies of a stimulus in a draw are neighbours.
ROWS |= {_name: Row((_N,), _pair, {"k": 5}) for _name in ("mutual_nearest_neighbours", "cknna")}
# Splits of few stimuli that are tested would leave few pairs of different stimuli in a draw.
_HALVES = {"crossvalidation_kwargs": {"splits": 4, "test_size": 0.5, "stratification_coord": None}}
ROWS |= {_name: Row((_S, _N), _pair, _HALVES) for _name in ("feature_reweighted_rdm", "encoding_rdm")}
for _name in ("weighted_rdm", "selected_rdm", "interpolated_rdm"):
    ROWS[_name] = Row((_S, _N), _pair, _HALVES | {"bands": (3, 3)})
ROWS |= {f"dual_{name}": Row((_S, _N), _split) for name in ("ridge_split", "ridgecv_split")}
ROWS |= {
    "spantime_ridge": Row((_S, _N), _over_time, _SPLITS),
    "spantime_pls": Row((_S, _N), _over_time, _SPLITS | {"n_components": 2}),
    "mask_regression": Row((_S, _N), _channels, _SPLITS | {"max_epochs": 2}),
    "regression": Row((_S, _N), _pair, _SPLITS | {"estimator": KNeighborsRegressor(1)}),
    "regression_split": Row((_S,), _split, {"estimator": KNeighborsRegressor(1)}),
    "cka": Row((_S, _N), _pair),
    "cka_biased": Row((_S, _N), _pair),
    "cka_cv": Row((_S,), _pair, {"crossvalidation_kwargs": {"stratification_coord": None}}),
    "rdm": Row((_S, _N), _pair),
    "rdm_cv": Row((_S,), _pair, {"crossvalidation_kwargs": {"stratification_coord": None}}),
    "ks_similarity": Row((_N,), _properties, {"property_name": "osi", "ns": 50}),
    "property_ceiling": Row((_N,), _sampled, {
        "similarity_metric": load_metric("ks_similarity", property_name="osi", ns=50)}),
    "factor_dimensionality": Row((), _pairs_of_factors, {"factor": "shape", "whole_neuroids": False}),
    "ost": Row((_S,), _solution_times, {"crossvalidation_kwargs": {"splits": 2, "test_size": 0.5,
               "stratification_coord": "image_label"}, "decoder": {"epochs": 1}}),
    "tuning_smoothness": Row((_S, _N), _on_a_sheet),
    "wiring_economy": Row((_S, _N), _on_a_sheet),
    "pinwheel_density": Row((_S,), _on_a_sheet),
    "i1": Row((_S,), _signatures),
    "i2n": Row((_S,), _signatures),
    "accuracy": Row((_S, _P), _right_or_wrong),
    "error_consistency": Row((_S, _P), _people),
    "kato_error_consistency": Row((_S, _P), _people),
    "accuracy_distance": Row((_S, _P), _people),
    "kato_accuracy_distance": Row((_S, _P), _people),
    "value_delta": Row((), _numbers),
    "baker_accuracy_delta": Row((_S, _P), _altered, {"image_types": ["w", "f"], "splits": 10}),
    "confusion_similarity": Row((_S, _P), _confusions),
    "tasks_consistency": Row((_S, _P), _confusions),
    "threshold": Row((_P,), _thresholds, {"independent_variable": "x", "threshold_accuracy": 0.75}),
    "threshold_elevation": Row((_P,), _elevations, {
        "independent_variable": "x", "baseline_condition": "one", "test_condition": "two"}),
    "noise_corrected_r2": Row((_S,), _prediction_and_trials),
    "rdm_of_trials": Row((_S,), _prediction_and_trials, {"comparison": "corr"}),
    "stochastic_shape": Row((_S, _N), _pair_of_trials),
    "dsa": Row((_S, _N), _pair_of_series, {"delays": 2, "rank": 3}),
    "internal_consistency": Row((_S, _N), _trials),
    "internal_consistency_temporal": Row((_S, _N), _trials_over_time),
    "predictor_consistency": Row((_S, _N), _trials, {"n_splits": 10}),
    "rsa_ceiling": Row((_S, _P), _of_subjects),
    "cross_subject_consistency": Row((_S, _N, _P), _of_subjects),
    "noise_ceiling_snr": Row((_S, _N), _trials),
    "gsn_rsa_ceiling": Row((_S, _N), _trials, {"draws": 5, "stimuli": 12}),
}  # fmt: skip

ROWS["cross_subject_consistency, ridge"] = Row((_S, _P), _of_subjects, {"metric": "ridge", **_SPLITS})
ROWS["internal_consistency, cka"] = Row((_S, _N), _trials, {"consistency_metric": load_metric("cka")})
for _name in ("error_consistency", "accuracy_distance", "i1", "baker_accuracy_delta", "confusion_similarity",
              "tasks_consistency", "threshold"):  # fmt: skip
    ROWS[f"{_name}, ceiling"] = ROWS[_name]._replace(data=_last(ROWS[_name].data))


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rows", default="", help="names of rows, with ; between them")
    parser.add_argument("--truth", action="store_true", help="simulate the means anew")
    given = parser.parse_args()
    names = [name for name in given.rows.split(";") if name] or list(ROWS)
    if given.truth:
        simulate_truth(names, _FOR_TRUTH)
    print("| metric | interval over | holds | of | |\n|---|---|---|---|---|")
    for name in names:
        for factor in ROWS[name].over:
            start = time.perf_counter()
            held, of = holds(name, factor, range(given.sets))
            short = "too few" if held < BAR / 100 * of else ""
            print(f"| {name} | {factor} | {held:g} | {of} | {short} | {time.perf_counter() - start:.1f}", flush=True)


if __name__ == "__main__":
    main()
