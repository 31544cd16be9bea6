"""The decorators of ``result_caching``, under all their names."""

import os

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
def test_each_call_computes_anew(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("RESULTCACHING_HOME", str(tmp_path / "kept"))
    calls = []

    def look(region, stimuli=None):
        calls.append((region, stimuli))
        return len(calls)

    decorated = store(**settings)(look)
    assert [decorated("IT", stimuli="a"), decorated("IT", stimuli="b"), decorated("IT", "b")] == [1, 2, 3]
    assert calls == [("IT", "a"), ("IT", "b"), ("IT", "b")] and not os.path.exists(tmp_path / "kept")
    assert decorated is look  # with its name, its arguments and its documentation


def test_positional_settings_and_none():
    assert store(["stimuli"])(len) is len and store("layers", ["x"])(len) is len

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


def test_nothing_is_kept_whatever_the_environment_says(monkeypatch):
    for value in ("0", "1"):
        monkeypatch.setenv("RESULTCACHING_DISABLE", value)
        monkeypatch.setenv("RESULTCACHING_CACHEDONLY", value)
        assert not is_enabled("model_tools.activations.core") and not cached_only("model_tools.activations.core")
        assert store()(lambda: 3)() == 3
    assert issubclass(NotCachedError, Exception)


@pytest.mark.parametrize("name", NAMES)
def test_all_of_them_are_this_one(name):
    assert target_of("result_caching", name) == "bsjax.compat.caching:store"
