"""Dissimilarities of the response patterns to two stimuli, by name: what the entries of an RDM are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.streaming import DependsOn
from bsjax.metrics.numerics import around_most, deviations

Patterns = Callable[[Array, Array | None], tuple[Array, Array]]


@dataclass(frozen=True)
class Dissimilarity:
    """A dissimilarity of two patterns; what is left out holds for any.

    Attributes:
        between: of two sets of patterns ``(r, units)`` and ``(c, units)``, all pairs ``(r, c)``.
        patterns: from responses ``(stimuli, units)``, of zeros in units that do not count, and the units that do (all
            if None) to what ``between`` takes, and of which stimuli there is none; those are given as zeros.
        errors: from such responses and the patterns to what each stimulus adds to the rounding of what ``between``
            gives: of two entries, those that may be one by the errors of their stimuli have the same rank.
        finish: what is done to each entry in the end; it keeps their order, and is left out where they are ranked.
        depends_on: what it depends on of the responses, see ``bsjax.metrics.similarity.similarity.Similarity``.
        ignores_zero_units: whether a unit of zeros changes nothing.
        varied_patterns: whether a stimulus with the same response in all units has no dissimilarity.
    """

    between: Callable[[Array, Array], Array]
    patterns: Patterns = lambda x, where: (x, jnp.zeros(len(x), bool))
    errors: Callable[[Array, Array], Array] = lambda x, patterns: jnp.zeros(len(x), x.dtype)
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


def _rounding(x: Float[Array, "n p"]) -> float:
    """What an inner product may be off by, of half its vectors' lengths: as a sum of so many terms of random signs."""
    return float(jnp.finfo(x.dtype).eps) * (8.0 + float(x.shape[1]) ** 0.5)


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
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(x), axis=1, keepdims=True))
    zero = largest == 0
    x = x / jnp.where(zero, 1.0, largest)
    return x / jnp.sqrt(jnp.where(zero, 1.0, jnp.sum(x**2, axis=1, keepdims=True))), zero[:, 0]


def _errors_of_directions(x: Array, patterns: Array) -> Array:
    # Responses have the rounding of their own size, which their mean is part of.
    larger = jnp.sqrt(jnp.sum(x**2, axis=1)) / jnp.abs(jnp.sum(x * patterns, axis=1))
    return _rounding(x) * jnp.where(jnp.isfinite(larger), larger, 1.0)


def _from_most(
    x: Float[Array, "n p"], where: Bool[Array, " p"] | None = None
) -> tuple[Float[Array, "n p"], Bool[Array, " n"]]:
    """Patterns less that of most stimuli, which changes no distance and takes digits; what is not finite is lost."""
    lost = ~jnp.all(jnp.isfinite(x), axis=1)
    x = jnp.where(lost[:, None], 0.0, x)
    return around_most(x, ~lost[:, None]), lost


def _errors_of_differences(x: Array, patterns: Array) -> Array:
    # A square of a distance has the rounding of both squared lengths, and of the responses times the distance.
    length, of_responses = (jnp.sqrt(jnp.sum(side**2, axis=1)) for side in (patterns, x))
    found = _rounding(x) * length * (length + of_responses)
    return jnp.where(jnp.isfinite(found), found, 0.0)


def _one_less_products(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    return 1.0 - jnp.clip(a @ b.T, -1.0, 1.0)


def _squared_distances(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    squares = jnp.sum(a**2, axis=1)[:, None] + jnp.sum(b**2, axis=1)[None, :]
    found = squares - 2.0 * a @ b.T
    return jnp.where(found <= 2.0 * _rounding(a) * squares, 0.0, found)  # as of repeated patterns


def _root(squares: Float[Array, "..."]) -> Float[Array, "..."]:
    """With a zero gradient at zero."""
    positive = squares > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1.0)), 0.0)


_OF_DISTANCES: Any = {"depends_on": "inner products", "ignores_zero_units": True}

DISSIMILARITIES: dict[str, Dissimilarity] = {
    "correlation": Dissimilarity(
        _one_less_products, _unit_patterns, _errors_of_directions, depends_on="correlations", varied_patterns=True
    ),
    "cosine": Dissimilarity(_one_less_products, _directions, _errors_of_directions, ignores_zero_units=True),
    "euclidean": Dissimilarity(_squared_distances, _from_most, _errors_of_differences, _root, **_OF_DISTANCES),
    "sqeuclidean": Dissimilarity(_squared_distances, _from_most, _errors_of_differences, **_OF_DISTANCES),
}
"""1 - Pearson correlation, 1 - cosine of the angle, and the Euclidean distance, as it is and squared."""
