from bsjax import benchmark_registry
from .benchmark import MyExperiment2024ITPLS

benchmark_registry['MyExperiment2024.IT-pls'] = MyExperiment2024ITPLS
