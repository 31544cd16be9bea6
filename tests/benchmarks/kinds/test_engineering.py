"""Accuracy against the truth of stimuli."""

from dataclasses import replace

import numpy as np
import pytest

from bsjax import StimulusSet
from bsjax.benchmarks.kinds import engineering
from bsjax.benchmarks.kinds.engineering import EngineeringAccuracy
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.models.tasks.imagenet import synsets
from tests.support import served_data as served
from tests.support.people import classifying, naming

ROW = BenchmarkRow(identifier="Mine2026-top1", version=1, about="images")


def test_the_share_of_right_answers():
    stimuli = served.stimuli_of(6, truth=["cat", "dog", "car"] * 2)
    benchmark = EngineeringAccuracy(ROW, stimuli)
    score = benchmark(naming(stimuli["stimulus_id"], ["cat", "dog", "car", "dog", "dog", "cat"]))
    assert score.value == pytest.approx(4 / 6)
    assert score.unceiled.raw.values.tolist() == [1, 1, 1, 0, 1, 0]
    assert score.provenance["task"] == "label"
    assert "selection" not in score.provenance


def test_many_stimuli_are_looked_at_some_at_a_time(monkeypatch):
    monkeypatch.setattr(engineering, "_AT_ONCE", 4)
    stimuli = served.stimuli_of(10, synset=[synsets()[i % 3] for i in range(10)])
    answers = [synsets()[i % 2] for i in range(10)]
    model, blocks = classifying(stimuli["stimulus_id"], answers), []
    look_at = model.look_at
    monkeypatch.setattr(model, "look_at", lambda shown, **options: blocks.append(shown) or look_at(shown, **options))
    score = EngineeringAccuracy(ROW, stimuli, "synset", "imagenet")(model)
    assert score.value == np.mean(np.array(answers) == stimuli["synset"].to_numpy())
    assert [len(block) for block in blocks] == [4, 4, 2]
    assert not any("synset" in block.columns for block in blocks)


def test_stimuli_of_a_size_are_put_on_the_screen():
    stimuli = served.stimuli_of(2, truth=["cat", "dog"])
    benchmark = EngineeringAccuracy(replace(ROW, visual_degrees=4, number_of_trials=10), stimuli)
    assert "images, 4 degrees wide, 10 trials each" in benchmark.describe()
    assert benchmark(naming(stimuli["stimulus_id"], ["cat", "cat"])).value == 0.5


def test_no_column_with_the_truth():
    benchmark = EngineeringAccuracy(ROW, StimulusSet({"stimulus_id": ["a"]}, identifier="mine"))
    with pytest.raises(ValueError, match="stimulus set 'mine' has no column truth .*present: stimulus_id"):
        len(benchmark.assembly)
