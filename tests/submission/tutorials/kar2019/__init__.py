# Registered under a name of its own: bsjax has the other.
from bsjax import benchmark_registry
from .benchmark import DicarloKar2019OST

benchmark_registry['tutorial.Kar2019-ost'] = DicarloKar2019OST
