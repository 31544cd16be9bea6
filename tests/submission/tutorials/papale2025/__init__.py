# Registered under a name of its own: bsjax has the other.
from bsjax import benchmark_registry, load_metric
from .benchmark import _Papale2025

benchmark_registry['tutorial.Papale2025.IT-ridge'] = lambda: _Papale2025('IT', load_metric('ridge_split'), 'ridge')
