"""Tables of choices in two layouts."""

import os
from pathlib import Path

import pytest

from bsjax.data.files.choice_tables import image_name, read_choices

HEADER = "subj,session,trial,rt,object_response,category,condition,imagename\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("0001_cl_dnn_cr_oven_40_n04111531_14126.png", "n04111531_14126"),
        ("airplane1-bicycle2.png", "airplane1-bicycle2"),
        ("0001_ske_s01_0_bear_00_bear-0137-sketch-40.png", "bear-0137-sketch-40"),
        ("photo.of.a.cat.JPEG", "photo.of.a.cat"),
    ],
)
def test_what_names_of_one_image_share(name, part):
    assert image_name(name) == part


def test_a_folder_of_experiments(tmp_path):
    for experiment, who, said in (("edge", "mine", "na"), ("edge", "subject-01", "cat"), ("sketch", "mine", "cat")):
        row = f"{who},1,1,NaN,{said},cat,NaN,cat1.png\n"
        write(tmp_path / experiment / f"{experiment}_{who}_session-1.csv", HEADER + row)
    models = read_choices(tmp_path)
    assert list(models) == ["mine"] and sorted(models["mine"]) == ["edge", "sketch"]
    assert models["mine"]["edge"].to_dict("records") == [
        {"stimulus_id": "cat1.png", "choice": "na", "condition": "NaN"}  # words, not missing values
    ]


def test_a_file_with_several_models_and_people(tmp_path):
    rows = [f"{who},1,1,NaN,cat,cat,0,cat1.png\n" for who in ("one", "two", "subject-03")]
    models = read_choices(write(tmp_path / "false-colour_all.csv", HEADER + "".join(rows)))
    assert {name: list(tables) for name, tables in models.items()} == {"one": ["false-colour"], "two": ["false-colour"]}


def test_what_is_no_table_of_choices_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file .*none.csv to read choices from"):
        read_choices(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="no CSV file in the folder"):
        read_choices(tmp_path)
    with pytest.raises(ValueError, match=r"a.csv is no table of choices: it needs .*imagename.*; it has image, answer"):
        read_choices(write(tmp_path / "a.csv", "image,answer\n1,cat\n"))
    with pytest.raises(ValueError, match="b.csv is cut short: 1 of 2 rows lack a value"):
        read_choices(write(tmp_path / "b.csv", "stimulus_id,choice\n1,cat\n2,\n"))
    with pytest.raises(ValueError, match="cannot read .*c.csv"):
        read_choices(write(tmp_path / "c.csv", ""))
    with pytest.raises(ValueError, match=r"has the trials of people only \(1 of them\)"):
        read_choices(write(tmp_path / "edge_subject-01_session_1.csv", HEADER))


def test_other_files_of_a_folder_are_named_and_left_out(tmp_path):
    """As in raw-data of model-vs-human, which has a folder of performances."""
    write(tmp_path / "edge" / "edge_mine_session-1.csv", HEADER + "mine,1,1,NaN,cat,cat,0,cat1.png\n")
    write(tmp_path / "performances" / "performance_mine.csv", "model,accuracy\nmine,0.5\n")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.warns(UserWarning, match=r"left out, being no tables of choices: .*performance_mine.csv, .*pipe.csv"):
        assert list(read_choices(tmp_path)) == ["mine"]
    with pytest.raises(ValueError, match=r"performance_mine.csv is no table of choices: it needs the columns"):
        read_choices(tmp_path / "performances" / "performance_mine.csv")
    with pytest.raises(ValueError, match=r"pipe.csv is no table of choices, and no regular file"):
        read_choices(tmp_path / "pipe.csv")
    write(tmp_path / "edge" / "edge_other_session-1.csv", HEADER + "other,1,1,NaN,,cat,0,cat1.png\n")
    with pytest.raises(ValueError, match="cut short"):  # a damaged table is no other file
        read_choices(tmp_path)


def test_several_folders(tmp_path):
    row = "{},1,1,NaN,cat,cat,0,cat1.png\n"
    for who, experiment in (("one", "edge"), ("one", "sketch"), ("two", "edge")):
        write(tmp_path / f"{who}-{experiment}" / f"{experiment}_{who}_session-1.csv", HEADER + row.format(who))
    one_edge, one_sketch, two = (tmp_path / name for name in ("one-edge", "one-sketch", "two-edge"))
    models = read_choices(one_edge, one_sketch, two, one_edge, one_edge / "edge_one_session-1.csv")
    assert {name: sorted(tables) for name, tables in models.items()} == {"one": ["edge", "sketch"], "two": ["edge"]}
    assert len(models["one"]["edge"]) == 1  # however often it is named
    again = write(tmp_path / "again" / "edge_one_session-1.csv", HEADER + row.format("one"))
    with pytest.raises(
        ValueError, match=rf"two folders hold choices of the model 'one' in edge: {one_edge}.* and {again}"
    ):
        read_choices(one_edge, again)


def test_blanks_around_names_and_answers(tmp_path):
    (tmp_path / "mine.csv").write_text('stimulus_id, choice , condition\n001, dog, 0.60\nb, "hot dog", y\n')
    assert read_choices(tmp_path)["mine"][""].values.tolist() == [["001", "dog", "0.60"], ["b", "hot dog", "y"]]
