"""Similarities of two representations: a kernel with its properties and specialised versions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bsjax.engine.streaming import DependsOn


@dataclass(frozen=True)
class Similarity:
    """A similarity of responses to the same stimuli; the defaults are valid for any.

    Attributes:
        kernel: function of two ``(stimuli, units)`` arrays and ``where=``, the stimuli that count; returns a scalar.
        min_stimuli: the smallest number of stimuli for which it is defined.
        depends_on: properties of the responses it depends on. If only inner products between centred responses, or
            correlations between stimuli, responses that do not fit in memory are read in blocks.
        ignores_zero_units: whether a unit of zeros changes nothing, so that units may be padded.
        ignores_means: whether a constant added to a unit changes nothing; so it is in any case where it depends only on
            inner products.
        ignores_scale: whether a factor of all responses of a side changes nothing.
        bootstraps: ``(x, y, counts) -> (draws,)``, the similarity of draws given by the counts of stimuli; without it,
            the kernel is called for each draw.
        influence: ``(x, y)`` to the similarity and the influence of each stimulus; for similarities with
            ``bootstraps``.
        statistic: ``(x, y)`` to ``bootstraps`` as a function of counts, if computations shared between calls are worth
            keeping.
        permutations: ``(x, y, permutations) -> (draws,)``, the similarity of ``x`` and ``y[permutation]`` for every
            permutation.
        of_grams: function of two centred Gram matrices (:mod:`bsjax.engine.gram`), sharded over devices.
        in_shares: ``(x, y, where, *, shares)``, the kernel with stimuli divided into shares, one per device.
        of_subjects: ``(responses, units, *, how)``, the similarity of every two subjects, or of each with the pooled
            units of all others, see ``bsjax.metrics.cka_between_subjects``.
        vector: function of one side's responses to a unit vector, whose inner product with that of another side is the
            similarity, to compare many.
        within: ``(x, y, probes, *, dtype)`` to the ends of an interval that holds the exact similarity, see
            ``bsjax.metrics.bounds.similarity``.
        compares_pairs: whether it ranks or scales all pairs of stimuli together, which must not include copies.
        varied_patterns: whether it is undefined if a stimulus has the same response in all units.
        symmetric: whether the two sides may be exchanged.
        zero_by_chance: whether unrelated responses score 0 on average.

    Example:
        >>> from bsjax.metrics import cka
        >>> Similarity(cka, min_stimuli=4).depends_on
        'features'
    """

    kernel: Callable[..., Any]
    min_stimuli: int
    depends_on: DependsOn = "features"
    ignores_zero_units: bool = False
    ignores_means: bool = False
    ignores_scale: bool = False
    bootstraps: Callable[..., Any] | None = None
    influence: Callable[..., tuple[Any, Any]] | None = None
    statistic: Callable[..., Callable[..., Any]] | None = None
    permutations: Callable[..., Any] | None = None
    of_grams: Callable[..., float] | None = None
    in_shares: Callable[..., Any] | None = None
    of_subjects: Callable[..., Any] | None = None
    vector: Callable[..., Any] | None = None
    within: Callable[..., Any] | None = None
    compares_pairs: bool = False
    varied_patterns: bool = False
    symmetric: bool = True
    zero_by_chance: bool = True
