"""A model that looks its choices up."""

import pandas as pd
import pytest

from bsjax import BehavioralAssembly, BrainModel, StimulusSet
from bsjax.models.stored_behaviour import StoredBehaviour, load_stored_behaviour


def table(ids, choices, **more):
    return pd.DataFrame({"stimulus_id": ids, "choice": choices, **more})


def asked(trials, labels=("cat", "dog")):
    model = StoredBehaviour(trials, "mine")
    model.start_task("label", list(labels))
    return model


def test_answers_by_id_in_the_order_of_the_stimuli():
    model = asked({"": table(["a", "b", "c"], ["cat", "na", "dog"])})
    assert isinstance(model, BrainModel) and (model.identifier, model.visual_degrees()) == ("mine", 8)
    seen = model.look_at(StimulusSet({"stimulus_id": ["c", "b"], "truth": ["dog", "dog"]}), number_of_trials=10)
    assert isinstance(seen, BehavioralAssembly) and seen.dims == ("presentation", "choice")
    assert seen.values.tolist() == [["dog"], ["na"]] and seen["label"].values.tolist() == ["dog", "na"]
    assert seen["truth"].values.tolist() == ["dog", "dog"] and seen["stimulus_id"].values.tolist() == ["c", "b"]


def test_an_image_is_found_by_the_part_of_its_name_that_all_share():
    model = asked({"": table(["7_cl_dnn_cr_oven_40_n04_1.png", "dog2.png"], ["cat", "dog"])})
    assert model.look_at(StimulusSet({"stimulus_id": ["cr_oven_40_n04_1", "dog2"]})).values.tolist() == [
        ["cat"],
        ["dog"],
    ]


def test_the_experiment_is_that_of_the_stimulus_set():
    trials = {name: table(["a"], [said]) for name, said in (("eidolonI", "cat"), ("I", "cow"), ("edge", "dog"))}
    model = asked(trials, ["cat", "dog", "cow"])
    for name, said in (
        ("Geirhos2021_edge", "dog"),
        ("brendel.Geirhos2021_eidolonI", "cat"),
        ("Geirhos2021_edge--target8.0--source3.0", "dog"),
    ):
        assert model.look_at(StimulusSet({"stimulus_id": ["a"]}, identifier=name)).values.tolist() == [[said]]
    with pytest.raises(ValueError, match="no choices for the stimulus set 'sketch'; it has those of eidolonI, I, edge"):
        model.look_at(StimulusSet({"stimulus_id": ["a"]}, identifier="sketch"))


def test_conditions_tell_answers_to_one_image_apart():
    model = asked({"": table(["a", "a"], ["cat", "dog"], condition=["0.60", "inf"])})
    shown = StimulusSet({"stimulus_id": ["a", "a"], "condition": [float("inf"), 0.6]})
    assert model.look_at(shown).values.tolist() == [["dog"], ["cat"]]
    dates = asked({"": table(["a", "a"], ["cat", "dog"], condition=["20210101", "20210102"])})
    assert dates.look_at(shown.assign(condition=[20210102, 20210101])).values.tolist() == [["dog"], ["cat"]]
    with pytest.raises(ValueError, match="has no column condition"):
        model.look_at(StimulusSet({"stimulus_id": ["a"]}))


def test_the_odd_one_of_triplets():
    model = StoredBehaviour({"": table(["a|b|x_c", "b|x_c|d"], ["b", "d"])}, "mine")
    model.start_task("odd_one_out")
    found = model.look_at(StimulusSet({"stimulus_id": ["b", "x_c", "d", "a", "b", "x_c"]}))
    assert found.values.tolist() == [["d"], ["b"]] and found["stimulus_id"].values.tolist() == ["b|x_c|d", "a|b|x_c"]
    with pytest.raises(ValueError, match=r"no stored choice for 1 of 1 stimuli of 'the set': a\|d\|x_c"):
        model.look_at(StimulusSet({"stimulus_id": ["a", "d", "x_c"]}))


def test_what_it_cannot_do_is_said():
    model = StoredBehaviour({"": table(["a"], ["cat"])}, "mine")
    with pytest.raises(ValueError, match="start_task"):
        model.look_at(["a"])
    with pytest.raises(ValueError, match=r"not probabilities. Score it on .* 'Geirhos2021"):
        model.start_task("probabilities")
    with pytest.raises(ValueError, match="nothing to record from"):
        model.start_recording("IT", [(70, 170)])
    model.start_task("label", ["cat"])
    with pytest.raises(ValueError, match="trials cannot differ"):
        model.look_at(["a"], require_variance=True)
    with pytest.raises(ValueError, match="no stored choice for 2 of 3 stimuli of 'the set': b, c"):
        model.look_at(["a", "b", "c"])
    model.start_task("label", ["horse"])
    with pytest.raises(ValueError, match=r"none of the choices of 'mine' \(cat\)"):
        model.look_at(["a"])
    model.start_task("label", "imagenet")
    assert model.look_at(["a"]).values.tolist() == [["cat"]]


def test_what_is_no_table_of_choices_is_refused():
    with pytest.raises(ValueError, match="several choices for the same stimulus: a; keep one"):
        StoredBehaviour({"": table(["a", "a"], ["cat", "dog"])}, "mine")


def test_every_model_of_a_folder(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"stimulus_id,choice\na,{name}\n")
    assert [(model.identifier, model.experiments) for model in load_stored_behaviour(tmp_path)] == [
        ("one", [""]),
        ("two", [""]),
    ]
