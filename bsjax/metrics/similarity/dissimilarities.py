"""Dissimilarities of the response patterns to two stimuli, by name: what the entries of an RDM are."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.streaming import DependsOn
from bsjax.metrics.numerics import deviations

_ROUNDING_ERRORS = 32.0  # within so many, dissimilarities are equal; a power of two

Patterns = Callable[[Array, Array | None], tuple[Array, Array]]


@dataclass(frozen=True)
class Dissimilarity:
    """A dissimilarity of two patterns; what is left out holds for any.

    Attributes:
        between: of two sets of patterns ``(r, units)`` and ``(c, units)``, all pairs ``(r, c)``.
        patterns: from responses ``(stimuli, units)`` and the units that count (all if None) to what ``between`` takes,
            and of which stimuli there is none; those are given as zeros.
        size: of the patterns, how large what ``between`` gives is: differences within rounding of it are none.
        finish: what is done to each entry after that, in order not to lose the digits of small ones.
        depends_on: what it depends on of the responses, see ``bsjax.metrics.similarity.similarity.Similarity``.
        ignores_zero_units: whether a unit of zeros changes nothing.
        varied_patterns: whether a stimulus with the same response in all units has no dissimilarity.
    """

    between: Callable[[Array, Array], Array]
    patterns: Patterns = lambda x, where: (
        x if where is None else jnp.where(where[None, :], x, 0.0),
        jnp.zeros(len(x), bool),
    )
    size: Callable[[Array], Array | float] = lambda patterns: 1.0
    finish: Callable[[Array], Array] = lambda dissimilarity: dissimilarity
    depends_on: DependsOn = "features"
    ignores_zero_units: bool = False
    varied_patterns: bool = False


def dissimilarity_named(name: str | Dissimilarity) -> Dissimilarity:
    """An entry of ``DISSIMILARITIES``.

    Raises:
        ValueError: there is none of this name; those that there are.

    Example:
        >>> dissimilarity_named("correlation").depends_on
        'correlations'
    """
    if isinstance(name, Dissimilarity):
        return name
    if name not in DISSIMILARITIES:
        raise ValueError(f"unknown dissimilarity {name!r}; there are: {', '.join(DISSIMILARITIES)}")
    return DISSIMILARITIES[name]


def without_rounding(dissimilarity: Float[Array, "r c"], size: Float[Array, ""] | float) -> Float[Array, "r c"]:
    """Those that differ by rounding alone are equal, as those of repeated patterns are: ranks would tell them apart."""
    step = _ROUNDING_ERRORS * float(jnp.finfo(dissimilarity.dtype).eps) * size
    rounding = step * jnp.round(dissimilarity / step) - dissimilarity
    return dissimilarity + jax.lax.stop_gradient(rounding)


def _unit_patterns(
    x: Float[Array, "n p"], where: Bool[Array, " p"] | None = None
) -> tuple[Float[Array, "n p"], Bool[Array, " n"]]:
    """Patterns without their mean and of unit length, and which of them are constant."""
    centred = deviations(x, None if where is None else where[None, :], axis=1)
    squares = jnp.where(centred.constant, jnp.ones_like(centred.squares), centred.squares)
    return centred.values / jnp.sqrt(squares), centred.constant[:, 0]


def _directions(
    x: Float[Array, "n p"], where: Bool[Array, " p"] | None = None
) -> tuple[Float[Array, "n p"], Bool[Array, " n"]]:
    """Patterns of unit length, and which of them are zero."""
    x = x if where is None else jnp.where(where[None, :], x, 0.0)
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(x), axis=1, keepdims=True))
    zero = largest == 0
    x = x / jnp.where(zero, 1.0, largest)
    return x / jnp.sqrt(jnp.where(zero, 1.0, jnp.sum(x**2, axis=1, keepdims=True))), zero[:, 0]


def _from_their_mean(
    x: Float[Array, "n p"], where: Bool[Array, " p"] | None = None
) -> tuple[Float[Array, "n p"], Bool[Array, " n"]]:
    """Patterns less the mean pattern, which changes no distance and takes digits; a NaN is that of its stimulus."""
    lost = jnp.any(jnp.isnan(x), axis=1)
    x = jnp.where(lost[:, None], 0.0, x)
    return deviations(x if where is None else jnp.where(where[None, :], x, 0.0), None, axis=0).values, lost


def _one_less_products(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    return 1.0 - jnp.clip(a @ b.T, -1.0, 1.0)


def _squared_distances(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    squares = jnp.sum(a**2, axis=1)[:, None] + jnp.sum(b**2, axis=1)[None, :]
    return jnp.maximum(squares - 2.0 * a @ b.T, 0.0)


def _largest_square(patterns: Float[Array, "n p"]) -> Float[Array, ""]:
    largest = jnp.max(jnp.sum(patterns**2, axis=1))
    return jax.lax.stop_gradient(jnp.maximum(largest, jnp.finfo(patterns.dtype).tiny))


def _root(squares: Float[Array, "..."]) -> Float[Array, "..."]:
    """With a zero gradient at zero."""
    positive = squares > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1.0)), 0.0)


DISSIMILARITIES: dict[str, Dissimilarity] = {
    "correlation": Dissimilarity(_one_less_products, _unit_patterns, depends_on="correlations", varied_patterns=True),
    "cosine": Dissimilarity(_one_less_products, _directions, ignores_zero_units=True),
    "euclidean": Dissimilarity(
        _squared_distances,
        _from_their_mean,
        _largest_square,
        _root,
        depends_on="inner products",
        ignores_zero_units=True,
    ),
    "sqeuclidean": Dissimilarity(
        _squared_distances, _from_their_mean, _largest_square, depends_on="inner products", ignores_zero_units=True
    ),
}
"""1 - Pearson correlation, 1 - cosine of the angle, and the Euclidean distance, as it is and squared."""
