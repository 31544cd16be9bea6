"""Similarities by matching single units of two representations."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bsjax.engine.host_calls import host_call
from bsjax.engine.precision import at_full_precision
from bsjax.engine.programs.platforms import primitive
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Features, Flag, Mask, Scalar, Targets
from bsjax.metrics.numerics import deviations, inverse_root, masked_mean, nonzero

# Up to so many copies of units, an assignment is faster than a linear programme.
_MOST_COPIES = 1_000
# Partners of each unit that a linear programme begins with, and how far from the largest gain it may end.
_PARTNERS, _EXACT = 8, 1e-10


@at_full_precision
def one_to_one(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    r"""Mean correlation of units that are matched one to one, by the assignment with the largest mean.

    .. math:: \max_\pi \frac{1}{m} \sum_{i=1}^m \mathrm{corr}(x_i, y_{\pi(i)}),\quad m = \min(p, q)

    A rotation of the units changes it: it asks whether single units, not only populations, are alike. Unrelated
    responses to few stimuli score far above 0, because matches are chosen and evaluated on the same stimuli.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from -1 to 1 in the dtype of the inputs; a unit that is constant over stimuli correlates by 0 with
        any. NaN where a side has only such units. The gradient is that at a fixed assignment.

    Source: Li et al. 2015, "Convergent Learning"; Khosla & Williams 2024.

    Example:
        >>> x = jnp.array([[0.0, 1.0, 4.0], [1.0, 3.0, 1.0], [2.0, 0.0, 0.0], [5.0, 1.0, 2.0]])
        >>> print(f"{one_to_one(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    correlations, constant = _correlations(x, y, where)
    few = correlations if x.shape[1] <= y.shape[1] else correlations.T
    partner = assignment(jax.lax.stop_gradient(few))
    matched = jnp.take_along_axis(few, partner[:, None], axis=1)
    return jnp.where(constant, jnp.nan, jnp.mean(matched))


@at_full_precision
def soft_matching(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    r"""Mean correlation of units that are matched softly, by the transport plan with the largest mean.

    .. math:: \max_T \sum_{ij} T_{ij}\, \mathrm{corr}(x_i, y_j),\quad T_{ij} \ge 0,\;
        \sum_j T_{ij} = 1 / p,\; \sum_i T_{ij} = 1 / q

    All units of both sides count, also if they differ in number; :func:`one_to_one` leaves the surplus out. With equal
    numbers it is :func:`one_to_one`. It is symmetric, and one minus it is half of a squared distance between
    populations of standardised units.

    Args:
        x, y, where: as for :func:`one_to_one`.

    Returns:
        A scalar from -1 to 1, as of :func:`one_to_one`. The gradient is that at a fixed plan.

    Source: Khosla & Williams 2024, "Soft matching distance".

    Example:
        >>> x = jnp.array([[0.0, 1.0, 4.0], [1.0, 3.0, 1.0], [2.0, 0.0, 0.0], [5.0, 1.0, 2.0]])
        >>> twice = jnp.concatenate([x, x], axis=1)
        >>> print(f"{soft_matching(x, twice[:, ::-1]):.3f}")
        1.000
    """
    correlations, constant = _correlations(x, y, where)
    plan = transport(jax.lax.stop_gradient(correlations))
    return jnp.where(constant, jnp.nan, jnp.sum(plan * correlations))


@at_full_precision
def semi_matching(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    r"""Mean correlation of each unit of ``y`` with the unit of ``x`` that correlates best with it.

    .. math:: \frac{1}{q} \sum_j \max_i \mathrm{corr}(x_i, y_j)

    Several units of ``y`` may share a unit of ``x``, so that it is not symmetric. Matches are chosen and evaluated on
    the same stimuli, see :func:`one_to_one`; ``neuron_to_neuron`` chooses them on training stimuli.

    Args:
        x: responses ``(stimuli, units)`` among which partners are chosen.
        y, where: as for :func:`one_to_one`.

    Returns:
        A scalar from -1 to 1 in the dtype of the inputs, over the units of ``y`` that vary; NaN where none does, or
        where no unit of ``x`` does.

    Source: Li et al. 2015, "Convergent Learning"; Khosla & Williams 2024.

    Example:
        >>> x = jnp.array([[0.0, 1.0, 4.0], [1.0, 3.0, 1.0], [2.0, 0.0, 0.0], [5.0, 1.0, 2.0]])
        >>> print(f"{semi_matching(x, x[:, :1]):.3f}")
        1.000
    """
    correlations, constant = _correlations(x, y, where)
    varies = ~deviations(y, None if where is None else where[:, None], axis=0).constant[0]
    found, _ = masked_mean(jnp.max(correlations, axis=0), varies, axis=0)
    return jnp.where(constant, jnp.nan, found[0])


def _correlations(x: Features, y: Targets, where: Mask | None) -> tuple[Float[Array, "p q"], Flag]:
    """Correlations of all pairs of units, 0 for constant ones, and whether a side has only constant units."""
    counted = None if where is None else where[:, None]
    sides = [deviations(side, counted, axis=0) for side in (x, y)]
    one, other = (side.values * inverse_root(side.squares, ~side.constant) for side in sides)
    return one.T @ other, jnp.all(sides[0].constant) | jnp.all(sides[1].constant)


@primitive
def assignment(gains: Float[Array, "m q"]) -> Int[Array, " m"]:
    """A different column for each row, so that the sum of the chosen entries is the largest.

    Args:
        gains: no more rows than columns; finite numbers.

    Source: Kuhn 1955 (the Hungarian algorithm); Crouse 2016 (shortest augmenting paths, on a CPU).

    Example:
        >>> print(assignment(jnp.array([[1.0, 2.0], [0.0, 3.0]])))
        [0 1]
    """
    from optax.assignment import hungarian_algorithm

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        rows, columns = hungarian_algorithm(-gains)
    return jnp.zeros(len(gains), jnp.int32).at[rows].set(columns.astype(jnp.int32))


@assignment.on("cpu")
def _on_host(gains: Float[Array, "m q"]) -> Int[Array, " m"]:
    return host_call(_assigned, gains, shape=gains.shape[:1], dtype=np.int32)


def _assigned(gains: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    found = np.zeros(gains.shape[:-1], np.int32)
    for place in np.ndindex(gains.shape[:-2]):
        if np.isfinite(gains[place]).all():
            found[place] = linear_sum_assignment(gains[place], maximize=True)[1]
    return found


@primitive
def transport(gains: Float[Array, "p q"]) -> Float[Array, "p q"]:
    """The plan with the largest gain that moves equal masses of all rows to equal masses of all columns.

    Its rows sum to one over their number, its columns to one over theirs.

    Args:
        gains: finite numbers.

    Source: Kantorovich 1942; successive shortest paths (Jewell 1958), on a CPU by linear programming (HiGHS).

    Example:
        >>> print(transport(jnp.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])) * 6)
        [[2. 0. 1.]
         [0. 2. 1.]]
    """
    p, q = gains.shape
    highest = jnp.asarray(jnp.inf, gains.dtype)
    costs = jnp.max(gains) - gains
    # Paths whose lengths differ by rounding errors are equal, so that no path goes in circles.
    shorter = (p + q) * rounding(gains) * nonzero(jnp.max(costs))

    # Masses are whole numbers: each row sends q / common, each column takes p / common.
    common = math.gcd(p, q)

    def relax(state: tuple[Array, ...]) -> tuple[Array, ...]:
        flow, rows, columns, row_from, column_from, _ = state
        onwards = rows[:, None] + costs
        nearer = jnp.min(onwards, axis=0) < columns - shorter
        column_from = jnp.where(nearer, jnp.argmin(onwards, axis=0).astype(jnp.int32), column_from)
        columns = jnp.where(nearer, jnp.min(onwards, axis=0), columns)
        back = jnp.where(flow > 0, columns[None] - costs, highest)
        closer = jnp.min(back, axis=1) < rows - shorter
        row_from = jnp.where(closer, jnp.argmin(back, axis=1).astype(jnp.int32), row_from)
        return flow, jnp.where(closer, jnp.min(back, axis=1), rows), columns, row_from, column_from, jnp.any(closer)

    def augment(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        flow, supply, demand = state
        begin = jnp.where(supply > 0, jnp.zeros_like(highest), highest)
        nowhere = jnp.full(p, -1, jnp.int32), jnp.full(q, -1, jnp.int32)
        first = (flow, begin, jnp.full_like(costs[0], jnp.inf), *nowhere, jnp.asarray(True))
        _, _, columns, row_from, column_from, _ = jax.lax.while_loop(lambda state: state[5], relax, first)
        last = jnp.argmin(jnp.where(demand > 0, columns, highest)).astype(jnp.int32)

        def follow(path: tuple[Array, ...]) -> tuple[Array, ...]:
            column, change, most, _ = path
            row = column_from[column]
            before = row_from[row]
            change = change.at[row, column].add(1)
            taken = jnp.where(before >= 0, flow[row, before], supply[row])
            change = change.at[row, before].add(jnp.where(before >= 0, -1, 0).astype(jnp.int32))
            return before, change, jnp.minimum(most, taken), row

        path = last, jnp.zeros_like(flow), demand[last], jnp.asarray(0, jnp.int32)
        _, change, moved, row = jax.lax.while_loop(lambda path: path[0] >= 0, follow, path)
        return flow + moved * change, supply.at[row].add(-moved), demand.at[last].add(-moved)

    begin = jnp.zeros((p, q), jnp.int32), jnp.full(p, q // common, jnp.int32), jnp.full(q, p // common, jnp.int32)
    flow, _, _ = jax.lax.while_loop(lambda state: jnp.any(state[1] > 0), augment, begin)
    return flow.astype(gains.dtype) / (p * (q // common))


@transport.on("cpu")
def _transport_on_host(gains: Float[Array, "p q"]) -> Float[Array, "p q"]:
    p, q = gains.shape
    flow = host_call(_transported, gains, shape=gains.shape, dtype=np.int32)
    return flow.astype(gains.dtype) / (p * (q // math.gcd(p, q)))


def _transported(gains: np.ndarray) -> np.ndarray:
    p, q = gains.shape[-2:]
    common = math.gcd(p, q)
    sent, taken = q // common, p // common
    found = np.zeros(gains.shape, np.int32)
    for place in np.ndindex(gains.shape[:-2]):
        if np.isfinite(gains[place]).all():
            solve = _of_copies if p * sent <= _MOST_COPIES else _of_programme
            found[place] = solve(gains[place], sent, taken)
    return found


def _of_copies(gains: np.ndarray, sent: int, taken: int) -> np.ndarray:
    """The plan as an assignment of copies of the units, one for each unit of mass."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(gains.repeat(sent, axis=0).repeat(taken, axis=1), maximize=True)
    found = np.zeros(gains.shape, np.int32)
    np.add.at(found, (rows // sent, columns // taken), 1)
    return found


def _of_programme(gains: np.ndarray, sent: int, taken: int) -> np.ndarray:
    """The plan as a linear programme, whose vertices are whole numbers of masses."""
    # Column generation (Dantzig & Wolfe 1960): it begins with the best partners of each unit, and takes in all pairs
    # whose gain exceeds the prices of its solution.
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    p, q = gains.shape
    gains = gains.astype(float) / (np.abs(gains).max() or 1.0)
    masses = np.repeat([sent, taken], [p, q])
    among = np.zeros(gains.shape, bool)
    ends = np.union1d(np.arange(p) * sent, np.arange(q) * taken)
    among[ends // sent, ends // taken] = True  # so that there is a plan
    for axis, size in enumerate(gains.shape):
        most = min(size, _PARTNERS * size // min(p, q))
        best = np.argpartition(-gains, most - 1, axis=axis).take(np.arange(most), axis=axis)
        np.put_along_axis(among, best, True, axis=axis)
    while True:
        rows, columns = np.nonzero(among)
        units = np.stack([rows, p + columns], axis=1).ravel()
        sums = csc_array((np.ones(len(units)), units, np.arange(0, len(units) + 1, 2)), (p + q, len(rows)))
        given: Any = {
            "A_eq": sums,
            "b_eq": masses,
            "options": {"presolve": False, "dual_feasibility_tolerance": _EXACT},
        }
        solved = linprog(-gains[rows, columns], method="highs-ds", **given)
        prices = -solved.eqlin.marginals
        better = (gains > prices[:p, None] + prices[p:] + _EXACT) & ~among
        if not better.any():
            break
        among |= better
    found = np.zeros(gains.shape, np.int32)
    found[rows, columns] = np.rint(solved.x)
    return found
