"""Not in the tutorial: the data that its examples take to be registered."""

from bsjax import data_registry

from .data import recordings

data_registry["YourDataset"] = recordings
data_registry["MyExperiment2024"] = recordings
