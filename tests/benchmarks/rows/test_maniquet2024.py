"""Manipulated objects: trials in the shape of the published ones."""

import numpy as np
import pytest

from bsjax import load_benchmark, load_metric
from bsjax.data.types.merging import merge_stimulus_set
from tests.support import served_data as served
from tests.support.people import answering, behaviour

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
    return answering(stimuli, LABELS, np.where(chosen[:, None] == LABELS, 0.6, 0.2))


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
    trials = behaviour((coords["prediction"] == truth).astype(int), **coords)
    serve("Maniquet2024", trials)
    serve("Maniquet2024-test", stimuli=stimuli)
    serve("Maniquet2024-train", stimuli=served.stimuli_of(6, "learned", image_label=np.tile(LABELS, 2)))
    return trials


@pytest.mark.parametrize(("name", "ceiling"), [("confusion_similarity", 0.53526), ("tasks_consistency", 0.9981)])
def test_the_score_is_that_of_the_metric_over_the_published_ceiling(people, model, stimuli, name, ceiling):
    score = load_benchmark(f"Maniquet2024-{name}")(model)
    raw = float(load_metric(name)(merge_stimulus_set(model.look_at(stimuli), stimuli), people))
    assert 0.1 < raw < 1 and float(score.unceiled) == pytest.approx(raw)
    assert float(score) == pytest.approx(raw / ceiling) and "authors" in score.ceiling.provenance["source"]


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
