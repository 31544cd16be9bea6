"""bsjax in a process of its own: ``python bsjax_calls.py float64 [folder-of-compiled-programs]``."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import protocol

import bsjax
from bsjax.engine.precision import precision
from bsjax.engine.programs.program_cache import enable_compilation_cache
from bsjax.scoring import score_sources

DTYPE, *PROGRAMS = sys.argv[1:]


def assemblies(inputs: protocol.Inputs) -> list[Any]:
    """The labelled arrays as assemblies, in their order."""
    made = []
    for array in inputs.values():
        kind = bsjax.NeuroidAssembly if "neuroid" in array["dims"] else bsjax.BehavioralAssembly
        made.append(kind(placed(array["values"]), array["coords"], array["dims"]))
    return made


def placed(values: np.ndarray) -> Any:
    """Numbers on the accelerator, where a network leaves them: their way there takes longer than most of the scores."""
    if jax.default_backend() == "cpu" or values.dtype.kind != "f":
        return values
    with precision(DTYPE) as dtype:
        return jax.device_put(values.astype(dtype))


def cross_validated(identifier: str, splits: int | None = None, **settings: Any) -> Callable[..., Any]:
    """A metric, with so many splits in place of its own number of them."""
    if splits is not None:
        settings["crossvalidation_kwargs"] = {"splits": splits}
    return bsjax.load_metric(identifier, dtype=DTYPE, **settings)


def metric(identifier: str, **fixed: Any) -> protocol.Build:
    """A metric, called with all inputs in their order; ``fixed`` are settings that no row varies."""

    def build(inputs: protocol.Inputs, **settings: Any) -> Callable[[], Any]:
        scorer, arguments = cross_validated(identifier, **fixed, **settings), assemblies(inputs)
        return lambda: scorer(*arguments)

    return build


def layers(inputs: protocol.Inputs, one_by_one: bool = False, **settings: Any) -> Callable[[], Any]:
    """PLS of all sources in one call, or in a call for each."""
    scorer, (*sources, target) = cross_validated("pls", **settings), assemblies(inputs)
    if one_by_one:
        return lambda: [scorer(source, target) for source in sources]
    named = dict(zip(inputs, sources, strict=False))
    return lambda: list(score_sources(scorer, named, target).values())


def bootstraps(inputs: protocol.Inputs, bootstraps: int) -> Callable[[], Any]:
    """CKA with its bootstraps."""
    return metric("cka", error="bootstrap", n_bootstraps=bootstraps)(inputs)


def bootstraps_one_by_one(inputs: protocol.Inputs, bootstraps: int) -> Callable[[], Any]:
    """As many calls of CKA as bootstraps, without what drawing the stimuli would take."""
    call = metric("cka")(inputs)
    return lambda: [call() for _ in range(bootstraps)][-1]


def searchlight(inputs: protocol.Inputs, radius: float) -> Callable[[], Any]:
    """Every neighbourhood in one call."""
    source, target = assemblies(inputs)
    how = {"radius": radius, "centres": target["centre"].values, "dtype": DTYPE}
    return lambda: mean(bsjax.searchlight(source, target, **how))


def similarity_matrix(inputs: protocol.Inputs) -> Callable[[], Any]:
    """All pairs in one call."""
    sides, dtype = dict(zip(inputs, assemblies(inputs), strict=True)), DTYPE
    return lambda: mean(bsjax.similarity_matrix(sides, "cka", dtype=dtype))


def mean(found: Any) -> bsjax.Score:
    """The score of several similarities."""
    return bsjax.Score(float(found.mean()), raw=found)


def banded_ridge(inputs: protocol.Inputs, spaces: int, shares: list[list[float]], **settings: Any) -> Callable[[], Any]:
    """Feature spaces of equal width side by side."""
    width = inputs["source_train"]["values"].shape[1] // spaces
    return metric("banded_ridge_split", bands=[width] * spaces, candidates=shares)(inputs, **settings)


TASKS: dict[str, protocol.Build] = {
    name: metric(name) for name in (*protocol.METRICS, "rdm_of_trials", "procrustes", "cca")
}
TASKS |= {
    "banded_ridge": banded_ridge,
    "alpha_per_target": metric("ridgecv_split", alpha_per_target=True),
    "layers": layers,
    "layers one by one": partial(layers, one_by_one=True),
    "searchlight": searchlight,
    "similarity_matrix": similarity_matrix,
    "bootstraps": bootstraps,
    "bootstraps one by one": bootstraps_one_by_one,
}


def answer(score: Any) -> dict[str, Any]:
    """Score and raw values with splits first, then bins, then neuroids; of several scores, all in one array."""
    if isinstance(score, list):
        each = [answer(one) for one in score]
        return {part: np.stack([one[part] for one in each]) for part in each[0]}
    found = {"score": np.asarray(score.value, float)}
    if score.raw is not None:
        dims = [dim for dim in ("bootstrap", "split", "time_bin", "neuroid") if dim in score.raw.dims]
        found["raw"] = score.raw.transpose(*dims).values
    return found


if __name__ == "__main__":
    if PROGRAMS:
        enable_compilation_cache(*PROGRAMS)  # as the command line does
    packages = ("bsjax", "jax", "jaxlib", "numpy", "scipy", "scikit-learn", "xarray", "pandas")
    # Starts the backend, off the clock as the peers' imports are.
    kinds_of_devices = [device.device_kind for device in jax.devices()]
    protocol.serve(TASKS, answer, packages, waited=jax.block_until_ready, devices=kinds_of_devices)
