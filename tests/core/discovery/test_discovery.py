"""Plugins are found without running them, imported when asked for, and in nobody's way when they are broken."""

import os
import sys
import textwrap
from pathlib import Path

import pytest

import bsjax
from bsjax import (
    benchmark_registry,
    data_registry,
    load_metric,
    load_model,
    metric_registry,
    model_registry,
    register_mapping,
)
from bsjax.core.registry import UnknownIdentifier
from bsjax.metrics import Ridge
from tests.support.processes import printed_by

MODEL = """
    '''Nothing but a name.

    More on it.'''
    from bsjax import model_registry
    from .build import build
    model_registry["Doe.net"] = build
"""
BUILD = """
    from pathlib import Path
    Path(__file__).with_name("ran").touch()
    from .deeper import NAME
    def build():
        return NAME
"""


def test_a_model_is_found_without_running_it_and_imported_when_asked_for(plugin):
    before, path = set(sys.modules), list(sys.path)
    folder = plugin("doe", MODEL, build=BUILD, deeper="NAME = 'a network'")
    assert bsjax.list_models()[-1] == "Doe.net" and "Doe.net" in model_registry
    assert model_registry.match("Doe*") == ["Doe.net"]
    assert model_registry.summary("Doe.net") == "Nothing but a name."
    assert not (folder / "ran").exists()
    assert load_model("Doe.net") == "a network"
    assert (folder / "ran").exists()
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert [name for name in new if "doe" in name] == [name for name in new if name.startswith("bsjax_plugin_doe_")]
    assert sys.path == path


def test_all_kinds_and_ways_to_register(plugin):
    plugin(
        "all",
        """
        import bsjax
        import bsjax as b
        from bsjax import benchmark_registry, metric_registry as metrics
        bsjax.data_registry["Doe2026"] = lambda: "data"
        b.stimulus_set_registry["Doe2026"] = lambda: "stimuli"
        benchmark_registry.register("Doe2026.V1-m", lambda: "benchmark", summary="of the left hand")
        metrics.register(identifier="m", factory=lambda: "metric")
        if True:
            b.model_registry["net"] = lambda: "model"
        """,
    )
    assert data_registry["Doe2026"]() == "data" and bsjax.stimulus_set_registry["Doe2026"]() == "stimuli"
    assert metric_registry["m"]() == load_metric("m") == "metric" and model_registry["net"]() == "model"
    assert benchmark_registry.summary("Doe2026.V1-m") == "of the left hand"
    assert benchmark_registry["Doe2026.V1-m"]() == "benchmark"


def test_forms_of_a_mapping(plugin):
    folder = plugin(
        "forms",
        """
        from bsjax import register_mapping
        from bsjax.metrics import Ridge
        register_mapping("doe_ridge", lambda: Ridge(2.0), "of the left hand", reverse=True)
        """,
    )
    names = [name for name in metric_registry if "doe_ridge" in name]
    forms = ["", "_cv", "_split"]
    assert names == [f"doe_ridge{form}" for form in forms] + [f"reverse_doe_ridge{form}" for form in forms]
    assert load_metric("doe_ridge_cv").mapping == Ridge(2.0)
    assert "of the left hand" in metric_registry.summary("doe_ridge_split")
    assert all(metric_registry.plugin_of(name).folder == folder for name in names)


def test_running_code_replaces_what_is_its_own():
    for made in (1, 2):
        model_registry["doe"] = lambda made=made: made
    assert model_registry["doe"]() == 2
    del model_registry["doe"]
    with pytest.raises(ValueError, match="'pixels' is bsjax's own"):
        model_registry["pixels"] = lambda: 1
    with pytest.raises(ValueError, match="'ridge' is bsjax's own"):
        register_mapping("ridge", lambda: Ridge(2.0))


def test_layouts(plugin, search):
    text = "from bsjax import model_registry\nmodel_registry['net-{}'] = lambda: {}\n"
    single = plugin("single", text.format(1, 1))
    plugin("models/nested", text.format(2, 2))
    plugin("other/too_deep", text.format(3, 3))
    plugin(".hidden", text.format(4, 4))
    (plugin.root / "not_a_plugin").mkdir()
    assert {"net-1", "net-2"} == {name for name in model_registry if name.startswith("net-")}
    search(single, single, plugin.root)  # once each, however often they are found
    assert {"net-1", "net-2"} == {name for name in model_registry if name.startswith("net-")}
    assert model_registry["net-1"]() == 1
    search(single)
    assert [name for name in model_registry if name.startswith("net-")] == ["net-1"]
    search()
    assert "net-1" not in model_registry
    search(plugin.root)
    assert model_registry["net-1"]() == 1 and model_registry["net-2"]() == 2


def test_a_builtin_identifier_is_not_replaced(plugin):
    folder = plugin(
        "greedy",
        """
        from bsjax import model_registry
        model_registry["pixels"] = lambda: "mine"
        model_registry["greedy"] = lambda: "also mine"
        """,
    )
    with pytest.raises(ValueError, match="'pixels' is registered by bsjax itself") as error:
        model_registry["pixels"]
    assert f"{folder / '__init__.py'} line 3" in str(error.value)
    assert model_registry["greedy"]() == "also mine"
    assert [note for note in model_registry.notes() if "pixels" in note] == [str(error.value)]


def test_two_plugins_with_one_identifier(plugin):
    one = plugin("one", "from bsjax import model_registry\nmodel_registry['same'] = lambda: 1\n")
    two = plugin("two", "from bsjax import model_registry\n\nmodel_registry['same'] = lambda: 2\n")
    with pytest.raises(ValueError, match="change the identifier in one of them") as error:
        load_model("same")
    assert f"{one / '__init__.py'} line 2 and by {two / '__init__.py'} line 3" in str(error.value)
    assert load_model("pixels").identifier == "pixels"


@pytest.mark.slow
def test_a_name_taken_only_when_running_is_no_silent_replacement(plugin, search):
    plugin(
        "sly",
        """
        from bsjax import model_registry
        model_registry["sly"] = lambda: "sly"
        for name in ("gabor" + "-v1", "hm" + "ax"):
            model_registry[name] = lambda: "mine"
        """,
    )
    assert load_model("gabor-v1").identifier == "gabor-v1"
    assert load_model("sly") == "sly"
    with pytest.raises(ValueError, match="'gabor-v1' is registered by bsjax itself"):
        load_model("gabor-v1")
    search()
    assert load_model("gabor-v1").identifier == "gabor-v1"


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("1 / 0", "__init__.py line 4: ZeroDivisionError: division by zero"),
        ("import bsjax_no_such_package.inside", "needs bsjax_no_such_package, which is not installed: pip install"),
        ("import brainscore_vision.no_such", "Brain-Score has no no_such"),
        ("from .missing import f", r"imports .*broken/missing.py, which is not there"),
    ],
)
def test_a_plugin_that_cannot_be_imported(plugin, init, message):
    text = f"from bsjax import model_registry, benchmark_registry\nmodel_registry['good'] = int\n\n{init}\n"
    folder = plugin("broken", text + "model_registry['bad'] = int\nbenchmark_registry['worse'] = int\n")
    plugin("whole", "from bsjax import model_registry\nmodel_registry['whole'] = str\n")
    for identifier in ("bad", "good"):  # what came before the error is taken back
        with pytest.raises(ImportError, match=message) as error:
            load_model(identifier)
        assert f"model {identifier!r} of the plugin {folder}" in str(error.value)
    with pytest.raises(ImportError, match="benchmark 'worse'"):
        bsjax.load_benchmark("worse")
    assert load_model("whole") == "" and "bad" in bsjax.list_models()
    assert not [module for module in sys.modules.values() if str(folder) in str(getattr(module, "__file__", ""))]
    (folder / "__init__.py").write_text("from bsjax import model_registry\nmodel_registry['bad'] = str\n")
    assert load_model("bad") == ""  # mended


def test_a_file_that_is_no_python_is_a_note(plugin):
    folder = plugin("broken", "from bsjax import model_registry\nmodel_registry['bad' = 1\n")
    assert load_model("pixels").identifier == "pixels"
    [note] = model_registry.notes()
    assert str(folder) in note and "nothing of this plugin is registered" in note
    with pytest.raises(UnknownIdentifier, match="is no Python"):
        load_model("bad")


def test_a_file_that_is_nested_too_deeply_is_a_note(plugin):
    plugin("deep", f"from bsjax import model_registry\nmodel_registry['deep'] = {'-' * 200_000}1\n")
    [note] = model_registry.notes()
    assert "is no Python: it is nested too deeply" in note
    assert load_model("pixels").identifier == "pixels"


def test_identifiers_that_only_running_tells_are_a_note(plugin):
    plugin(
        "loop",
        """
        from bsjax import model_registry
        for number in range(2):
            model_registry[f"net-{number}"] = lambda: 1
        if False:
            model_registry['never'] = int
        """,
    )
    assert "net-0" not in model_registry
    with pytest.raises(UnknownIdentifier, match=r"only running it tells \(line 4\): write each out as a string"):
        load_model("net-0")
    with pytest.raises(ValueError, match=r"loop/__init__.py line 6, but running it does not register it"):
        load_model("never")


def test_a_folder_that_is_not_there_or_empty(search, tmp_path):
    search("/no/such/folder", tmp_path)
    assert load_model("pixels").identifier == "pixels"
    assert [note.split(", ")[1] for note in model_registry.notes()] == [
        "which is no folder",
        "in which no __init__.py registers anything",
    ]
    with pytest.raises(UnknownIdentifier, match="BSJAX_PLUGINS names /no/such/folder, which is no folder"):
        load_model("absent")


PROJECT = {
    "doe_plugins/__init__.py": "",
    "doe_plugins/shared.py": "NAME = 'installed'",
    "doe_plugins/models/net/__init__.py": """
        '''An installed model.'''
        from pathlib import Path
        from bsjax import model_registry
        from doe_plugins.shared import NAME
        Path(__file__).with_name("ran").touch()
        model_registry["doe-net"] = lambda: NAME
    """,
    "doe_plugins-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: doe-plugins\nVersion: 1\n",
    "doe_plugins-1.dist-info/entry_points.txt": """
        [bsjax.plugins]
        doe = doe_plugins
        gone = no_such_package.inside
    """,
}


def test_an_installed_package(tmp_path):
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import bsjax
        assert bsjax.list_models()[-1] == "doe-net", bsjax.list_models()
        assert bsjax.model_registry.summary("doe-net") == "An installed model."
        assert not [name for name in sys.modules if name.startswith("doe_plugins")]
        assert bsjax.load_model("doe-net") == "installed"
        assert "doe_plugins.models.net" in sys.modules
        print(bsjax.model_registry.notes())
    """
    assert printed_by("-c", textwrap.dedent(code)) == "[]\n"
    assert Path(tmp_path, "doe_plugins/models/net/ran").exists()


def test_a_pipe_is_not_waited_for(plugin):
    folder = plugin.root / "pipe"
    folder.mkdir()
    os.mkfifo(folder / "__init__.py")
    plugin("mine", "from bsjax import model_registry\nmodel_registry['mine'] = lambda: 1\n")
    assert "mine" in bsjax.list_models()
    why = f"{folder / '__init__.py'} is no regular file; nothing of this plugin is registered"
    assert model_registry.notes() == [why]
