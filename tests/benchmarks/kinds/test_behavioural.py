"""Behavioural benchmarks of one's own: what they say of trials that lack something."""

import numpy as np
import pytest

from bsjax import load_metric, load_model
from bsjax.benchmarks import BehavioralBenchmark, most_probable
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.data import BehavioralAssembly

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
    bare = BehavioralAssembly(["noise"] * 3, dims=["presentation"])
    metric = load_metric(name, **METRICS[name])
    with pytest.raises(ValueError, match=r"the assembly of 'Doe2026-x' has no coordinates 'stimulus_id', ") as raised:
        benchmark(bare, name)(load_model("pixels"))
    said, _, of_the_stimuli = str(raised.value).partition("Its stimuli lack the columns")
    assert "attrs['stimulus_set']" in said and metric.needs
    assert [n for n in metric.needs if f"'{n}'" not in said or f"{n}: " not in said] == []
    assert [n for n in metric.needs_of_source if n not in of_the_stimuli] == []
    with pytest.raises(ValueError, match="no coordinate") as raised:  # the metric says so too
        metric(BehavioralAssembly([[1.0]] * 3, dims=["presentation", "choice"], coords={"choice": ["a"]}), bare)
    named = str(raised.value)
    sides = (metric.needs, metric.needs_of_source)
    assert any(side and all(f"'{n}'" in named for n in side) for side in sides), named


def test_what_is_added_after_one_message_is_enough():
    shown = stimuli(truth=lambda table: table["object_name"], condition="plain")
    ids, n = shown["stimulus_id"], 2
    columns = {"stimulus_id": ids, "truth": shown["truth"], "condition": shown["condition"]}
    coords = {name: ("presentation", np.tile(values, n)) for name, values in columns.items()}
    coords["subject"] = ("presentation", np.repeat(["a", "b"], len(ids)))
    answers = np.tile(np.roll(shown["truth"], 1), n)
    trials = BehavioralAssembly(answers, dims=["presentation"], coords=coords, attrs={"stimulus_set": shown})
    assert benchmark(trials, "error_consistency")(load_model("pixels")).n_units == n


def test_the_normalisation_is_that_of_the_metric():
    trials = BehavioralAssembly(["noise"], dims=["presentation"])
    used = [benchmark(trials, metric).normalisation for metric in ("i2n", "error_consistency")]
    assert used == ["each_split_over_sqrt_ceiling", "ceil_score"]


def test_training_stimuli_may_have_a_size_of_their_own():
    shown = stimuli(truth=lambda table: table["object_name"]).drop(columns="degrees")
    coords = {"stimulus_id": ("presentation", shown["stimulus_id"]), "truth": ("presentation", shown["truth"])}
    trials = BehavioralAssembly(
        np.roll(shown["truth"], 1), dims=["presentation"], coords=coords, attrs={"stimulus_set": shown}
    )
    asked = benchmark(trials, "confusion_similarity", answers=None, visual_degrees=4)
    assert asked(load_model("pixels")).n_units == len(shown)


def test_choices_that_are_the_truths_need_them():
    ids = {"stimulus_id": ("presentation", ["a"])}
    trials = BehavioralAssembly(["noise"], coords=ids, dims=["presentation"], attrs={"stimulus_set": stimuli()})
    asked = benchmark(trials, "i2n", task="label", fitting_stimuli=None)
    with pytest.raises(ValueError, match="has no coordinates 'truth', 'sample_obj', 'dist_obj'"):
        asked(load_model("pixels"))
