"""The reader of choices in 17 experiments: on small files in their layout, and on the real ones."""

from itertools import product
from pathlib import Path

import pytest

from bsjax.benchmarks.families.geirhos2021.reader import load_model, load_people
from bsjax.data import BehavioralAssembly

HEADER = "subj,session,trial,rt,object_response,category,condition,imagename"
IMAGES = ["n04111531_{}.png", "n02134084_{}.png", "bear-{}-sketch.png"]


def write(folder: Path, name: str, rows: list[str], header: str = HEADER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([header, *rows]) + "\n")
    return folder


def row(who, answer, condition, image, prefix="0001_cl_s01_cr_oven_40_"):
    return f"{who},1,1,NaN,{answer},oven,{condition},{prefix}{image}"


def rotation(folder: Path) -> Path:
    """Two people (one in two sessions) and two models, in the conditions 0 (left out), 90 and 180."""
    where = folder / "rotation"
    for who, answer in (("subject-01", "na"), ("subject-02", "oven")):
        rows = [row(who, answer, c, image.format(c)) for c, image in product(["0", "90", "180"], IMAGES)]
        write(where, f"rotation_{who}_session_1.csv", rows, HEADER.replace("session", "Session"))
    write(where, "rotation_subject-02_session_2.csv", [row("subject-02", "bear", "90", "n0_x.png")])
    for who in ("resnet50", "bagnet33"):
        rows = [
            row(who, "oven", c, i.format(c), "7_cl_dnn_x_") for c, i in product(["0", "90", "180"], reversed(IMAGES))
        ]
        write(where, f"rotation_{who}_session-1.csv", rows)
    return folder


@pytest.fixture(params=["raw-data", "."])
def clone(tmp_path, request) -> Path:
    rotation(tmp_path / request.param)
    return tmp_path


def test_people(clone):
    people = load_people(clone, "rotation")
    assert type(people) is BehavioralAssembly and people.dims == ("presentation",)
    assert people.sizes["presentation"] == 13 and set(people["condition"].values) == {"90", "180"}
    assert set(people["subject"].values) == {"subject-01", "subject-02"}
    assert set(people["truth"].values) == {"oven"}
    assert set(people.sel(subject="subject-01").values) == {"na"}  # a trial that was not answered in time: an error
    assert people.sel(subject="subject-02", condition="90").values.tolist() == ["oven"] * 3 + ["bear"]
    assert people.attrs["identifier"] == "Geirhos2021.rotation.human" and "geirhos2021" in people.attrs["bibtex"]


def test_images_have_the_same_name_for_people_and_models(clone):
    people, model = load_people(clone, "rotation").sel(subject="subject-01"), load_model(clone, "rotation")
    assert set(model["stimulus_id"].values) == set(people["stimulus_id"].values)
    assert set(model["subject"].values) == {"resnet50"} and model.attrs["identifier"].endswith("rotation.resnet50")
    assert load_model(clone, "rotation", "bagnet33").sizes == model.sizes


@pytest.mark.parametrize(
    ("name", "stimulus"),
    [
        ("0001_cl_s01_cr_oven_40_n04111531_14126.png", "n04111531_14126.png"),
        ("0001_cl_dnn_cr_oven_40_n04111531_14126.png", "n04111531_14126.png"),
        ("0001_s5n_s01_0_bird_00_bird3-bird2.png", "bird3-bird2.png"),
        ("airplane1-bicycle2.png", "airplane1-bicycle2.png"),
        ("0001_sty_s01_0_x_00_bicycle-0011-ILSVRC2012-val-00011821.png", "bicycle-0011-ILSVRC2012-val-00011821.png"),
        ("0001_ske_s01_0_salon03_boat5.png", "boat5.png"),
    ],
)
def test_names_of_images(tmp_path, name, stimulus):
    write(tmp_path / "sketch", "sketch_resnet50_session-1.csv", [row("resnet50", "oven", "0", name, "")])
    assert load_model(tmp_path, "sketch")["stimulus_id"].values.tolist() == [stimulus]


def test_all_conditions_may_be_kept(clone):
    assert set(load_people(clone, "rotation", all_conditions=True)["condition"].values) == {"0", "90", "180"}
    assert set(load_model(clone, "rotation", all_conditions=True)["condition"].values) == {"0", "90", "180"}


def test_a_condition_that_should_be_left_out_must_be_there(tmp_path):
    write(tmp_path / "rotation", "rotation_resnet50_session-1.csv", [row("resnet50", "oven", "0.0", "a.png")])
    with pytest.raises(ValueError, match=r"no trial has the condition 0, which is to be left out; there are: 0\.0"):
        load_model(tmp_path, "rotation")
