"""The decorators of ``result_caching``, under all their names."""

import pytest

from bsjax.compat.caching import NotCachedError, cached_only, is_enabled, store
from bsjax.compat.names import target_of

NAMES = ["store", "store_dict", "store_xarray", "store_netcdf", "cache"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"identifier_ignore": ["stimuli"]},
        {"identifier_ignore": ["model", "layers"], "combine_fields": {"layers": "layer"}},
        {"dict_key": "layers", "identifier_ignore": ["x"]},
    ],
)
def test_the_same_call_is_computed_once(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    calls = tmp_path / "calls"

    def look(region, stimuli=None):
        with open(calls, "a") as log:
            log.write("called\n")
        return region, stimuli

    decorated = store(**settings)(look)
    made = [decorated("IT", stimuli="a"), decorated("IT", stimuli="b"), decorated("IT", "b"), decorated("V1", "b")]
    assert made == [("IT", "a"), ("IT", "b"), ("IT", "b"), ("V1", "b")]
    assert len(calls.read_text().split()) == 3 and decorated.__name__ == "look"
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    assert decorated("V1", "b") == ("V1", "b") and len(calls.read_text().split()) == 4


def test_positional_settings_and_none():
    assert store(["stimuli"])(abs)(-1) == 1 and store("layers", ["x"])(abs)(-2) == 2

    @store
    def triple(number):
        return 3 * number

    assert triple(2) == 6


def test_methods_stay_methods_of_their_object():
    class Model:
        def __init__(self, region):
            self.region = region

        @store(identifier_ignore=["stimuli"])
        def look_at_cached(self, identifier, stimuli):
            return self.region, stimuli

    # There, two objects with the same arguments share what was kept.
    assert Model("V1").look_at_cached("m", [1]) == ("V1", [1])
    assert Model("IT").look_at_cached("m", [2]) == ("IT", [2])
    assert Model("IT").look_at_cached("m", [1]) == ("IT", [1])


def test_the_environment_says_what_is_kept(monkeypatch):
    for value, kept in (("0", True), ("1", False), ("model_tools", False), ("other", True)):
        monkeypatch.setenv("RESULTCACHING_DISABLE", value)
        assert is_enabled("model_tools.activations.core") is kept and not cached_only("model_tools.activations.core")
    assert issubclass(NotCachedError, Exception)


@pytest.mark.parametrize("name", NAMES)
def test_all_of_them_are_this_one(name):
    assert target_of("result_caching", name) == "bsjax.compat.caching:store"
