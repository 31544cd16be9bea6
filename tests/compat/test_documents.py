"""What the page on moving from Brain-Score says."""

import re

import pytest

import bsjax
from bsjax.compat.names import MODULES, Refused, target_of
from bsjax.models.sources.published import published_models
from tests.support.forked import run_python
from tests.support.paths import REPOSITORY

TEXT = (REPOSITORY / "docs" / "from-brainscore.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_its_python_runs():
    pytest.importorskip("torch")
    [code] = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    done = run_python(f"{code}\nprint(PytorchWrapper.__module__)")
    assert done.stdout == "bsjax.compat.activations.pytorch\n", done.stderr


def test_its_commands_name_things_that_there_are():
    from typer.testing import CliRunner

    from bsjax.cli import app

    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```", f"{TEXT}\n{README}", re.MULTILINE | re.DOTALL))
    for benchmark in re.findall(r"--benchmark '?([^'\s]+)'? ?", shell):
        assert benchmark == "Doe2026*" or bsjax.benchmark_registry.match(benchmark)
    options = CliRunner().invoke(app, ["score", "--help"]).output
    assert {"--isolated", "--brainscore"} <= set(re.findall(r"--\w+", options))
    published = CliRunner().invoke(app, ["list", "models", "--published"]).output
    assert "alexnet" in published and f"{len(published_models())} identifiers" in TEXT


def test_what_it_calls_refused_is():
    names = {name for names in MODULES.values() for name in names}
    for name in ("import_plugin", "wrap_score", "ImportPlugin"):
        assert f"`{name}`" in TEXT and name in names
        assert isinstance(target_of("brainscore_vision", name), Refused)
