"""Macaque V4 responses to natural images: session 210325 of Cowley, Stan, Pillow & Smith (2026).

The data are spike counts of 50 V4 neurons in 100 ms for 640 images, with 6 to 10 repeats each. The comparison uses the
average over repeats. The ceiling uses single repeats: random halves are drawn from the repeats of each image.

The recordings are not included in bsjax. Clone https://github.com/cowleygroup/V4_compact_models and pass the clone, or
its folder ``data_V4_responses``, as ``data``.

The published files do not state the size of the images in degrees of visual angle. Each image is therefore shown
*full-frame*: it fills the model's field of view and is not placed on a screen. Splits are not stratified, because the
images have no categories.
"""

from functools import partial
from pathlib import Path

from bsjax.benchmarks.families.cowley2026.reader import SOURCE, load_session
from bsjax.benchmarks.kinds.comparisons import neural_benchmark
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import NeuroidAssembly


def cowley2026(row: BenchmarkRow, data: str | Path | None = None) -> NeuralBenchmark:
    """One of the comparisons.

    Args:
        row: the row of the benchmark.
        data: folder of the recordings, needed for scoring.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Cowley2026.V4-pls").region
        'V4'
    """
    return neural_benchmark(row, partial(_load, row.identifier, data))


def _load(identifier: str, data: str | Path | None) -> NeuroidAssembly:
    if data is None:
        raise FileNotFoundError(
            f"{identifier} needs the recordings: give their folder as data=DIR, or --data DIR on the command "
            f"line; they are in {SOURCE}, folder data_V4_responses"
        )
    return load_session(data)
