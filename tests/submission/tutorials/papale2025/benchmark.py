from bsjax import load_dataset, load_metric
from bsjax.benchmarks import (
    TrainTestNeuralBenchmark, average_repetition, filter_reliable_neuroids
)
from bsjax.benchmarks import LazyLoad

BIBTEX = """@article{author2024, title={Your Paper Title}, author={Author, A.}, year={2024}}"""

VISUAL_DEGREES = 18  # Large field of view (monkey viewing distance)
RELIABILITY_THRESHOLD = 0.3  # Filter out unreliable neurons


def _Papale2025(region, similarity_metric, identifier_metric_suffix):
    # LazyLoad defers S3 fetching until data is actually needed
    train_assembly = LazyLoad(lambda: load_assembly(region, split='train', average_repetitions=False))
    test_assembly = LazyLoad(lambda: load_assembly(region, split='test', average_repetitions=True))
    test_assembly_repetition = LazyLoad(lambda: load_assembly(region, split='test', average_repetitions=False))

    return TrainTestNeuralBenchmark(
        identifier=f'Papale2025.{region}-{identifier_metric_suffix}',
        version=2,
        # Separate train and test assemblies
        train_assembly=train_assembly,
        test_assembly=test_assembly,
        similarity_metric=similarity_metric,
        ceiling_func=lambda: load_metric('internal_consistency')(test_assembly_repetition),
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=1,
        parent=region,
        bibtex=BIBTEX
    )


def load_assembly(region, split, average_repetitions):
    assembly = load_dataset(f'Papale2025_{split}')
    # Filter neurons by reliability (remove noisy recordings)
    assembly = filter_reliable_neuroids(assembly, RELIABILITY_THRESHOLD, 'reliability')
    assembly = assembly.sel(region=region)
    if average_repetitions:
        assembly = average_repetition(assembly)
    return assembly
