"""The layer between labelled assemblies and plain arrays: assemblies in, a ``Score`` out."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.labelled.align import aligned_values as aligned_values
    from bsjax.labelled.kernel_metric import KernelMetric as KernelMetric
    from bsjax.labelled.leakage import check_leakage as check_leakage
    from bsjax.labelled.metric import Metric as Metric
    from bsjax.labelled.provenance import Provenance as Provenance
    from bsjax.labelled.registry import list_ceilings as list_ceilings
    from bsjax.labelled.registry import list_metrics as list_metrics
    from bsjax.labelled.registry import load_ceiling as load_ceiling
    from bsjax.labelled.registry import load_metric as load_metric
    from bsjax.labelled.registry import metric_registry as metric_registry
    from bsjax.labelled.registry import register_mapping as register_mapping
    from bsjax.labelled.regression.delays import with_delays as with_delays
    from bsjax.labelled.resampling.draws import Resampling as Resampling
    from bsjax.labelled.resampling.draws import in_draws as in_draws
    from bsjax.labelled.resampling.permutations import Permutations as Permutations
    from bsjax.labelled.score import Score as Score
    from bsjax.labelled.similarity.alignment_spectrum import alignment_spectrum as alignment_spectrum
    from bsjax.labelled.similarity.rdms.rdm_data import rdm_of as rdm_of

__getattr__, __dir__, __all__ = on_first_use(globals())
