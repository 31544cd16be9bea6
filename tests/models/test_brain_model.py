"""The protocol of brain models and its enums."""

import pytest

from bsjax import BrainModel, load_model
from bsjax.models import RecordingTarget, Task


@pytest.mark.parametrize("enum", [Task, RecordingTarget])
def test_enums_take_the_references_strings(enum):
    for member in enum:
        assert enum(member.value) is member and enum(member) is member and member == member.value
        assert f"{member}" == member.value and {member.value: 1}[member] == 1


def test_other_strings_are_answered_with_the_choice():
    with pytest.raises(ValueError, match="^unknown RecordingTarget 'v4'; choose one of V1, V2, V4, IT$"):
        RecordingTarget("v4")
    with pytest.raises(ValueError, match="^unknown Task 'fixate'; choose one of passive, label, .*odd_one_out$"):
        Task("fixate")


def test_any_object_with_the_methods_is_a_brain_model():
    class Own:
        identifier = "own"

        def visual_degrees(self):
            return 8

        def start_task(self, task, fitting_stimuli=None): ...

        def start_recording(self, recording_target, time_bins): ...

        def look_at(self, stimuli, number_of_trials=1): ...

    class Heir(BrainModel):
        pass

    assert isinstance(Own(), BrainModel) and isinstance(load_model("pixels"), BrainModel)
    assert not isinstance(object(), BrainModel)
    assert Heir.Task.passive == "passive"
