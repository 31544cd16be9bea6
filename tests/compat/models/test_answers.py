"""The order of dimensions of behaviour on both sides."""

import pytest

from bsjax import BehavioralAssembly
from bsjax.compat.assemblies import for_plugins
from bsjax.compat.models.answers import in_order_of_bsjax, in_order_of_plugins

IDS = {"stimulus_id": ("presentation", ["a", "b", "c"])}


@pytest.mark.parametrize("side", [lambda assembly: assembly, for_plugins])
def test_a_single_choice_comes_first_for_plugins_and_last_for_bsjax(side):
    own = side(BehavioralAssembly([["x"], ["y"], ["x"]], coords=IDS, dims=["presentation", "choice"]))
    theirs = in_order_of_plugins(own)
    assert theirs.dims == ("choice", "presentation") and theirs.values.tolist() == [["x", "y", "x"]]
    assert type(theirs) is type(own) and in_order_of_plugins(theirs).identical(theirs)
    back = in_order_of_bsjax(theirs)
    assert back.identical(own) and in_order_of_bsjax(own).identical(own)
