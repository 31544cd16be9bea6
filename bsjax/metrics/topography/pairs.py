"""Pairs of units: the correlation of their responses, and the distance between them."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.arrays import Features, PerStimulus
from bsjax.metrics.numerics import deviations, safe_sqrt

Positions = Float[Array, "p 2"]
Pairs = Float[Array, "p p"]
PairMask = Bool[Array, "p p"]


def unit_correlations(x: Features, weights: PerStimulus | None = None) -> tuple[Pairs, PairMask]:
    """Correlations over stimuli of all pairs of units, and a mask of pairs of which neither is constant."""
    centred = deviations(x, None if weights is None else weights[:, None] > 0, axis=0)
    values, squares = centred.values, centred.squares
    if weights is not None:
        values = (values - (weights @ values / jnp.sum(weights))[None]) * safe_sqrt(weights)[:, None]
        squares = jnp.sum(values**2, axis=0, keepdims=True)
    units = values / jnp.sqrt(jnp.where(centred.constant, 1.0, squares))
    varied = ~centred.constant[0]
    return jnp.clip(units.T @ units, -1.0, 1.0), varied[:, None] & varied[None, :]


def distances(positions: Positions) -> Pairs:
    """Euclidean distances of all pairs of positions."""
    x, y = positions.T
    return safe_sqrt((x[:, None] - x[None, :]) ** 2 + (y[:, None] - y[None, :]) ** 2)


def of_two(units: int, where: PairMask | None) -> PairMask:
    """A mask of the pairs that count: two different units, and True in ``where``."""
    different = ~jnp.eye(units, dtype=bool)
    return different if where is None else different & where
