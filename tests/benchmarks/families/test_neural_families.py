"""Each family of recordings of single neurons, from a file of the real shape on a server to its score.

What the score should be is computed by hand from the same arrays.
"""

import numpy as np
import pytest

from bsjax import load_benchmark
from bsjax.data import NeuronRecordingAssembly
from tests.benchmarks.conftest import parts
from tests.support import benchmarks_by_hand as by_hand
from tests.support import served_data as served
from tests.support.experiment import N_STIMULI, experiment_of

pytestmark = pytest.mark.slow


OBJECTS = ["dog", "car", "cup", "hat"] * (N_STIMULI // 4)


def in_region(region: str, other: str) -> list[str]:
    """Four neuroids of a region, with one of another between them."""
    return [region, region, other, region, region]


def without(values: np.ndarray, *neuroids: int) -> np.ndarray:
    return np.delete(values, neuroids, axis=-1)


def check(score, raw: float, ceiling: float, n_units: int = 4) -> None:
    assert parts(score) == pytest.approx((raw, ceiling, by_hand.explained(raw, ceiling)), abs=1e-6)
    assert 0.2 < raw < 0.99 and 0.2 < ceiling < 0.99  # the experiment is neither trivial nor noise
    assert score.n_units == n_units


@pytest.mark.parametrize(
    ("identifier", "data", "objects", "bins"),
    [
        ("MajajHong2015public.IT-pls", "MajajHong2015.public", OBJECTS, [(70, 170)]),
        ("MajajHong2015.IT-pls", "MajajHong2015.private", OBJECTS, [(70, 170)]),
        ("SanghaviJozwik2020.IT-pls", "SanghaviJozwik2020", None, [(70, 170), (170, 270)]),
    ],
)
def test_multi_electrode_recordings(serve, same_as_published, identifier, data, objects, bins):
    here = experiment_of(5, **({"object_name": objects} if objects else {}))
    values = np.stack([here.trials, -here.trials][: len(bins)], axis=-1)
    neuroids = {"region": in_region("IT", "V4"), "animal": ["Chabo"] * 5}
    serve(data, served.assembly_of(values, here.stimuli, bins, **neuroids), here.stimuli)
    score = load_benchmark(identifier)(here.model("IT"))
    splits = by_hand.splits_of(N_STIMULI, objects)
    raw = by_hand.cross_validated(by_hand.pls, here.features, without(here.means, 2), splits)
    check(score, raw, by_hand.internal_consistency(without(here.trials, 2)))
    assert score.provenance["benchmark"] == identifier and score.provenance["n_stimuli"] == N_STIMULI
    if data.startswith("Majaj"):
        same_as_published(score, here.model("IT"), interval=True)


def test_spikes_in_bins_of_1_ms_are_averaged_over_the_response(serve, same_as_published):
    here = experiment_of(5, texture_type=["texture", "noise"] * (N_STIMULI // 2))
    bins = [(t, t + 1) for t in range(0, 250)]
    inside = np.array([50 <= start < 200 for start, _ in bins])
    course = np.random.default_rng(1).normal(size=len(bins)) * inside + 100.0 * ~inside  # outside it would spoil all
    course[inside] += 1 - course[inside].mean()  # the mean over the response is what the trial is
    assembly = served.assembly_of(
        here.trials[..., None] * course, here.stimuli, bins, cls=NeuronRecordingAssembly, region=in_region("V1", "V2")
    )
    serve("FreemanZiemba2013.private", assembly, here.stimuli)
    score = load_benchmark("FreemanZiemba2013.V1-pls")(here.model("V1"))
    splits = by_hand.splits_of(N_STIMULI, here.stimuli["texture_type"])
    raw = by_hand.cross_validated(by_hand.pls, here.features, without(here.means, 2), splits)
    check(score, raw, by_hand.internal_consistency(without(here.trials, 2)))
    same_as_published(score, here.model("V1"), interval=True)


def test_responses_over_time(serve):
    here = experiment_of(5, object_name=OBJECTS)
    steps = [(t, t + 5) for t in range(-10, 60, 5)]
    course = np.random.default_rng(1).uniform(0.5, 1.5, size=len(steps))
    noise = np.random.default_rng(2).normal(size=(*here.trials.shape, len(steps)))
    trials = here.trials[..., None] * course + noise
    assembly = served.assembly_of(trials, here.stimuli, steps, region=in_region("IT", "V4"))
    serve("MajajHong2015.temporal.public", assembly, here.stimuli)
    score = load_benchmark("MajajHong2015public.IT-temporal-pls")(here.model("IT"))
    # 10 ms from 0 on, before the last 10 ms: two steps each, 0 to 50 ms
    binned = without(trials[..., 2:12].reshape(*here.trials.shape, 5, 2).mean(-1).swapaxes(-1, -2), 2)
    assert score.value["time_bin_start"].values.tolist() == [0, 10, 20, 30, 40]
    means = binned.mean(0)  # (stimuli, bins, neuroids)
    per_split = []
    for train, test in by_hand.splits_of(N_STIMULI, OBJECTS):
        x = here.features.astype(float)
        fitted = by_hand.pls().fit(np.repeat(x[train], 5, axis=0), means[train].reshape(-1, 4))
        predicted = fitted.predict(x[test])
        per_split.append([np.median(by_hand.correlations(predicted, means[test, step])) for step in range(5)])
    raw = np.mean(per_split, axis=0)
    ceiling = np.array([by_hand.internal_consistency(binned[:, :, step]) for step in range(5)])
    np.testing.assert_allclose(score.unceiled.value, raw, atol=1e-6)
    np.testing.assert_allclose(score.ceiling.value, ceiling, atol=1e-9)
    np.testing.assert_allclose(score.value, by_hand.explained(raw, ceiling), atol=1e-6)


def test_from_neuroids_to_the_units_of_the_model(serve):
    here = experiment_of(31, object_name=OBJECTS)
    assembly = served.assembly_of(here.trials, here.stimuli, region=["V4"] * 30 + ["IT"])
    serve("MajajHong2015.public", assembly, here.stimuli)
    score = load_benchmark("MajajHong2015public.V4-reverse_pls")(here.model("V4"))
    splits = by_hand.splits_of(N_STIMULI, OBJECTS)
    raw = by_hand.cross_validated(by_hand.pls, here.means[:, :30], here.features.astype(float), splits)
    ceiling = by_hand.halves_of_each_image(here.trials[:, :, :30])
    assert parts(score) == pytest.approx((raw, ceiling, by_hand.explained(raw, ceiling)), abs=1e-6)


def test_images_that_a_neuroid_has_not_seen(serve):
    """Trials are told apart by an id, repetitions have another name."""
    here = experiment_of(4, n_stimuli=N_STIMULI + 2)
    trials = here.trials.copy()
    trials[:, [7, 21], 1] = np.nan
    assembly = served.assembly_of(trials, here.stimuli, repetition="repetition_id", cls=NeuronRecordingAssembly)
    assembly = assembly.assign_coords(id=("presentation", np.arange(assembly.sizes["presentation"])))
    serve("Cadena2017", assembly, here.stimuli)
    score = load_benchmark("Cadena2017-pls")(here.model("V1"))
    features, trials = np.delete(here.features, [7, 21], axis=0), np.delete(here.trials, [7, 21], axis=1)
    raw = by_hand.cross_validated(by_hand.pls, features, trials.mean(0), by_hand.splits_of(N_STIMULI))
    check(score, raw, by_hand.internal_consistency(trials))
    assert score.provenance["n_stimuli"] == N_STIMULI


def test_a_spatial_mask_finds_where_neuroids_look(serve):
    """Neuroids that weigh the channels of one place each: the read-out is of that form, and predicts them."""
    from bsjax import ModelCommitment
    from bsjax.adapters import from_stored

    rng = np.random.default_rng(0)
    stimuli = served.stimuli_of(600)
    maps = rng.normal(size=(600, 2, 3, 3)).astype(np.float32)
    place = maps.reshape(600, 2, 9)[:, :, [1, 4, 5, 7]]
    signal = 3 * np.einsum("icn,cn->in", place, rng.normal(size=(2, 4)))
    trials = signal + 0.2 * rng.normal(size=(4, *signal.shape))
    serve(
        "Cadena2017",
        served.assembly_of(trials, stimuli, repetition="repetition_id", cls=NeuronRecordingAssembly),
        stimuli,
    )
    activations = from_stored({"conv": maps}, "stored", stimulus_ids=stimuli["stimulus_id"].tolist())
    model = ModelCommitment("stored", activations, region_layer_map={"V1": "conv"}, visual_degrees=2)
    score = load_benchmark("Cadena2017-mask")(model)
    assert score.raw.sizes == {"split": 4, "neuroid": 4}
    assert float(score.ceiling) == pytest.approx(by_hand.internal_consistency(trials), abs=1e-9)
    assert 0.5 < float(score.unceiled) <= 1
    assert float(score) == pytest.approx(by_hand.explained(float(score.unceiled), float(score.ceiling)))


def test_styles_that_do_not_count_and_backgrounds_that_are_shared(serve):
    n = N_STIMULI + 4
    style = ["sketch", "original"] * (N_STIMULI // 2) + ["stylised"] * 4
    background = np.arange(n) // 2
    shown = {"object_style": style, "object_label": (OBJECTS * 2)[:n], "background_id": background}
    here = experiment_of(5, n_stimuli=n, stimulus_source=["Art"] * n, **shown)
    here.trials[:, :, 2] = np.random.default_rng(5).normal(size=here.trials.shape[:2])  # nothing but noise
    values = np.stack([here.trials, -here.trials], axis=-1)
    assembly = served.assembly_of(values, here.stimuli, [(70, 170), (170, 270)], region=["IT"] * 5)
    serve("Igustibagus2024", assembly, here.stimuli)
    score = load_benchmark("Igustibagus2024-ridge")(here.model("IT"))
    kept = without(here.trials, 2)[:, :N_STIMULI]
    splits = []
    for train, test in by_hand.splits_of(N_STIMULI, OBJECTS):
        shared = set(background[test]) - {0}
        splits.append(([row for row in train if background[row] not in shared], test))
    raw = by_hand.cross_validated(by_hand.ridge, here.features[:N_STIMULI], kept.mean(0), splits)
    check(score, raw, by_hand.internal_consistency(kept))


def test_stored_reliability_chooses_units_and_is_the_ceiling(serve):
    """Spikes of two animals, whose files have the reliability of each unit."""
    here = experiment_of(11)
    reliability = np.array([0.9, 0.4, 0.7, 0.5, 0.8, 0.6, np.nan, 0.7, 0.95, 0.55, 0.9])
    assembly = served.assembly_of(
        here.means[None],
        here.stimuli,
        cls=NeuronRecordingAssembly,
        region=["V4"] * 10 + ["IT"],
        reliability_window=reliability,
        subject=["a"] * 5 + ["b"] * 6,
    ).drop_vars("repetition")
    serve("Li2026", assembly, here.stimuli)
    kept = [0, 2, 3, 4, 5, 7, 8, 9]
    reliability = reliability[kept]
    score = load_benchmark("Li2026.V4-pls")(here.model("V4"))
    raw = by_hand.cross_validated(by_hand.pls, here.features, here.means[:, kept], by_hand.splits_of(N_STIMULI))
    check(score, raw, np.median(reliability), n_units=8)
    rng = np.random.RandomState(0)
    draws = [np.median(rng.choice(reliability, size=8, replace=True)) for _ in range(1000)]
    assert score.ceiling.error == pytest.approx(np.std(draws))
