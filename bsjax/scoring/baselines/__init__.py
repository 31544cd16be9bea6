"""Nuisance baselines: models that score by image content, stimulus order or generic network structure alone."""

from bsjax.scoring.baselines.scored import BASELINES, baseline_models, baseline_names, scored_with_baselines

__all__ = ["BASELINES", "baseline_models", "baseline_names", "scored_with_baselines"]
