"""Cross-validation folds as index arrays of one shape."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Int


class Folds(NamedTuple):
    """The folds of a cross-validation, padded to one shape so that all of them run in one program.

    ``held_out`` are the stimuli that a fold is *not* fitted on, and ``test`` those that it is tested on; None if every
    fold is tested on its held-out stimuli. Folds are given by their held-out rather than their training stimuli because
    kernels compute moments of all stimuli once and subtract the few held-out rows. Padded entries have index 0 and are
    False in the mask.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import make_folds
        >>> folds = make_folds(10, [(np.arange(3, 10), np.arange(3)), (np.arange(6), np.arange(6, 10))])
        >>> folds.held_out.shape, folds.held_out_mask.sum(axis=1).tolist()
        ((2, 4), [3, 4])
    """

    held_out: Int[Array, "folds held_out"] | np.ndarray
    held_out_mask: Bool[Array, "folds held_out"] | np.ndarray
    test: Int[Array, "folds test"] | np.ndarray | None = None
    test_mask: Bool[Array, "folds test"] | np.ndarray | None = None


def make_folds(n: int, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> Folds:
    """Folds from ``(train, test)`` index arrays over ``n`` stimuli, as returned by scikit-learn's splitters.

    Args:
        n: number of stimuli.
        splits: ``(train, test)`` indices of each fold.

    Returns:
        Indices ``(folds, stimuli)`` of held-out and test stimuli, padded to one length, with masks of the same shape.

    Example:
        >>> make_folds(4, [(np.array([0, 1, 2]), np.array([3])), (np.array([2, 3]), np.array([0, 1]))]).held_out
        array([[3, 0],
               [0, 1]], dtype=int32)
    """
    left_out = np.ones((len(splits), n), bool)
    tested, held_out, tests = np.zeros_like(left_out), [], []
    for row, of_test, (train, test) in zip(left_out, tested, splits, strict=True):
        row[train] = False
        of_test[test] = True
        held_out.append(row.nonzero()[0])
        tests.append(np.asarray(test))
    if [*map(len, held_out)] == [*map(len, tests)] and (left_out == tested).all():
        return Folds(*_pad(held_out))
    return Folds(*_pad(held_out), *_pad(tests))


def no_folds() -> Folds:
    """One fold with nothing held out and nothing to test: a fit on all stimuli."""
    return Folds(*_pad([np.empty(0, int)]))


def _pad(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    longest = max(map(len, rows))
    index = np.zeros((len(rows), longest), np.int32)
    mask = np.zeros((len(rows), longest), bool)
    for i, row in enumerate(rows):
        index[i, : len(row)] = row
        mask[i, : len(row)] = True
    return index, mask
