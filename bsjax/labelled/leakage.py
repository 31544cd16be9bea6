"""Leakage from training to test stimuli, which inflates cross-validated scores."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from bsjax.core.digests.arrays import file_digest
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.labelled.align import STIMULUS, aligned, finite_values, known_ids, listed, two_dimensional
from bsjax.labelled.metric import as_metric
from bsjax.labelled.settings import whole_number
from bsjax.labelled.splits import Splits

Pair = tuple[Hashable, Hashable]

# Expected number of pairs of different stimuli that pass for the same by chance.
_BY_CHANCE = 0.01
_ROWS = 256  # rows per block of distances


@dataclass(frozen=True)
class Leakage:
    """The leakage that was found; true if there is any.

    Attributes:
        repeated: pairs of stimuli with the same content or file, one in training and one in test of some split.
        near_identical: pairs with different names and files, but almost the same features in the source.
        leaked: share of the test stimuli with such a partner in training, averaged over splits.
        autocorrelation: correlation of the responses to successive presentations, averaged over neuroids.
        p_value: share of random orders with an autocorrelation at least as high.
        messages: the warnings, with advice.
    """

    repeated: tuple[Pair, ...]
    near_identical: tuple[Pair, ...]
    leaked: float
    autocorrelation: float
    p_value: float
    messages: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.messages)


def check_leakage(
    source: xr.DataArray,
    target: xr.DataArray,
    metric: Any = "ridge",
    splits: Splits | None = None,
    *,
    order: str | None = None,
    similarity: float = 0.999,
    level: float = 0.01,
    permutations: int = 999,
    seed: int = 0,
) -> Leakage:
    """Looks for causes of inflated cross-validated scores, and warns of them.

    - Repeated stimuli: pairs with the same ``stimulus_id``, the same ``filename``, or files of the same content. File
      contents are compared if a stimulus set with local files is attached to either side.
    - Near-identical stimuli: pairs whose features in the source are at least as similar as ``similarity``. Similarity
      is one minus half the squared distance over the mean squared distance from the mean. Where the features have so
      few dimensions that different stimuli come that near by chance, the threshold is higher.
    - Order: responses to successive presentations are more alike than in a random order. If the rows are in order of
      presentation, responses drift, and shuffled splits let a model interpolate the drift. If they are sorted, e.g. by
      object, neighbours belong to one category, and a model need not tell categories apart.

    The check costs about as much as a score, because it computes the distances of all pairs and reads the files. It is
    therefore not part of scoring. Scoring itself only refuses a ``stimulus_id`` in both training and test.

    Args:
        source, target: (presentation, neuroid) with ``stimulus_id``, as a metric takes them.
        metric: the metric whose splits are checked, or its identifier.
        splits: training and test rows of the target, checked instead of the metric's splits.
        order: the presentation coordinate that gives their order, such as time; the order of the target's rows if
            None.
        similarity: threshold above which two stimuli count as the same.
        level: significance level of the test of order.
        permutations, seed: number of random orders, and their seed.

    Raises:
        ValueError: stimuli differ, values are NaN, or the metric makes no splits or cannot split these stimuli.

    Source: Roberts et al. 2017; in encoding models: Feghhi et al. 2024, "What are large language models mapping to in
    the brain?"

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(20, 50))
        >>> x[1] = x[0]
        >>> coords = {"stimulus_id": ("presentation", np.arange(20))}
        >>> source, target = (xr.DataArray(v, coords, ["presentation", "neuroid"]) for v in (x, x[:, :5]))
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     found = check_leakage(source, target, splits=[(np.arange(1, 20), np.array([0]))])
        >>> found.near_identical, found.leaked
        (((1, 0),), 1.0)
    """
    source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
    source = aligned(source, target, target_repeats=True)
    splits = _splits(metric, target) if splits is None else list(splits)
    ids = known_ids(target, "target")
    same = _same_content(source, target, ids)
    twins = _near_identical(np.asarray(finite_values(source, "source"), float), similarity)
    different = {pair for pair in twins if same[pair[0]] != same[pair[1]]}
    repeated, near, leaked = _across(splits, same, different)
    rows = np.arange(len(target)) if order is None else np.argsort(known_ids(target, "target", order), kind="stable")
    autocorrelation, p_value = _autocorrelation(
        np.asarray(finite_values(target, "target"), float)[rows], whole_number(permutations, "permutations", 1), seed
    )
    messages = []
    for pairs, words, remedy in (
        (repeated, "are the same picture", "give them one stimulus_id, or leave one of each pair out"),
        (near, "are all but the same in the source", "leave one of each pair out"),
    ):
        if pairs:
            examples = listed([f"{ids[a]} = {ids[b]}" for a, b in pairs], "pair(s) of stimuli")
            messages.append(
                f"{examples} {words} and lie on both sides of a split; {leaked:.1%} of the test stimuli are known from "
                f"training: {remedy}, or keep them together by crossvalidation_kwargs={{'group_coord': ...}}"
            )
    if p_value <= level:
        by = "the target's rows" if order is None else f"{order!r}"
        messages.append(
            f"responses to presentations that follow each other in the order of {by} correlate, "
            f"r = {autocorrelation:.3f}, p = {p_value:.3g}, which shuffled splits give to a model that knows the order "
            "alone: compare with splits by crossvalidation_kwargs={'contiguous': True, 'gap': ...}, or by "
            "'group_coord' where neighbours are of one kind, and with the model stimulus-order"
        )
    for message in messages:
        warnings.warn(message, stacklevel=2)
    named = ids.tolist()
    by_name = [tuple((named[a], named[b]) for a, b in pairs) for pairs in (repeated, near)]
    return Leakage(by_name[0], by_name[1], leaked, autocorrelation, p_value, tuple(messages))


def _splits(metric: Any, target: xr.DataArray) -> Splits:
    made = as_metric(metric)
    splits = made.folds_of(target)
    if splits is None:
        raise ValueError(
            f"{made.identifier or metric!r} draws no splits to look for leakage in: name a cross-validated "
            "metric, or pass splits=[(training rows, test rows), ...] of the target"
        )
    return splits


def _same_content(source: xr.DataArray, target: xr.DataArray, ids: np.ndarray) -> np.ndarray:
    """A number per presentation, the same for presentations with the same content."""
    labels = [ids]
    for side in (source, target):
        if "filename" in side.coords and side["filename"].dims == ("presentation",):
            labels.append(side["filename"].values)
        stimuli = side.attrs.get("stimulus_set")
        paths = getattr(stimuli, "stimulus_paths", {})
        known = set(ids.tolist()) & paths.keys()
        digests = {name: file_digest(paths[name]) for name in known if Path(paths[name]).is_file()}
        labels.append(np.array([digests.get(name) for name in ids.tolist()], object))
        if stimuli is not None and "filename" in stimuli.columns:
            names = dict(zip(stimuli[STIMULUS], stimuli["filename"], strict=True))
            labels.append(np.array([names.get(name) for name in ids.tolist()], object))
    # Connected components of a graph of presentations and labels; a missing label joins nothing.
    n = nodes = len(ids)
    edges = []
    for values in labels:
        codes, names = pd.factorize(values)
        edges.append(np.stack([np.arange(n), nodes + codes])[:, codes >= 0])
        nodes += len(names)
    joined = np.concatenate(edges, axis=1)
    graph = scipy.sparse.coo_array((np.ones(joined.shape[1]), joined), (nodes, nodes))
    return scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:n]


def _near_identical(x: np.ndarray, similarity: float) -> set[tuple[int, int]]:
    """Pairs of rows above that similarity, and closer than chance allows at their dimensionality."""
    if not 0 < similarity <= 1:
        raise ValueError(f"similarity must be above 0 and at most 1, got {similarity!r}")
    x = _deviations(x)
    squares = np.einsum("np,np->n", x, x)
    typical = squares.mean()
    if not typical > 0:
        return set()
    n = len(x)
    close, total = [], 0.0
    for start in range(0, n, _ROWS):
        products = x[start : start + _ROWS] @ x.T
        total += float(np.vdot(products, products))
        distances = (squares[start : start + _ROWS, None] + squares[None] - 2 * products) / (2 * typical)
        rows, columns = np.nonzero(distances <= 1 - similarity)
        later = columns > rows + start
        close += zip(rows[later] + start, columns[later], distances[rows[later], columns[later]], strict=True)
    dimensions = squares.sum() ** 2 / total
    # Distances of Gaussian stimuli have a chi-square distribution with this many degrees of freedom.
    by_chance = scipy.stats.chi2.ppf(_BY_CHANCE / max(n * (n - 1) / 2, 1), dimensions) / dimensions
    farthest = max(min(by_chance, 1 - similarity), rounding(x, n))
    return {(int(a), int(b)) for a, b, distance in close if distance <= farthest}


def _across(
    splits: Sequence[tuple[np.ndarray, np.ndarray]], same: np.ndarray, near: set[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], float]:
    """Pairs on both sides of some split, training row first, one per pair of contents; and the share that leaked."""
    repeated: dict[Any, tuple[int, int]] = {}
    alike: dict[Any, tuple[int, int]] = {}
    shares = []
    for train, test in splits:
        known, in_training = {same[row]: row for row in train[::-1].tolist()}, set(train.tolist())
        leaks = {row for row in test.tolist() if same[row] in known}
        for row in leaks:
            repeated.setdefault(same[row], (known[same[row]], row))
        in_test = set(test.tolist())
        for pair in near:
            for one, other in (pair, pair[::-1]):
                if one in in_training and other in in_test:
                    leaks.add(other)
                    alike.setdefault(frozenset((same[one], same[other])), (one, other))
        shares.append(len(leaks) / len(test))
    return sorted(repeated.values()), sorted(alike.values()), float(np.mean(shares))


def _autocorrelation(y: np.ndarray, permutations: int, seed: int) -> tuple[float, float]:
    """Lag-one autocorrelation, averaged over columns that vary, and the share of random orders at least as high."""
    y = _deviations(y)
    y = y[:, y.any(axis=0)]
    if not y.size or len(y) < 3:
        return float("nan"), float("nan")
    y = y / np.linalg.norm(y, axis=0)
    gram = y @ y.T / y.shape[1]

    def of(rows: np.ndarray) -> float:
        return float(gram[rows[:-1], rows[1:]].sum())

    found, rng = of(np.arange(len(y))), np.random.default_rng(seed)
    as_high = sum(of(rng.permutation(len(y))) >= found for _ in range(permutations))
    return found, (1 + as_high) / (1 + permutations)


def _deviations(values: np.ndarray) -> np.ndarray:
    """Deviations from the mean over rows, zero in columns that vary by rounding only."""
    mean = values.mean(axis=0)
    left = values - mean
    least = rounding(values, CONSTANT) * np.abs(mean)
    return np.where(np.sqrt((left**2).mean(axis=0)) <= least, 0.0, left)
