r"""Leave-one-out errors of a ridge regression for every penalty, and the penalty of the smallest error.

The errors follow from the fit to all stimuli: :math:`e_i = (y_i - \hat y_i) / (1 - 1/n - h_i)`, with the leverage
:math:`h_i` of stimulus i. To choose one penalty for all targets, bounds from partial fractions exclude most penalties;
the remaining ones are compared directly. The choice is therefore the same as with direct errors of all penalties.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.programs.platforms import platform
from bsjax.engine.tolerances import NEAR_POWER, TERMS, rounding
from bsjax.metrics.linalg.partial_fractions import all_penalties
from bsjax.metrics.numerics import inverse_root
from bsjax.metrics.regression.ridge_system import Spectrum

# Below this number of operations, the approximation saves less than a millisecond of direct errors of all penalties,
# and takes a third of a second to compile.
_FEW = 1e7


class LeaveOneOut(NamedTuple):
    """The parts of leave-one-out errors that all penalties share.

    With ``z = alpha / (values + alpha)``, the residuals at a penalty are ``rest + basis @ (z * coordinates)``, and
    ``1 - 1/n - h`` is ``unexplained + basis**2 @ z - constant**2 alpha / (shift + alpha)``. These sums do not cancel,
    even with more features than stimuli. ``rest`` is None where the basis is complete.
    """

    basis: Float[Array, "n k"]
    coordinates: Float[Array, "k q"]
    rest: Float[Array, "n q"] | None
    values: Float[Array, " k"]
    unexplained: Float[Array, " n"]
    constant: Float[Array, " n"]
    shift: Float[Array, ""]
    train: Float[Array, " n"]


def leave_one_out(of: Spectrum, y: Float[Array, "n q"], train: Float[Array, " n"]) -> LeaveOneOut:
    """The parts of leave-one-out errors that all penalties share, for centred targets."""
    of, y = jax.lax.stop_gradient((of, y))
    values, none = of.values, jnp.zeros_like(train)
    if of.features is None:
        return LeaveOneOut(of.vectors, of.vectors.T @ y, None, values, none, of.constant, of.shift, train)
    basis = of.features @ (of.vectors * inverse_root(values, values > 0)[None])
    coordinates = basis.T @ y
    unexplained = 1.0 - 1.0 / jnp.sum(train) - jnp.sum(basis**2, axis=1)
    return LeaveOneOut(basis, coordinates, y - basis @ coordinates, values, unexplained, none, of.shift, train)


def best_for_all(parts: LeaveOneOut, alphas: Float[Array, " penalties"]) -> Int[Array, ""]:
    """Index of the penalty with the smallest error summed over targets; the first one if several are equal.

    The sum depends only on inner products of targets, so partial fractions compute all penalties at the cost of a few
    products of stimuli x stimuli matrices.
    """
    k, q = parts.coordinates.shape

    def total(index: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.sum(_squared_errors(parts, alphas[index]))

    # On a TPU, the products of the bounds take several seconds to compile.
    if platform() == "tpu" or len(alphas) * q <= 4 * k or _operations(parts, alphas) < _FEW:
        return jnp.argmin(batched_map(total, jnp.arange(len(alphas))))

    lower = _least_errors(parts, alphas)
    order = jnp.argsort(lower)

    def could_win(state: tuple[Array, Array]) -> Array:
        place, exact = state
        return (place < len(alphas)) & (lower[order[jnp.minimum(place, len(alphas) - 1)]] <= jnp.min(exact))

    def compare(state: tuple[Array, Array]) -> tuple[Array, Array]:
        place, exact = state
        index = order[place]
        return place + 1, exact.at[index].set(total(index))

    return jnp.argmin(jax.lax.while_loop(could_win, compare, (jnp.asarray(0), jnp.full_like(alphas, jnp.inf)))[1])


def _least_errors(parts: LeaveOneOut, alphas: Float[Array, " penalties"]) -> Float[Array, " penalties"]:
    r"""Lower bounds of the errors of all penalties, squared and summed over stimuli and targets, by partial fractions.

    A squared residual is a sum over pairs of eigenvectors. Each term is accurate to :math:`\epsilon^{2/3}` of its size
    (see ``all_penalties``). The same partial fractions of absolute values give the sum of these sizes.
    """
    terms = _Terms(
        parts.basis.T,
        parts.coordinates @ parts.coordinates.T,
        None if parts.rest is None else parts.coordinates @ parts.rest.T,
        None if parts.rest is None else jnp.sum(parts.rest**2, axis=1),
    )
    found, sizes = (_summed(parts, alphas, each) for each in (terms, jax.tree.map(jnp.abs, terms)))
    return found - rounding(alphas, TERMS, 2 * NEAR_POWER) * sizes


class _Terms(NamedTuple):
    """Inner products over targets in squared errors: of coordinates, of coordinates and rest, and of rest."""

    columns: Float[Array, "k n"]
    gram: Float[Array, "k k"]
    crossed: Float[Array, "k n"] | None
    rest: Float[Array, " n"] | None


def _summed(parts: LeaveOneOut, alphas: Float[Array, " penalties"], terms: _Terms) -> Float[Array, " penalties"]:
    """Squared errors summed over stimuli and targets."""
    squares = alphas[:, None] ** 2 * all_penalties(terms.columns, terms.gram, parts.values, alphas)
    if terms.crossed is not None and terms.rest is not None:
        squares = squares + 2.0 * _shrinkage(parts, alphas) @ (terms.columns * terms.crossed) + terms.rest[None]
    return jnp.sum(squares * jax.vmap(_scale, (None, 0))(parts, alphas) ** 2, axis=1)


def best_for_each(parts: LeaveOneOut, alphas: Float[Array, " penalties"]) -> Int[Array, " q"]:
    """Index of the penalty with the smallest error of each target; the first one if several are equal."""
    return jnp.argmin(batched_map(lambda alpha: _squared_errors(parts, alpha), alphas), axis=0)


def _squared_errors(parts: LeaveOneOut, alpha: Float[Array, ""]) -> Float[Array, " q"]:
    """Squared errors of each target, summed over stimuli."""
    residual = parts.basis @ (_shrinkage(parts, alpha[None])[0][:, None] * parts.coordinates)
    if parts.rest is not None:
        residual = residual + parts.rest
    return jnp.sum((residual * _scale(parts, alpha)[:, None]) ** 2, axis=0)


def _shrinkage(parts: LeaveOneOut, alphas: Float[Array, " penalties"]) -> Float[Array, "penalties k"]:
    return alphas[:, None] / (parts.values[None] + alphas[:, None])


def _scale(parts: LeaveOneOut, alpha: Float[Array, ""]) -> Float[Array, " n"]:
    """Factor from a residual to a leave-one-out error; 0 for stimuli outside the training set."""
    own = parts.basis**2 @ _shrinkage(parts, alpha[None])[0]
    complement = parts.unexplained + own - parts.constant**2 * (alpha / (parts.shift + alpha))
    return parts.train / jnp.where(parts.train > 0, complement, jnp.ones_like(complement))


def _operations(parts: LeaveOneOut, alphas: Float[Array, " penalties"]) -> float:
    return 2.0 * len(alphas) * parts.basis.size * parts.coordinates.shape[1]
