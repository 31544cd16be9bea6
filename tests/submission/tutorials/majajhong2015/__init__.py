# Registered under names of its own: bsjax has the others.
from bsjax import benchmark_registry
from .benchmark import DicarloMajajHong2015ITPLS

benchmark_registry['tutorial.MajajHong2015.IT-pls'] = DicarloMajajHong2015ITPLS
