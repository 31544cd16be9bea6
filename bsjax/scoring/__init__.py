"""Scoring: one pair, a grid of models and benchmarks, the layers of a model, many sources, two bare arrays."""

from bsjax.scoring.arrays import score_arrays
from bsjax.scoring.grid import Outcome, plan, run, score
from bsjax.scoring.job import Job, Options
from bsjax.scoring.layers.choice import choose_layers
from bsjax.scoring.layers.profile import LayerChoice, RegionChoice
from bsjax.scoring.report import legend, table
from bsjax.scoring.sources import score_sources

__all__ = [
    "Job",
    "LayerChoice",
    "Options",
    "Outcome",
    "RegionChoice",
    "choose_layers",
    "legend",
    "plan",
    "run",
    "score",
    "score_arrays",
    "score_sources",
    "table",
]
