from bsjax import load_dataset, load_metric, load_ceiling
from bsjax.benchmarks import NeuralBenchmark, average_repetition

BIBTEX = """
@article{author2024,
title={Your Paper Title},
author={Author, A.},
journal={Journal},
year={2024}
}
"""

# Constants from your experiment
VISUAL_DEGREES = 8  # Stimulus size in degrees of visual angle
NUMBER_OF_TRIALS = 50  # Number of presentations per image


def load_assembly(region: str, average_repetitions: bool = True):
    """Load neural data, optionally averaging across repetitions."""
    assembly = load_dataset('MyExperiment2024')

    # Filter by brain region
    assembly = assembly.sel(neuroid=assembly['region'] == region)

    # Average repetitions for model comparison (keep for ceiling)
    if average_repetitions:
        assembly = average_repetition(assembly)
    return assembly


def MyExperiment2024ITPLS():
    """
    IT cortex benchmark using PLS regression.

    Returns a NeuralBenchmark that compares model activations
    to IT neural responses using partial least squares.
    """
    # Load averaged data for metric computation
    assembly = load_assembly(region='IT', average_repetitions=True)

    # Load non-averaged data for ceiling (needs repetitions for split-half)
    assembly_repetition = load_assembly(region='IT', average_repetitions=False)

    # Internal consistency ceiling
    ceiler = load_ceiling('internal_consistency')

    return NeuralBenchmark(
        identifier='MyExperiment2024.IT-pls',
        version=1,
        assembly=assembly,
        similarity_metric=load_metric('pls'),
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        ceiling_func=lambda: ceiler(assembly_repetition),
        parent='IT',
        bibtex=BIBTEX
    )
