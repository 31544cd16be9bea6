"""Scoring: one pair, a grid of models and benchmarks, or two bare arrays."""

from bsjax.scoring.arrays import score_arrays
from bsjax.scoring.grid import Outcome, Pair, plan, run
from bsjax.scoring.pair import score
from bsjax.scoring.report import legend, table

__all__ = ["Outcome", "Pair", "legend", "plan", "run", "score", "score_arrays", "table"]
