"""The seam between labels and arrays: assemblies in, a ``Score`` out."""

from bsjax.labelled.provenance import Provenance as Provenance
from bsjax.labelled.registry import list_metrics as list_metrics
from bsjax.labelled.registry import load_ceiling as load_ceiling
from bsjax.labelled.registry import load_metric as load_metric
from bsjax.labelled.registry import metric_registry as metric_registry
from bsjax.labelled.score import Score as Score
