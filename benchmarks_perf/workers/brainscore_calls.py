"""The released brainscore-vision in a process and an environment of its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import protocol
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_vision import load_metric

N_COMPONENTS = 25  # its PLS takes no other number


def metric(identifier: str) -> protocol.Build:
    """A metric or ceiling, called with all inputs in their order."""

    def build(
        inputs: protocol.Inputs, splits: int | None = None, n_components: int = N_COMPONENTS, **settings: Any
    ) -> Callable[[], Any]:
        if n_components != N_COMPONENTS:
            raise ValueError(f"brainscore-vision's pls has {N_COMPONENTS} components, not {n_components}")
        if splits is not None:
            settings["crossvalidation_kwargs"] = {"splits": splits}
        scorer, arguments = load_metric(identifier, **settings), [assembly(**array) for array in inputs.values()]
        return lambda: scorer(*arguments)

    return build


def assembly(values: np.ndarray, dims: list[str], coords: dict[str, tuple[str, np.ndarray]]) -> Any:
    """An assembly; each dimension needs two coordinates, as a lone one loses its name."""
    kind = NeuroidAssembly if "neuroid" in dims else BehavioralAssembly
    return kind(values, coords=coords, dims=dims)


def answer(score: Any) -> dict[str, Any]:
    """Score and raw values with splits first, then bins, then neuroids."""
    found = {"score": np.asarray(score.values, float)}
    raw = score.attrs.get("raw")
    if raw is not None:
        dims = [dim for dim in ("split", "time_bin", "neuroid") if dim in raw.dims]
        found["raw"] = raw.transpose(*dims).values
    return found


if __name__ == "__main__":
    packages = ("brainscore-vision", "brainscore-core", "numpy", "scipy", "scikit-learn", "xarray", "pandas")
    protocol.serve({name: metric(name) for name in protocol.METRICS}, answer, packages)
