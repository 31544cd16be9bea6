"""Maximum-likelihood fit of a cumulative Gaussian with chance level and lapse rate, from many starts in parallel."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import erfc
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Flag, Scalar
from bsjax.metrics.numerics import deviations

CHANCE = 0.5
_LEAST_LAPSE, _GREATEST_LAPSE = 0.03, 0.5
_SLOPES = 50
# Shares that jump between neighbouring levels are fitted equally well by any steep slope: the ridge selects the
# shallowest.
_RIDGE = 1e-7
_STEPS = 50
_FIRST_DAMPING, _NEARLY_UNDAMPED, _GIVE_UP = 1e-2, 1e-4, 1e6
_FARTHEST = 30.0  # standard deviations, where the cumulative Gaussian is 0 or 1 in any precision


@at_full_precision
def fit_cumulative_gaussian(
    x: Float[Array, " n"], y: Float[Array, " n"], kept: Bool[Array, " n"]
) -> tuple[Scalar, Scalar, Scalar]:
    r"""Slope, midpoint and lapse rate of :math:`p = 0.5 + (0.5 - \lambda)\, \Phi(\alpha (x - \beta))`.

    The fit minimises :math:`-\sum_i y_i \log p_i + (1 - y_i) \log(1 - p_i)` with :math:`0.03 \le \lambda \le 0.5`.
    Damped Newton descents start from 50 slopes between 0.001 and 10, each with a midpoint at every level. A ridge of
    1e-7 on the squared slope (per standard deviation of the levels) makes the optimum unique where shares jump from
    one level to the next.

    Args:
        x: levels, in any unit and order.
        y: share of correct answers at each level.
        kept: True for the levels to fit; the others must be finite.

    Returns:
        Three scalars, with the gradients of the optimum (implicit function theorem). Where the shares do not depend on
        the level, the slope is zero and the midpoint is the mean level.

    Source: Wichmann & Hill 2001.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> x = jnp.arange(10.0)
        >>> y = 0.5 + 0.45 * jnp.asarray(jax.scipy.stats.norm.cdf(0.8 * (x - 4.0)))
        >>> alpha, beta, lapse = compiled(fit_cumulative_gaussian)(x, y, x >= 0)
        >>> print(f"{alpha:.2f} {beta:.2f} {lapse:.2f}")
        0.80 4.00 0.05
    """
    # Standardised levels make the steps independent of the unit.
    at = jax.lax.stop_gradient(x)
    _, squares, mean, count, constant = deviations(at, kept, 0)
    varied = ~constant & (count > 0)
    sd = jnp.sqrt(squares / jnp.maximum(count, 1.0))
    centre, spread = jnp.where(varied, mean, jnp.zeros_like(mean))[0], jnp.where(varied, sd, jnp.ones_like(sd))[0]
    intercept, slope, lapse = _fit((x - centre) / spread, y, kept, _starts(at, y, kept, centre, spread))
    level = slope == 0
    beta = centre - spread * jnp.where(level, 0.0, intercept) / jnp.where(level, 1.0, slope)
    return slope / spread, beta, lapse


def _starts(
    x: Float[Array, " n"], y: Float[Array, " n"], kept: Bool[Array, " n"], centre: Scalar, spread: Scalar
) -> Float[Array, "starts 3"]:
    """Intercept, slope and lapse rate on standardised levels: all slopes at the first level, then at the next."""
    alpha = jnp.logspace(-3, 1, _SLOPES, dtype=x.dtype)[None, :]
    intercept = alpha * (centre - x)[:, None]
    best = jnp.max(jnp.where(kept, y, jnp.zeros_like(y)), keepdims=True)
    lapse = jnp.clip(1.0 - best, _LEAST_LAPSE, _GREATEST_LAPSE)
    starts = jnp.broadcast_arrays(intercept, alpha * spread, lapse[:, None])
    return jnp.stack([s.ravel() for s in starts], axis=1)


class _Point(NamedTuple):
    """Parameters on standardised levels, and the loss with its derivatives there."""

    at: Float[Array, "3"]
    loss: Scalar
    gradient: Float[Array, "3"]
    curvature: Float[Array, "3 3"]


def _evaluate(at: Float[Array, "3"], z: Float[Array, " n"], y: Float[Array, " n"], kept: Bool[Array, " n"]) -> _Point:
    """Negative log likelihood and its first two derivatives; the bounds of the lapse rate keep ``p`` off 0 and 1."""
    # Derivatives are written out: the compiled program is a third of the size with automatic differentiation.
    intercept, slope, lapse = at
    height = 1.0 - CHANCE - lapse
    t = jnp.clip(intercept + slope * z, -_FARTHEST, _FARTHEST)
    area, density = 0.5 * erfc(-math.sqrt(0.5) * t), jnp.exp(-0.5 * t**2) / math.sqrt(2.0 * math.pi)
    p = CHANCE + height * area
    zeros = jnp.zeros_like(y)
    loss = -jnp.sum(jnp.where(kept, y * jnp.log(p) + (1.0 - y) * jnp.log1p(-p), zeros)) + _RIDGE * slope**2
    # The first two derivatives of the loss with respect to p, then to t and the lapse rate.
    by_p = jnp.where(kept, (1.0 - y) / (1.0 - p) - y / p, zeros)
    by_pp = jnp.where(kept, (1.0 - y) / (1.0 - p) ** 2 + y / p**2, zeros)
    p_by_t = height * density
    by_t, by_lapse = by_p * p_by_t, -by_p * area
    by_tt = p_by_t * (by_pp * p_by_t - by_p * t)
    by_t_lapse = -density * (by_pp * height * area + by_p)
    design = jnp.stack([jnp.ones_like(z), z])
    gradient = jnp.append(design @ by_t, jnp.sum(by_lapse)).at[1].add(2.0 * _RIDGE * slope)
    mixed = (design @ by_t_lapse)[:, None]
    curvature = jnp.block([[(design * by_tt[None, :]) @ design.T, mixed], [mixed.T, (area**2 @ by_pp)[None, None]]])
    return _Point(at, loss, gradient, curvature.at[1, 1].add(2.0 * _RIDGE))


def _fit(
    z: Float[Array, " n"], y: Float[Array, " n"], kept: Bool[Array, " n"], starts: Float[Array, "starts 3"]
) -> Float[Array, "3"]:
    """Parameters of the lowest loss reached. Only the last step is differentiated, which makes the gradient exact."""
    fixed_z, fixed_y, starts = jax.lax.stop_gradient((z, y, starts))
    ends = jax.vmap(lambda start: _descend(start, fixed_z, fixed_y, kept))(starts)
    from_kept = jnp.repeat(kept, _SLOPES)
    best = jnp.argmin(jnp.where(from_kept, ends.loss, jnp.full_like(ends.loss, jnp.inf)))
    end = jax.tree.map(lambda values: values[best], ends)

    # At an optimum the Newton step is zero, but its derivative is the derivative of the optimum.
    gradient = _evaluate(end.at, z, y, kept).gradient
    step, strict = _newton_step(end._replace(gradient=gradient), jnp.zeros_like(end.loss))
    polished = _bounded(end.at + step)
    moved = _evaluate(jax.lax.stop_gradient(polished), fixed_z, fixed_y, kept)
    return jnp.where(strict & (moved.loss <= end.loss * (1.0 + rounding(z, 10))), polished, end.at)


def _descend(start: Float[Array, "3"], z: Float[Array, " n"], y: Float[Array, " n"], kept: Bool[Array, " n"]) -> _Point:
    """Newton descent from one start, damped so that each step lowers the loss, within the bounds of the lapse rate."""
    first = _evaluate(start, z, y, kept)

    def going_on(state):
        _, damping, steps = state
        return (damping < _GIVE_UP) & (steps < _STEPS)

    def step(state):
        here, damping, steps = state
        move, convex = _newton_step(here, damping)
        moved = _evaluate(_bounded(here.at + move), z, y, kept)
        better = convex & (moved.loss < here.loss)
        # Only the gain of a nearly undamped step estimates the distance to the optimum.
        gain = -0.5 * jnp.dot(here.gradient, move)
        settled = convex & (damping <= _NEARLY_UNDAMPED) & (gain <= rounding(z) * here.loss)
        damping = jnp.where(settled, jnp.full_like(damping, jnp.inf), jnp.where(better, 0.1 * damping, 10.0 * damping))
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), moved, here), damping, steps + 1

    return jax.lax.while_loop(going_on, step, (first, jnp.full_like(first.loss, _FIRST_DAMPING), 0))[0]


def _bounded(at: Float[Array, "3"]) -> Float[Array, "3"]:
    return jnp.append(at[:2], jnp.clip(at[2:], _LEAST_LAPSE, _GREATEST_LAPSE))


def _newton_step(here: _Point, damping: Scalar) -> tuple[Float[Array, "3"], Flag]:
    """The damped Newton step, and whether the damped curvature is positive definite; an active bound is held."""
    lapse, pull = here.at[2], jax.lax.stop_gradient(here.gradient[2])
    held = ((lapse <= _LEAST_LAPSE) & (pull >= 0)) | ((lapse >= _GREATEST_LAPSE) & (pull <= 0))
    (a, b, c), (_, d, e), (_, _, f) = here.curvature
    a, d, f = a + damping, d + damping, f + damping
    # The inverse of a symmetric 3 x 3 matrix in closed form costs less than a batch of factorisations.
    c, e = (jnp.where(held, 0.0, v) for v in (c, e))
    f = jnp.where(held, 1.0, f)
    cofactors = jnp.array(
        [
            [d * f - e * e, c * e - b * f, b * e - c * d],
            [c * e - b * f, a * f - c * c, b * c - a * e],
            [b * e - c * d, b * c - a * e, a * d - b * b],
        ]
    )
    determinant = a * cofactors[0, 0] + b * cofactors[0, 1] + c * cofactors[0, 2]
    convex = (a > 0) & (a * d - b * b > 0) & (determinant > 0)
    gradient = jnp.append(here.gradient[:2], jnp.where(held, 0.0, here.gradient[2]))
    step = -(cofactors @ gradient) / jnp.where(convex, determinant, 1.0)
    return jnp.where(convex, step, jnp.zeros_like(step)), convex
