"""Kernels: arrays in, arrays out. Pure functions, un-jitted, of ``(stimuli, units)`` arrays in any float dtype."""

from bsjax.metrics.cka import cka as cka
from bsjax.metrics.cka import cka_biased as cka_biased
from bsjax.metrics.compiled import compiled as compiled
from bsjax.metrics.consistency import spearman_brown as spearman_brown
from bsjax.metrics.consistency import split_half_consistency as split_half_consistency
from bsjax.metrics.correlation import pearson as pearson
from bsjax.metrics.correlation import ranks as ranks
from bsjax.metrics.correlation import spearman as spearman
from bsjax.metrics.crossvalidation import cross_validate as cross_validate
from bsjax.metrics.crossvalidation import train_test as train_test
from bsjax.metrics.folds import Folds as Folds
from bsjax.metrics.folds import make_folds as make_folds
from bsjax.metrics.mapping import Mapping as Mapping
from bsjax.metrics.neuron_to_neuron import NeuronToNeuron as NeuronToNeuron
from bsjax.metrics.pls import PLS as PLS
from bsjax.metrics.rdm import compare_rdms as compare_rdms
from bsjax.metrics.rdm import rdm as rdm
from bsjax.metrics.rdm import rdm_similarity as rdm_similarity
from bsjax.metrics.ridge import Ridge as Ridge
from bsjax.metrics.subsets import similarity_on_subsets as similarity_on_subsets
