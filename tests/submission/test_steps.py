"""Submissions from a folder to their scores, in real processes: installed, checked, contained and scored."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile

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

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]
BENCHMARK, PRIVATE = "Simulated.V1-cka", "Simulated.V1-rdm"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store, and a folder of wheels that holds ``tinyfilter``, beside which nothing can be installed."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "tinyfilter-1.2.dist-info"
    with zipfile.ZipFile(wheels / "tinyfilter-1.2-py3-none-any.whl", "w") as file:
        file.writestr("tinyfilter/__init__.py", "SCALE = 3.0\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinyfilter\nVersion: 1.2\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("BSJAX_INDEX", str(wheels))
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


def test_a_model_with_requirements_of_its_own(store, tmp_path, capsys):
    folder = write_skeleton("model", "doe-net", tmp_path)
    (folder / "requirements.txt").write_text("tinyfilter\n")
    code = (folder / "model.py").read_text()
    (folder / "model.py").write_text(f"{code}\nimport tinyfilter\n\nassert tinyfilter.SCALE == 3\n")
    protect(store, PRIVATE, stimuli=True, decimals=1, limit=1)
    account = account_of(store, add_account(store, "lab"))
    found, steps = handed_in(store, folder, benchmarks=[BENCHMARK, PRIVATE], account=account.id)
    assert found.state == "done", steps
    assert found.facts["environment"]["versions"] == {"tinyfilter": "1.2"}
    assert {step.state for step in steps.values()} == {"done"} and steps["public"].peak > 100 << 20
    assert "all 12 items pass" in steps["check"].log
    # The same model, in this process, without what it requires.
    (folder / "model.py").write_text(code)
    here = float(imported(folder, BENCHMARK))
    private = scores(store).pop(("doe-net", PRIVATE))
    assert scores(store) == {("doe-net", BENCHMARK): here, ("doe-net", PRIVATE): private}
    # What is private is rounded, and there once in the period.
    assert found.facts["shown"] == {PRIVATE: {"doe-net": round(private, 1)}} != {PRIVATE: {"doe-net": private}}
    assert f"{private:.4g}" not in steps["private"].log and PRIVATE not in steps["public"].log
    later = hand_in(store, found.folder, benchmarks=[PRIVATE], account=account.id)
    STEPS["private"](At(store, later, steps["private"]))
    assert "is limited to 1 submissions per account" in capsys.readouterr().out
    # Nothing is scored twice.
    came = STEPS["public"](At(store, found, steps["public"]))
    said = capsys.readouterr().out
    assert came.state == "done" and f"doe-net on {BENCHMARK}: in the store" in said, said
    assert len(store.frame(latest=False)) == 2


def imported(folder, benchmark):
    """The score of a plugin's model that runs in a process as ever."""
    code = f"import bsjax; print(repr(float(bsjax.score('doe-net', '{benchmark}', store=None))))"
    variables = {**os.environ, "BSJAX_PLUGINS": str(folder.parent)}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True).stdout


def test_activations_alone(store, tmp_path):
    folder = tmp_path / "stored"
    folder.mkdir()
    stimuli = population().stimuli
    values = np.random.default_rng(0).normal(size=(len(stimuli), 20)).astype(np.float32)
    np.savez(folder / "a.npz", stimulus_ids=stimuli["stimulus_id"].to_numpy(str), late=values)
    described = {"identifier": "stored-net", "activations": "a.npz", "region_layer_map": {"V1": "late"}}
    (folder / "model.json").write_text(json.dumps(described))
    found, steps = handed_in(store, folder, benchmarks=[BENCHMARK])
    assert found.state == "done" and found.kinds == ("model",), steps
    model = bsjax.ModelCommitment(
        "stored-net",
        bsjax.adapters.from_stored(folder / "a.npz", "stored-net"),
        region_layer_map={"V1": "late"},
    )
    here = bsjax.score(model, BENCHMARK, store=None)
    assert scores(store) == {("stored-net", BENCHMARK): float(here)}


def test_a_benchmark_that_is_accepted_scores_what_is_handed_in_before_and_after(store, tmp_path):
    model = hand_in(
        store,
        write_skeleton("model", "doe-net", tmp_path),
        benchmarks=[BENCHMARK],
        account=account_of(store, add_account(store, "doe")).id,
    )
    while (step := queue.claim_next(store, "w", 60, submission_id=model.id)) is not None:
        queue.finish(store, step.id, "w")  # what its steps do is no part of this
    folder = write_skeleton("benchmark", "Roe2026", tmp_path, "behaviour")
    (folder / "requirements.txt").write_text("tinyfilter\n")
    (folder / "benchmark.py").write_text(f"import tinyfilter\n\n{(folder / 'benchmark.py').read_text()}")
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
    code = f"""
        import bsjax
        benchmark, model = bsjax.load_benchmark({name!r}), bsjax.load_model("pixels")
        benchmark.ask(model)
        bsjax.data.write_netcdf(model.look_at(benchmark.stimuli_for(model)), {str(answers / "said.nc")!r})
    """
    wheel = tmp_path / "wheels" / "tinyfilter-1.2-py3-none-any.whl"
    variables = {**os.environ, "BSJAX_PLUGINS": str(folder), "PYTHONPATH": f"{wheel}:{os.getcwd()}"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=variables, check=True)
    found, steps = handed_in(store, answers, benchmarks=["Roe2026*"])
    assert found.state == "done" and found.kinds == ("model",), steps
    assert scores(store) == there | {("said-net", name): there["pixels", name]}


def test_a_zip_with_a_model_and_a_benchmark_that_is_contained(store, tmp_path, capsys):
    (tmp_path / "lab" / "models").mkdir(parents=True)
    (tmp_path / "lab" / "benchmarks").mkdir()
    write_skeleton("model", "doe-net", tmp_path / "lab" / "models")
    write_skeleton("benchmark", "Doe2026", tmp_path / "lab" / "benchmarks")
    source = shutil.make_archive(str(tmp_path / "lab"), "zip", tmp_path, "lab")
    found, steps = handed_in(store, source, benchmarks=[BENCHMARK], models=["pixels"])
    assert found.state == "done" and found.name == "lab", steps
    assert [*steps] == ["install", "check", "public", "private", "benchmarks"]
    assert found.facts["registers"]["benchmark"] == ["Doe2026.V1-ridge"]
    assert {*scores(store)} == {
        ("doe-net", BENCHMARK),
        ("doe-net", "Doe2026.V1-ridge"),
        ("pixels", "Doe2026.V1-ridge"),
    }
    # What is there is not scored again, also where the same is handed in once more.
    again = hand_in(store, source, benchmarks=[BENCHMARK], models=["pixels"])
    came = STEPS["benchmarks"](At(store, again, queue.steps(store, again.id)[-1]))
    assert came.scores == 2 and "pixels on Doe2026.V1-ridge: in the store" in capsys.readouterr().out
    assert len(store.frame(latest=False)) == 3
    # What nobody has reviewed has no part in the averages of others.
    assert store.frame(benchmarks=["Doe2026.V1-ridge"], columns=["parent"])["parent"].eq("").all()


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
