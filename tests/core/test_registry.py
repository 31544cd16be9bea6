"""The registry: lookup, globs, near misses, and targets that are imported only on use."""

import sys

import pytest

from bsjax.core.registry import Registry, UnknownIdentifier


def models() -> Registry:
    registry = Registry("model")
    registry["pixels"] = lambda: "pixels, built"
    registry.register("gabor-v1", "math:sqrt", summary="a bank of filters")
    registry.register("net", "bsjax_no_such_module:build", requires=("flax",))
    return registry


def test_is_a_mapping_to_factories_in_order_of_registration():
    registry = models()
    assert registry["pixels"]() == "pixels, built"
    assert registry["gabor-v1"](9.0) == 3.0
    assert list(registry) == ["pixels", "gabor-v1", "net"]
    assert len(registry) == 3 and "pixels" in registry and "other" not in registry
    del registry["pixels"]
    assert list(registry) == ["gabor-v1", "net"]
    assert registry.get("other") is None


def test_unknown_identifier_is_one_plain_line_with_the_nearest():
    for lookup in ("__getitem__", "summary", "requires", "__delitem__", "match"):
        with pytest.raises(UnknownIdentifier) as error:
            getattr(models(), lookup)("gabr-v1")
        assert str(error.value) == "unknown model 'gabr-v1'; nearest: gabor-v1; see `bsjax list models`"
    with pytest.raises(KeyError, match=r"unknown model \['pixels'\]; nearest: pixels"):
        models()[["pixels"]]


def test_match_expands_globs_in_order_of_registration():
    registry = Registry("benchmark")
    for name in ("b.V4-pls", "a.V4-ridge", "a.IT-pls", "odd[1]"):
        registry[name] = dict
    assert registry.match("*.V4-*") == ["b.V4-pls", "a.V4-ridge"]
    assert registry.match("a.IT-pls") == ["a.IT-pls"]
    assert registry.match("[ab].*-pls") == ["b.V4-pls", "a.IT-pls"]
    assert registry.match("odd[1]") == ["odd[1]"]  # an identifier that looks like a glob
    with pytest.raises(KeyError, match="no benchmark matches 'A.V4-ridg\\*'; nearest: a.V4-ridge"):
        registry.match("A.V4-ridg*")


def test_summary_and_requires_do_not_import():
    registry = models()
    assert registry.summary("gabor-v1") == "a bank of filters"
    assert registry.summary("net") == ""
    assert registry.requires("net") == ("flax",)
    assert registry.requires("pixels") == ()
    registry.register("one", dict, requires="torch")
    assert registry.requires("one") == ("torch",)


def test_string_targets_are_imported_on_use_only(tmp_path, monkeypatch):
    (tmp_path / "bsjax_registry_target.py").write_text("def build():\n    return 'built'\nvalue = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("model")
    registry["lazy"] = "bsjax_registry_target:build"
    registry["number"] = "bsjax_registry_target:value"
    registry["absent"] = "bsjax_registry_target:nothing"
    assert "lazy" in registry and list(registry) and registry.match("*") and registry.summary("lazy") == ""
    assert registry == registry and registry != models() and len({registry, models()}) == 2
    assert "bsjax_registry_target" not in sys.modules
    assert registry["lazy"]() == "built"
    assert "bsjax_registry_target" in sys.modules
    with pytest.raises(ValueError, match="'bsjax_registry_target:value', but 'value' is not callable"):
        registry["number"]
    with pytest.raises(ValueError, match="but 'nothing' does not exist"):
        registry["absent"]


def test_a_missing_extra_names_the_install_command(tmp_path, monkeypatch):
    (tmp_path / "bsjax_needs_extra.py").write_text("import bsjax_extra_that_is_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("model")
    registry.register("net", "bsjax_needs_extra:build", requires=("flax", "torch"))
    registry.register("bare", "bsjax_needs_extra:build")
    with pytest.raises(ModuleNotFoundError) as error:
        registry["net"]
    assert str(error.value) == (
        "model 'net' needs bsjax_extra_that_is_not_installed, which is not installed: pip install 'bsjax[flax,torch]'"
    )
    with pytest.raises(ModuleNotFoundError, match="No module named 'bsjax_extra_that_is_not_installed'"):
        registry["bare"]


def test_bad_targets_and_identifiers_are_refused_when_registered():
    for target in ("no-colon", ":attribute", "module:", None):
        with pytest.raises(ValueError, match="model 'x': expected a callable"):
            Registry("model")["x"] = target
    with pytest.raises(ValueError, match="identifier of a model must be a non-empty string"):
        Registry("model")[""] = dict
    with pytest.raises(ValueError, match="'bsjax_no_such_module:build', but there is no module bsjax_no_such"):
        models()["net"]


def test_identifiers_of_a_table_are_found_and_not_listed():
    registry = models()
    registry.register_source("upper", lambda identifier: identifier.upper())
    registry.register_table(lambda: {"alexnet", "vgg:16", "gabor-v1"}, lambda identifier: f"{identifier}, built")
    assert registry["alexnet"]() == "alexnet, built" and registry["vgg:16"]() == "vgg:16, built"
    assert registry["gabor-v1"](9.0) == 3.0 and not registry.is_of_source("gabor-v1")
    assert list(registry) == ["pixels", "gabor-v1", "net"] and "alexnet" not in registry
    assert registry.match("vgg:16") == ["vgg:16"] and registry.match("*") == list(registry)
    assert registry.is_of_source("alexnet") and registry.row("alexnet") is None
    with pytest.raises(KeyError, match="unknown model 'alexnett'; nearest: alexnet; see"):
        registry["alexnett"]
    registry["alexnet"] = lambda: "mine"
    assert registry["alexnet"]() == "mine" and registry.match("a*") == ["alexnet"]
