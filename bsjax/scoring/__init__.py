"""Scoring: one pair, a grid of models and benchmarks, the layers of a model, many sources, or two bare arrays."""

from bsjax.scoring.arrays import score_arrays
from bsjax.scoring.grid import Outcome, Pair, plan, run
from bsjax.scoring.layers.choice import choose_layers
from bsjax.scoring.layers.profile import LayerChoice, RegionChoice
from bsjax.scoring.pair import score
from bsjax.scoring.report import legend, table
from bsjax.scoring.sources import score_sources

__all__ = [
    "LayerChoice",
    "Outcome",
    "Pair",
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
