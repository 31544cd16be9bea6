from __future__ import annotations

from bsjax.benchmarks import NeuralBenchmark
from bsjax import load_dataset, load_metric, load_ceiling

BIBTEX = """@article{author2024, title={Your Paper Title}, author={Author, A.}, year={2024}}"""


def load_assembly(region: str, average_repetitions: bool):
    assembly = load_dataset('MajajHong2015')
    assembly = assembly.sel(neuroid=assembly['region'] == region)  # Filter by region
    if average_repetitions:
        assembly = assembly.mean(dim='repetition')
    return assembly


def _DicarloMajajHong2015Region(region: str, access: str, identifier_metric_suffix: str,
                                similarity_metric: Metric, ceiler: Ceiling):
    # Load data WITH individual repetitions (for ceiling calculation)
    assembly_repetition = load_assembly(average_repetitions=False, region=region)

    # Load data with repetitions AVERAGED (for model comparison)
    assembly = load_assembly(average_repetitions=True, region=region)

    return NeuralBenchmark(
        # Unique identifier: <dataset>.<region>-<metric> (e.g., "MajajHong2015.IT-pls")
        identifier=f'MajajHong2015.{region}-{identifier_metric_suffix}',

        # Version number: increment when benchmark changes would affect scores
        version=3,

        # Neural data assembly: the biological recordings to compare against
        # Uses averaged repetitions for cleaner model-to-brain comparison
        assembly=assembly,

        # Metric for comparing model activations to neural recordings
        # Typically PLS regression for neural benchmarks
        similarity_metric=similarity_metric,

        # Size of stimuli in degrees of visual angle (as shown in original experiment)
        # Models must scale their input to match this visual field size
        visual_degrees=8,

        # Number of stimulus presentations per image in the original experiment
        # Supports stochastic models; deterministic models return same output each trial
        number_of_trials=50,

        # Function to compute the data ceiling (maximum achievable score)
        # Uses NON-averaged data to estimate noise/reliability via split-half
        ceiling_func=lambda: ceiler(assembly_repetition),

        # Parent category in benchmark hierarchy (V1, V2, V4, IT, or behavior)
        # Determines where this benchmark appears in the leaderboard tree
        parent=region,

        # BibTeX citation for the original neuroscience paper
        bibtex=BIBTEX
    )


# Factory function that creates the benchmark
def DicarloMajajHong2015ITPLS():
    ceiler = load_ceiling('internal_consistency')
    return _DicarloMajajHong2015Region(
        region='IT',
        access='public',
        identifier_metric_suffix='pls',
        similarity_metric=load_metric('pls'),
        ceiler=ceiler
    )
