"""Stored choices on the command line: the models that they make, the table, the picture."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bsjax.cli import app
from bsjax.cli.behaviour import against_people, draw_against_people, print_against_people, stored_models
from bsjax.scoring import Job

HEADER = "subj,session,trial,rt,object_response,category,condition,imagename\n"
OBJECTS = ["bear", "car", "cat", "dog"]
ANSWERS = {
    "subject-01": ["bear", "car", "cat", "na"],
    "subject-02": ["bear", "car", "na", "na"],
    "mine": ["bear", "cat", "cat", "car"],
}


@pytest.fixture
def trials(tmp_path) -> Path:
    for experiment in ("edge", "silhouette"):
        folder = tmp_path / "trials" / experiment
        folder.mkdir(parents=True)
        for who, said in ANSWERS.items():
            rows = [f"{who},1,1,NaN,{a},{obj},0,{obj}1.png\n" for a, obj in zip(said, OBJECTS, strict=True)]
            (folder / f"{experiment}_{who}_session-1.csv").write_text(HEADER + "".join(rows))
    return tmp_path / "trials"


@pytest.mark.slow
def test_models_of_several_folders_are_compared_with_people(trials, tmp_path):
    """All models of all folders are scored, and what is no table of choices is named on stderr."""
    pytest.importorskip("matplotlib")
    other, figure = tmp_path / "other", tmp_path / "figure.png"
    for experiment in ("edge", "silhouette"):
        (other / experiment).mkdir(parents=True)
        text = (trials / experiment / f"{experiment}_mine_session-1.csv").read_text()
        (other / experiment / f"{experiment}_theirs_session-1.csv").write_text(text.replace("mine,", "theirs,"))
    (other / "performances.csv").write_text("model,accuracy\ntheirs,0.5\n")
    asked = ["score", "--data", str(trials), "--figure", str(figure)]
    names = ["edge-error_consistency", "silhouette-error_consistency", "edge-top1"]
    asked += [word for name in names for word in ("-b", f"Geirhos2021{name}")]
    with pytest.warns(UserWarning, match=r"no tables of choices: .*performances.csv"):
        done = CliRunner().invoke(app, [*asked, "--behaviour", str(trials), "--behaviour", str(other)])
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert {tuple(line.split()[:2]) for line in lines[1:7]} == {
        (model, f"Geirhos2021{name}") for model in ("mine", "theirs") for name in names
    }
    # right on two of four; people on three and two; both right or wrong on three and two of them
    at = lines.index("mine compared with people")
    assert lines[at + 2].split()[0] == "edge" and "theirs compared with people" in lines
    assert lines[at + 4].split() == ["mean", "of", "2", "0.500", "0.031", "0.625", "0.250"]
    assert figure.stat().st_size > 1000


def test_only_experiments_with_a_score_of_every_model_count(trials, capsys, tmp_path):
    nothing = against_people(stored_models([trials]), [Job("mine", "Geirhos2021edge-error_consistency")], [])
    print_against_people(nothing)
    draw_against_people(nothing, tmp_path / "figure.png")
    said = capsys.readouterr()
    assert said.out == "" and "nothing to draw" in said.err
