# Registered under a name of its own: bsjax has the other.
from bsjax import benchmark_registry
from .benchmark import _Coggan2024_Region

benchmark_registry['tutorial.Coggan2024_fMRI.V1-rdm'] = lambda: _Coggan2024_Region('V1')
