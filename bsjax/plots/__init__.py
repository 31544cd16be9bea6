"""Pictures of results, by matplotlib (the extra ``plots``)."""

from bsjax.plots.condition_curves import plot_condition_curves
from bsjax.plots.confusions import plot_confusions
from bsjax.plots.divergent_images import plot_divergent_images
from bsjax.plots.files import check_format
from bsjax.plots.layer_profile import plot_layer_choice, plot_layer_profile
from bsjax.plots.model_comparison import plot_model_comparison
from bsjax.plots.model_vs_human import plot_model_vs_human
from bsjax.plots.property_distributions import plot_property_distributions

__all__ = [
    "check_format",
    "plot_condition_curves",
    "plot_confusions",
    "plot_divergent_images",
    "plot_layer_choice",
    "plot_layer_profile",
    "plot_model_comparison",
    "plot_model_vs_human",
    "plot_property_distributions",
]
