"""Stimulus sets: attributes that travel with the table, and its checks."""

import pickle
from pathlib import Path

import pandas as pd
import pytest

from bsjax.data import StimulusSet


@pytest.fixture
def stimuli(tmp_path) -> StimulusSet:
    rows = []
    for number, name in enumerate(["dog", "car", "face"]):
        (tmp_path / f"{name}.png").write_bytes(b"image")
        rows.append({"stimulus_id": f"im{number}", "object_name": name})
    paths = {row["stimulus_id"]: tmp_path / f"{row['object_name']}.png" for row in rows}
    return StimulusSet(rows, identifier="three", stimulus_paths=paths)


OPERATIONS = {
    "mask": lambda s: s[s["object_name"] != "car"],
    "assign": lambda s: s.assign(size=1),
    "copy": lambda s: s.copy(),
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
    "construction from one": lambda s: StimulusSet(s),
    "merge": lambda s: s.merge(pd.DataFrame({"object_name": ["dog"], "size": [2]}), on="object_name"),
    "concat": lambda s: pd.concat([s.iloc[:1], s.iloc[1:]]),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_identifier_and_paths_survive(operation, stimuli):
    result = OPERATIONS[operation](stimuli)
    assert type(result) is StimulusSet
    assert result.identifier == "three"
    assert result.stimulus_paths == stimuli.stimulus_paths
    assert result.get_stimulus("im0").name == "dog.png"


@pytest.mark.parametrize("operation", ["mask", "copy", "construction from one", "concat"])
def test_paths_of_a_selection_are_its_own(operation, stimuli):
    result = OPERATIONS[operation](stimuli)
    result.stimulus_paths["new"] = Path("new.png")
    result.identifier = "other"
    assert "new" not in stimuli.stimulus_paths and stimuli.identifier == "three"


def test_joined_sets_bring_all_their_paths():
    first = StimulusSet([{"stimulus_id": "a"}], identifier="A", stimulus_paths={"a": "a.png"})
    second = StimulusSet([{"stimulus_id": "b"}], identifier="B", stimulus_paths={"b": "b.png"})
    both = pd.concat([first, second])
    assert both.stimulus_paths == {"a": Path("a.png"), "b": Path("b.png")}
    assert both.identifier is None  # neither name is that of the whole
    other = StimulusSet([{"stimulus_id": "a"}], stimulus_paths={"a": "other.png"})
    with pytest.raises(ValueError, match="different files to stimulus_id a"):
        pd.concat([first, other])
    assert pd.merge(first, other, on="stimulus_id").stimulus_paths == {"a": Path("a.png")}


def test_an_unknown_stimulus_lists_the_nearest(stimuli):
    with pytest.raises(KeyError) as error:
        stimuli.get_stimulus("im9")
    message = str(error.value)
    assert message.startswith("no path for stimulus 'im9' in stimulus set 'three' with 3 paths; nearest: im")
    with pytest.raises(KeyError, match="no path for stimulus 4"):
        stimuli.get_stimulus(4)


def test_validate_lists_every_problem(stimuli):
    stimuli.validate()
    extra = [{"stimulus_id": "im0"}, {"stimulus_id": "im7"}, {"stimulus_id": None}]
    bad = pd.concat([stimuli, StimulusSet(extra, identifier="three")])
    Path(bad.stimulus_paths["im1"]).unlink()
    said = f"missing in 1 of 6 rows.*repeats im0.*lacks im7; no such file: {stimuli.stimulus_paths['im1']}"
    with pytest.raises(ValueError, match=f"not a valid stimulus set 'three': stimulus_id is {said}"):
        bad.validate()
    with pytest.raises(ValueError, match="no column 'stimulus_id'"):
        StimulusSet([{"image_id": "a"}]).validate()


def test_what_tutorials_assign_to(stimuli):
    stimuli.name = "MyExperiment2024"
    stimuli.image_paths = {"im0": "elsewhere.png"}
    assert stimuli.identifier == stimuli.head(1).identifier == "MyExperiment2024"
    assert stimuli.get_stimulus("im0") == Path("elsewhere.png")
    named = stimuli.assign(name=["a", "b", "c"])
    named.name = ["d", "e", "f"]
    assert named["name"].tolist() == ["d", "e", "f"] and named.identifier == "MyExperiment2024"
