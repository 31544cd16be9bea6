"""Responses with the labels that metrics match them by."""

import xarray as xr


def assembly(values, ids=None, units="n", **coords):
    """(presentation, neuroid), of stimuli s0, s1, ... and neuroids n0, n1, ..., with more coordinates where given."""
    labels = {
        "stimulus_id": ("presentation", [f"s{i}" for i in range(values.shape[0])] if ids is None else ids),
        "neuroid_id": ("neuroid", [f"{units}{i}" for i in range(values.shape[1])]),
    }
    return xr.DataArray(values, labels | coords, ["presentation", "neuroid"])
