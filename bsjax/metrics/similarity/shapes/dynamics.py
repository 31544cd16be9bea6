"""Dynamical similarity analysis: linear dynamics of two systems, after the best rotation of their state spaces."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import eigh, principal_axes, svd
from bsjax.engine.primitives.triangular import solve_with_cholesky
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Mask, Scalar
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed
from bsjax.metrics.linalg.singular_values import polar_factor, singular_power
from bsjax.metrics.numerics import deviations, divide_or_nan, of_order_one, rotated_to_few_columns
from bsjax.metrics.optimisation.fixed_points import fixed_point, random_rotations
from bsjax.metrics.similarity.shapes.shape import to_unit_norm

# Random rotations from which the search for the best one starts, besides those that align symmetric parts.
_RANDOM_STARTS = 8
# Steps from each start; from the best one, the search goes on by Newton's method.
_STEPS, _NEWTON_STEPS = 100, 10
# A whitened coordinate has the length 1, or 0 if the data have fewer dimensions.
_HALF = 0.5

Dynamics = Float[Array, "k k"]


@at_full_precision
def dynamical_similarity(
    x: Float[Array, "n p t"], y: Float[Array, "n q u"], *, delays: int = 5, rank: int = 10, where: Mask | None = None
) -> Scalar:
    r"""Similarity of the dynamics of two systems, whatever the geometry of their states (DSA).

    Responses at successive time points are stacked (delay embedding), reduced to the leading ``rank`` dimensions of
    equal variance, and predicted one time point ahead by a matrix (:func:`linear_dynamics`). The matrices A and B are
    compared after the best rotation of one state space to the other:

    .. math:: 1 - \frac{\min_{C^T C = I} \|A - C B C^T\|_F^2}{\|A\|_F^2 + \|B\|_F^2}

    The search starts from several rotations; the best result counts. It may not be the very best one for a large rank.

    Args:
        x: responses ``(stimuli, units, time points)``.
        y: responses of the other system, at time points of the same distance; units and time points may differ in
            number.
        delays: number of successive time points that are stacked.
        rank: number of dimensions.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from -1 to 1 in the dtype of the inputs, 1 for equal dynamics. NaN where a side is constant, or where
        the first time points do not determine its dynamics.

    Raises:
        ValueError: there are too few time points or dimensions for the delays and the rank.

    Source: Ostrow et al. 2023, "Beyond Geometry: Comparing the Temporal Structure of Computation in Neural Circuits
        with Dynamical Similarity Analysis".

    Example:
        >>> angles = jnp.arange(20.0)[None] * 0.5 + jnp.array([[0.0], [1.0], [2.5]])
        >>> x = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
        >>> print(f"{dynamical_similarity(x, 2.0 * x[:, ::-1], delays=1, rank=2):.3f}")
        1.000
    """
    one, other = (linear_dynamics(side, delays=delays, rank=rank, where=where) for side in (x, y))
    lengths = jnp.sum(one**2) + jnp.sum(other**2)
    undefined = ~(lengths > 0)
    # An undefined side is NaN, which the gradient of a product would pass to the other side.
    one, other = (jnp.where(undefined, 0.0, side) for side in (one, other))
    turn = jax.lax.stop_gradient(_best_turn(one, other))
    return divide_or_nan(2.0 * jnp.sum(one * (turn @ other @ turn.T)), lengths, undefined)


@at_full_precision
def linear_dynamics(
    x: Float[Array, "n p t"], *, delays: int = 5, rank: int = 10, where: Mask | None = None
) -> Dynamics:
    r"""The matrix that best predicts the next state of a system: dynamic mode decomposition of delayed responses.

    .. math:: \min_A \sum_{i,t} \|z_{i,t+1} - A z_{i,t}\|^2

    The states :math:`z` are the leading left singular vectors of all stacked responses, each centred over stimuli and
    time. Predictions do not cross from one stimulus to another.

    Args:
        x, delays, rank, where: as for :func:`dynamical_similarity`.

    Returns:
        ``(rank, rank)`` in the dtype of ``x``, defined up to a rotation of the states; rows and columns of dimensions
        that the responses do not have are zero. NaN where they are constant, or where the first time points do not
        determine it. Functions of it that do not depend on the rotation are differentiable, also for equal singular
        values.

    Raises:
        ValueError: there are too few time points or dimensions for the delays and the rank.

    Source: Schmid 2010 (dynamic mode decomposition); Arbabi & Mezic 2017 (with delays).

    Example:
        >>> angles = jnp.arange(20.0) * 0.5
        >>> print(linear_dynamics(jnp.stack([jnp.cos(angles), jnp.sin(angles)])[None], delays=1, rank=2).shape)
        (2, 2)
    """
    n, p, t = x.shape
    steps, dimensions = t - delays + 1, delays * p
    if not (1 <= delays and steps >= 2):
        raise ValueError(f"delays must be from 1 to the number of time points less 1 ({t - 1}), and is {delays}")
    if not 1 <= rank <= min(n * steps, dimensions):
        raise ValueError(f"rank must be from 1 to {min(n * steps, dimensions)}, the size of states, and is {rank}")
    counted = None if where is None else jnp.repeat(where, t)[:, None]
    flat = jnp.swapaxes(x, 1, 2).reshape(n * t, p)
    # Differences from one of the rows are exactly zero where a unit is constant, over any number of rows.
    first = 0 if counted is None else jnp.argmax(counted[:, 0])
    found = deviations(flat - jax.lax.stop_gradient(flat[first][None]), counted, axis=0).values
    scaled = rotated_to_few_columns(of_order_one(found)).reshape(n, t, -1)
    shown = jnp.ones(n, x.dtype) if where is None else where.astype(x.dtype)
    stacked = jnp.concatenate([scaled[:, k : k + steps] for k in range(delays)], axis=2) * shown[:, None, None]
    rows = rotated_to_few_columns(stacked.reshape(n * steps, -1))
    axes = svd(jax.lax.stop_gradient(rows))[2][:, :rank]
    states = (singular_power(rows, 1.0, 0, rank) @ axes).reshape(n, steps, rank)
    before, after = (part.reshape(-1, rank) for part in (states[:, :-1], states[:, 1:]))
    absent = jnp.sum(jax.lax.stop_gradient(states) ** 2, axis=(0, 1)) < _HALF
    factor, determined = cholesky_if_well_posed(before.T @ before + jnp.diag(absent.astype(x.dtype)))
    dynamics = solve_with_cholesky(factor, before.T @ after).T
    return jnp.where(determined & ~jnp.all(absent), dynamics, jnp.nan)


def _best_turn(one: Dynamics, other: Dynamics) -> Dynamics:
    """The rotation of the second system that makes it most similar to the first, the best of several local optima."""
    one, other = (jnp.where(jnp.isfinite(side), jax.lax.stop_gradient(side), 0.0) for side in (one, other))
    one, other = to_unit_norm(one), to_unit_norm(other)

    largest = principal_axes(one)[0][0] * principal_axes(other)[0][0]

    def nearer(turn: Dynamics) -> Dynamics:
        # The overlap plus `largest` times the squared length of the turn, which is the same for all rotations, is
        # convex: the rotation nearest to its gradient has a larger overlap.
        return polar_factor(one @ turn @ other.T + one.T @ turn @ other + 2.0 * largest * turn)

    ours, theirs = _signed_axes(one), _signed_axes(other)
    turned = jnp.asarray(random_rotations(_RANDOM_STARTS, len(one)), one.dtype)
    starts = jnp.concatenate([ours @ jnp.swapaxes(theirs, 1, 2), ours[0] @ turned @ theirs[0].T])
    found = jax.vmap(lambda start: fixed_point(nearer, start, steps=_STEPS))(starts)
    overlaps = jnp.sum(one[None] * (found @ other @ jnp.swapaxes(found, 1, 2)), axis=(1, 2))
    return jax.lax.fori_loop(0, _NEWTON_STEPS, partial(_newton_step, one, other), found[jnp.argmax(overlaps)])


def _newton_step(one: Dynamics, other: Dynamics, _: Array, turn: Dynamics) -> Dynamics:
    """A turn closer to the maximum of the overlap, which is flat where oscillations have nearly one frequency."""
    above = np.triu_indices(len(one), 1)
    if not len(above[0]):
        return turn

    def turned(by: Float[Array, " angles"]) -> Dynamics:
        skew = jnp.zeros_like(one).at[above].set(by)
        skew = skew - skew.T
        return (jnp.eye(len(one), dtype=one.dtype) + skew + 0.5 * skew @ skew) @ turn

    def overlap(by: Float[Array, " angles"]) -> Scalar:
        return jnp.sum(one * (turned(by) @ other @ turned(by).T))

    start = jnp.zeros(len(above[0]), one.dtype)
    curvatures, axes = eigh(jax.hessian(overlap)(start))
    sizes = jnp.abs(curvatures)
    flat = sizes <= rounding(sizes, len(sizes)) * jnp.max(sizes)
    step = axes @ jnp.where(flat, 0.0, (axes.T @ jax.grad(overlap)(start)) / jnp.where(flat, 1.0, sizes))
    found = polar_factor(turned(step / jnp.maximum(1.0, jnp.sqrt(jnp.sum(step**2)))))
    better = jnp.sum(one * (found @ other @ found.T)) > jnp.sum(one * (turn @ other @ turn.T)) - rounding(one)
    return jnp.where(better, found, turn)


def _signed_axes(dynamics: Dynamics) -> Float[Array, "starts k k"]:
    """Bases of the states (columns) from which searches start, which are the same for the same rotated dynamics.

    They are the eigenvectors of the symmetric part. Each may have either sign: its largest antisymmetric product with
    an earlier one is made positive, or, in the other bases, that with one of them each.
    """
    axes = eigh(0.5 * (dynamics + dynamics.T))[1]
    products = axes.T @ (dynamics - dynamics.T) @ axes
    earlier = jnp.triu(products, 1)

    def sign(signs: Float[Array, " k"], j: Array) -> tuple[Float[Array, " k"], None]:
        i = jnp.argmax(jnp.abs(earlier[:, j]))
        return signs.at[j].set(jnp.where(earlier[i, j] < 0, -signs[i], signs[i])), None

    ones = jnp.ones(len(axes), axes.dtype)
    signs = jax.lax.scan(sign, ones, jnp.arange(1, len(axes)))[0]
    by_each = jnp.where(products < 0, -ones, ones)
    return axes[None] * jnp.concatenate([signs[None], by_each])[:, None, :]
