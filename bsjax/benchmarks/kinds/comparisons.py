"""Ways to compare a data set with models, each with the ceiling and the normalisation that it calls for.

Noise in the measured responses lowers every comparison; the ceiling says by how much, and the normalisation
takes it out. The noise is on one side only: a model answers alike every time. If c is the correlation
expected between two independent measurements (their reliability), a model that is right about everything but
the noise reaches √c, so that (Spearman 1904, "The proof and measurement of association between two things")

- a *representational similarity* s (CKA, RDM) becomes s/√c, with c the similarity of the data to an
  independent repetition of themselves;
- a *regression's* correlation r becomes r²/c, the share of the explainable variance that is explained, as in
  Brain-Score, with the sign of r kept.

Both give 1 for a perfect model. c comes from the trials: two random halves are averaged and compared by the
same statistic, and the Spearman-Brown formula extends the result from half of the trials to all of them. For
r this is exact; for CKA and RDMs, whose noise does not fall exactly as one over the number of trials, it is
an approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.experiment import squeeze_time
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.benchmarks.uncertainty import with_error_over_stimuli
from bsjax.data import NeuroidAssembly
from bsjax.labelled import load_ceiling, load_metric

REGRESSIONS = ("neuron_to_neuron", "pls", "ridge")
SIMILARITIES = ("cka", "rdm")


def neural_benchmark(
    family: str,
    metric: str,
    load_trials: Callable[[], NeuroidAssembly],
    *,
    stratification_coord: str | None,
    version: int,
    parent: str,
    about: str,
    bibtex: str = "",
) -> NeuralBenchmark:
    """One comparison on a data set.

    Args:
        family: identifier of the data set with its region; the benchmark is called ``family-metric``.
        metric: one of ``REGRESSIONS`` or ``SIMILARITIES``.
        load_trials: gives single trials, with a ``repetition`` coordinate; called once, when first needed.
        stratification_coord: the coordinate whose values are spread evenly over the splits of a
            cross-validated metric, ``None`` for plain random splits.
        version: raised by one whenever the benchmark's scores change.
        parent: what the benchmark is averaged under, and the region of the data.
        about: what was recorded, in a few words.
        bibtex: publication of the data.

    Raises:
        ValueError: a metric that has no row here.

    Example:
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> benchmark = neural_benchmark(
        ...     "Mine.V1", "cka", assembly, stratification_coord="object_name", version=1, parent="V1",
        ...     about="simulated neuroids"
        ... )
        >>> benchmark.identifier
        'Mine.V1-cka'
    """
    if metric in REGRESSIONS:
        similarity = load_metric(metric, crossvalidation_kwargs={"stratification_coord": stratification_coord})
        consistency = load_ceiling("internal_consistency")
        normalisation = "explained_variance"
    elif metric in SIMILARITIES:
        similarity = load_metric(metric, error="jackknife")
        consistency = load_ceiling("internal_consistency", consistency_metric=similarity)
        normalisation = "r_over_sqrt_ceiling"
    else:
        raise ValueError(f"no comparison {metric!r}; there are {', '.join((*REGRESSIONS, *SIMILARITIES))}")
    identifier = f"{family}-{metric}"
    trials = cache(load_trials)  # the benchmark and its ceiling share one copy
    return NeuralBenchmark(
        identifier,
        assembly=trials,
        similarity_metric=similarity,
        ceiling_func=Ceiling(partial(with_error_over_stimuli, consistency), lambda: squeeze_time(trials())),
        version=version,
        parent=parent,
        bibtex=bibtex,
        normalisation=normalisation,
        region=parent,
        about=about,
    )
