"""What can be read in a picture that is drawn as .svg, and what several tests draw."""

import html
import re

import numpy as np
import xarray as xr

from bsjax import Score
from bsjax.inference.comparison import compare


def texts(path):
    found = re.findall(r"<text[^>]*>(.*?)</text>", path.read_text(), re.S)
    return [html.unescape(re.sub("<[^>]*>", "", text)) for text in found]


def comparison(n, **how):
    """A comparison of so many models by the values of twelve subjects, each model better than the one before it."""
    rng, subjects = np.random.default_rng(0), {"subject": np.arange(12)}
    raws = [xr.DataArray(0.1 * k + rng.normal(0, 0.05, 12), subjects, ["subject"]) for k in range(n)]
    made = {"benchmark": "Somebody2013.IT-cka"}
    return compare(
        {f"model-{k}": Score(float(raw.mean()), raw=raw, provenance=made) for k, raw in enumerate(raws)}, **how
    )


def in_time(values, start=70, width=20):
    """A score in bins of time, with errors of a tenth."""
    starts = start + width * np.arange(len(values))
    bins = {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", starts + width)}
    each = xr.DataArray(np.array(values), bins, ["time_bin"])
    return Score(each, error=0.1 * abs(each))
