"""Delayed copies of the features of an assembly, for regressions on time series."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import coords_on
from bsjax.labelled.align import coordinate, finite_values, two_dimensional
from bsjax.metrics import delayed


def with_delays(assembly: xr.DataArray, delays: Sequence[int], run: str | None = None) -> xr.DataArray:
    """An assembly with the responses at earlier presentations as further neuroids, for any regression.

    Call it on the source before scoring, or on the target if the target predicts the source. Presentations are in the
    order of time here; a metric may then reorder, split or draw them.

    Args:
        assembly: (presentation, neuroid), one presentation for each sample in time, e.g. each volume of a scan.
        delays: in presentations; 0 is the response itself.
        run: the coordinate on the presentations that tells runs apart, over whose ends nothing is carried; None for a
            single run.

    Returns:
        (presentation, delays x neuroids), zero where the run had not begun, with the coordinates of ``assembly`` and
        ``delay`` on the neuroids. ``neuroid_id`` is followed by the delay, as in ``"7 at 2"``.

    Raises:
        ValueError: see ``bsjax.metrics.delayed``; or there is no such coordinate.

    Source: Nishimoto et al. 2011; Huth et al. 2012.

    Example:
        >>> features = xr.DataArray([[1.0], [2.0], [3.0]], dims=["presentation", "neuroid"])
        >>> features = features.assign_coords(run=("presentation", ["a", "a", "b"]))
        >>> with_delays(features, (0, 1), run="run").values.tolist()
        [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    """
    assembly = two_dimensional(assembly, "assembly")
    runs = None if run is None else coordinate(assembly, run, "presentation", "assembly")
    with precision(None) as dtype:
        values = np.asarray(delayed(jnp.asarray(finite_values(assembly, "assembly"), dtype), delays, runs=runs))
    of_neuroids = coords_on(assembly, "neuroid")
    coords = {name: ("neuroid", np.tile(held, len(delays))) for name, (_, held) in of_neuroids.items()}
    delay = np.repeat(np.asarray(delays), assembly.sizes["neuroid"])
    if "neuroid_id" in coords:
        pairs = zip(coords["neuroid_id"][1], delay, strict=True)
        coords["neuroid_id"] = "neuroid", np.array([f"{name} at {by}" for name, by in pairs])
    every = {**coords_on(assembly, "presentation"), **coords, "delay": ("neuroid", delay)}
    return xr.DataArray(values, every, ["presentation", "neuroid"], attrs=assembly.attrs)
