import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest

from bsjax import NeuroidAssembly, PropertyAssembly
from bsjax.labelled.tuning import experiments as tuning
from tests.support import tuning_definitions as definitions

NEURONS = 12
PHASES = np.arange(0.0, 360.0, 45.0)
BASELINE = np.linspace(0.5, 4.0, NEURONS)


FEW = definitions.FREQUENCIES[[4, 8, 12, 16]]
GRIDS = {
    "orientation": [
        (cycles / 2 / sf, sf, theta, phase)
        for cycles, sf, theta, phase in itertools.product((2, 3, 4), FEW, definitions.ORIENTATIONS, PHASES)
    ],
    "frequency": list(itertools.product((0.75, 2.25), definitions.FREQUENCIES, definitions.ORIENTATIONS[::2], PHASES)),
    "size": list(itertools.product(definitions.RADII, FEW, definitions.ORIENTATIONS[::2], PHASES)),
}


def gratings(kind):
    """Stimuli and responses (stimuli, neurons) of simple and complex cells of all kinds; one in six is silent."""
    rows = pd.DataFrame(GRIDS[kind], columns=["radius", "spatial_frequency", "orientation", "phase"])
    rng = np.random.default_rng(len(rows))
    theta, octave, phase = rng.uniform(0, 180, NEURONS), rng.uniform(-1, 3, NEURONS), rng.uniform(0, 360, NEURONS)
    gain, simple = rng.uniform(30, 60, NEURONS), rng.uniform(0, 1, NEURONS)
    gain[::6] = 1.0
    column = {name: rows[name].to_numpy()[:, None] for name in rows}
    drive = np.exp(
        rng.permutation(np.geomspace(0.02, 3, NEURONS)) * (np.cos(2 * np.deg2rad(column["orientation"] - theta)) - 1)
    )
    drive = drive * np.exp(-(((np.log2(column["spatial_frequency"]) - octave) / rng.uniform(0.5, 2, NEURONS)) ** 2))
    size = column["radius"] / rng.uniform(0.2, 1.5, NEURONS)
    drive = drive * size**2 / (1 + size**2) / (1 + rng.uniform(0, 0.1, NEURONS) * size**2)
    rates = BASELINE + gain * drive * (1 + simple * np.cos(np.deg2rad(column["phase"] - phase)))
    return rows, rates + rng.uniform(0, 0.5, rates.shape)


def textures():
    rows = pd.DataFrame(itertools.product((1, 2), range(15), range(15)), columns=["type", "family", "sample"])
    rng = np.random.default_rng(0)
    rates = rng.gamma(2.0, rng.uniform(1, 15, (2, 15, 1, NEURONS)), (2, 15, 15, NEURONS)).reshape(-1, NEURONS)
    rates[:, ::6] *= 0.01
    return rows, rates


def assembly_of(rows, rates, **coords):
    columns = {name: ("presentation", rows[name].to_numpy()) for name in rows}
    ids = {"stimulus_id": ("presentation", [f"s{i}" for i in range(len(rows))])}
    neurons = {"neuroid_id": ("neuroid", [f"n{i}" for i in range(rates.shape[1])])}
    return NeuroidAssembly(rates, coords={**columns, **ids, **neurons, **coords}, dims=["presentation", "neuroid"])


def of_orientation(table, baseline):
    """Gratings of one neuron: a table of stimuli with its rate. Cycles are told apart by their number."""
    table = table.assign(cycles=(2 * table["radius"] * table["spatial_frequency"]).round(6))
    by = table.groupby(["cycles", "spatial_frequency", "orientation"])["rate"]
    dc = by.mean()
    cycles, sf, _ = best = dc.idxmax()
    curve = dc.loc[cycles, sf].to_numpy()
    modulation = 2 * abs(np.fft.fft(by.get_group(best).to_numpy())[1]) / len(PHASES)
    variance, width = definitions.circular_variance(curve), definitions.half_bandwidth(curve)
    ratio = definitions.orthogonal_preferred_ratio(curve)
    values = {
        "max_dc": dc.max(),
        "modulation_ratio": modulation / dc.max(),
        "circular_variance": variance,
        "bandwidth": width,
        "orthogonal_preferred_ratio": ratio,
        "orientation_selective": float(not np.isnan(width)),
        "circular_variance_bandwidth_ratio": variance / width,
        "orthogonal_preferred_ratio_circular_variance_difference": ratio - variance,
        "preferred_orientation": definitions.preferred_orientation(curve),
    }
    return values, dc.max() > baseline + 5


def components(table, baseline):
    """By (component, radius, frequency, orientation): the mean response above the baseline, and its modulation."""
    by = table.groupby(["radius", "spatial_frequency", "orientation"])["rate"]
    modulation = by.agg(lambda rates: 2 * abs(np.fft.fft(rates.to_numpy())[1]) / len(rates))
    return pd.concat({"dc": by.mean() - baseline, "ac": modulation})


def of_frequency(table, baseline):
    both = components(table, baseline)
    component, radius, _, theta = both.idxmax()
    values = {
        "peak_spatial_frequency": definitions.peak_spatial_frequency(both[component, radius, :, theta].to_numpy())
    }
    return values, both.max() > 5


def of_frequency_by_mean(table, baseline):
    dc = table.groupby(["radius", "spatial_frequency", "orientation"])["rate"].mean()
    radius, _, theta = dc.idxmax()
    width = definitions.spatial_frequency_bandwidth(dc[radius, :, theta].to_numpy())
    values = {"spatial_frequency_selective": float(not np.isnan(width)), "spatial_frequency_bandwidth": width}
    return values, dc.max() > baseline + 5


def of_size(table, baseline):
    both = components(table, baseline)
    component, _, sf, theta = both.idxmax()
    index, field, diameter = definitions.size_tuning(both[component, :, sf, theta].to_numpy())
    names = ("surround_suppression_index", "grating_summation_field", "surround_diameter")
    return dict(zip(names, (index, field, diameter), strict=True)), both.max() > 5


def of_textures(table, baseline):
    rates = table["rate"].to_numpy().reshape(2, 15, 15)
    noise, texture = rates - baseline
    index = definitions.texture_modulation_index(texture.mean(axis=1), noise.mean(axis=1))
    values = {
        "texture_modulation_index": index,
        "absolute_texture_modulation_index": abs(index),
        "texture_selectivity": definitions.sparseness(texture.mean(axis=1)),
        "texture_sparseness": definitions.sparseness(texture.ravel()),
        "variance_ratio": definitions.variance_ratio(rates[1]),
        "max_texture": texture.max(),
        "max_noise": noise.max(),
    }
    return values, max(texture.max(), noise.max()) > 5


# The stimuli of each experiment, and the properties of one neuron.
EXPERIMENTS = {
    "ringach2002": (partial(gratings, "orientation"), of_orientation),
    "devalois1982a": (partial(gratings, "orientation"), of_orientation),
    "devalois1982b": (partial(gratings, "frequency"), of_frequency),
    "schiller1976": (partial(gratings, "frequency"), of_frequency_by_mean),
    "cavanaugh2002": (partial(gratings, "size"), of_size),
    "freemanziemba2013": (textures, of_textures),
}


def responses_of(experiment, **coords):
    """The function that takes the responses, and they."""
    return getattr(tuning, f"{experiment}_properties"), assembly_of(*EXPERIMENTS[experiment][0](), **coords)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_equals_a_loop_over_neurons(experiment):
    made, by_definition = EXPERIMENTS[experiment]
    (rows, rates), (function, responses) = made(), responses_of(experiment)
    properties = function(responses, BASELINE)
    assert type(properties) is PropertyAssembly and properties.dims == ("neuroid", "neuroid_property")
    kept = []
    for neuron in range(NEURONS):
        expected, responded = by_definition(rows.assign(rate=rates[:, neuron]), BASELINE[neuron])
        if responded:
            kept.append(f"n{neuron}")
            got = properties.sel(neuroid_id=kept[-1]).squeeze("neuroid")
            for name in properties["neuroid_property"].values:
                value = got.values[list(got["neuroid_property"].values).index(name)]
                np.testing.assert_allclose(value, expected[name], rtol=1e-6, atol=1e-9, err_msg=f"{name}, {kept[-1]}")
    assert properties["neuroid_id"].values.tolist() == kept
    assert 3 < len(kept) < NEURONS
    # Of each property that a neuron can lack, there are neurons with it and without.
    for name in {"bandwidth", "spatial_frequency_bandwidth", "surround_diameter"} & set(expected):
        if name in properties["neuroid_property"]:
            lacking = np.isnan(properties.sel(neuroid_property=name).values)
            assert lacking.any() and not lacking.all(), name


@pytest.mark.parametrize("experiment", ["ringach2002", "freemanziemba2013"])
def test_the_order_of_rows_and_of_neurons_does_not_matter(experiment):
    function, responses = responses_of(experiment, layer=("neuroid", [f"layer{i % 2}" for i in range(NEURONS)]))
    baseline = responses.isel(presentation=[0]).copy(data=BASELINE[None])
    plain = function(responses, baseline)
    rng = np.random.default_rng(0)
    rows, neurons = rng.permutation(len(responses)), rng.permutation(NEURONS)
    # The baseline stays in the order it had: neurons are told by their identifier.
    shuffled = function(responses.isel(presentation=rows, neuroid=neurons).expand_dims("time_bin").T, baseline)
    order = [shuffled["neuroid_id"].values.tolist().index(i) for i in plain["neuroid_id"].values]
    np.testing.assert_allclose(shuffled.values[order], plain.values, rtol=1e-9, atol=1e-12)
    assert shuffled["layer"].values[order].tolist() == plain["layer"].values.tolist()


def test_missing_and_repeated_stimuli_are_said():
    function, responses = responses_of("cavanaugh2002")
    both = responses.isel(presentation=[*range(1, 2304), 7])
    with pytest.raises(ValueError, match="x 4 spatial_frequency x 6.*1 are missing .*, and 1 are there more than once"):
        function(both, BASELINE)
    function, cycles = responses_of("ringach2002")
    with pytest.raises(ValueError, match="rank of radius within spatial_frequency 2.0, spatial_frequency"):
        function(cycles.isel(presentation=np.arange(1152) != 1100), BASELINE)
