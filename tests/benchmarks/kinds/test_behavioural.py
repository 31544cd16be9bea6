"""Behavioural benchmarks of one's own: what they say of trials that lack something."""

import numpy as np
import pytest

from bsjax import load_metric, load_model
from bsjax.benchmarks import BehavioralBenchmark, most_probable
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from tests.support.people import behaviour, trials_of

METRICS = {
    "error_consistency": {},
    "accuracy_distance": {},
    "i2n": {},
    "confusion_similarity": {},
    "tasks_consistency": {},
    "baker_accuracy_delta": {"image_types": ["w", "f"]},
}


def stimuli(**columns):
    made = procedural_stimuli("Doe2026", n_per_kind=2, n_pixels=16, visual_degrees=8, seed=0)
    return made.assign(image_label=made["object_name"], **columns)


def benchmark(trials, name, **changes):
    own = {"fitting_stimuli": stimuli(), "task": "probabilities", "answers": most_probable, **changes}
    metric = load_metric(name, **METRICS[name])
    return BehavioralBenchmark("Doe2026-x", trials, similarity_metric=metric, ceiling_func=lambda: 1.0, **own)


@pytest.mark.parametrize("name", METRICS)
def test_all_that_is_missing_is_named_at_once(name):
    bare = behaviour(["noise"] * 3)
    metric = load_metric(name, **METRICS[name])
    with pytest.raises(ValueError, match=r"the assembly of 'Doe2026-x' has no coordinates 'stimulus_id', ") as raised:
        benchmark(bare, name)(load_model("pixels"))
    said, _, of_the_stimuli = str(raised.value).partition("Its stimuli lack the columns")
    assert "attrs['stimulus_set']" in said and metric.needs
    assert [n for n in metric.needs if f"'{n}'" not in said or f"{n}: " not in said] == []
    assert [n for n in metric.needs_of_source if n not in of_the_stimuli] == []


def test_what_is_added_after_one_message_is_enough():
    shown = stimuli(truth=lambda table: table["object_name"], condition="plain")
    answers = dict.fromkeys(["a", "b"], np.roll(shown["truth"], 1))
    trials = trials_of(answers, shown, truth="truth", condition="condition").assign_attrs(stimulus_set=shown)
    assert benchmark(trials, "error_consistency")(load_model("pixels")).n_units == 2


def test_training_stimuli_may_have_a_size_of_their_own():
    shown = stimuli(truth=lambda table: table["object_name"]).drop(columns="degrees")
    trials = trials_of({"a": np.roll(shown["truth"], 1)}, shown, truth="truth").assign_attrs(stimulus_set=shown)
    asked = benchmark(trials, "confusion_similarity", answers=None, visual_degrees=4)
    assert asked(load_model("pixels")).n_units == len(shown)


def test_choices_that_are_the_truths_need_them():
    trials = behaviour(["noise"], stimulus_id=["a"]).assign_attrs(stimulus_set=stimuli())
    asked = benchmark(trials, "i2n", task="label", fitting_stimuli=None)
    with pytest.raises(ValueError, match="has no coordinates 'truth', 'sample_obj', 'dist_obj'"):
        asked(load_model("pixels"))
