"""Paired differences between models on a benchmark, precomputed for a page that has no unaggregated values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.inference.pairing import paired
from bsjax.labelled import Score
from bsjax.results.reading import having_values, read_scores

if TYPE_CHECKING:
    from bsjax.leaderboard.records import Records

LEVEL = 0.95
"""Confidence level of the intervals."""

# Limits on the number of scores that are read, in all and per benchmark: unaggregated values take long to read, and the
# number of pairs grows with the square of the number of models.
_MOST_READ, _MOST_OF_ONE = 3000, 64
_UNITS = {"subject": "subject", "neuroid": "neuroid_id"}


@dataclass(frozen=True, eq=False)
class Group:
    """Scores on one benchmark that are paired with each other.

    Attributes:
        leaf: index of the benchmark.
        models: indices of the models.
        words: what is compared and how, e.g. "scores, 1000 bootstrap draws".
        over: the population that is generalised to, e.g. "stimuli".
        of_scores: whether the scores are compared, rather than means of their unaggregated values.
        values: the compared values, ``(models,)``.
        low, high: ends of the intervals of the differences, first minus second, of all pairs of models in the order of
            ``numpy.triu_indices``.
    """

    leaf: int
    models: np.ndarray
    words: str
    over: str
    of_scores: bool
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


def most_of_one(n_leaves: int) -> int:
    """Compute the number of best models per benchmark whose differences are computed.

    Example:
        >>> most_of_one(3), most_of_one(300), most_of_one(100_000)
        (64, 10, 2)
    """
    return max(2, min(_MOST_OF_ONE, _MOST_READ // max(1, n_leaves)))


def groups(records: Records) -> Iterator[Group]:
    """Compute the groups of all benchmarks, for their best models (:func:`most_of_one`).

    Scores are paired by their values in the same draws if all have these, else by the values of the same subjects or
    neuroids.

    Raises:
        ValueError: the store is damaged.
        OSError, ConnectionError, TimeoutError: the store cannot be read.
    """
    most = most_of_one(len(records.leaves))
    for node in records.leaves:
        scores = records.columns["score"][node.leaf]
        best = [number for number in np.argsort(-scores, kind="stable")[:most].tolist() if not np.isnan(scores[number])]
        keys = {records.texts["key"][node.leaf, number]: number for number in best}
        # Most stores have few unaggregated values; a check for them avoids reading all other scores.
        kept = having_values(records.store, keys) if len(keys) > 1 else []
        if len(kept) < 2:
            continue
        scores_of = {keys[key]: score for key, score in read_scores(records.store, kept)}
        for members in _alike(scores_of):
            group = _group(node.leaf, members)
            if group is not None:
                yield group


def _alike(scores: Mapping[int, Score]) -> list[dict[int, Score]]:
    """Groups of scores that can be paired, as they share a plan of draws or the same units."""
    found: dict[Any, dict[int, Score]] = {}
    for number in sorted(scores):
        score = scores[number]
        basis = _basis(score)
        if basis is not None:
            made = score.provenance
            of = (basis, score.formula, made.benchmark_version, repr(made.data), made.region, made.metric)
            found.setdefault(of, {})[number] = score
    return [members for members in found.values() if len(members) > 1]


def _basis(score: Score) -> Any:
    known, raw = score.uncertainty, score.raw
    if known is not None and known.is_paired:
        return "draws", known.plan, known.draws is not None, known.influence is not None
    if raw is None:
        return None
    for dim, name in _UNITS.items():
        if dim in raw.dims and name in raw.coords:
            return dim, frozenset(raw[name].values.tolist())
    return None


def _group(leaf: int, members: Mapping[int, Score]) -> Group | None:
    """The differences between scores; None if they cannot be paired."""
    try:
        found = paired({str(number): score for number, score in members.items()})
        first, second = np.triu_indices(len(members), 1)
        low, high = found.evidence.interval(found.evidence.tests[0], first, second, LEVEL)
    except ValueError:  # e.g. no unit is defined for all of them
        return None
    values = np.array([float(score) for score in members.values()])
    own = found.evidence.estimates(np.arange(len(members)), np.full(len(members), -1))
    of_scores = bool(np.array_equal(values, own))
    return Group(leaf, np.array(list(members)), found.words, " and ".join(found.over), of_scores, own, low, high)
