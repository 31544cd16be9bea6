"""Similarities of two representations: a kernel, and the traits that say what may be done with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bsjax.engine.streaming import DependsOn


@dataclass(frozen=True)
class Similarity:
    """A symmetric similarity of responses to the same stimuli; what is left out holds for any.

    Attributes:
        kernel: takes two ``(stimuli, units)`` arrays, and ``where=`` for the stimuli that count; a scalar.
        min_stimuli: the fewest stimuli it is defined for.
        depends_on: what it depends on of either side. If only on inner products between centred responses, or on
            correlations between stimuli, sides that do not fit in memory are read in blocks.
        ignores_zero_units: whether a unit of zeros changes nothing, so that widths may be padded.
        bootstraps: ``(x, y, counts) -> (draws,)``, the similarity of draws that hold each stimulus so many times;
            without it each draw is a new call.
        influence: ``(x, y)``, the similarity and what each stimulus adds to it; where there are ``bootstraps``.
        statistic: ``(x, y)``, the function of counts that ``bootstraps`` are, where what it shares is worth keeping.
        permutations: ``(x, y, permutations) -> (draws,)``, that of ``x`` and ``y[permutation]`` of every permutation.
        of_grams: of two centred Gram matrices (:mod:`bsjax.engine.gram`), of which devices hold shares.
        in_shares: ``(x, y, where, *, shares)``, the kernel of stimuli in so many shares, which devices hold.
        of_subjects: ``(responses, units, *, how)``, of every two of several subjects, or of each with the units of all
            others, see ``bsjax.metrics.cka_between_subjects``.
        compares_pairs: whether it ranks or scales all pairs of stimuli at once, among which no copies may be.
        varied_patterns: whether a stimulus with the same response in all units leaves it undefined.

    Example:
        >>> from bsjax.metrics import cka
        >>> Similarity(cka, min_stimuli=4).depends_on
        'features'
    """

    kernel: Callable[..., Any]
    min_stimuli: int
    depends_on: DependsOn = "features"
    ignores_zero_units: bool = False
    bootstraps: Callable[..., Any] | None = None
    influence: Callable[..., tuple[Any, Any]] | None = None
    statistic: Callable[..., Callable[..., Any]] | None = None
    permutations: Callable[..., Any] | None = None
    of_grams: Callable[..., float] | None = None
    in_shares: Callable[..., Any] | None = None
    of_subjects: Callable[..., Any] | None = None
    compares_pairs: bool = False
    varied_patterns: bool = False
