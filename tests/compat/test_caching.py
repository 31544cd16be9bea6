"""The decorators of ``result_caching``, under all their names."""

import pytest

from bsjax.compat.caching import is_enabled, store
from bsjax.compat.names import target_of


@pytest.mark.parametrize(
    "decorator", [store, store(), store(["stimuli"]), store(identifier_ignore=["x"], combine_fields={"y": "z"})]
)
def test_results_are_cached_by_all_arguments(decorator, tmp_path, monkeypatch):
    """Also by those that are to be ignored, and by the object of a method."""
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    calls = tmp_path / "calls"

    class Model:
        def __init__(self, region):
            self.region = region

        @decorator
        def look_at(self, identifier, stimuli=None):
            with open(calls, "a") as log:
                log.write("called\n")
            return self.region, stimuli

    assert [Model(region).look_at("m", 1) for region in ("V1", "IT", "IT")] == [("V1", 1), ("IT", 1), ("IT", 1)]
    assert Model("IT").look_at("m", stimuli=2) == ("IT", 2) and len(calls.read_text().split()) == 3


def test_the_environment_says_what_is_kept(monkeypatch):
    for value, kept in (("0", True), ("1", False), ("model_tools", False), ("other", True)):
        monkeypatch.setenv("RESULTCACHING_DISABLE", value)
        assert is_enabled("model_tools.activations.core") is kept


def test_all_of_them_are_this_one():
    names = ["store", "store_dict", "store_xarray", "store_netcdf", "cache"]
    assert {target_of("result_caching", name) for name in names} == {"bsjax.compat.caching:store"}
