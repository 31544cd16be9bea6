"""Counts of elements in draws, of bootstraps and jackknifes, and permutations: drawn on the host from a seed."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

Seed = int | Sequence[int]


def bootstrap_counts(
    n: int, draws: int, seed: Seed, *, groups: Any | None = None, strata: Any | None = None
) -> Int[np.ndarray, "draws n"]:
    """How often each of many draws with replacement holds each of ``n`` elements.

    Args:
        n: how many elements there are.
        draws: how many draws.
        seed: the same numbers give the same draws.
        groups: a label for each element: all elements of a label are drawn together, and as many labels are drawn as
            there are, so that a draw may hold more or fewer elements than there are.
        strata: a label for each element: within each label as many are drawn as have it.

    Returns:
        ``(draws, n)`` int32.

    Raises:
        ValueError: there is nothing to draw from, labels are not one for each element, or the elements of a group are
            of several strata.

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


def leave_out_counts(
    n: int, n_groups: int | None, seed: Seed, *, clusters: Any | None = None
) -> Int[np.ndarray, "n_groups n"]:
    """What is left of ``n`` elements without each of some groups in turn: the draws of a jackknife.

    Args:
        n: how many elements there are.
        n_groups: how many groups to part them into at random, as equal in size as can be. None for the jackknife that
            leaves out one at a time, in order.
        seed: the same numbers give the same groups.
        clusters: a label for each element: all elements of a label are left out together.

    Returns:
        ``(n_groups, n)`` int32, 0 where an element is left out and 1 where not.

    Raises:
        ValueError: there are more groups than elements (or clusters), fewer than two of either, or labels are not one
            for each element.

    Source: Quenouille 1949; Tukey 1958; Shao & Wu 1989 (more than one left out).

    Example:
        >>> leave_out_counts(3, None, seed=0)
        array([[0, 1, 1],
               [1, 0, 1],
               [1, 1, 0]], dtype=int32)
    """
    cluster = label_codes(clusters, n, "clusters")
    count = int(cluster.max(initial=-1)) + 1
    if count < 2:
        raise ValueError(
            f"a jackknife leaves out one of at least two {_named(clusters, 'clusters')}; there are {count}"
        )
    if n_groups is None:
        n_groups, left_out_with = count, np.arange(count)
    elif not 2 <= n_groups <= count:
        raise ValueError(
            f"n_groups is at least 2 and at most the {count} {_named(clusters, 'clusters')} that there are, "
            f"got {n_groups}"
        )
    else:
        left_out_with = np.random.default_rng(seed).permutation(np.arange(count) % n_groups)
    return (left_out_with[cluster] != np.arange(n_groups)[:, None]).astype(np.int32)


def permutations(
    n: int, draws: int, seed: Seed, *, strata: Any | None = None, groups: Any | None = None
) -> Int[np.ndarray, "draws n"]:
    """Random orders of ``n`` elements, for the distribution of a statistic under no relation.

    Args:
        n: how many elements there are.
        draws: how many orders.
        seed: the same numbers give the same orders.
        strata: a label for each element: elements change places within a label alone.
        groups: a label for each element: labels change places as a whole, and elements of a label stay together in
            their order, as for stimuli that are shown in sequences.

    Returns:
        ``(draws, n)`` int32, each row a permutation of 0 to n - 1; the order as it is may be among them.

    Raises:
        ValueError: there is nothing to draw from, labels are not one for each element, the elements of a group are of
            several strata, or groups that change places differ in size.

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
    # The elements of each group beside each other, and where those of a group begin.
    elements = np.argsort(group, kind="stable").astype(np.int32)
    starts = np.cumsum(sizes) - sizes
    found = np.empty((draws, n), np.int32)
    rng = np.random.default_rng(seed)
    for those in groups_of_strata(group, label_codes(strata, n, "strata")):
        size = int(sizes[those[0]])
        if (sizes[those] != size).any():
            raise ValueError(
                f"groups that change places must be of one size; these have from {sizes[those].min()} to "
                f"{sizes[those].max()} elements: permute within strata of groups of one size, or the elements"
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
    """Which elements each draw holds, as often as it does; -1 beyond the end of a draw that is shorter than ``width``.

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
    """Labels as numbers from 0 in their order; without them, each element is a group, and all are one stratum."""
    if labels is None:
        return np.zeros(n, np.int32) if name == "strata" else np.arange(n, dtype=np.int32)
    values = np.asarray(labels)
    if values.shape != (n,):
        raise ValueError(f"{name} must be one label for each of the {n} elements, got an array of shape {values.shape}")
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def groups_of_strata(group: Int[np.ndarray, " n"], stratum: Int[np.ndarray, " n"]) -> Iterator[np.ndarray]:
    """The groups of each stratum."""
    of_group = np.empty(group.max() + 1, np.int32)
    of_group[group] = stratum
    split = np.unique(group[of_group[group] != stratum])
    if len(split):
        raise ValueError(
            f"all elements of a group must be of one stratum; those of {len(split)} of {len(of_group)} groups are not"
        )
    order = np.argsort(of_group, kind="stable").astype(np.int32)
    yield from np.split(order, np.flatnonzero(np.diff(of_group[order])) + 1)


def _named(labels: Any | None, name: str) -> str:
    return "elements" if labels is None else name
