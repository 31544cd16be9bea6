"""Published plugins of models, unchanged, with random weights in the place of those that they fetch."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import REPOSITORY

torch = pytest.importorskip("torch")

# What they need beside packages, and cannot be had here.
OFFLINE = {
    "BiT_S_R152x2": "storage.googleapis.com",
    "cvt_cvt_13_384_in22k_finetuned_in1k_4": "huggingface.co",
    "efficientnet_b7": "in google/efficientnet-b7",
}
OTHERWISE = {
    "bp_resnet50_julios": "Anything",  # it calls what lies in its file of weights
    "deepeisnn_ei_cifar10_resnet18": "JSONDecodeError",  # it reads a file that it fetches with its weights
    "mobilenet_v2_1_0_128": r"imports the plugin models/mobilenet_v2_0_5_192, which is not below a folder of \$BSJAX_",
}
MISSING = re.compile(r"needs [\w.]+, which (is not installed|the installed \w+ does not have): .*pip install")


def run(published_plugins, tmp_path, *arguments):
    """The output of a process of its own."""
    paths = [str(REPOSITORY), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    homes = {name: str(tmp_path / name) for name in ("BSJAX_HOME", "BRAINSCORE_HOME", "TORCH_HOME", "HF_HOME")}
    environment = {**os.environ, **homes, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


def test_they_are_listed_without_being_run(published_plugins, tmp_path):
    code = """
import sys, bsjax
from bsjax.core.discovery import brainscore_plugins
names = set(bsjax.list_models())
plugins = [plugin for plugin in brainscore_plugins() if plugin.folder.parent.name == "models"]
print(len(plugins), sum(bool(plugin.note) for plugin in plugins))
print(all(plugin.declarations and all(each.identifier in names for each in plugin.declarations) for plugin in plugins))
print([name for name in sys.modules if name.startswith("brainscore")], "torch" in sys.modules)
"""
    counted, all_listed, imported = run(published_plugins, tmp_path, "-c", code).splitlines()
    folders = [path for path in (published_plugins / "brainscore_vision" / "models").iterdir() if path.is_dir()]
    assert counted == f"{len(folders)} 0" and all_listed == "True" and imported == "[] False"


@pytest.mark.slow
def test_one_with_areas_and_time_steps_answers_with_the_bits_of_each_step(published_plugins, tmp_path):
    """CORnet-S, CORnet and ReAlnet have a wrapper and an extractor of their own."""
    output = run(published_plugins, tmp_path, "-m", "tests.support.cornet", str(published_plugins))
    assert json.loads(output) == {"V2": True, "V4": True, "IT": True, "probabilities": True}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_they_answer_with_the_bits_of_a_forward_hook(published_plugins, tmp_path):
    """Those whose packages are there; the others say in one line what is missing."""
    output = run(published_plugins, tmp_path, "-m", "tests.support.published_models", str(published_plugins))
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    unexpected = []
    for row in rows:
        error = row.get("error", "")
        known = {**OFFLINE, **OTHERWISE}.get(row["plugin"])
        as_expected = row.get("equal") is True or bool(
            error and "\n" not in error and (MISSING.search(error) or (known and re.search(known, error)))
        )
        if not as_expected:
            unexpected.append(row)
    assert not unexpected
    assert len(rows) == sum(path.is_dir() for path in (published_plugins / "brainscore_vision" / "models").iterdir())
    answered = sum(row["stage"] == "answered" for row in rows)
    print(f"{answered} of {len(rows)} answer")
    assert answered >= 1
