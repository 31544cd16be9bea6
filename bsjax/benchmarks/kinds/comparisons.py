"""Ways to compare a data set with models, each with its ceiling and its normalisation.

Noise in the measured responses lowers every comparison. The ceiling measures by how much, and the normalisation
corrects for it. The noise is on one side only, because a model responds alike every time. Let c be the correlation
expected between two independent measurements (their reliability). A model that is right about everything but the
noise then reaches √c (Spearman 1904, "The proof and measurement of association between two things"). Therefore

- a *representational similarity* s (CKA, RDM) becomes s/√c, with c the similarity of the data to an
  independent repetition of themselves;
- a *regression's* correlation r becomes r²/c, the share of the explainable variance that is explained, as in
  Brain-Score, with the sign of r kept.

Both give 1 for a perfect model. To estimate c, two random halves of the trials are averaged and compared by the
same statistic, and the Spearman-Brown formula extends the result from half of the trials to all of them. This is
exact for r. It is an approximation for CKA and RDMs, whose noise does not fall exactly as one over the number of
trials.
"""

from collections.abc import Callable
from functools import cache, partial

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.experiment import squeeze_time
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.benchmarks.uncertainty import with_error_over_stimuli
from bsjax.data import NeuroidAssembly
from bsjax.labelled import load_ceiling, load_metric


def neural_benchmark(row: BenchmarkRow, load_trials: Callable[[], NeuroidAssembly]) -> NeuralBenchmark:
    """One comparison on a data set, with its ceiling and normalisation.

    Args:
        row: the row of the benchmark. Its setting ``stratify`` names the coordinate that stratifies a regression's
            splits.
        load_trials: function that returns single trials, with a ``repetition`` coordinate; called once, when first
            needed.

    Example:
        >>> from bsjax.benchmarks import benchmark_row
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> neural_benchmark(benchmark_row("Simulated.V1-cka"), assembly).identifier
        'Simulated.V1-cka'
    """
    if row.normalisation == "explained_variance":
        splits = {"stratification_coord": row.settings.get("stratify")}
        similarity = load_metric(row.metric, crossvalidation_kwargs=splits)
        consistency = load_ceiling(str(row.ceiling))
    else:
        similarity = load_metric(row.metric, error="jackknife")
        consistency = load_ceiling(str(row.ceiling), consistency_metric=similarity)
    trials = cache(load_trials)  # the benchmark and its ceiling share one copy
    return NeuralBenchmark(
        row.identifier,
        assembly=trials,
        similarity_metric=similarity,
        ceiling_func=Ceiling(partial(with_error_over_stimuli, consistency), lambda: squeeze_time(trials())),
        **row.arguments("region", "about", "normalisation"),
    )
