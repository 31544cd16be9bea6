"""The promises that hold for the package as a whole: what an import loads, the layers, the public names."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import bsjax
from tests.support.paths import REPOSITORY

MODULES = sorted((REPOSITORY / "bsjax").rglob("*.py"))


def run_python(code: str) -> str:
    """What ``code`` prints in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, cwd=REPOSITORY, check=False
    )
    if done.returncode:
        pytest.fail(f"{code!r} failed:\n{done.stderr}")
    return done.stdout


@pytest.mark.parametrize(
    ("code", "most", "without"),
    [
        ("import bsjax.metrics", 120, {"numpy"}),
        ("import bsjax; bsjax.load_metric", 260, {"numpy"}),
        ("import bsjax; bsjax.score", 500, {"jax", "scipy", "pandas", "xarray", "sqlalchemy", "rich", "PIL"}),
        pytest.param("import bsjax; bsjax.load_model('gabor-v1')", 1750, {"torch", "flax"}, marks=pytest.mark.slow),
        ("from bsjax.metrics import pearson", 1000, {"scipy", "optax"}),
        (
            "from bsjax.benchmarks import benchmark_rows; [(row.access, row.bibtex) for row in benchmark_rows()]",
            300,
            {"jax", "xarray", "pandas", "h5py", "boto3", "sklearn"},
        ),
        (
            "import bsjax; bsjax.load_metric('cka')",
            1550,
            {"optax", "sklearn", "sqlalchemy", "scipy.special", "torch", "bsjax.models", "bsjax.benchmarks"},
        ),
    ],
)
def test_what_a_first_use_loads(code, most, without):
    """By number, since a clock would tell how busy the machine is: NumPy brings 150 modules, JAX 600."""
    loaded = json.loads(run_python(f"import json, sys; {code}; print(json.dumps(list(sys.modules)))"))
    assert without & {*loaded, *(name.partition(".")[0] for name in loaded)} == set()
    assert len(loaded) < most


def test_an_import_starts_no_thread_and_compiles_nothing():
    code = (
        "import threading, bsjax, bsjax.metrics as metrics; [getattr(metrics, name) for name in metrics.__all__]\n"
        "import jax; from jax._src import xla_bridge; [getattr(bsjax, name) for name in bsjax.__all__]\n"
        "print(threading.active_count(), xla_bridge.backends_are_initialized())"
    )
    assert run_python(code).split() == ["1", "False"]


def test_a_first_score_of_arrays_loads_no_library_that_takes_long_and_leaves_the_configuration_of_jax_alone():
    code = (
        "import json, sys, jax; before = dict(jax.config.values)\n"
        "import bsjax, numpy as np; x = np.random.default_rng(0).standard_normal((60, 30))\n"
        "for metric in ('ridge', 'cka'): bsjax.score_arrays(x, x[:, :5], metric)\n"
        "print(json.dumps([before == dict(jax.config.values), list(sys.modules)]))"
    )
    unchanged, loaded = json.loads(run_python(code))
    assert unchanged and {"sklearn", "dask", "scipy.stats", "scipy.special"}.intersection(loaded) == set()


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        bsjax.no_such_name  # noqa: B018


def folders_of(root):
    return sorted({path.parent.relative_to(root) for path in root.rglob("*.py")})


def test_a_folder_holds_fifteen_modules_at_most():
    root = REPOSITORY / "bsjax"
    modules = {str(f): sum(p.name != "__init__.py" for p in (root / f).glob("*.py")) for f in folders_of(root)}
    assert {folder: count for folder, count in modules.items() if count > 15} == {}


def test_the_tests_of_a_module_are_found_by_its_path():
    """``tests/a/b/test_c.py`` tests ``bsjax/a/b/c.py``, or something of the folder ``bsjax/a/b``."""
    own = {Path(name) for name in (".", "contract", "contract/rows", "docs", "oracle", "support")}
    package = set(folders_of(REPOSITORY / "bsjax"))
    tested = {f for f in folders_of(REPOSITORY / "tests") if "tutorials" not in f.parts}
    assert tested - own <= package


def test_every_module_says_what_it_holds():
    """The first line of each module is a heading: a phrase of its own, which ends in a full stop."""
    headings = {path: (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0] for path in MODULES}
    assert [str(path) for path, heading in headings.items() if not heading.endswith(".")] == []
    said = [heading for path, heading in headings.items() if path.name != "__init__.py"]
    assert len(said) == len(set(said))


def test_names_that_jax_does_not_promise_are_imported_in_one_place():
    unstable = ("jax.core", "jax.extend", "jax.interpreters", "jax._src", "jaxlib.")
    found = {
        path.relative_to(REPOSITORY).as_posix()
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(unstable)
    }
    assert found == {"bsjax/engine/jax_names.py"}
