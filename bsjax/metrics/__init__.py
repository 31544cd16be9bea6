"""Kernels: pure, un-jitted functions from arrays to arrays, mostly ``(stimuli, units)``, in any float dtype.

float32 and float64 are kept; narrower dtypes such as float16 and bfloat16 are computed in float32.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.engine.primitives.ranks import ranks as ranks
    from bsjax.engine.programs.compilation import compiled as compiled
    from bsjax.metrics.behaviour.agreement import accuracy as accuracy
    from bsjax.metrics.behaviour.agreement import accuracy_distance as accuracy_distance
    from bsjax.metrics.behaviour.agreement import error_consistency as error_consistency
    from bsjax.metrics.behaviour.agreement import value_delta as value_delta
    from bsjax.metrics.behaviour.choice_signatures import Signature as Signature
    from bsjax.metrics.behaviour.choice_signatures import choice_consistency as choice_consistency
    from bsjax.metrics.behaviour.choice_signatures import choice_reliability as choice_reliability
    from bsjax.metrics.behaviour.choice_signatures import signature as signature
    from bsjax.metrics.behaviour.confusions import confusion_counts as confusion_counts
    from bsjax.metrics.behaviour.confusions import confusion_similarity as confusion_similarity
    from bsjax.metrics.behaviour.confusions import tasks_consistency as tasks_consistency
    from bsjax.metrics.behaviour.cumulative_gaussian import fit_cumulative_gaussian as fit_cumulative_gaussian
    from bsjax.metrics.behaviour.object_solution_time import ost_correlation as ost_correlation
    from bsjax.metrics.behaviour.psychometric import psychometric_threshold as psychometric_threshold
    from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder as SoftmaxDecoder
    from bsjax.metrics.behaviour.softmax_decoder import decode as decode
    from bsjax.metrics.behaviour.thresholds import leave_one_out_similarity as leave_one_out_similarity
    from bsjax.metrics.behaviour.thresholds import relative_similarity as relative_similarity
    from bsjax.metrics.ceilings.chance import shuffled_agreement as shuffled_agreement
    from bsjax.metrics.ceilings.consistency import complete_split_half_consistency as complete_split_half_consistency
    from bsjax.metrics.ceilings.consistency import spearman_brown_bias as spearman_brown_bias
    from bsjax.metrics.ceilings.consistency import split_half_consistency as split_half_consistency
    from bsjax.metrics.ceilings.cross_subject import cka_between_subjects as cka_between_subjects
    from bsjax.metrics.ceilings.cross_subject import mean_over_pairs as mean_over_pairs
    from bsjax.metrics.ceilings.cross_subject import rdms_between_subjects as rdms_between_subjects
    from bsjax.metrics.ceilings.noise_ceiling import rdm_noise_ceiling as rdm_noise_ceiling
    from bsjax.metrics.ceilings.noise_ceiling import rsa_noise_ceiling as rsa_noise_ceiling
    from bsjax.metrics.ceilings.noise_ceiling_snr import noise_ceiling as noise_ceiling
    from bsjax.metrics.ceilings.noise_ceiling_snr import noise_ceiling_snr as noise_ceiling_snr
    from bsjax.metrics.ceilings.noise_ceiling_snr import reliability_of_averages as reliability_of_averages
    from bsjax.metrics.ceilings.noise_ceiling_snr import signal_and_noise_variances as signal_and_noise_variances
    from bsjax.metrics.ceilings.noise_corrected import noise_corrected_r2 as noise_corrected_r2
    from bsjax.metrics.ceilings.signal_and_noise import signal_and_noise as signal_and_noise
    from bsjax.metrics.ceilings.signal_and_noise import simulated_rsa_ceiling as simulated_rsa_ceiling
    from bsjax.metrics.ceilings.upper_bound import highest_similarity as highest_similarity
    from bsjax.metrics.correlation import pearson as pearson
    from bsjax.metrics.correlation import spearman as spearman
    from bsjax.metrics.correlation import spearman_brown as spearman_brown
    from bsjax.metrics.regression.crossvalidation import cross_validate as cross_validate
    from bsjax.metrics.regression.crossvalidation import cross_validate_over_time as cross_validate_over_time
    from bsjax.metrics.regression.crossvalidation import train_test as train_test
    from bsjax.metrics.regression.factorised_readout import FactorisedReadout as FactorisedReadout
    from bsjax.metrics.regression.folds import Folds as Folds
    from bsjax.metrics.regression.folds import make_folds as make_folds
    from bsjax.metrics.regression.mapping import Mapping as Mapping
    from bsjax.metrics.regression.mappings.banded_ridge import BandedRidge as BandedRidge
    from bsjax.metrics.regression.mappings.delays import delayed as delayed
    from bsjax.metrics.regression.mappings.elastic_net import ElasticNet as ElasticNet
    from bsjax.metrics.regression.mappings.kernelised import Kernelised as Kernelised
    from bsjax.metrics.regression.mappings.multiple_kernels import MultipleKernelRidge as MultipleKernelRidge
    from bsjax.metrics.regression.mappings.principal_components import PrincipalComponents as PrincipalComponents
    from bsjax.metrics.regression.mappings.reduced_rank import ReducedRank as ReducedRank
    from bsjax.metrics.regression.mappings.rotation import Rotation as Rotation
    from bsjax.metrics.regression.mappings.stacked import Stacked as Stacked
    from bsjax.metrics.regression.neuron_to_neuron import NeuronToNeuron as NeuronToNeuron
    from bsjax.metrics.regression.pls import PLS as PLS
    from bsjax.metrics.regression.pls import cross_validate_by_components as cross_validate_by_components
    from bsjax.metrics.regression.ridge import Ridge as Ridge
    from bsjax.metrics.regression.ridge_cv import ALPHAS as ALPHAS
    from bsjax.metrics.regression.ridge_cv import RidgeCV as RidgeCV
    from bsjax.metrics.regression.variance import cross_validated_r2 as cross_validated_r2
    from bsjax.metrics.regression.variance import shapley_shares as shapley_shares
    from bsjax.metrics.resampling.bootstraps import cka_bootstraps as cka_bootstraps
    from bsjax.metrics.resampling.bootstraps import rdm_bootstraps as rdm_bootstraps
    from bsjax.metrics.resampling.draws import bootstrap_counts as bootstrap_counts
    from bsjax.metrics.resampling.draws import leave_out_counts as leave_out_counts
    from bsjax.metrics.resampling.draws import permutations as permutations
    from bsjax.metrics.resampling.influence import influence as influence
    from bsjax.metrics.resampling.influence import influence_error as influence_error
    from bsjax.metrics.resampling.permutation import calibrated as calibrated
    from bsjax.metrics.resampling.permutation import cka_permutations as cka_permutations
    from bsjax.metrics.resampling.permutation import cross_validation_permutations as cross_validation_permutations
    from bsjax.metrics.resampling.permutation import null_threshold as null_threshold
    from bsjax.metrics.resampling.permutation import permutation_p_value as permutation_p_value
    from bsjax.metrics.resampling.permutation import rdm_permutations as rdm_permutations
    from bsjax.metrics.resampling.permutation import similarity_permutations as similarity_permutations
    from bsjax.metrics.resampling.refits import DrawnFolds as DrawnFolds
    from bsjax.metrics.resampling.refits import cross_validation_bootstraps as cross_validation_bootstraps
    from bsjax.metrics.resampling.refits import drawn_folds as drawn_folds
    from bsjax.metrics.resampling.refits import prediction_bootstraps as prediction_bootstraps
    from bsjax.metrics.resampling.refits import train_test_bootstraps as train_test_bootstraps
    from bsjax.metrics.resampling.subsets import similarity_on_subsets as similarity_on_subsets
    from bsjax.metrics.resampling.two_factor import two_factor_bootstraps as two_factor_bootstraps
    from bsjax.metrics.resampling.two_factor import two_factor_variance as two_factor_variance
    from bsjax.metrics.resampling.weighted_rdms import compare_weighted_rdms as compare_weighted_rdms
    from bsjax.metrics.similarity.alignment_spectrum import alignment_spectrum as alignment_spectrum
    from bsjax.metrics.similarity.alignment_spectrum import effective_dimensionality as effective_dimensionality
    from bsjax.metrics.similarity.alignment_spectrum import predicted_errors as predicted_errors
    from bsjax.metrics.similarity.canonical import cca as cca
    from bsjax.metrics.similarity.canonical import pwcca as pwcca
    from bsjax.metrics.similarity.cka import cka as cka
    from bsjax.metrics.similarity.cka import cka_biased as cka_biased
    from bsjax.metrics.similarity.dimensionality import factor_shares as factor_shares
    from bsjax.metrics.similarity.dimensionality import whole_units as whole_units
    from bsjax.metrics.similarity.kernel_cka import cka_of_sampled_units as cka_of_sampled_units
    from bsjax.metrics.similarity.kernel_cka import kernel_cka as kernel_cka
    from bsjax.metrics.similarity.matching import one_to_one as one_to_one
    from bsjax.metrics.similarity.matching import semi_matching as semi_matching
    from bsjax.metrics.similarity.matching import soft_matching as soft_matching
    from bsjax.metrics.similarity.neighbours import cknna as cknna
    from bsjax.metrics.similarity.neighbours import mutual_nearest_neighbours as mutual_nearest_neighbours
    from bsjax.metrics.similarity.over_time import similarities_of_times as similarities_of_times
    from bsjax.metrics.similarity.rdms.models import cross_validated_encoding_rdm as cross_validated_encoding_rdm
    from bsjax.metrics.similarity.rdms.models import (
        cross_validated_feature_reweighting as cross_validated_feature_reweighting,
    )
    from bsjax.metrics.similarity.rdms.models import cross_validated_rdm_model as cross_validated_rdm_model
    from bsjax.metrics.similarity.rdms.models import feature_weights as feature_weights
    from bsjax.metrics.similarity.rdms.models import rdm_weights as rdm_weights
    from bsjax.metrics.similarity.rdms.noise_covariance import noise_covariance as noise_covariance
    from bsjax.metrics.similarity.rdms.rdm import compare_rdms as compare_rdms
    from bsjax.metrics.similarity.rdms.rdm import rdm as rdm
    from bsjax.metrics.similarity.rdms.rdm import rdm_pairs as rdm_pairs
    from bsjax.metrics.similarity.rdms.rdm import rdm_similarity as rdm_similarity
    from bsjax.metrics.similarity.rdms.rdm_comparison import compare_all_rdm_vectors as compare_all_rdm_vectors
    from bsjax.metrics.similarity.rdms.rdm_comparison import compare_rdm_vectors as compare_rdm_vectors
    from bsjax.metrics.similarity.rdms.searchlights import searchlight_similarity as searchlight_similarity
    from bsjax.metrics.similarity.rdms.trial_rdms import rdm_of_trials as rdm_of_trials
    from bsjax.metrics.similarity.shapes.dynamics import dynamical_similarity as dynamical_similarity
    from bsjax.metrics.similarity.shapes.dynamics import linear_dynamics as linear_dynamics
    from bsjax.metrics.similarity.shapes.permutation import permutation_shape_similarity as permutation_shape_similarity
    from bsjax.metrics.similarity.shapes.shape import angle as angle
    from bsjax.metrics.similarity.shapes.shape import shape_distance as shape_distance
    from bsjax.metrics.similarity.shapes.shape import shape_similarity as shape_similarity
    from bsjax.metrics.similarity.shapes.stochastic import stochastic_shape_similarity as stochastic_shape_similarity
    from bsjax.metrics.topography.pinwheels import hypercolumn_size as hypercolumn_size
    from bsjax.metrics.topography.pinwheels import pinwheel_density as pinwheel_density
    from bsjax.metrics.topography.pinwheels import winding_numbers as winding_numbers
    from bsjax.metrics.topography.smoothness import tuning_smoothness as tuning_smoothness
    from bsjax.metrics.topography.wiring import wiring_economy as wiring_economy
    from bsjax.metrics.topography.wiring import wiring_length as wiring_length
    from bsjax.metrics.tuning.distributions import bootstrapped_similarity as bootstrapped_similarity
    from bsjax.metrics.tuning.distributions import ks_similarity as ks_similarity

_SUBPACKAGES = """
    behaviour ceilings inference linalg optimisation regression resampling similarity topography tuning
""".split()
__getattr__, __dir__, __all__ = on_first_use(globals(), _SUBPACKAGES)
