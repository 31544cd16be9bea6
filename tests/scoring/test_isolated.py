"""Jobs in processes of their own: real environments, real installers, and processes that go wrong.

What plugins require is a wheel that is written here, so that no network is needed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bsjax
from bsjax import Score
from bsjax.cli import app
from bsjax.core.discovery import Plugin
from bsjax.scoring import jobs_of, run
from bsjax.scoring.isolation import child
from bsjax.scoring.isolation import environment as environments
from bsjax.scoring.isolation.requirements import requirements_of
from tests.scoring.conftest import stored_model
from tests.support.plugin_fixtures import plugin

__all__ = ["plugin"]

# The model says what it runs with, and prints what nobody may take for a score.
MODEL = """
    import os, sys, warnings
    import numpy as np
    import tiny_dependency
    from bsjax import ModelCommitment, model_registry
    from bsjax.adapters import from_stored

    def build():
        print('{"score": 1')
        os.write(1, bytes(range(256)))
        print("{", file=sys.stderr)
        warnings.warn(f"made with {tiny_dependency.VERSION}")
        values = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
        activations = from_stored({"all": values}, "doe", stimulus_ids=[str(n) for n in range(30)])
        return ModelCommitment("doe", activations, region_layer_map={"V1": "all"})

    model_registry["doe"] = build
"""
BENCHMARK = """
    import numpy as np
    from bsjax import Score, StimulusSet, benchmark_registry, load_metric

    class Small:
        version, parent, bibtex, ceiling = 1, "V1", "", Score(1.0)
        identifier = "Doe2026.V1-ridge"

        def __init__(self, noise=1.0):
            self.noise = noise

        def __call__(self, candidate):
            candidate.start_recording("V1", time_bins=[(0, 100)])
            recorded = candidate.look_at(StimulusSet({"stimulus_id": [str(n) for n in range(30)]}))
            measured = recorded + self.noise * np.random.default_rng(1).normal(size=recorded.shape)
            return load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None})(recorded, measured)

    benchmark_registry["Doe2026.V1-ridge"] = Small
"""
REQUIREMENTS = "--no-index\n--find-links ./wheels\ntiny-dependency==2.0  # not the one that is there\n"


def write_wheel(folder: Path, version: str, requires: str = "") -> Path:
    """A package of one module, as it is handed around."""
    info = f"tiny_dependency-{version}.dist-info"
    files = {
        "tiny_dependency/__init__.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-dependency\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"tiny_dependency-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A place for environments and logs, and for programs that are compiled once for all processes."""
    compiled = Path(os.environ["BSJAX_HOME"]) / "compiled"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    # A limit, which a command that ran in this process may have left, needs notes that programs here do not have.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_MAX_SIZE", "-1")
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "home"


@pytest.fixture
def doe(plugin, home, tmp_path, monkeypatch):
    """Plugins with a model and a benchmark; the package that the model requires is there in an older version."""
    folder = plugin("model", MODEL)
    (folder / "requirements.txt").write_text(REQUIREMENTS)
    write_wheel(folder / "wheels", "2.0")
    plugin("benchmark", BENCHMARK)
    with zipfile.ZipFile(write_wheel(tmp_path, "1.0")) as wheel:
        wheel.extractall(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    yield folder
    sys.modules.pop("tiny_dependency", None)


def logs(tmp_path):
    return list(tmp_path.glob("bsjax-isolated-*/log.txt"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the baseline stimulus-order")  # what this benchmark compares with is the model
def test_an_isolated_score_is_the_same_and_its_environment_is_kept(doe, home, tmp_path, monkeypatch):
    with pytest.warns(UserWarning, match=r"^made with 1\.0$"):
        here = bsjax.score("doe", "Doe2026.V1-ridge", noise=0.5)
    with pytest.warns(UserWarning, match=r"^made with 2\.0$"):
        there = bsjax.score("doe", "Doe2026.V1-ridge", isolated=True, noise=0.5)
    assert isinstance(there, Score) and 0 < float(there) < 1
    assert float(there) == pytest.approx(float(here), rel=1e-6)
    assert there.raw.sizes == here.raw.sizes and there.provenance == here.provenance
    # It has a cell of its own in the store: in this process, with other packages, it may be another score.
    asked = {"isolated": True, "noise": 0.25}
    with pytest.warns(UserWarning, match=r"^made with 2\.0$"):
        first = bsjax.score("doe", "Doe2026.V1-ridge", **asked)
    assert bsjax.score("doe", "Doe2026.V1-ridge", **asked).to_dict() == first.to_dict()

    [marker] = home.glob("environments/*/complete")
    made = marker.stat().st_mtime_ns
    for variable in ("XLA_PYTHON_CLIENT_PREALLOCATE", "BSJAX_PLUGINS"):  # which the command sets
        monkeypatch.setenv(variable, os.environ.get(variable, "false"))
    file, beside = tmp_path / "scores.json", ["--baseline", "stimulus-order"]
    with pytest.warns(UserWarning, match=r"^made with 2\.0$"):
        done = CliRunner().invoke(app, ["score", "-m", "doe", "-b", "Doe*", "--isolated", *beside, "--json", str(file)])
    assert done.exit_code == 0, (done.exception, done.stderr)
    assert done.stdout.splitlines()[1].split()[:2] == ["doe", "Doe2026.V1-ridge"]
    [row] = json.loads(file.read_text())
    named = here.provenance.with_entries(model="doe", benchmark="Doe2026.V1-ridge")
    made_there = Score.from_dict(row["score"]).provenance
    baselines = {name: made_there[name] for name in ("baselines", "baseline_errors")}
    assert list(baselines["baselines"]) == ["stimulus-order"]
    assert made_there == named.with_details(**baselines)
    assert [path.stat().st_mtime_ns for path in home.glob("environments/*/complete")] == [made]
    assert logs(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", r"killed by SIGKILL, as the system does where memory runs out"),
        ("print('the last words'); os._exit(3)", r"ended with exit code 3 and no score: the last words"),
    ],
)
def test_a_process_that_ends_early(plugin, home, tmp_path, does, message):
    plugin(
        "ending",
        f"""
        import os, signal
        from bsjax import model_registry
        def build():
            {does}
        model_registry["ending"] = build
        """,
    )
    [outcome] = run(jobs_of("ending", "Simulated.V1-ridge", isolated=True))
    [log] = logs(tmp_path)
    assert isinstance(outcome.error, RuntimeError) and outcome.score is None
    with pytest.raises(RuntimeError, match=message):
        raise outcome.error
    assert outcome.error_line.endswith(f"; what its process printed is in {log}")
    assert list(home.glob("environments")) == []  # nothing is required


@pytest.mark.slow
def test_an_interrupt_ends_the_process_too(plugin, home, tmp_path):
    started = tmp_path / "started"
    plugin(
        "waiting",
        f"""
        import os, time
        from bsjax import model_registry
        def build():
            os.setpgid(0, 0)  # what a terminal sends to all of a group does not reach it
            open({str(started)!r}, "w").write(str(os.getpid()))
            time.sleep(600)
        model_registry["waiting"] = build
        """,
    )

    def interrupt():
        while not (started.is_file() and started.read_text()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        bsjax.score("waiting", "Simulated.V1-ridge", isolated=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert logs(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_an_environment_holds_what_differs_and_shares_the_rest(doe, home, monkeypatch, tool):
    if tool == "uv" and shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    if tool == "pip":
        monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    made, make = [], environments._make
    monkeypatch.setattr(environments, "_make", lambda folder, *args: made.append(folder) or make(folder, *args))
    lines = requirements_of(Plugin(doe))
    found = []
    threads = [threading.Thread(target=lambda: found.append(environments.environment(lines))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    python = found[0]
    assert len(made) == 1 and found == [python, python]  # one makes it, the other waits
    code = "import json, sys, numpy, tiny_dependency as t; from importlib.metadata import version as v;"
    code += "print(json.dumps([t.VERSION, v('tiny-dependency'), numpy.__file__, v('numpy'), sys.prefix]))"
    said = subprocess.run([python, "-P", "-c", code], capture_output=True, text=True, check=True)
    import numpy

    expected = ["2.0", "2.0", numpy.__file__, metadata.version("numpy"), str(made[0])]
    assert json.loads(said.stdout) == expected
    installed = {path.name for path in made[0].rglob("*.dist-info")}
    assert installed == {"tiny_dependency-2.0.dist-info"}
    # the package of the running environment is as it was
    assert metadata.version("tiny-dependency") == "1.0"

    (made[0] / "complete").unlink()  # as if its making had been broken off
    python.unlink()
    assert environments.environment(lines) == python and python.exists() and len(made) == 2


@pytest.mark.slow
def test_what_needs_what_bsjax_cannot_run_with_leaves_nothing(plugin, home):
    folder = plugin("broken", "from bsjax import model_registry\nmodel_registry['broken'] = None")
    write_wheel(folder / "wheels", "2.0", "Requires-Dist: numpy<2\n")
    (folder / "requirements.txt").write_text("--no-index\n--find-links ./wheels\ntiny-dependency==2.0\n")
    with pytest.raises(RuntimeError, match=r"cannot install [\s\S]*numpy"):
        bsjax.score("broken", "Simulated.V1-ridge", isolated=True)
    assert [path for path in home.glob("environments/*") if path.is_dir()] == []
    (folder / "requirements.txt").write_text("bsjax==0.0.1\n")
    with pytest.raises(ValueError, match=rf"requires bsjax==0.0.1, but this is bsjax {bsjax.__version__}"):
        requirements_of(Plugin(folder))


def test_a_missing_package_has_a_line_that_says_so(plugin, home):
    for kind in ("model", "metric"):
        registers = f"from bsjax import {kind}_registry\nimport no_such\n{kind}_registry['needy-{kind}'] = None"
        (plugin(kind, registers) / "requirements.txt").write_text("no-such\n")
    with pytest.raises(ImportError, match=r"pip install -r .*, or run it by itself: bsjax score --isolated$"):
        bsjax.score("needy-model", "Simulated.V1-ridge")
    with pytest.raises(ImportError, match=r"pip install -r [^ ]*requirements.txt$"):
        bsjax.load_metric("needy-metric")


def test_the_lines_of_requirements(tmp_path):
    (tmp_path / "more.txt").write_text("timm\nnumpy<2; python_version < '3'\n")
    (tmp_path / "limits.txt").write_text("timm<2\n")
    (tmp_path / "requirements.txt").write_text(
        "\ufeff# what it needs\r\n-r more.txt\n-c limits.txt\n\n"
        "numpy>=1,\\\n<9  # any\nbrainio\nBrainScore_Vision @ git+https://example.org/vision\ncollections\n"
        "./package\n-e ./package\n./nowhere\ngit+https://example.org/x@main#egg=x\n",
        encoding="utf-8",
    )
    (tmp_path / "package").mkdir()
    lines = requirements_of(Plugin(tmp_path))
    [limits] = [line for line in lines if line.startswith("-c")]
    assert [line for line in lines if line != limits] == [
        "timm",
        "numpy<2; python_version < '3'",
        "numpy>=1,<9",
        f"{tmp_path}/package",
        f"-e {tmp_path}/package",
        "./nowhere",
        "git+https://example.org/x@main#egg=x",
    ]
    assert limits.startswith(f"-c {tmp_path}/limits.txt  # ")
    (tmp_path / "limits.txt").write_text("timm<3\n")  # which makes it another environment
    assert limits not in requirements_of(Plugin(tmp_path))


def test_objects_stay_in_this_process(home, small):
    with pytest.raises(ValueError, match=r"model 'good' is an object, .*register it in a plugin \(`bsjax new model`\)"):
        bsjax.score(stored_model("good", 0.1), "Simulated.V1-ridge", isolated=True)
    with pytest.raises(ValueError, match=r"benchmark 'Small.V1-ridge' is an object"):
        bsjax.score("pixels", small, isolated=True)
    with pytest.raises(ValueError, match=r"memory=\{1\} is a set, which cannot go to a process of its own"):
        bsjax.score("pixels", "Simulated.V1-ridge", {"memory": {1}}, isolated=True)


def test_what_running_code_registers_is_not_known_elsewhere(home, tmp_path, capfd):
    job = {"model": "mine", "benchmark": "Simulated.V1-ridge", "extraction": {}, "arguments": {}}
    (tmp_path / "job.json").write_text(json.dumps(job))
    child.main(tmp_path / "job.json", tmp_path / "score.json")
    answer = json.loads((tmp_path / "score.json").read_text())
    assert answer["error"].startswith("unknown model 'mine'; ") and answer["warnings"] == []
    assert answer["error"].endswith("other processes know only plugins, not what a running script has registered")
    assert "UnknownIdentifier" in capfd.readouterr().err  # which goes to the log
