"""Stored choices on the command line: the models that they make, the table, the picture."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bsjax import load_benchmark
from bsjax.cli import app
from bsjax.cli.behaviour import against_people, draw_against_people, print_against_people, stored_models
from bsjax.scoring import jobs_of, run

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


def scored(trials, *more):
    models = stored_models([trials])
    benchmarks = [
        load_benchmark("Geirhos2021edge-error_consistency", data=trials),
        load_benchmark("Geirhos2021silhouette-error_consistency", data=trials),
        *more,
    ]
    pairs = jobs_of(models, benchmarks)
    return models, pairs, list(run(pairs))


@pytest.mark.slow
def test_the_table_and_the_picture(trials, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    models, pairs, outcomes = scored(trials, load_benchmark("Geirhos2021edge-top1", data=trials))
    assert [outcome.error for outcome in outcomes] == [None] * 3
    compared = against_people(models, pairs, outcomes)
    print_against_people(compared)
    draw_against_people(compared, tmp_path / "figure.png")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "mine compared with people" and lines[3].split()[0] == "edge"
    # right on two of four; people on three and two; both right or wrong on three and two of them
    assert lines[-1].split() == ["mean", "of", "2", "0.500", "0.031", "0.625", "0.250"]
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_only_experiments_with_a_score_of_every_model_count(trials, capsys, tmp_path):
    models, pairs, outcomes = scored(trials)
    kept = [outcome for outcome in outcomes if "edge" in outcome.benchmark]
    print_against_people(against_people(models, pairs, kept))
    assert "mean of 1" in capsys.readouterr().out
    nothing = against_people(models, pairs, [])
    print_against_people(nothing)
    draw_against_people(nothing, tmp_path / "figure.png")
    said = capsys.readouterr()
    assert said.out == "" and "nothing to draw" in said.err


@pytest.mark.slow
def test_the_command(trials, tmp_path):
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.png"
    arguments = ["--behaviour", str(trials), "--data", str(trials), "-b", "Geirhos2021edge*", "--figure", str(figure)]
    done = CliRunner().invoke(app, ["score", *arguments])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [
        ["mine", "Geirhos2021edge-error_consistency"],
        ["mine", "Geirhos2021edge-top1"],
    ]
    assert lines[-1].split()[:4] == ["mean", "of", "1", "0.500"]
    assert figure.stat().st_size > 1000


@pytest.mark.slow
def test_several_folders_and_files_of_another_kind(trials, tmp_path):
    """All models of all folders are scored, and what is no table of choices is named on stderr."""
    other = tmp_path / "other" / "edge"
    other.mkdir(parents=True)
    text = (trials / "edge" / "edge_mine_session-1.csv").read_text()
    (other / "edge_theirs_session-1.csv").write_text(text.replace("mine,", "theirs,"))
    (other.parent / "performances.csv").write_text("model,accuracy\ntheirs,0.5\n")
    behaviour = ["--behaviour", str(trials), "--behaviour", str(tmp_path / "other")]
    with pytest.warns(UserWarning, match=r"no tables of choices: .*performances.csv"):
        done = CliRunner().invoke(
            app, ["score", *behaviour, "--data", str(trials), "-b", "Geirhos2021edge-error_consistency"]
        )
    assert done.exit_code == 0, done.exception
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["mine", "theirs"]
    assert "mine compared with people" in done.stdout and "theirs compared with people" in done.stdout
