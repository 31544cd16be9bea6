"""Manipulated objects: trials in the shape of the published ones, correlations by numpy."""

import numpy as np
import pytest
from scipy.stats import pearsonr

from bsjax import BehavioralAssembly, load_benchmark
from bsjax.models import PrecomputedFeatures
from tests.support import served_data as served

pytestmark = pytest.mark.slow


LABELS = np.array(["face", "house", "shoe"])
# people's task -> the manipulation of the stimuli, and its details
TASKS = {
    "control": ("control", "control"),
    "clutter_heavy": ("clutter", "heavy"),
    "scrambling_highpass": ("phasescrambling", "highpass"),
    "occlusion_few_large_blobs_high": ("occluder", "fewlarge-high"),
}
SHARES = [0.9, 0.7, 0.5, 0.4]
EACH, PEOPLE = 15, 6


@pytest.fixture
def stimuli():
    kinds = np.repeat(np.arange(4), EACH)
    manipulation, details = np.array(list(TASKS.values()))[kinds].T
    labels = LABELS[np.arange(4 * EACH) % 3]
    return served.stimuli_of(4 * EACH, manipulation=manipulation, manipulation_details=details, image_label=labels)


def choices(truth, kinds, rng):
    """The right label, or one of the wrong ones, the next of them mostly."""
    code = np.searchsorted(LABELS, truth)
    shift = np.where(rng.random(len(code)) < np.array(SHARES)[kinds], 0, np.where(rng.random(len(code)) < 0.8, 1, 2))
    return LABELS[(code + shift) % 3]


@pytest.fixture
def model(stimuli):
    chosen = choices(stimuli["image_label"], np.repeat(np.arange(4), EACH), np.random.default_rng(0))
    values = np.where(chosen[:, None] == LABELS, 0.6, 0.2)
    coords = {"stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy()), "choice": LABELS}
    answers = BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])
    return PrecomputedFeatures(answers, visual_degrees=8)


@pytest.fixture
def people(serve, stimuli):
    """Six people who answer to each image; the data have no stimulus set of their own."""
    kinds = np.tile(np.repeat(np.arange(4), EACH), PEOPLE)
    truth = np.tile(stimuli["image_label"], PEOPLE)
    coords = {
        "stimulus_id": np.tile(stimuli["stimulus_id"], PEOPLE),
        "image_label": truth,
        "prediction": choices(truth, kinds, np.random.default_rng(1)),
        "subject_id": np.repeat(np.arange(PEOPLE), len(stimuli)),
        "task": np.array(list(TASKS))[kinds],
    }
    trials = BehavioralAssembly(
        (coords["prediction"] == truth).astype(int),
        coords={name: ("presentation", np.asarray(c)) for name, c in coords.items()},
        dims=["presentation"],
    )
    serve("Maniquet2024", trials)
    serve("Maniquet2024-test", stimuli=stimuli)
    serve("Maniquet2024-train", stimuli=served.stimuli_of(6, "learned", image_label=np.tile(LABELS, 2)))
    return trials


def test_confusions_as_by_hand(people, model, stimuli):
    def errors(truth, choice):
        counts = np.array([[np.sum((truth == t) & (choice == c)) for c in LABELS] for t in LABELS])
        return counts[~np.eye(3, dtype=bool)]

    score = load_benchmark("Maniquet2024-confusion_similarity")(model)
    chosen = model.look_at(stimuli).idxmax("choice").values
    pair = (
        errors(stimuli["image_label"].values, chosen),
        errors(people["image_label"].values, people["prediction"].values),
    )
    assert float(score.unceiled) == pytest.approx(pearsonr(*pair)[0])
    assert float(score) == pytest.approx(pearsonr(*pair)[0] / 0.53526)
    assert "authors" in score.ceiling.provenance["source"]


def test_tasks_as_by_hand(people, model, stimuli):
    score = load_benchmark("Maniquet2024-tasks_consistency")(model)
    right = model.look_at(stimuli).idxmax("choice").values == stimuli["image_label"].values
    of_model = [right[stimuli["manipulation"] == kind].mean() for kind, _ in TASKS.values()]
    of_people = [people.values[people["task"].values == task].mean() for task in TASKS]
    r = pearsonr(of_model, of_people)[0]
    assert float(score.unceiled) == pytest.approx(r) and float(score) == pytest.approx(r / 0.9981)


@pytest.mark.parametrize("name", ["confusion_similarity", "tasks_consistency"])
def test_ceilings_from_the_trials(people, model, name):
    computed = load_benchmark(f"Maniquet2024-{name}", ceiling="computed")
    assert 0.5 < float(computed.ceiling) < 1 and computed.ceiling.formula == "2r/(1+r)"
    score = computed(model)
    assert float(score) == pytest.approx(float(score.unceiled) / float(computed.ceiling))
    with pytest.raises(ValueError, match=f"Maniquet2024-{name}.*'known'.*got 'precomputed'"):
        load_benchmark(f"Maniquet2024-{name}", ceiling="precomputed")
    with pytest.raises(ValueError, match="has no people to compute a ceiling from"):
        load_benchmark("Lonnqvist2024_EngineeringAccuracy", ceiling="computed")
