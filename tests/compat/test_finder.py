"""Imports of Brain-Score's packages: who is answered, when, and with what."""

import subprocess
import sys

import pytest

from bsjax.compat import install
from tests.support.forked import run_python
from tests.support.paths import REPOSITORY

PLUGIN = """
from brainscore_vision import model_registry
import brainscore_vision.utils
from .helper import made
model_registry["small-model"] = made
"""
HELPER = """
def made():
    from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
    return ModelCommitment
"""


@pytest.fixture
def plugins(tmp_path):
    """A folder with one plugin, and the code beside it that wants the same packages."""
    folder = tmp_path / "models" / "small"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PLUGIN)
    (folder / "helper.py").write_text(HELPER)
    return tmp_path


def run(code, plugins=None, path=(), cwd=None, fresh=False):
    """The output of a process of its own; a fresh one has imported nothing yet."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(map(str, (*path, REPOSITORY)))}
    if plugins is not None:
        environment["BSJAX_PLUGINS"] = str(plugins)
    if fresh:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=cwd)
    else:
        done = run_python(code, cwd, environment)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def test_importing_bsjax_installs_nothing(plugins):
    code = """
import sys
before = list(sys.meta_path)
import bsjax
bsjax.list_models()
print(before == sys.meta_path, [name for name in sys.modules if "compat" in name and "bsjax" in name])
"""
    assert run(code, plugins, fresh=True) == "True []"


@pytest.mark.slow
def test_plugins_are_answered_and_other_code_is_not(plugins):
    code = """
import bsjax
from bsjax.models.registry import model_registry
print("small-model" in model_registry, model_registry["small-model"]().plugin.__module__)
import sys
for name in [name for name in sys.modules if name.startswith("brainscore")]:
    del sys.modules[name]
try:
    import brainscore_vision
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(code, plugins) == "True bsjax.compat.models.commitment\nNo module named 'brainscore_vision'"


@pytest.mark.slow
def test_all_code_is_answered_after_install():
    code = """
import bsjax.compat
bsjax.compat.install()
from brainscore_vision import *
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly as of_core
from brainio.assemblies import NeuroidAssembly
from result_caching import store
import brainscore_vision.model_helpers.activations.pytorch as pytorch
print(NeuroidAssembly is of_core, load_metric.__module__, pytorch.load_images.__name__)
try:
    from brainscore_vision import import_plugin
except ImportError as error:
    print(error)
try:
    from brainscore_vision.utils import no_such_name
except ImportError as error:
    print(error)
"""
    first, second, third = run(code).splitlines()
    assert first == "True bsjax.compat.by_name.registries load_images"
    assert second.startswith("brainscore_vision.import_plugin has no meaning in bsjax: plugins are imported when")
    assert third == "brainscore_vision.utils of Brain-Score has no no_such_name; docs/brainscore-names.md has its names"


def test_a_real_package_is_not_taken_the_place_of_unasked(tmp_path, plugins):
    installed = tmp_path / "installed"
    (installed / "brainscore_vision").mkdir(parents=True)
    (installed / "brainscore_vision" / "__init__.py").write_text("real = True\nmodel_registry = {}\n")
    code = """
import bsjax.compat
try:
    bsjax.compat.install()
except ImportError as error:
    print(error)
"""
    assert run(code, path=[installed]).startswith("brainscore_vision is installed here, so that it is not clear what")
    asked = "import bsjax\ntry:\n    bsjax.load_model('small-model')\nexcept ImportError as error:\n    print(error)"
    assert "call bsjax.compat.install(prefer='bsjax')" in run(asked, plugins, path=[installed])
    code = "import bsjax.compat\nbsjax.compat.install(prefer={!r})\n"
    code += "import brainscore_vision\nprint(hasattr(brainscore_vision, 'real'))"
    assert run(code.format("brainscore"), path=[installed]) == "True"
    assert run(code.format("bsjax"), path=[installed]) == "False"


@pytest.mark.slow
def test_plugins_import_each_other_by_their_folders(tmp_path):
    for name, code in {
        "one": "from brainscore_vision import model_registry\nNUMBER = 7\nmodel_registry['one'] = lambda: 1\n",
        "two": "from brainscore_vision import model_registry\nfrom brainscore_vision.models.one import NUMBER\n"
        "model_registry['two'] = lambda: NUMBER\n",
        "three": "from brainscore_vision import model_registry\nimport brainscore_vision.models.nowhere\n"
        "model_registry['three'] = lambda: 3\n",
    }.items():
        (tmp_path / "brainscore_vision" / "models" / name).mkdir(parents=True)
        (tmp_path / "brainscore_vision" / "models" / name / "__init__.py").write_text(code)
    code = """
from bsjax.models.registry import model_registry as registry
print(registry["two"]().plugin, registry["one"]().plugin, registry.plugin_of("one").folder.name)
try:
    registry["three"]
except ImportError as error:
    print(error)
"""
    first, second = run(code, tmp_path).splitlines()
    assert first == "7 1 one"
    assert second.endswith("imports the plugin models/nowhere, which is not below a folder of $BSJAX_PLUGINS")


@pytest.mark.parametrize(
    ("statement", "nearest"),
    [
        ("from brainio.assemblies import NeuroidAssemblies", "NeuroidAssembly"),
        ("import brainio.stimulus", "stimuli"),
        ("from brainscore_vision.data_helpers.s3 import load_assemblies_from_s3", "load_assembly_from_s3"),
        ("import brainscore_vision.metric_helper.temporal", "metric_helpers"),
    ],
)
def test_a_misspelled_name_is_an_error_with_the_nearest(statement, nearest):
    install()
    with pytest.raises(ImportError, match=nearest):
        exec(statement, {})


BENCHMARK = """
from brainscore_vision import benchmark_registry
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score

benchmark_registry["Mine2024-accuracy"] = lambda: BenchmarkBase("Mine2024-accuracy", lambda: Score(0.8), 1, "IT")
"""
TEST = """
import pytest
from brainscore_vision import load_benchmark

@pytest.mark.private_access
def test_ceiling():
    assert 0 < load_benchmark("Mine2024-accuracy").ceiling <= 1
"""


@pytest.fixture
def layout(tmp_path):
    """The working directory of somebody who follows the tutorials, with a file in each folder."""
    folder = tmp_path / "vision" / "brainscore_vision" / "benchmarks" / "mine2024"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(BENCHMARK)
    (folder / "test.py").write_text(TEST)
    (tmp_path / "vision" / "brainio").mkdir()
    for place in (folder.parent, folder.parent.parent, tmp_path / "vision" / "brainio"):
        (place / "__init__.py").write_text("")
    return tmp_path / "vision"


@pytest.mark.slow
def test_tests_run_in_the_layout_of_the_tutorials(layout):
    (layout / "conftest.py").write_text('pytest_plugins = ["bsjax.compat.for_pytest"]\n')
    options = "['-q', '-p', 'no:cacheprovider', 'brainscore_vision/benchmarks/mine2024/test.py']"
    said = run(f"import sys, pytest; sys.exit(pytest.main({options}))", cwd=layout, fresh=True)
    assert "1 passed in" in said  # without a warning of an unknown mark
