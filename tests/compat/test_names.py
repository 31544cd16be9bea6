"""The table of Brain-Score's names: each has its place."""

import importlib

from bsjax.compat.names import MODULES, Refused, names_of, table_of, target_of
from tests.support.names_page import PAGE, counts_on, page

NAMES = [(module, name) for module, names in MODULES.items() for name in names if name != "*"]


def test_every_name_has_its_place():
    missing = []
    for module, name in NAMES:
        target = target_of(module, name)
        if isinstance(target, str):
            place, _, attribute = target.partition(":")
            if not hasattr(importlib.import_module(place), attribute):
                missing.append(f"{module}.{name}: {target}")
    assert not missing


def test_what_is_said_of_all_names_holds_for_the_modules_within():
    refused = target_of("brainscore_vision.submission.endpoints", "run_scoring")
    assert isinstance(refused, Refused) and "bsjax check" in refused.instead
    # Of a package that says nothing of all its names, and of plugins, there is no such module.
    for module in ("brainscore_vision.no_such", "brainscore_vision.models.mine", "result_caching.no_such"):
        assert table_of(module) is None and target_of(module, "name") is None


def test_only_names_of_the_reference_are_there():
    """A name in a module that has all names of another, and a module in such a package, are that one's."""
    for module in ("brainio.assemblies.NeuroidAssemblies", "brainio.stimulus", "model_tools.activations.pytorsch"):
        assert table_of(module) is None
    assert table_of("model_tools.utils.s3") == "brainscore_vision.model_helpers.utils.s3"
    assert names_of("brainscore_vision.data_helpers.s3") >= {"load_assembly_from_s3", "load_stimulus_set_from_s3"}


def test_the_page_of_names_is_current():
    """``python -m tests.support.names_page`` writes it anew."""
    text = PAGE.read_text(encoding="utf-8")
    assert page(counts_on(text)) == text
    assert counts_on(text)["brainscore_vision", "model_registry"].endswith(" models")
