"""Coordinates of model units."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bsjax.activations.neuroids import Units, neuroid_coords
from bsjax.adapters import from_jax, unit_preprocessing


def coords_of(identifier, *units):
    return {name: coord.values for name, coord in neuroid_coords(identifier, [Units(*part) for part in units]).items()}


# The reference's names, by position.
NAMES = {
    1: ["channel"],
    2: ["channel", "embedding"],
    3: ["channel", "channel_x", "channel_y"],
    4: ["channel_temporal", "channel_x", "channel_y", "channel"],
}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
def test_coordinates_are_the_position_in_the_layers_output(shape):
    coords = coords_of("net", ("layer4.conv", shape))
    output = np.arange(np.prod(shape)).reshape(shape)
    by_position = output[tuple(coords[name] for name in NAMES[len(shape)])]
    np.testing.assert_array_equal(by_position, output.ravel())
    np.testing.assert_array_equal(coords["neuroid_num"], output.ravel())
    assert coords["neuroid_id"].tolist() == [f"net.layer4.conv.{n}" for n in output.ravel()]
    assert set(coords["layer"]) == {"layer4.conv"}


def test_flat_layers_have_no_position():
    for shape in [(3,), ()]:
        coords = coords_of("net", ("fc", shape))
        assert np.isnan(coords["channel_x"]).all() and np.isnan(coords["channel_y"]).all()
        assert coords["channel"].tolist() == list(range(len(coords["neuroid_id"])))


def test_more_axes_than_are_named():
    assert set(coords_of("net", ("deep", (1, 1, 1, 1, 2)))) == {"neuroid_id", "layer", "neuroid_num"}


def test_layers_of_different_axes_in_one_call(stimuli):
    model = from_jax(lambda x: {"map": x, "flat": x.mean((1, 2))}, "net", unit_preprocessing(2))
    activations = model(stimuli([0, 1]), ["map", "flat"])
    red = activations.sel(neuroid=(activations["layer"] == "map") & (activations["channel_y"] == 0))
    assert red.shape == (2, 4)
    mean_red = activations.sel(neuroid=(activations["layer"] == "flat") & (activations["channel"] == 0))
    np.testing.assert_allclose(red.values.mean(1), mean_red.values[:, 0], rtol=1e-6)
    numbered = stimuli([0, 1]).assign(**{"x": 1}).rename(columns={"x": 0})
    assert model(numbered, ["flat"])["0"].values.tolist() == [1, 1]
