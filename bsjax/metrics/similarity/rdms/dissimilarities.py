"""Dissimilarities between the response patterns of two stimuli, the entries of an RDM, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.streaming import DependsOn
from bsjax.metrics.arrays import Features, Mask
from bsjax.metrics.numerics import around_most, deviations, rounding_of_sums, safe_sqrt, squared_distances, unit_length

Patterns = Callable[[Array, Array | None], tuple[Array, Array]]
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Dissimilarity:
    """A dissimilarity of two patterns; the defaults are valid for any.

    Attributes:
        between: function of two sets of patterns ``(r, units)`` and ``(c, units)``; returns the dissimilarities of all
            pairs ``(r, c)``.
        patterns: function of responses ``(stimuli, units)``, zero in units that do not count, and of the mask of units
            that do (all if None); returns the patterns for ``between``, and a mask of stimuli without a defined
            pattern, whose patterns are zero.
        errors: function of such responses and their patterns; returns the contribution of each stimulus to the rounding
            errors of ``between``. Entries that differ by less than their errors get the same rank.
        finish: final monotonic transformation of each entry; skipped where entries are ranked.
        depends_on: properties of the responses it depends on, see ``bsjax.metrics.similarity.similarity.Similarity``.
        ignores_zero_units: whether adding a unit of zeros changes nothing.
        ignores_scale: whether a factor of all responses multiplies all entries by one number.
        varied_patterns: whether a stimulus with the same response in all units has no defined dissimilarity.
    """

    between: Callable[[Array, Array], Array]
    patterns: Patterns = lambda x, where: (x, jnp.zeros(len(x), bool))
    errors: Callable[[Array, Array], Array] = lambda x, patterns: jnp.zeros(len(x), x.dtype)
    finish: Callable[[Array], Array] = lambda dissimilarity: dissimilarity
    depends_on: DependsOn = "features"
    ignores_zero_units: bool = False
    ignores_scale: bool = False
    varied_patterns: bool = False


Measure = str | Dissimilarity
"""A dissimilarity, or the name of an entry of ``DISSIMILARITIES``."""


def dissimilarity_named(name: Measure) -> Dissimilarity:
    """Looks up a dissimilarity in ``DISSIMILARITIES``; a ``Dissimilarity`` is returned as it is.

    Raises:
        ValueError: an unknown name; the message lists the known ones.

    Example:
        >>> dissimilarity_named("correlation").depends_on
        'correlations'
    """
    return entry_named(name, Dissimilarity, DISSIMILARITIES, "dissimilarity")


def entry_named(given: Any, kind: type[Entry], table: Mapping[str, Entry], what: str) -> Entry:
    """An entry of a table by its name; one that is of its kind already is returned as it is."""
    if isinstance(given, kind):
        return given
    if given not in table:
        raise ValueError(f"unknown {what} {given!r}; there are: {', '.join(table)}")
    return table[given]


def _unit_patterns(x: Features, where: Bool[Array, " p"] | None = None) -> tuple[Features, Mask]:
    """Centred patterns of unit length, and a mask of constant patterns."""
    centred = deviations(x, None if where is None else where[None, :], axis=1)
    return centred.values / jnp.sqrt(jnp.where(centred.constant, 1.0, centred.squares)), centred.constant[:, 0]


def _directions(x: Features, where: Bool[Array, " p"] | None = None) -> tuple[Features, Mask]:
    """Patterns of unit length, and a mask of zero patterns."""
    return unit_length(x), jnp.all(x == 0, axis=1)


def _errors_of_directions(x: Array, patterns: Array) -> Array:
    # Rounding errors of responses are relative to their size including the mean.
    larger = jnp.sqrt(jnp.sum(x**2, axis=1)) / jnp.abs(jnp.sum(x * patterns, axis=1))
    return rounding_of_sums(x) * jnp.where(jnp.isfinite(larger), larger, 1.0)


def _from_most(x: Features, where: Bool[Array, " p"] | None = None) -> tuple[Features, Mask]:
    """Patterns relative to a robust centre, which changes no distance, and a mask of patterns that are not finite."""
    lost = ~jnp.all(jnp.isfinite(x), axis=1)
    x = jnp.where(lost[:, None], 0.0, x)
    return around_most(x, ~lost[:, None]), lost


def _errors_of_differences(x: Array, patterns: Array) -> Array:
    # A squared distance has the rounding errors of both squared lengths, and of the responses times the distance.
    length, of_responses = (jnp.sqrt(jnp.sum(side**2, axis=1)) for side in (patterns, x))
    found = rounding_of_sums(x) * length * (length + of_responses)
    return jnp.where(jnp.isfinite(found), found, 0.0)


def _one_less_products(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    return 1.0 - jnp.clip(a @ b.T, -1.0, 1.0)


def poisson_rates(x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Rates with a prior of one at a tenth of the weight of a measurement, and their logarithms; NaN below zero."""
    rates = (x + _PRIOR) / (1.0 + _PRIOR)
    rates = jnp.where(rates > 0, rates, jnp.nan)
    return rates, jnp.log(rates)


def _rates_and_logs(x: Features, where: Bool[Array, " p"] | None = None) -> tuple[Float[Array, "n d"], Mask]:
    """Rates and their logarithms, both relative to a centre, and a mask of patterns with a rate that is none."""
    rates, logs = poisson_rates(x)
    lost = ~jnp.all(jnp.isfinite(rates), axis=1)
    kept = (jnp.where(lost[:, None], 0.0, each) for each in (rates, logs))
    return jnp.concatenate([around_most(each, ~lost[:, None]) for each in kept], axis=1), lost


def _divergences(a: Float[Array, "r d"], b: Float[Array, "c d"]) -> Float[Array, "r c"]:
    (rates, logs), (other_rates, other_logs) = (jnp.split(side, 2, axis=1) for side in (a, b))
    own = [jnp.sum(r * log, axis=1) for r, log in ((rates, logs), (other_rates, other_logs))]
    found = own[0][:, None] + own[1][None, :] - rates @ other_logs.T - logs @ other_rates.T
    sizes = jnp.sum(a**2, axis=1)[:, None] + jnp.sum(b**2, axis=1)[None, :]
    return jnp.where(found <= rounding_of_sums(a) * sizes, 0.0, found)


_PRIOR = 0.1
_OF_CORRELATIONS: Any = {"depends_on": "correlations", "ignores_scale": True, "varied_patterns": True}
_OF_DISTANCES: Any = {"depends_on": "inner products", "ignores_zero_units": True, "ignores_scale": True}

DISSIMILARITIES: dict[str, Dissimilarity] = {
    "correlation": Dissimilarity(_one_less_products, _unit_patterns, _errors_of_directions, **_OF_CORRELATIONS),
    "cosine": Dissimilarity(_one_less_products, _directions, _errors_of_directions, ignores_zero_units=True),
    "euclidean": Dissimilarity(squared_distances, _from_most, _errors_of_differences, safe_sqrt, **_OF_DISTANCES),
    "sqeuclidean": Dissimilarity(squared_distances, _from_most, _errors_of_differences, **_OF_DISTANCES),
    "poisson": Dissimilarity(_divergences, _rates_and_logs, _errors_of_differences, ignores_zero_units=True),
}
"""By name: 1 - Pearson correlation, 1 - cosine of the angle, Euclidean distance, squared Euclidean distance, and the
symmetric divergence of Poisson distributions with these rates, which must not be negative."""
