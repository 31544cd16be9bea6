# Registered under a name of its own: bsjax has the other.
from bsjax import benchmark_registry
from .benchmark import MarquesCavanaugh2002V1SurroundSuppressionIndex

benchmark_registry['tutorial.Marques2020-surround'] = MarquesCavanaugh2002V1SurroundSuppressionIndex
