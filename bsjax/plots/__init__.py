"""Figures of results, made with matplotlib (the extra ``plots``)."""

from bsjax.plots.condition_curves import plot_condition_curves
from bsjax.plots.confusions import plot_confusions
from bsjax.plots.divergent_images import plot_divergent_images
from bsjax.plots.files import check_format
from bsjax.plots.heat_map import plot_heat_map, plot_similarity_matrix
from bsjax.plots.layer_profile import plot_layer_choice, plot_layer_profile
from bsjax.plots.model_comparison import plot_model_comparison
from bsjax.plots.model_vs_human import plot_model_vs_human
from bsjax.plots.neuroids import plot_neuroid_ceilings, plot_prediction
from bsjax.plots.property_distributions import plot_property_distributions
from bsjax.plots.rdms import plot_mds, plot_rdm, plot_rdm_pair
from bsjax.plots.score_curves import plot_score_by_number, plot_score_by_time
from bsjax.plots.scores import plot_scores

__all__ = [
    "check_format",
    "plot_condition_curves",
    "plot_confusions",
    "plot_divergent_images",
    "plot_heat_map",
    "plot_layer_choice",
    "plot_layer_profile",
    "plot_mds",
    "plot_model_comparison",
    "plot_model_vs_human",
    "plot_neuroid_ceilings",
    "plot_prediction",
    "plot_property_distributions",
    "plot_rdm",
    "plot_rdm_pair",
    "plot_score_by_number",
    "plot_score_by_time",
    "plot_scores",
    "plot_similarity_matrix",
]
