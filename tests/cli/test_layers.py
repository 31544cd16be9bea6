"""``bsjax layers``: the tables, the files, and what is said of wrong options."""

import json

import pytest
from typer.testing import CliRunner

import bsjax
from bsjax.cli import app


def layers(*arguments):
    return CliRunner().invoke(app, ["layers", *map(str, arguments)])


@pytest.mark.slow
def test_scores_by_layer_and_the_choice_are_printed_and_kept(tmp_path):
    pytest.importorskip("matplotlib")
    done = layers(
        "gabor-v1",
        *("--benchmark", "V4=Simulated.V1-cka,V1=Simulated.V1-cka"),
        *("--save", tmp_path / "map.json", "--plot", tmp_path / "profile.png"),
    )
    assert done.exit_code == 0, done.output
    profile, choice = done.stdout.split("\n\n")
    header, *rows, _ = [line.split() for line in profile.splitlines()]
    assert header == ["layer", "V1", "V4"]
    by_layer = {row[0]: row[1:] for row in rows}
    score = float(bsjax.score("gabor-v1", "Simulated.V1-cka"))  # of both layers together
    assert list(by_layer) == ["simple", "complex"] and by_layer["complex"][0].endswith("*")
    assert 0.5 < float(by_layer["simple"][0]) < score < float(by_layer["complex"][0].rstrip("*")) < 1
    row = dict(zip(["region", "layer", "score"], choice.splitlines()[1].split(), strict=False))
    assert row == {"region": "V1", "layer": "complex", "score": by_layer["complex"][0].rstrip("*")}
    assert json.loads((tmp_path / "map.json").read_text())["V4"] == "complex"
    assert (tmp_path / "profile.png").stat().st_size > 10_000
