"""``bsjax score --resample``, ``--null``, ``--baseline``: scores with what is beside them, kept as their own."""

import re

import pytest

from bsjax.cli import app
from tests.cli.conftest import invoke

COMMAND = ["score", "--model", "pixels", "--benchmark", "Simulated.V1-cka"]


@pytest.fixture
def run(store, monkeypatch):
    monkeypatch.setattr("bsjax.cli.configure_jax", lambda: None)  # of processes of their own

    def call(*arguments):
        done = invoke(app, *COMMAND, *arguments)
        assert done.exit_code == 0
        return done

    return call


@pytest.mark.slow
def test_scores_in_draws_are_kept_as_scores_of_their_own(run, store):
    drawn = run("--resample", "stimuli:50", "--legend").stdout
    [row] = store.frame().to_dict("records")
    ends = f"{row['low']:.3f}..{row['high']:.3f}"
    header, shown = drawn.splitlines()[:2]
    assert "95 % interval" in header and ends in shown.split()
    assert f"95 % interval  {row['interval']}: 50 bootstrap draws" in drawn
    score = store.score(row["key"])
    assert score.uncertainty.draws.sizes == {"draw": 50} and score.ceiling.uncertainty.plan == score.uncertainty.plan
    # Once more, it is there; without draws, or with others, it is not.
    again = run("--resample", "stimuli:50").stdout
    assert len(store.frame(latest=False)) == 1
    assert again.splitlines()[1].split()[:-1] == shown.split()[:-1]  # but for the seconds
    for other in ([], ["--resample", "stimuli:60"], ["--resample", "neuroids:50"]):
        assert "1 to compute" in run(*other, "--plan").stdout
    assert "1 to compute" not in run("--resample", "stimuli:50", "--plan").stdout


@pytest.mark.slow
def test_chance_and_baselines_stand_in_the_table(run, store):
    asked = ["--legend", "--null", "19", "--baseline", "pixels", "--baseline", "stimulus-*"]
    printed = run("--model", "gabor-v1", *asked).stdout
    header, *rows = [re.split(r"\s{2,}", line) for line in printed.splitlines()[:3]]
    assert header[-3:] == ["calibrated", "p", "best baseline"]
    for name, *numbers in rows:
        score = store.score(store.frame(name)["key"][0])
        assert numbers[-3] == f"{score.provenance['calibrated']:.3f}"
        assert numbers[-2] == f"{score.provenance['p_value']:.3f}"
        baselines = score.provenance["baselines"]
        assert set(baselines) == {"pixels", "stimulus-order"} - {name}
        best = max(baselines, key=baselines.get)
        assert numbers[-1] == f"{best} {baselines[best]:.3f}"
    assert [row[0] for row in rows] == ["pixels", "gabor-v1"] and float(rows[1][-2]) == 0.05
    assert "calibrated  " in printed and "best baseline  " in printed
