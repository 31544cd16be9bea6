"""Uncertainty of ceilings due to the choice of stimuli."""

import dataclasses
from collections.abc import Callable

import numpy as np

from bsjax.data import NeuroidAssembly
from bsjax.labelled import Score
from bsjax.labelled.aggregate import jackknife_error
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import Resampling, by_whole, taken_whole
from bsjax.labelled.settings import whole_number


def with_error_over_stimuli(
    ceiling: Callable[[NeuroidAssembly], Score], trials: NeuroidAssembly, n_groups: int = 10
) -> Score:
    """A ceiling, with its standard error with respect to the choice of stimuli.

    A ceiling's own error is its spread over random halvings of the same trials. It shrinks with the number of halvings
    and does not measure how far the value is from the truth, which depends on the number of stimuli and the noise of
    the trials. Here the stimuli are divided into random groups, and the ceiling is computed again without each group:
    the delete-a-group jackknife, sqrt((g - 1) * variance of the g values). Stimuli of one object are in one group where
    responses cluster by objects.

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
        'standard error over stimuli, jackknife of 6 groups, stimuli of one object_name together'
    """
    n_groups = whole_number(n_groups, "n_groups", 2)
    if Resampling.active() is not None:  # the bootstrap resamples provide the error
        return scored(ceiling, trials)
    whole = ceiling(trials)
    by = taken_whole(trials)
    units, row = np.unique(trials["stimulus_id" if by is None else by].values.astype(str), return_inverse=True)
    n_groups = min(n_groups, len(units))
    group = np.random.default_rng(0).permutation(np.arange(len(units)) % n_groups)[row]
    without = [float(ceiling(trials.isel(presentation=group != left_out))) for left_out in range(n_groups)]
    return dataclasses.replace(whole, **by_whole(by, jackknife_error(np.array(without))))
