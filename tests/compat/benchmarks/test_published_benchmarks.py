"""Published benchmarks of nine families, unchanged, beside bsjax's own on the same small data."""

import numpy as np
import pytest

from bsjax import BehavioralAssembly, DataAssembly, NeuroidAssembly, load_benchmark
from bsjax.benchmarks import benchmark_row
from bsjax.data import NeuronRecordingAssembly
from bsjax.models import PrecomputedFeatures
from tests.support import served_data as served
from tests.support.experiment import N_STIMULI, experiment_of, model_of
from tests.support.people import naming, trials_of
from tests.support.recorder import Recorder

pytestmark = [
    pytest.mark.usefixtures("published_plugins"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]
ALL = ("value", "unceiled", "ceiling")
OBJECTS = ["dog", "car", "cup", "hat"] * (N_STIMULI // 4)


def both(identifier, model, same=ALL, atol=1e-9):
    """The scores of bsjax's benchmark and of the plugin's; those of their parts that are to agree do."""
    own, plugin = (load_benchmark(name)(model) for name in (identifier, f"brainscore:{identifier}"))
    for part in same:
        one, two = ((getattr(score, part)) for score in (own, plugin))
        np.testing.assert_allclose(
            *(np.asarray(each if part == "value" else each.value) for each in (one, two)),
            rtol=0,
            atol=atol,
            err_msg=part,
        )
    assert plugin.provenance["benchmark"] == identifier
    return own, plugin


def same_intervals(own, plugin):
    """Where else the score could have come out is told alike, and so are the ends."""
    one, two = own.interval(), plugin.interval()
    assert (one.kind, one.over, plugin.formula, plugin.error_kind) == (two.kind, two.over, own.formula, own.error_kind)
    np.testing.assert_allclose([one.low, one.high], [two.low, two.high], rtol=1e-6)


def in_region(region, other):
    return [region, region, other, region, region]


class Answering:
    """A model that says with what probability it takes a stimulus for the odd one."""

    identifier = "answering"

    def __init__(self, answers):
        self._answers = answers

    def visual_degrees(self):
        return 8

    def start_task(self, task, fitting_stimuli=None):
        assert task == "probabilities" and set(fitting_stimuli["image_label"]) == {"oddball", "same"}

    def look_at(self, stimuli, number_of_trials=1):
        coords = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns}
        values = [self._answers[stimulus_id] for stimulus_id in stimuli["stimulus_id"]]
        coords["choice"] = ["oddball", "same"]
        return BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])


@pytest.mark.slow
@pytest.mark.parametrize("identifier", ["MajajHong2015public.IT-pls", "MajajHong2015.V4-pls"])
def test_majajhong2015(serve, identifier):
    data, region = identifier.split("-")[0].split(".")
    here = experiment_of(5, object_name=OBJECTS)
    trials = served.assembly_of(here.trials, here.stimuli, region=in_region(region, "V1"), animal=["Chabo"] * 5)
    serve("MajajHong2015.public" if data.endswith("public") else "MajajHong2015.private", trials, here.stimuli)
    own, plugin = both(identifier, here.model(region))
    same_intervals(own, plugin)
    assert 0.2 < float(own) < 1


@pytest.mark.slow
def test_freemanziemba2013(serve):
    here = experiment_of(5, texture_type=["texture", "noise"] * (N_STIMULI // 2))
    bins = [(t, t + 1) for t in range(250)]
    course = np.random.default_rng(1).uniform(0.5, 1.5, size=len(bins))
    assembly = served.assembly_of(
        here.trials[..., None] * course, here.stimuli, bins, cls=NeuronRecordingAssembly, region=in_region("V1", "V2")
    )
    serve("FreemanZiemba2013.private", assembly, here.stimuli)
    own, plugin = both("FreemanZiemba2013.V1-pls", here.model("V1"))
    same_intervals(own, plugin)
    assert 0.2 < float(own) < 1


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ridge", "ridgecv"])
def test_papale2025(serve, metric):
    parts = []
    for split, n, repetitions in (("train", 60, 1), ("test", 30, 6)):
        here = experiment_of(8, n, repetitions, prefix=split)
        neuroids = {
            "region": ["IT"] * 8,
            "subject": ["N", "F"] * 4,
            "reliability": [0.9, 0.8, 0.2, 0.7, 0.6, 0.9, 0.8, 0.1],
        }
        serve(f"Papale2025_{split}", served.assembly_of(here.trials, here.stimuli, **neuroids), here.stimuli)
        parts.append(here)
    own, _ = both(f"Papale2025.IT-{metric}", model_of("IT", *parts))
    assert 0.2 < float(own) < 1


@pytest.mark.slow
def test_rajalingham2018(serve):
    objects, truth = ["bear", "car", "elephant", "plane"], np.repeat(np.arange(4), 8)
    rng, named = np.random.default_rng(0), np.array(objects)
    stimuli = served.stimuli_of(32, image_label=named[truth])
    logits = rng.normal(size=(32, 4)) + 1.2 * np.eye(4)[truth]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    ids = stimuli["stimulus_id"].to_numpy()
    answers = BehavioralAssembly(
        shares, coords={"stimulus_id": ("presentation", ids), "choice": objects}, dims=["presentation", "choice"]
    )
    image = rng.integers(0, 32, 4000)
    sample, other = named[truth[image]], named[(truth[image] + rng.integers(1, 4, 4000)) % 4]
    choice = np.where(rng.random(4000) < 0.4 + 0.5 * shares[image, truth[image]], sample, other)
    columns = {"stimulus_id": ids[image], "truth": sample, "sample_obj": sample, "dist_obj": other, "choice": choice}
    trials = BehavioralAssembly(
        choice, coords={name: ("presentation", each) for name, each in columns.items()}, dims=["presentation"]
    )
    serve("Rajalingham2018.private", trials, stimuli)
    serve("objectome.public", stimuli=served.stimuli_of(8, "learned", image_label=objects * 2))
    both("Rajalingham2018-i2n", PrecomputedFeatures(answers, visual_degrees=8))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "same"), [("error_consistency", ALL), ("top1", ["value"])])
def test_geirhos2021(serve, form, same):
    conditions, truth = np.repeat([np.inf, 0.4, 0.45, 0.55, 0.7, 1.5], 4), np.array(["bear", "car", "cat", "dog"] * 6)
    stimuli = served.stimuli_of(24, truth=truth, condition=conditions)
    stimuli["image_id"] = stimuli["stimulus_id"]
    easy = np.arange(24) % 4 < 2
    answers = {f"subject-0{n}": np.where(easy ^ (np.arange(24) % 9 == n), truth, "na") for n in range(1, 4)}
    serve(
        "Geirhos2021_high-pass",
        trials_of(answers, stimuli, truth="truth", condition="condition", image_id="image_id"),
        stimuli,
    )
    said = np.where(easy ^ (np.arange(24) % 5 == 1), truth, np.roll(truth, 1))
    own, _ = both(f"Geirhos2021highpass-{form}", naming(stimuli["stimulus_id"], said), same)
    assert 0 < float(own) < 1  # beyond which the plugin's is cut off


@pytest.mark.slow
def test_kar2019(serve):
    n, bins = 60, benchmark_row("Kar2019-ost").time_bins
    objects, rng = np.array(["bear", "car", "dog"] * (n // 3)), np.random.default_rng(0)
    stimuli = served.stimuli_of(n, image_label=objects)
    coords = {
        "decoder": ("decoder", ["logistic", "svm"]),
        "stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy()),
        "i1": ("presentation", rng.uniform(0.2, 1.0, n)),
        "image_label": ("presentation", objects),
    }
    times = DataAssembly(rng.uniform(80, 200, (2, n)), coords=coords, dims=["decoder", "presentation"])
    serve("Kar2019", times, stimuli)
    signal = rng.normal(size=(3, 6))[np.unique(objects, return_inverse=True)[1]]
    strength = 1 / (1 + np.exp(rng.uniform(0, 12, n)[:, None] - np.arange(len(bins))))
    values = 3 * signal[:, :, None] * strength[:, None, :] + rng.normal(size=(n, 6, len(bins)))
    both("Kar2019-ost", Recorder(stimuli, values))


@pytest.mark.slow
def test_coggan2024(serve):
    n, subjects, regions, rng = 24, [f"F{i}" for i in range(5)], ["V1", "V2", "V4", "IT"], np.random.default_rng(0)
    stimuli, signal = (
        served.stimuli_of(n, occlusion_condition=["complete", "lower", "upper"] * 8),
        rng.normal(size=(n, 30)),
    )
    rsms = np.stack([np.corrcoef(signal + rng.normal(size=(n, 30))) for _ in range(20)], axis=2)
    coords = {
        "stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy()),
        "subject": ("neuroid", subjects * 4),
        "region": ("neuroid", np.repeat(regions, 5)),
    }
    serve(
        "Coggan2024_fMRI",
        NeuroidAssembly(rsms, coords=coords, dims=["presentation", "presentation", "neuroid"]),
        stimuli,
    )
    means = np.where(np.arange(400) < 20, 30.0, 0.0) * rng.choice([-1, 1], 400)
    both("tong.Coggan2024_fMRI.IT-rdm", Recorder(stimuli, means + rng.normal(size=(n, 400))))


@pytest.mark.slow
def test_ferguson2024(serve):
    number = np.array([1, 5, 11])[np.arange(24) % 6 // 2]
    stimuli = served.stimuli_of(48, image_number=[*range(24)] * 2, block=["first"] * 24 + ["second"] * 24)
    rng = np.random.default_rng(0)
    who, image = np.array([(who, image) for who in range(5) for image in np.tile(np.arange(48), 3)]).T
    correct = (rng.random(len(who)) < np.where(image >= 24, 0.9, 0.9 - 0.03 * np.tile(number, 2)[image])).astype(int)
    columns = {
        "stimulus_id": stimuli["stimulus_id"].to_numpy()[image],
        "participant_id": np.array([f"p{n}" for n in who]),
        "block": np.where(image >= 24, "second", "first"),
        "distractor_nums": np.array([f"{n}.0" for n in np.tile(number, 2)[image]]),
        "correct": correct,
        "trial_type": np.full(len(who), "normal"),
    }
    people = BehavioralAssembly(
        correct, coords={name: ("presentation", each) for name, each in columns.items()}, dims=["presentation"]
    )
    serve("Ferguson2024_color", people, stimuli)
    serve("Ferguson2024_color_training_stimuli", stimuli=served.stimuli_of(4, "learned", image_number=range(4)))
    oddball = np.clip(0.5 + np.where(np.arange(48) % 2, -0.2, 0.2) + 0.2 * rng.normal(size=48), 0, 1)
    model = Answering(dict(zip(stimuli["stimulus_id"], np.stack([oddball, 1 - oddball], axis=1), strict=True)))
    # The plugin rounds its integrals to four digits.
    both("Ferguson2024color-value_delta", model, atol=1e-4)


@pytest.mark.slow
def test_bracci2019(serve):
    n, voxels, subjects, rng = 27, 8, 4, np.random.default_rng(0)
    labels = ["lookalike", "animal", "object"] * 9
    stimuli = served.stimuli_of(
        n, image_label=labels, stimulus_name=labels, exemplar_number=range(n), image_group=labels
    )
    responses = rng.normal(size=(n, voxels)) + rng.normal(size=(subjects, 3, n, voxels))
    coords = {
        **{name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns},
        "subject": ("neuroid", np.repeat(np.arange(subjects), 3 * voxels)),
        "roi": ("neuroid", np.tile(np.repeat(np.arange(3), voxels), subjects)),
        "voxels": ("neuroid", np.tile(np.arange(3 * voxels), subjects)),
    }
    values = responses.transpose(2, 0, 1, 3).reshape(n, -1)
    serve("Bracci2019", stimuli=stimuli)
    serve("Bracci2019", NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"]))
    features = rng.normal(size=(n, 20))
    features[:, :voxels] += 2 * responses[:, 2].mean(axis=0)
    both("Bracci2019.anteriorVTC-rdm", Recorder(stimuli, features))
