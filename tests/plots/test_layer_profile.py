"""Pictures: drawn without a display, to the same bytes every time, with names that can be told apart."""

import numpy as np
import pytest
import xarray as xr

from bsjax.plots import plot_layer_profile
from tests.plots.conftest import texts
from tests.support.processes import printed_by

matplotlib = pytest.importorskip("matplotlib")

REGIONS = ["V1", "V2", "V4", "IT"]


def profile(layers, regions=REGIONS):
    rng = np.random.default_rng(0)
    shape = len(regions), len(layers)
    return xr.DataArray(
        rng.uniform(0, 0.6, shape),
        dims=["region", "layer"],
        coords={
            "region": regions,
            "layer": layers,
            "error": (("region", "layer"), rng.uniform(0, 0.03, shape)),
            "benchmark": ("region", [f"Somebody2013public.{region}-pls" for region in regions]),
        },
    )


def test_four_regions_and_forty_layers_with_long_names(tmp_path):
    layers = [f"encoder.transformer.layers.{n}.attention.output.dense.projection" for n in range(40)]
    values = profile(layers)
    plot_layer_profile(
        values,
        tmp_path / "profile.svg",
        chosen={region: layers[7 * n] for n, region in enumerate(REGIONS)},
        margins=dict.fromkeys(REGIONS, 0.0123),
        nested=dict.fromkeys(REGIONS, 0.4),
        title="a model",
    )
    written = texts(tmp_path / "profile.svg")
    assert [text for text in written if text.isdigit()].count("39") == 1
    assert {*map(str, range(40))} <= set(written)  # what tells the layers apart
    assert "encoder.transformer.layers.[…].attention.output.dense.projection" in written
    assert {"a model", "IT: Somebody2013public.IT-pls", "nested choice, without selection bias"} <= set(written)
    score = float(values.sel(region="V1", layer=layers[0]))
    assert any(line.endswith(f"{score:.2f}, ahead by 0.01") for line in written)


@pytest.mark.slow
def test_without_matplotlib_the_command_that_installs_it_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "from bsjax.plots import check_format\n"
        "try: check_format('a.png')\n"
        "except ImportError as error: print(error)"
    )
    assert printed_by("-c", code) == "matplotlib is not installed; run: pip install 'bsjax[plots]'\n"


def test_axes_of_ones_own_are_drawn_into():
    figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    own = figure.subplots(1, 2)
    drawn = plot_layer_profile(profile(["a", "b"], ["V1", "V4"]), ax=own, chosen={"V4": "b"}, title="net")
    assert drawn == list(own) and figure.axes == drawn
    assert [axes.get_title()[:3] for axes in drawn] == ["net", "V4:"]
    assert drawn[0].get_ylim() == drawn[1].get_ylim() == (1.5, -0.5)
    assert drawn[1].get_legend() is not None
    with pytest.raises(ValueError, match="axes for each of 2 regions, got 1"):
        plot_layer_profile(profile(["a"], ["V1", "V4"]), ax=own[0])


def test_bars_are_intervals_where_there_are_any():
    values = profile(["a", "b"], ["V1"])
    ends = {"low": (values.dims, [[0.0, np.nan]]), "high": (values.dims, [[0.7, np.nan]])}
    [axes] = plot_layer_profile(values.assign_coords(ends))
    [bars] = axes.containers
    [(low, _), (high, _)] = bars.lines[2][0].get_segments()[0]
    assert (low, high) == pytest.approx((0.0, 0.7)) and "95 % interval" in bars.get_label()
    unknown = values.assign_coords({name: (values.dims, [[np.nan, np.nan]]) for name in ends})
    assert plot_layer_profile(unknown)[0].containers[0].get_label() == "layer"
