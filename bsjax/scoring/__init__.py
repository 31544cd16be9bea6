"""Scoring of a model on a benchmark, of grids, of layers, of many sources, and of two plain arrays."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.core.watching import Watcher as Watcher
    from bsjax.core.watching import watched as watched
    from bsjax.scoring.arrays import score_arrays as score_arrays
    from bsjax.scoring.comparing import compare_models as compare_models
    from bsjax.scoring.display.report import brief_legend as brief_legend
    from bsjax.scoring.display.report import legend as legend
    from bsjax.scoring.display.report import table as table
    from bsjax.scoring.display.scores import Scores as Scores
    from bsjax.scoring.grid import Grid as Grid
    from bsjax.scoring.grid import run_plan as run_plan
    from bsjax.scoring.grid import score_grid as score_grid
    from bsjax.scoring.job import Beside as Beside
    from bsjax.scoring.job import Job as Job
    from bsjax.scoring.job import Options as Options
    from bsjax.scoring.job import Outcome as Outcome
    from bsjax.scoring.job import jobs_of as jobs_of
    from bsjax.scoring.layers.choice import choose_layers as choose_layers
    from bsjax.scoring.layers.profile import LayerChoice as LayerChoice
    from bsjax.scoring.layers.profile import RegionChoice as RegionChoice
    from bsjax.scoring.pair import run as run
    from bsjax.scoring.pair import score as score
    from bsjax.scoring.planning import Cell as Cell
    from bsjax.scoring.planning import Plan as Plan
    from bsjax.scoring.planning import plan as plan
    from bsjax.scoring.representations.alignment_pattern import alignment_pattern as alignment_pattern
    from bsjax.scoring.representations.brain_to_brain import BrainToBrain as BrainToBrain
    from bsjax.scoring.representations.brain_to_brain import brain_to_brain as brain_to_brain
    from bsjax.scoring.representations.cross_temporal import cross_temporal as cross_temporal
    from bsjax.scoring.representations.estimates import Estimate as Estimate
    from bsjax.scoring.representations.estimates import estimate as estimate
    from bsjax.scoring.representations.generalisation import Generalisation as Generalisation
    from bsjax.scoring.representations.generalisation import generalisation as generalisation
    from bsjax.scoring.representations.generalisation import stimulus_groups as stimulus_groups
    from bsjax.scoring.representations.many import score_many as score_many
    from bsjax.scoring.representations.searchlight import searchlight as searchlight
    from bsjax.scoring.representations.similarity_matrix import similarity_matrix as similarity_matrix
    from bsjax.scoring.representations.variance_partition import variance_partition as variance_partition
    from bsjax.scoring.representations.warming import warm_up as warm_up
    from bsjax.scoring.sources import score_sources as score_sources

__getattr__, __dir__, __all__ = on_first_use(globals())
