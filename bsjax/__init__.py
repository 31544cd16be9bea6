"""bsjax scores models against brains and behaviour: Brain-Score rebuilt on JAX.

Every public name is imported on first use, so that ``import bsjax`` is quick and loads neither JAX nor
xarray.

Example:
    >>> import numpy as np
    >>> import bsjax
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(100, 20))
    >>> responses = features @ rng.normal(size=(20, 5))
    >>> round(float(bsjax.score_arrays(features, responses, metric="ridge")), 2)
    1.0
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.benchmarks import benchmark_registry as benchmark_registry
    from bsjax.benchmarks import list_benchmarks as list_benchmarks
    from bsjax.benchmarks import load_benchmark as load_benchmark
    from bsjax.core.version import __version__ as __version__
    from bsjax.data import BehavioralAssembly as BehavioralAssembly
    from bsjax.data import DataAssembly as DataAssembly
    from bsjax.data import NeuroidAssembly as NeuroidAssembly
    from bsjax.data import PropertyAssembly as PropertyAssembly
    from bsjax.data import RDMAssembly as RDMAssembly
    from bsjax.data import StimulusSet as StimulusSet
    from bsjax.data import data_registry as data_registry
    from bsjax.data import list_data as list_data
    from bsjax.data import load_dataset as load_dataset
    from bsjax.data import load_stimulus_set as load_stimulus_set
    from bsjax.data import stimulus_set_registry as stimulus_set_registry
    from bsjax.engine.memory_limit import memory_limit as memory_limit
    from bsjax.engine.programs.program_cache import enable_compilation_cache as enable_compilation_cache
    from bsjax.inference.power import required_stimuli as required_stimuli
    from bsjax.labelled import KernelMetric as KernelMetric
    from bsjax.labelled import Metric as Metric
    from bsjax.labelled import Permutations as Permutations
    from bsjax.labelled import Resampling as Resampling
    from bsjax.labelled import Score as Score
    from bsjax.labelled import alignment_spectrum as alignment_spectrum
    from bsjax.labelled import check_leakage as check_leakage
    from bsjax.labelled import in_draws as in_draws
    from bsjax.labelled import list_ceilings as list_ceilings
    from bsjax.labelled import list_metrics as list_metrics
    from bsjax.labelled import load_ceiling as load_ceiling
    from bsjax.labelled import load_metric as load_metric
    from bsjax.labelled import metric_registry as metric_registry
    from bsjax.labelled import rdm_of as rdm_of
    from bsjax.labelled import register_mapping as register_mapping
    from bsjax.models import BrainModel as BrainModel
    from bsjax.models import ModelCommitment as ModelCommitment
    from bsjax.models import list_models as list_models
    from bsjax.models import load_model as load_model
    from bsjax.models import model_registry as model_registry
    from bsjax.results.cached import cached as cached
    from bsjax.scoring import Beside as Beside
    from bsjax.scoring import alignment_pattern as alignment_pattern
    from bsjax.scoring import brain_to_brain as brain_to_brain
    from bsjax.scoring import choose_layers as choose_layers
    from bsjax.scoring import compare_models as compare_models
    from bsjax.scoring import cross_temporal as cross_temporal
    from bsjax.scoring import estimate as estimate
    from bsjax.scoring import generalisation as generalisation
    from bsjax.scoring import plan as plan
    from bsjax.scoring import score as score
    from bsjax.scoring import score_arrays as score_arrays
    from bsjax.scoring import score_grid as score_grid
    from bsjax.scoring import score_many as score_many
    from bsjax.scoring import score_sources as score_sources
    from bsjax.scoring import searchlight as searchlight
    from bsjax.scoring import similarity_matrix as similarity_matrix
    from bsjax.scoring import stimulus_groups as stimulus_groups
    from bsjax.scoring import variance_partition as variance_partition
    from bsjax.scoring import warm_up as warm_up

_SUBPACKAGES = """
    activations adapters benchmarks data engine inference labelled metrics models plots results scoring testing
""".split()
__getattr__, __dir__, __all__ = on_first_use(globals(), _SUBPACKAGES)
