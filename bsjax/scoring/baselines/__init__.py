"""Nuisance baselines: models whose scores are owed to the images, to their order, or to any network at all."""

from bsjax.scoring.baselines.scored import BASELINES, baseline_models, baseline_names, scored_with_baselines

__all__ = ["BASELINES", "baseline_models", "baseline_names", "scored_with_baselines"]
