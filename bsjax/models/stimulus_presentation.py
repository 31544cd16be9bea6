"""Presentation of stimuli to an activations model: layers, trials, and time."""

import inspect
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from bsjax.activations import ActivationsModel
from bsjax.activations.inputs.microsaccades import Microsaccades
from bsjax.activations.passes.results import concatenated
from bsjax.data import NeuroidAssembly, StimulusSet


def as_stimulus_set(stimuli: StimulusSet | Sequence[str | PathLike[str]]) -> StimulusSet:
    """Convert paths to a stimulus set, with the paths as ids.

    Raises:
        ValueError: a single path is given instead of a list.
    """
    if isinstance(stimuli, StimulusSet):
        return stimuli
    if isinstance(stimuli, (str, PathLike)):
        raise ValueError(f"stimuli must be a StimulusSet or a list of paths, got the single path {str(stimuli)!r}")
    ids = [str(path) for path in stimuli]
    return StimulusSet({"stimulus_id": ids}, stimulus_paths=dict(zip(ids, map(Path, ids), strict=True)))


def eye_movements(number_of_trials: int, require_variance: bool, visual_degrees: float) -> Microsaccades | None:
    """The eye movements that make trials differ; None if no variance is required.

    Raises:
        ValueError: fewer than one trial.
    """
    if number_of_trials < 1:
        raise ValueError(f"number_of_trials must be at least 1, got {number_of_trials}")
    return Microsaccades(number_of_trials, visual_degrees) if require_variance else None


def responses(
    model: ActivationsModel, stimuli: StimulusSet, layers: Sequence[str], microsaccades: Microsaccades | None = None
) -> list[NeuroidAssembly]:
    """Activations of layers: one assembly, or several if their time bins differ.

    Raises:
        ValueError: microsaccades are requested from a model that does not support them.
    """
    options = {}
    if microsaccades is not None:
        if "microsaccades" not in inspect.signature(model.__call__).parameters:
            raise ValueError(
                f"model {model.identifier!r} answers the same on every trial: it has no keyword 'microsaccades', so "
                "require_variance cannot be asked of it; look with require_variance=False"
            )
        options["microsaccades"] = microsaccades
    bins_of = getattr(model, "time_bins", None)
    groups: dict[object, list[str]] = {}
    for layer in layers:
        groups.setdefault(None if bins_of is None else bins_of(layer), []).append(layer)
    # By keyword, because a wrapper may look for it there.
    return [model(stimuli, layers=group, **options) for group in groups.values()]


def features(
    model: ActivationsModel, stimuli: StimulusSet, layers: Sequence[str], microsaccades: Microsaccades | None = None
) -> NeuroidAssembly:
    """Activations of layers, dims ``(presentation, neuroid)``; averaged over time, for a video until its end."""
    seen = responses(model, stimuli, layers, microsaccades)
    return side_by_side([part.mean("time_bin", skipna=True) if "time_bin" in part.dims else part for part in seen])


def side_by_side(parts: Sequence[NeuroidAssembly]) -> NeuroidAssembly:
    """Concatenate the neuroids of assemblies with the same presentations; missing coordinates are NaN.

    Example:
        >>> one = NeuroidAssembly([[1.0]], dims=["presentation", "neuroid"], coords={"channel": ("neuroid", [3])})
        >>> two = NeuroidAssembly([[2.0]], dims=["presentation", "neuroid"])
        >>> side_by_side([one, two])["channel"].values.tolist()
        [3.0, nan]
    """
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    names = dict.fromkeys(str(name) for part in parts for name in part.coords if part[name].dims == ("neuroid",))
    of_neuroids = {
        name: (
            "neuroid",
            np.concatenate(
                [part[name].values if name in part.coords else np.full(part.sizes["neuroid"], np.nan) for part in parts]
            ),
        )
        for name in names
    }
    others = {name: coord.variable for name, coord in first.coords.items() if "neuroid" not in coord.dims}
    values = concatenated([part.transpose(*first.dims).data for part in parts], axis=first.dims.index("neuroid"))
    return NeuroidAssembly(values, coords={**others, **of_neuroids}, dims=first.dims, attrs=first.attrs)
