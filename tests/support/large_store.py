"""A store of results as large as that of a public leaderboard, written at once."""

import hashlib

import numpy as np
import xarray as xr

from bsjax.labelled import Provenance, Score
from bsjax.labelled.uncertainty import Uncertainty


def ceiled_score(model: str, benchmark: str, seed: int = 0, **origin) -> Score:
    """A score such as a benchmark of recordings gives: normalised, with raw values and the benchmark's ceiling."""
    rng, of_benchmark = (np.random.default_rng([*start, *benchmark.encode()]) for start in ([seed, 1], [0, 2]))
    names = [f"neuroid_{n}" for n in range(24)]
    raw, of_ceiling = (
        xr.DataArray(
            each.normal(size=(10, len(names))),
            dims=["split", "neuroid"],
            coords={"split": range(10), "neuroid_id": ("neuroid", names)},
        )
        for each in (rng, of_benchmark)
    )
    versions = {"bsjax": "0.1.0", "jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6", "scipy": "1.17.1"}
    metric = Provenance(metric="pls", dtype="float64", device="cpu", seeds={"random_state": 1}, versions=versions)
    whole = metric.with_entries(
        model=model,
        model_digest=hashlib.md5(model.encode()).hexdigest(),
        layers={"IT": ["layer4.1.conv2"]},
        benchmark=benchmark,
        benchmark_version=1,
        data="sha256:cfafb8509c847e79",
        parent="IT",
        region="IT",
        n_stimuli=480,
        stimuli="sha256:bd8b8af9d3991e64",
        seconds=9.998,
        **{"start": "2026-11-23T17:42:53+00:00", **origin},
    )
    value, error = rng.uniform(size=2)
    method, of_stimuli = "standard error over 10 splits, corrected for the stimuli that they share", ("stimuli",)
    unceiled = Score(
        value,
        error=error,
        error_kind="standard error over 10 splits, ddof 0",
        raw=raw,
        formula="r",
        n_units=24,
        uncertainty=Uncertainty(of_stimuli, error * 1.4, method, dof=9),
    )
    over_ceiling = f"{method}; of the ceiling jackknife of 10 groups"
    of_groups = Uncertainty(of_stimuli, 0.01, "jackknife of 10 groups", dof=9)
    return Score(
        value**2,
        error=error / 10,
        error_kind="standard error over 10 splits, ddof 0 and the ceiling's, by the delta method",
        raw=raw,
        unceiled=Score(unceiled, provenance=metric),
        ceiling=Score(
            0.8, error=0.01, raw=of_ceiling, formula="2r/(1+r)", n_units=24, provenance=metric, uncertainty=of_groups
        ),
        formula="r²/c",
        n_units=24,
        provenance=whole,
        uncertainty=Uncertainty(of_stimuli, error * 0.14, over_ceiling, dof=9),
    )
