"""Paired differences between models on one benchmark, worked out beforehand for a page, which has no raw values."""

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
"""Of the intervals."""

# Raw values take far longer to read than scores: so many scores are read at most, and so many of one benchmark, as each
# has a difference with each.
_MOST_READ, _MOST_OF_ONE = 3000, 64
_UNITS = {"subject": "subject", "neuroid": "neuroid_id"}


@dataclass(frozen=True, eq=False)
class Group:
    """Scores on one benchmark that are paired with each other.

    Attributes:
        leaf: the number of the benchmark.
        models: the numbers of the models.
        words: what is compared and by what, e.g. "scores, 1000 bootstrap draws".
        over: what is generalised over, e.g. "stimuli".
        of_scores: whether the differences are those of the scores; else of means of what they are aggregates of.
        values: what is compared, ``(models,)``.
        low, high: the ends of the intervals of differences, first less second, of all pairs of models in the order of
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
    """Of how many models on each benchmark differences are paired, those with the highest scores.

    Example:
        >>> most_of_one(3), most_of_one(300), most_of_one(100_000)
        (64, 10, 2)
    """
    return max(2, min(_MOST_OF_ONE, _MOST_READ // max(1, n_leaves)))


def groups(records: Records) -> Iterator[Group]:
    """The groups of all benchmarks, of their best models, see :func:`most_of_one`.

    Scores are paired by their values in the same draws, where all have these, else by those of the same subjects or
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
        # Most stores have few raw values: a look at what is there spares reading all the other scores.
        kept = having_values(records.store, keys) if len(keys) > 1 else []
        if len(kept) < 2:
            continue
        scores_of = {keys[key]: score for key, score in read_scores(records.store, kept)}
        for members in _alike(scores_of):
            group = _group(node.leaf, members)
            if group is not None:
                yield group


def _alike(scores: Mapping[int, Score]) -> list[dict[int, Score]]:
    """Scores that may be paired with each other: of one plan of draws, or of the same units."""
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
    """The differences between scores; None where they have too little in common."""
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
