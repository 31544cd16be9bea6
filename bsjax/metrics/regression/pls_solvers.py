"""Solvers for the feature weights of a PLS component: the leading right singular vector of a cross-product."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.linalg.eigenvectors import leading_eigenvector, power_iteration
from bsjax.metrics.numerics import nonzero, rotated_to_few_columns, safe_sqrt
from bsjax.metrics.regression.deflated_cross_product import DeflatedCrossProduct, cross_product_to_deflate

Weights = tuple[Float[Array, "folds p"], Float[Array, " folds"], Float[Array, "folds m"]]
"""Unit weights, the length of the cross-product along them, and the starting vector of the next component."""


@dataclass(frozen=True)
class Solver:
    """A method of computing the feature weights of successive components.

    Attributes:
        begin: function of the cross-products of every fold, the number of components, the targets and the training mask
            of every fold; returns the cross-product to deflate and the starting vector.
        weights: function of both; returns the cross-product and the weights of the next component.
        targets: transforms the centred targets ``(stimuli, targets)``: scaled, and in fewer columns if the solver
            allows. Scores do not depend on the scale of the targets, and repeated products of large values would
            overflow in float32.
    """

    begin: Callable[[Array, int, Array, Array], tuple[DeflatedCrossProduct, Array]]
    weights: Callable[[DeflatedCrossProduct, Array], tuple[DeflatedCrossProduct, Weights]]
    targets: Callable[[Array], Array]


def _of_size_1(y: Float[Array, "n q"]) -> Float[Array, "n q"]:
    return y / jax.lax.stop_gradient(jnp.max(jnp.abs(y), initial=float(jnp.finfo(y.dtype).tiny)))


def _begin_converged(
    cross: Float[Array, "folds s p"], n_components: int, targets: Array, train: Array
) -> tuple[DeflatedCrossProduct, Float[Array, "folds m"]]:
    deflated = cross_product_to_deflate(cross, n_components, with_square=True)
    # The target (or feature) with the largest share in the cross-product.
    largest = jnp.argmax(jnp.diagonal(deflated.square, axis1=1, axis2=2), axis=1)
    return deflated, jnp.take_along_axis(deflated.square, largest[:, None, None], axis=1)[:, 0]


def _converged(cross: DeflatedCrossProduct, start: Float[Array, "folds m"]) -> tuple[DeflatedCrossProduct, Weights]:
    cross = cross.brought_up_to_date()
    leading = leading_eigenvector(cross.square, jax.lax.stop_gradient(start))
    if cross.on_features:
        return cross, (leading.vector, safe_sqrt(leading.value * cross.scale), leading.second)
    direction = cross.times_targets(leading.vector)
    length = safe_sqrt(jnp.sum(direction**2, axis=1))
    return cross, (direction / nonzero(length)[:, None], length, leading.second)


def _begin_nipals(
    cross: Float[Array, "folds s p"], n_components: int, targets: Float[Array, "n s"], train: Float[Array, "folds n"]
) -> tuple[DeflatedCrossProduct, Float[Array, "folds s"]]:
    # The unit vector of the first target that varies over the training stimuli of a fold.
    mean = (train @ targets) / jnp.sum(train, axis=1, keepdims=True)
    spread = jnp.max(jnp.abs(targets[None] - mean[:, None]) * train[:, :, None], axis=1)
    first = jnp.argmax(spread > rounding(targets, CONSTANT), axis=1)
    start = jax.nn.one_hot(first, targets.shape[1], dtype=targets.dtype)
    return cross_product_to_deflate(cross, n_components, with_square=False), start


def _nipals(cross: DeflatedCrossProduct, start: Float[Array, "folds s"]) -> tuple[DeflatedCrossProduct, Weights]:
    cross = cross.with_base_up_to_date()
    weights, length = power_iteration(cross.base, start)
    return cross, (weights, length, start)


SOLVERS = {
    "converged": Solver(_begin_converged, _converged, lambda y: rotated_to_few_columns(_of_size_1(y))),
    "nipals": Solver(_begin_nipals, _nipals, _of_size_1),
}
"""Solvers by name: converged to rounding level, or stopped as in scikit-learn and Brain-Score."""
