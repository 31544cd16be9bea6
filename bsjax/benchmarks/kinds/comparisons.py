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

import dataclasses
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.experiment import squeeze_time
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import NeuroidAssembly
from bsjax.labelled import Score, load_ceiling, load_metric
from bsjax.labelled.aggregate import jackknife_error
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import Resampling
from bsjax.labelled.settings import whole_number


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


def with_error_over_stimuli(
    ceiling: Callable[[NeuroidAssembly], Score], trials: NeuroidAssembly, n_groups: int = 10
) -> Score:
    """A ceiling, with its standard error with respect to the choice of stimuli.

    A ceiling's own error is its spread over random halvings of the same trials. It shrinks with the number of halvings
    and does not measure how far the value is from the truth, which depends on the number of stimuli and the noise of
    the trials. Here the stimuli are divided into random groups, and the ceiling is computed again without each group:
    the delete-a-group jackknife, sqrt((g - 1) * variance of the g values).

    Args:
        ceiling: ``ceiling(trials) -> Score``, e.g. ``load_ceiling("internal_consistency")``.
        trials: single trials with a ``stimulus_id``.
        n_groups: number of groups, at least two; fewer if there are fewer stimuli.

    Returns:
        ``ceiling(trials)`` with another ``error`` and ``error_kind``.

    Raises:
        ValueError: the ceiling raises it, possibly for the stimuli without a group; or ``n_groups`` is below two.

    Source: Quenouille 1956, Biometrika 43; Shao & Wu 1989, Annals of Statistics 17 (groups, for medians).

    Example:
        >>> from bsjax import load_ceiling
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> score = with_error_over_stimuli(load_ceiling("internal_consistency"), assembly())
        >>> score.error_kind
        'standard error over stimuli, jackknife of 10 groups'
    """
    n_groups = whole_number(n_groups, "n_groups", 2)
    if Resampling.active() is not None:  # the bootstrap resamples provide the error
        return scored(ceiling, trials)
    whole = ceiling(trials)
    stimuli, row = np.unique(trials["stimulus_id"].values.astype(str), return_inverse=True)
    n_groups = min(n_groups, len(stimuli))
    group = np.random.default_rng(0).permutation(np.arange(len(stimuli)) % n_groups)[row]
    without = [float(ceiling(trials.isel(presentation=group != left_out))) for left_out in range(n_groups)]
    return dataclasses.replace(whole, **jackknife_error(np.array(without)))
