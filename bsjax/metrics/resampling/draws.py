"""Random draws for bootstrap, jackknife and permutations, generated on the host from a seed."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

Seed = int | Sequence[int]


def bootstrap_counts(
    n: int, draws: int, seed: Seed, *, groups: Any | None = None, strata: Any | None = None
) -> Int[np.ndarray, "draws n"]:
    """Bootstrap draws: how often each draw with replacement contains each of ``n`` elements.

    Args:
        n: number of elements.
        draws: number of draws.
        seed: the same seed gives the same draws.
        groups: a label per element. Elements with the same label are drawn together. Each draw has as many labels as
            there are, so its number of elements may vary.
        strata: a label per element. Elements are drawn separately within each label, as many as have it.

    Returns:
        ``(draws, n)`` int32.

    Raises:
        ValueError: there are no elements or draws, the number of labels is not ``n``, or a group has elements of
            several strata.

    Source: Efron 1979; Davison & Hinkley 1997 (groups, strata).

    Example:
        >>> bootstrap_counts(4, 2, seed=0).sum(axis=1)
        array([4, 4])
        >>> bootstrap_counts(4, 2, seed=0, groups=["a", "a", "b", "b"])
        array([[0, 0, 2, 2],
               [1, 1, 1, 1]], dtype=int32)
    """
    _check(n, draws)
    group = label_codes(groups, n, "groups")
    members = groups_of_strata(group, label_codes(strata, n, "strata"))
    counts = np.empty((draws, group.max() + 1), np.int32)
    rng = np.random.default_rng(seed)
    for those in members:
        drawn = rng.integers(0, len(those), (draws, len(those)))
        drawn += len(those) * np.arange(draws)[:, None]
        counts[:, those] = np.bincount(drawn.ravel(), minlength=draws * len(those)).reshape(draws, -1)
    return counts if groups is None else counts[:, group]


def leave_out_counts(n: int) -> Int[np.ndarray, "n n"]:
    """Jackknife draws: each leaves out one of ``n`` elements.

    Args:
        n: number of elements.

    Returns:
        ``(n, n)`` int32, 0 where an element is left out and 1 elsewhere.

    Raises:
        ValueError: there are fewer than two elements.

    Source: Quenouille 1949; Tukey 1958.

    Example:
        >>> leave_out_counts(3)
        array([[0, 1, 1],
               [1, 0, 1],
               [1, 1, 0]], dtype=int32)
    """
    if n < 2:
        raise ValueError(f"a jackknife needs at least two elements; there are {n}")
    return 1 - np.eye(n, dtype=np.int32)


def permutations(
    n: int, draws: int, seed: Seed, *, strata: Any | None = None, groups: Any | None = None
) -> Int[np.ndarray, "draws n"]:
    """Random permutations of ``n`` elements, for the null distribution of a statistic.

    Args:
        n: number of elements.
        draws: number of permutations.
        seed: the same seed gives the same permutations.
        strata: a label per element. Elements are permuted only within their label.
        groups: a label per element. Groups of elements with the same label are permuted as a whole and keep their
            inner order, as for stimuli that are shown in sequences.

    Returns:
        ``(draws, n)`` int32, each row a permutation of 0 to n - 1; the identity may be among them.

    Raises:
        ValueError: there are no elements or draws, the number of labels is not ``n``, a group has elements of several
            strata, or groups to be exchanged differ in size.

    Source: Good 2005, "Permutation, Parametric and Bootstrap Tests of Hypotheses".

    Example:
        >>> permutations(4, 2, seed=0)
        array([[2, 0, 1, 3],
               [3, 2, 1, 0]], dtype=int32)
        >>> permutations(6, 1, seed=0, groups=[0, 0, 1, 1, 2, 2])
        array([[4, 5, 0, 1, 2, 3]], dtype=int32)
    """
    _check(n, draws)
    group = label_codes(groups, n, "groups")
    sizes = np.bincount(group)
    # Elements sorted by group, and the start of each group among them.
    elements = np.argsort(group, kind="stable").astype(np.int32)
    starts = np.cumsum(sizes) - sizes
    found = np.empty((draws, n), np.int32)
    rng = np.random.default_rng(seed)
    for those in groups_of_strata(group, label_codes(strata, n, "strata")):
        size = int(sizes[those[0]])
        if (sizes[those] != size).any():
            raise ValueError(
                f"only groups of the same size can be permuted; these have from {sizes[those].min()} to "
                f"{sizes[those].max()} elements: use strata of groups of the same size, or permute single elements"
            )
        order = rng.permuted(np.broadcast_to(those, (draws, len(those))), axis=1)
        if groups is None:
            found[:, those] = order
        else:
            within = np.arange(size)
            taken = elements[starts[order][:, :, None] + within]
            found[:, elements[starts[those][:, None] + within]] = taken
    return found


def places_of(counts: Int[np.ndarray, "draws n"], width: int | None = None) -> Int[np.ndarray, "draws m"]:
    """Indices of the elements in each draw, repeated by their counts and padded with -1 to ``width``.

    Example:
        >>> places_of(np.array([[2, 0, 1], [0, 1, 0]]))
        array([[ 0,  0,  2],
               [ 1, -1, -1]], dtype=int32)
    """
    sizes = counts.sum(axis=1)
    mask = np.arange(sizes.max() if width is None else width) < sizes[:, None]
    places = np.full(mask.shape, -1, np.int32)
    draw, element = np.nonzero(counts)
    places[mask] = np.repeat(element, counts[draw, element])
    return places


def _check(n: int, draws: int) -> None:
    if n < 1 or draws < 1:
        raise ValueError(f"at least 1 element and 1 draw are needed, got n = {n} and draws = {draws}")


def label_codes(labels: Any | None, n: int, name: str) -> Int[np.ndarray, " n"]:
    """Labels as integer codes in sorted order; without labels, each element is a group, and all are one stratum."""
    if labels is None:
        return np.zeros(n, np.int32) if name == "strata" else np.arange(n, dtype=np.int32)
    values = np.asarray(labels)
    if values.shape != (n,):
        raise ValueError(f"{name} must be one label for each of the {n} elements, got an array of shape {values.shape}")
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def groups_of_strata(group: Int[np.ndarray, " n"], stratum: Int[np.ndarray, " n"]) -> Iterator[np.ndarray]:
    """Yields the groups of each stratum."""
    of_group = np.empty(group.max() + 1, np.int32)
    of_group[group] = stratum
    split = np.unique(group[of_group[group] != stratum])
    if len(split):
        raise ValueError(
            f"each group must be within one stratum; {len(split)} of {len(of_group)} groups are in several"
        )
    order = np.argsort(of_group, kind="stable").astype(np.int32)
    yield from np.split(order, np.flatnonzero(np.diff(of_group[order])) + 1)
