"""Shape and texture in conflict: Hermann, Chen & Kornblith (2020).

In the cue-conflict experiment of Geirhos et al. (2021), 1200 of 1280 images have the shape of one object and the
texture of another. ``shape_match`` measures how often a model names the shape. ``shape_bias`` is the proportion of
shape answers among the answers that name shape or texture. The images are those of
:mod:`bsjax.benchmarks.families.geirhos2021.benchmark` and are obtained in the same ways.
"""

from functools import partial
from pathlib import Path

from bsjax.benchmarks.families.geirhos2021.benchmark import NamingAccuracy, NamingPeople
from bsjax.benchmarks.families.geirhos2021.trials import published_or_imported, trial_stimuli
from bsjax.benchmarks.kinds.engineering import truths
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset, load_stimulus_set

SHAPE, TEXTURE = "original_image_category", "conflict_image_category"

_EXPERIMENT, _PUBLISHED = "cue-conflict", "Geirhos2021_cue-conflict"
_NAME = r"^(\D+)\d+-(\D+)\d+"  # chair2-bear2: the shape of a chair, the texture of a bear


def shape_match(row: BenchmarkRow, data: str | Path | None = None) -> NamingAccuracy:
    """How often a model names the shape when shape and texture are in conflict; the ceiling is 1.

    Args:
        row: the row of ``"Hermann2020cueconflict-shape_match"``.
        data: as for :func:`bsjax.benchmarks.families.geirhos2021.benchmark.error_consistency`.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Hermann2020cueconflict-shape_match").parent
        'Hermann2020'
    """
    return NamingAccuracy(row, lambda: conflicts(data), truth=SHAPE)


def shape_bias(row: BenchmarkRow, data: str | Path | None = None) -> NamingPeople:
    """The proportion of shape answers among a model's answers that name shape or texture.

    Args:
        row: the row of ``"Hermann2020cueconflict-shape_bias"``.
        data: as for :func:`bsjax.benchmarks.families.geirhos2021.benchmark.error_consistency`.

    Source:
        Geirhos et al. (2019), ICLR; Hermann, Chen & Kornblith (2020), NeurIPS.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Hermann2020cueconflict-shape_bias").number_of_trials
        1
    """
    return behavioural_benchmark(row, LazyLoad(lambda: cues(data)), NamingPeople)


def conflicts(data: str | Path | None = None) -> StimulusSet:
    """The images whose shape (column ``original_image_category``) and texture (``conflict_image_category``) differ.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the images are not available.
    """
    stimuli = published_or_imported(partial(load_stimulus_set, _PUBLISHED), _imported, data)
    return StimulusSet(stimuli[stimuli[SHAPE] != stimuli[TEXTURE]].reset_index(drop=True))


def cues(data: str | Path | None = None) -> BehavioralAssembly:
    """The shapes of the images in the form of choices, with the coordinate ``texture``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the table of the images is not available.
    """
    stimuli = conflicts(data)
    textures = stimuli[TEXTURE].to_numpy(object)
    return truths(stimuli, SHAPE).assign_coords(texture=("presentation", textures))


def _imported(data: str | Path) -> StimulusSet:
    trials = BehavioralAssembly(load_dataset("Geirhos2021.human", folder=data, experiment=_EXPERIMENT))
    stimuli = trial_stimuli(trials, _EXPERIMENT, data)
    named = stimuli["stimulus_id"].str.extract(_NAME)
    return StimulusSet(stimuli.assign(**{SHAPE: named[0], TEXTURE: named[1]}))
