"""The public names of ``bsjax``: each there, each imported when first used, each known to type checkers."""

import subprocess
import sys

import pytest

import bsjax

NAMES = """
    score score_arrays score_grid score_sources plan Beside choose_layers compare_models
    similarity_matrix brain_to_brain variance_partition searchlight
    score_many warm_up estimate cross_temporal alignment_pattern generalisation stimulus_groups
    memory_limit enable_compilation_cache
    load_model load_benchmark load_metric load_ceiling load_dataset load_stimulus_set register_mapping
    list_models list_benchmarks list_metrics list_ceilings list_data
    model_registry benchmark_registry metric_registry data_registry stimulus_set_registry
    alignment_spectrum cached check_leakage in_draws required_stimuli
    KernelMetric Metric Score Resampling Permutations BrainModel ModelCommitment StimulusSet
    DataAssembly NeuroidAssembly BehavioralAssembly PropertyAssembly RDMAssembly rdm_of
""".split()


def test_there_are_no_others():
    assert sorted(bsjax.__all__) == sorted([*NAMES, "__version__"])


@pytest.mark.parametrize("package", [bsjax, bsjax.data, bsjax.benchmarks, bsjax.models, bsjax.labelled])
def test_every_name_of_a_package_is_there(package):
    assert package.__all__ == sorted(package.__all__) and set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is vars(package)[name]


@pytest.mark.slow
def test_subpackages_need_no_import_of_their_own():
    names = ["activations.TemporalActivations", "adapters.from_torch", "benchmarks.BehavioralBenchmark"]
    names += ["results.ResultStore"]
    code = f"import bsjax; print({', '.join(f'bsjax.{name}.__name__' for name in names)}, bsjax.engine.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*(name.partition(".")[2] for name in names), "bsjax.engine"]
