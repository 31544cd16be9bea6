# vision/brainscore_vision/benchmarks/yourbenchmark/benchmark.py
from bsjax import load_dataset, load_metric, load_ceiling
from bsjax.benchmarks import NeuralBenchmark

BIBTEX = """@article{YourName2024, ...}"""


def YourBenchmarkIT():
    # Load your registered data
    assembly = load_dataset('YourDataset')
    assembly_repetition = load_dataset('YourDataset')  # Keep repetitions for ceiling

    # Average repetitions for model comparison
    assembly = assembly.mean(dim='repetition')

    return NeuralBenchmark(
        identifier='YourBenchmark.IT-pls',
        version=1,
        assembly=assembly,
        similarity_metric=load_metric('pls'),
        visual_degrees=8,  # From your experiment
        number_of_trials=50,
        ceiling_func=lambda: load_ceiling('internal_consistency')(assembly_repetition),
        parent='IT',  # Or 'V1', 'V2', 'V4'
        bibtex=BIBTEX
    )
