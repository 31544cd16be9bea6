"""PLS at every number of components, and features with delays, on labelled assemblies."""

import numpy as np
import pytest

from bsjax import load_metric
from bsjax.labelled import with_delays


@pytest.mark.slow
@pytest.mark.parametrize("way", ["", "reverse_"])
def test_components_are_scored_as_by_pls_of_each_number(pair, way):
    source, target = pair[0][::-1], pair[1]
    score = load_metric(f"{way}pls_by_components", {"splits": 3}, n_components=3)(source, target)
    assert score.raw.dims == ("split", "component", "neuroid")
    for k in (1, 3):
        own = load_metric(f"{way}pls", {"splits": 3}, n_components=k)(source, target)
        np.testing.assert_allclose(score.raw.sel(component=k), own.raw, atol=1e-9)
        assert float(score.value.sel(component=k)) == pytest.approx(own.value, abs=1e-9)


def test_delays_do_not_cross_runs_and_keep_labels(pair):
    source = pair[0].assign_coords(run=("presentation", np.arange(60) // 10))
    later = with_delays(source, (0, 2), run="run")
    assert later.sizes == {"presentation": 60, "neuroid": 24}
    assert later["neuroid_id"].values[12] == "unit0 at 2" and later["delay"].values[12] == 2
    np.testing.assert_array_equal(later.values[12:20, 12:], source.values[10:18])
    assert not later.values[[10, 11], 12:].any()
    assert load_metric("ridge", {"splits": 3})(later, pair[1]).value > 0
