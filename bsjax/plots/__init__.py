"""Figures of results, made with matplotlib (the extra ``plots``)."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.plots.condition_curves import plot_condition_curves as plot_condition_curves
    from bsjax.plots.confusions import plot_confusions as plot_confusions
    from bsjax.plots.divergent_images import plot_divergent_images as plot_divergent_images
    from bsjax.plots.heat_map import plot_heat_map as plot_heat_map
    from bsjax.plots.heat_map import plot_similarity_matrix as plot_similarity_matrix
    from bsjax.plots.layer_profile import plot_layer_choice as plot_layer_choice
    from bsjax.plots.layer_profile import plot_layer_profile as plot_layer_profile
    from bsjax.plots.model_comparison import plot_model_comparison as plot_model_comparison
    from bsjax.plots.model_vs_human import plot_model_vs_human as plot_model_vs_human
    from bsjax.plots.neuroids import plot_neuroid_ceilings as plot_neuroid_ceilings
    from bsjax.plots.neuroids import plot_prediction as plot_prediction
    from bsjax.plots.property_distributions import plot_property_distributions as plot_property_distributions
    from bsjax.plots.rdms import plot_mds as plot_mds
    from bsjax.plots.rdms import plot_rdm as plot_rdm
    from bsjax.plots.rdms import plot_rdm_pair as plot_rdm_pair
    from bsjax.plots.score_curves import plot_score_by_number as plot_score_by_number
    from bsjax.plots.score_curves import plot_score_by_time as plot_score_by_time
    from bsjax.plots.scores import plot_scores as plot_scores
    from bsjax.plots.style import check_format as check_format

__getattr__, __dir__, __all__ = on_first_use(globals())
