"""Submissions from a folder to their scores, in real processes: installed, checked, contained and scored."""

import json
import shutil

import numpy as np
import pytest

import bsjax
from bsjax.benchmarks.families.simulated.benchmark import population
from bsjax.results import ResultStore
from bsjax.submission import queue
from bsjax.submission.accounts import account_of, add_account
from bsjax.submission.handing_in import hand_in
from bsjax.submission.protection import protect
from bsjax.submission.skeletons import write_skeleton
from bsjax.submission.steps import STEPS, At
from bsjax.submission.worker import work
from tests.scoring.test_isolated import write_wheel

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")]
BENCHMARK, PRIVATE = "Simulated.V1-cka", "Simulated.V1-rdm"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store, and a folder of wheels that holds ``tiny_dependency``, beside which nothing can be installed."""
    write_wheel(tmp_path / "wheels", "1.2")
    monkeypatch.setenv("BSJAX_INDEX", str(tmp_path / "wheels"))
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    with ResultStore(tmp_path / "results.db") as opened:
        yield opened


def handed_in(store, source, **asked):
    """What came of a submission, with what each of its steps has said."""
    made = hand_in(store, source, **asked)
    work(store, submission=made.id, until_idle=True)
    steps = {step.name: step for step in queue.steps(store, made.id)}
    return queue.submission(store, made.id), steps


def scores(store):
    frame = store.frame(failures=False)
    return frame.set_index(["model", "benchmark"])["score"].to_dict()


def test_a_zip_of_a_model_with_requirements_of_activations_and_of_a_contained_benchmark(
    store, tmp_path, capsys, monkeypatch
):
    lab = tmp_path / "lab"
    for kind in ("models", "benchmarks"):
        (lab / kind).mkdir(parents=True)
    folder = write_skeleton("model", "doe-net", lab / "models")
    write_skeleton("benchmark", "Doe2026", lab / "benchmarks")
    (folder / "requirements.txt").write_text("tiny-dependency\n")
    code = (folder / "model.py").read_text()
    (folder / "model.py").write_text(f"{code}\nimport tiny_dependency\n\nassert tiny_dependency.VERSION == '1.2'\n")
    ids = population().stimuli["stimulus_id"].to_numpy(str)
    values = np.random.default_rng(0).normal(size=(len(ids), 20)).astype(np.float32)
    np.savez(lab / "a.npz", stimulus_ids=ids, late=values)
    described = {"identifier": "stored-net", "activations": "a.npz", "region_layer_map": {"V1": "late"}}
    (lab / "model.json").write_text(json.dumps(described))
    source = shutil.make_archive(str(lab), "zip", tmp_path, "lab")
    protect(store, PRIVATE, stimuli=True, decimals=1, limit=1)
    asked = {"benchmarks": [BENCHMARK, PRIVATE], "models": ["pixels"]}
    asked["account"] = account_of(store, add_account(store, "lab")).id
    found, steps = handed_in(store, source, **asked)
    assert found.state == "done" and found.name == "lab", steps
    assert [*steps] == ["install", "check", "public", "private", "benchmarks"]
    assert {step.state for step in steps.values()} == {"done"} and steps["public"].peak > 100 << 20
    assert found.facts["environment"]["versions"] == {"tiny-dependency": "1.2"}
    assert found.facts["registers"]["benchmark"] == ["Doe2026.V1-ridge"] and "items pass" in steps["check"].log
    # The same models, in this process, without what they require.
    (folder / "model.py").write_text(code)
    stored = bsjax.adapters.from_stored(lab / "a.npz", "stored-net")
    models = {"stored-net": bsjax.ModelCommitment("stored-net", stored, region_layer_map={"V1": "late"})}
    with monkeypatch.context() as patch:
        patch.setenv("BSJAX_PLUGINS", str(folder))
        models["doe-net"] = bsjax.load_model("doe-net")
    here = {(name, BENCHMARK): float(bsjax.score(model, BENCHMARK, store=None)) for name, model in models.items()}
    there = scores(store)
    private = {name: there.pop((name, PRIVATE)) for name in models}
    own = {(name, "Doe2026.V1-ridge") for name in ("pixels", "doe-net")}
    assert there.keys() - own == here.keys() and own < there.keys() and {pair: there[pair] for pair in here} == here
    # What is private is rounded, and there once in the period.
    shown = {name: round(value, 1) for name, value in private.items()}
    assert found.facts["shown"] == {PRIVATE: shown} and shown != private
    assert f"{private['doe-net']:.4g}" not in steps["private"].log and PRIVATE not in steps["public"].log
    again = hand_in(store, source, **asked)
    said = {}
    for name in ("private", "public", "benchmarks"):
        came = STEPS[name](At(store, again, steps[name]))
        said[name] = capsys.readouterr().out
        assert came.state == "done", came
    assert "is limited to 1 submissions per account" in said["private"]
    # Nothing is scored twice, also where the same is handed in once more.
    assert f"doe-net on {BENCHMARK}: in the store" in said["public"]
    assert came.scores == 2 and "pixels on Doe2026.V1-ridge: in the store" in said["benchmarks"]
    assert len(store.frame(latest=False)) == 6
    # What nobody has reviewed has no part in the averages of others.
    assert store.frame(benchmarks=["Doe2026.V1-ridge"], columns=["parent"])["parent"].eq("").all()


def test_a_benchmark_that_is_accepted_scores_what_is_handed_in_before_and_after(store, tmp_path, monkeypatch):
    model = hand_in(
        store,
        write_skeleton("model", "doe-net", tmp_path),
        benchmarks=[BENCHMARK],
        account=account_of(store, add_account(store, "doe")).id,
    )
    while (step := queue.claim_next(store, "w", 60, submission_id=model.id)) is not None:
        queue.finish(store, step.id, "w")  # what its steps do is no part of this
    folder = write_skeleton("benchmark", "Roe2026", tmp_path, "behaviour")
    (folder / "requirements.txt").write_text("tiny-dependency\n")
    (folder / "benchmark.py").write_text(f"import tiny_dependency\n\n{(folder / 'benchmark.py').read_text()}")
    account = account_of(store, add_account(store, "lab"))
    found, steps = handed_in(store, folder, account=account.id, models=["pixels"], asks_trust=True)
    assert (found.state, steps["review"].state, steps["benchmarks"].state) == ("waiting", "waiting", "queued"), steps
    queue.review(store, found.id, True)
    work(store, submission=found.id, until_idle=True)
    assert queue.submission(store, found.id).state == "done", queue.steps(store, found.id)[-1]
    name = "Roe2026-error_consistency"
    there = scores(store)
    assert {("pixels", name), ("doe-net", name)} == {*there}
    log = queue.steps(store, found.id)[-1].log
    assert "pixels" in log and "doe-net" not in log and "1 scores of submitted models of other accounts" in log
    # Answers that are handed in alone: those of pixels.
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "model.json").write_text(json.dumps({"identifier": "said-net", "choices": "said.nc"}))
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path / "wheels" / "tiny_dependency-1.2-py3-none-any.whl")
        patch.setenv("BSJAX_PLUGINS", str(folder))
        benchmark, model = bsjax.load_benchmark(name), bsjax.load_model("pixels")
        benchmark.ask(model)
        bsjax.data.write_netcdf(model.look_at(benchmark.stimuli_for(model)), answers / "said.nc")
    found, steps = handed_in(store, answers, benchmarks=["Roe2026*"])
    assert found.state == "done" and found.kinds == ("model",), steps
    assert scores(store) == there | {("said-net", name): there["pixels", name]}


def test_what_fails_says_why_in_one_line(store, tmp_path):
    folder = write_skeleton("model", "doe-net", tmp_path)
    (folder / "requirements.txt").write_text("no-such-package-of-anybody\n")
    found, steps = handed_in(store, folder, benchmarks=[BENCHMARK])
    assert (found.state, steps["check"].state) == ("failed", "skipped")
    assert "no-such-package-of-anybody" in found.reason and "\n" not in found.reason
    (folder / "requirements.txt").unlink()
    (folder / "model.py").write_text("import os\nos._exit(7)\n")
    found, steps = handed_in(store, folder, benchmarks=[BENCHMARK])
    assert (found.state, steps["check"].state, steps["public"].state) == ("failed", "failed", "skipped")
    assert "status 7" in found.reason
