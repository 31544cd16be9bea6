from bsjax import benchmark_registry
from .benchmark import MyExperiment2024ITPLS, MyExperiment2024V4PLS

benchmark_registry['MyExperiment2024.IT-pls'] = MyExperiment2024ITPLS
benchmark_registry['MyExperiment2024.V4-pls'] = MyExperiment2024V4PLS
