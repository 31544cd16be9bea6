"""Scoring of a model on a benchmark, of grids, of layers, of many sources, and of two plain arrays."""

from bsjax.core.watching import Watcher, watched
from bsjax.scoring.arrays import score_arrays
from bsjax.scoring.beside import Beside
from bsjax.scoring.comparing import compare_models
from bsjax.scoring.display.report import brief_legend, legend, table
from bsjax.scoring.display.scores import Scores
from bsjax.scoring.grid import Grid, run_plan, score_grid
from bsjax.scoring.job import Job, Options, Outcome
from bsjax.scoring.jobs import jobs_of
from bsjax.scoring.layers.choice import choose_layers
from bsjax.scoring.layers.profile import LayerChoice, RegionChoice
from bsjax.scoring.pair import run, score
from bsjax.scoring.planning import Cell, Plan, plan
from bsjax.scoring.representations.alignment_pattern import alignment_pattern
from bsjax.scoring.representations.brain_to_brain import BrainToBrain, brain_to_brain
from bsjax.scoring.representations.cross_temporal import cross_temporal
from bsjax.scoring.representations.generalisation import Generalisation, generalisation, stimulus_groups
from bsjax.scoring.representations.many import score_many
from bsjax.scoring.representations.searchlight import searchlight
from bsjax.scoring.representations.similarity_matrix import similarity_matrix
from bsjax.scoring.representations.variance_partition import variance_partition
from bsjax.scoring.representations.warming import warm_up
from bsjax.scoring.sources import score_sources

__all__ = [
    "Beside",
    "BrainToBrain",
    "Cell",
    "Generalisation",
    "Grid",
    "Job",
    "LayerChoice",
    "Options",
    "Outcome",
    "Plan",
    "RegionChoice",
    "Scores",
    "Watcher",
    "alignment_pattern",
    "brain_to_brain",
    "brief_legend",
    "choose_layers",
    "compare_models",
    "cross_temporal",
    "generalisation",
    "jobs_of",
    "legend",
    "plan",
    "run",
    "run_plan",
    "score",
    "score_arrays",
    "score_grid",
    "score_many",
    "score_sources",
    "searchlight",
    "similarity_matrix",
    "stimulus_groups",
    "table",
    "variance_partition",
    "warm_up",
    "watched",
]
