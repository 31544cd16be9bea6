"""A store whose scores can be paired, in draws of one thing or two, or by neuroids; and others that cannot."""

import numpy as np
import xarray as xr

from bsjax import Score
from bsjax.labelled.uncertainty import DRAW, FACTOR, Uncertainty, of_draws
from bsjax.results import ResultStore

MODELS = ["alexnet", "hmax", "pixels", "resnet50"]
DRAWN, CROSSED = "MajajHong2015public.IT-pls", "MajajHong2015public.V4-pls"
BY_NEUROID, ALONE = "FreemanZiemba2013public.V1-pls", "FreemanZiemba2013public.V2-pls"
VERSIONS = {DRAWN: 4, CROSSED: 4, BY_NEUROID: 2, ALONE: 2}
REGIONS = {DRAWN: "IT", CROSSED: "V4", BY_NEUROID: "V1", ALONE: "V2"}
PROFILED = "alexnet"
"""The model whose layers have a profile, on ``DRAWN``."""
PROFILE = {"layer2": 0.30, "layer10": 0.45}
"""Its earlier scores there, by layer."""

_N_DRAWS = 60


def fill(store: ResultStore) -> None:
    """Scores of ``MODELS`` on four benchmarks, some of which were scored before."""
    rng = np.random.default_rng(3)
    together = {benchmark: rng.normal(0, 0.03, size=(3, _N_DRAWS)) for benchmark in VERSIONS}
    for layer, value in PROFILE.items():
        store.add(_score(PROFILED, DRAWN, value, layer, start=f"2026-0{1 + len(layer) % 2}-05T10:00:00+00:00"))
    store.add(_score("hmax", DRAWN, 0.7, "s2", version=3, start="2025-06-01T10:00:00+00:00"))
    for number, model in enumerate(MODELS):
        for benchmark in VERSIONS:
            value = 0.3 + 0.1 * number + float(rng.normal(0, 0.01))
            draws = value + together[benchmark] + rng.normal(0, 0.01, size=(3, _N_DRAWS))
            known = {}
            if benchmark == DRAWN:
                known["uncertainty"] = of_draws(
                    value, xr.DataArray(draws[0], dims=[DRAW]), ("stimuli",), "60 bootstrap draws", dof=39, plan="one"
                )
            elif benchmark == CROSSED:
                crossed = xr.DataArray(draws, {FACTOR: ["both", "subjects", "stimuli"]}, [FACTOR, DRAW])
                over = ("subjects", "stimuli")
                known["uncertainty"] = of_draws(value, crossed, over, "60 draws", dof=9, sizes=(10, 40), plan="two")
            else:
                known["uncertainty"] = Uncertainty(("stimuli",), 0.03, "jackknife of 10 groups", dof=9)
            if benchmark == BY_NEUROID:
                names = [f"neuroid_{n}" for n in range(12)]
                values = value + rng.normal(0, 0.02, size=(5, 12)) + np.linspace(-0.1, 0.1, 12)
                known["raw"] = xr.DataArray(values, {"neuroid_id": ("neuroid", names)}, ["split", "neuroid"])
            store.add(_score(model, benchmark, value, "layer4", start=f"2026-03-0{1 + number}T10:00:00+00:00", **known))


def _score(model: str, benchmark: str, value: float, layer: str, *, version: int = 0, start: str, **known) -> Score:
    origin = {
        "model": model,
        "model_digest": f"digest-of-{model}",
        "benchmark": benchmark,
        "benchmark_version": version or VERSIONS[benchmark],
        "layers": {REGIONS[benchmark]: [layer]},
        "start": start,
        "seconds": 2.5,
        "dtype": "float64",
        "device": "cpu",
        "jax": "0.10.2",
    }
    return Score(value, error=0.02, formula="r", provenance=origin, **known)
