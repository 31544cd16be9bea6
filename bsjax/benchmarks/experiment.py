"""Parts of an experiment: stimuli on the screen, the recording, its region and its time bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from bsjax.data import DataAssembly, NeuroidAssembly, StimulusSet
from bsjax.labelled.align import STIMULUS, at_positions, require
from bsjax.labelled.metric import Metric
from bsjax.models import place_on_screen
from bsjax.models.brain_model import looks_at_images

if TYPE_CHECKING:
    from bsjax.models import BrainModel

TimeBins = Sequence[tuple[float, float]]
TIMES = ("time_bin_start", "time_bin_end")


def record(
    candidate: BrainModel, region: str, time_bins: TimeBins, stimuli: StimulusSet, number_of_trials: int = 1
) -> NeuroidAssembly:
    """Record a model's responses to stimuli that are already on its screen; a single time bin is dropped.

    Args:
        candidate: the model.
        region: the region to record.
        time_bins: (start, end) of each bin, in ms after stimulus onset.
        stimuli: the stimuli.
        number_of_trials: number of presentations of each stimulus.

    Raises:
        ValueError: the model cannot record from the region, or does not return a recording.

    Example:
        >>> from bsjax import load_model
        >>> from bsjax.benchmarks.families.simulated.benchmark import population
        >>> record(load_model("pixels"), "V1", [(0, 100)], population().stimuli[:2]).dims
        ('presentation', 'neuroid')
    """
    candidate.start_recording(region, time_bins=list(time_bins))
    recording = candidate.look_at(stimuli, number_of_trials=number_of_trials)
    if not isinstance(recording, NeuroidAssembly):
        raise ValueError(
            f"model {candidate.identifier!r} was asked to record from {region} "
            f"and answered with a {type(recording).__name__}"
        )
    return squeeze_time(recording)


def complete(
    assembly: DataAssembly, identifier: str, needs: Mapping[str, Sequence[str]], stimuli: bool = True, hint: str = ""
) -> None:
    """Raise an error if a benchmark's data lack coordinates or stimuli; one message names all that is missing.

    Args:
        assembly: the data.
        identifier: the benchmark's identifier, for messages.
        needs: dimension -> required coordinates.
        stimuli: whether the data need a stimulus set, ``attrs["stimulus_set"]``, and the coordinate ``stimulus_id``.
        hint: as for :func:`bsjax.labelled.align.require`.

    Raises:
        ValueError: something is missing.
    """
    shown = [STIMULUS] if stimuli else []
    needs = {"presentation": [], **needs}
    needs["presentation"] = [*shown, *needs["presentation"]]
    lost = stimuli and assembly.attrs.get("stimulus_set") is None
    more = (
        ["no attrs['stimulus_set'], the images to show: add a bsjax.StimulusSet (bsjax.data.attach_stimulus_set)"]
        if lost
        else []
    )
    require(assembly, needs, f"the assembly of {identifier!r}", *more, hint=hint)


def needs_of_recordings(declared: TimeBins | None, metric: Metric) -> dict[str, Sequence[str]]:
    """The coordinates that recordings need: those the metric splits by, and time bins unless they are declared.

    Example:
        >>> from bsjax import load_metric
        >>> needs_of_recordings([(70, 170)], load_metric("ridge"))
        {'presentation': ['stimulus_id', 'object_name'], 'neuroid': ['region']}
    """
    times = {"time_bin": TIMES} if declared is None else {}
    return {"presentation": metric.split_coords, "neuroid": ["region"], **times}


def stimuli_of(assembly: DataAssembly, identifier: str) -> StimulusSet:
    """The stimuli that an assembly holds presentations of; selecting presentations thus selects stimuli.

    Raises:
        ValueError: the data have no stimulus set.

    Example:
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> len(stimuli_of(assembly()[:3], "Simulated.V1"))
        3
    """
    complete(assembly, identifier, {})
    stimuli = assembly.attrs["stimulus_set"]
    seen = stimuli["stimulus_id"].isin(np.unique(assembly["stimulus_id"].values))
    return stimuli if seen.all() else cast("StimulusSet", stimuli[seen])


def placed(stimuli: StimulusSet, candidate: BrainModel, visual_degrees: float | None) -> StimulusSet:
    """Stimuli as a model sees them: at their size in degrees, in its field of view; unchanged for stored responses.

    Args:
        stimuli: the stimuli.
        candidate: the model.
        visual_degrees: their width. If ``None``, the column ``degrees`` gives it; without that column the size is
            unknown, and each image fills the model's field of view.

    Example:
        >>> from bsjax import load_model
        >>> stimuli = StimulusSet({"stimulus_id": ["a"]})
        >>> placed(stimuli, load_model("pixels"), None) is stimuli
        True
    """
    sized = visual_degrees is not None or "degrees" in stimuli.columns
    if not sized or not looks_at_images(candidate):
        return stimuli
    return place_on_screen(
        stimuli, target_visual_degrees=candidate.visual_degrees(), source_visual_degrees=visual_degrees
    )


def single_region(assembly: NeuroidAssembly, identifier: str, declared: str | None = None) -> str:
    """The single region that all neuroids of the assembly belong to.

    Args:
        assembly: responses with a coordinate ``region``.
        identifier: the benchmark's identifier, for messages.
        declared: the region that the benchmark states, if it does.

    Raises:
        ValueError: the coordinate ``region`` is missing, has several values, or differs from the declared region.

    Example:
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> single_region(assembly(), "Simulated.V1")
        'V1'
    """
    require(assembly, {"neuroid": ["region"]}, f"the assembly of {identifier!r}")
    regions = np.unique(assembly["region"].values.astype(str))
    if len(regions) != 1:
        raise ValueError(
            f"{identifier!r} compares one region, its data hold {len(regions)}: {', '.join(regions)}; "
            "select one, e.g. assembly.sel(region='V4')"
        )
    if declared is not None and regions[0] != declared:
        raise ValueError(f"{identifier!r} is about {declared}, its data are of {regions[0]}")
    return str(regions[0])


def squeeze_time(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Drop a ``time_bin`` dimension of length one; several time bins stay.

    Example:
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> squeeze_time(assembly()).dims
        ('presentation', 'neuroid')
    """
    return at_positions(assembly, {"time_bin": 0}) if assembly.sizes.get("time_bin") == 1 else assembly


def timebins_from_assembly(assembly: NeuroidAssembly, declared: TimeBins | None = None) -> list[tuple[float, float]]:
    """The assembly's time bins, (start, end) in ms after stimulus onset, in order.

    Args:
        assembly: responses with ``time_bin_start`` and ``time_bin_end``.
        declared: time bins for an assembly without these coordinates; otherwise they must match the coordinates.

    Raises:
        ValueError: a coordinate is missing and nothing is declared, or the two differ.

    Example:
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> timebins_from_assembly(assembly())
        [(0.0, 100.0)]
    """
    if declared is not None and not set(TIMES) <= set(assembly.coords):
        return [(float(start), float(end)) for start, end in declared]
    require(assembly, {"time_bin": TIMES}, "the assembly")
    starts, ends = (np.atleast_1d(assembly[name].values).astype(float).tolist() for name in TIMES)
    bins = list(zip(starts, ends, strict=True))
    if declared is not None and bins != [tuple(map(float, each)) for each in declared]:
        raise ValueError(f"the data have the time bins {bins}, declared are {list(declared)}")
    return bins
