"""A similarity of two sets of responses in draws of the units of one of them."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision


@at_full_precision
def unit_bootstraps(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    units: Int[Array, "draws m"],
    *,
    similarity: Callable[..., Float[Array, ""]],
) -> Float[Array, " draws"]:
    """``similarity(x, y[:, units])`` of every draw of the units of ``y``, on a CPU one in memory at a time.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        units: the units that each draw holds; -1 beyond the end of a short draw, which is a unit of zeros.
        similarity: of two sets of responses, e.g. ``cka``.

    Returns:
        ``(draws,)``; NaN where ``similarity`` is.

    Example:
        >>> from bsjax.metrics import cka
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(unit_bootstraps(x, x, jnp.array([[0, 1], [1, 0]]), similarity=cka).round(3))
        [1. 1.]
    """
    return batched_map(lambda held: similarity(x, units_held(y, held)), units)


@at_full_precision
def stimulus_and_unit_bootstraps(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    counts: Int[Array, "draws n"],
    units: Int[Array, "draws m"],
    *,
    bootstraps: Callable[..., Float[Array, " one"]],
) -> Float[Array, " draws"]:
    """A similarity of every draw of the stimuli and of the units of ``y``, drawn together.

    Args:
        x, y, units: as of :func:`unit_bootstraps`.
        counts: how often each draw holds each stimulus.
        bootstraps: of responses and counts, e.g. ``cka_bootstraps``.

    Returns:
        ``(draws,)``; NaN where ``bootstraps`` is.

    Example:
        >>> from bsjax.metrics import cka_bootstraps
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> counts = jnp.array([[1, 1, 1, 1, 1], [2, 1, 0, 1, 1]])
        >>> units = jnp.array([[0, 1], [1, 0]])
        >>> print(stimulus_and_unit_bootstraps(x, x, counts, units, bootstraps=cka_bootstraps).round(3))
        [1. 1.]
    """

    def of_draw(draw: tuple[Int[Array, " n"], Int[Array, " m"]]) -> Float[Array, ""]:
        held, of_units = draw
        return bootstraps(x, units_held(y, of_units), held[None])[0]

    return batched_map(of_draw, (counts, units))


def units_held(y: Float[Array, "n q"], units: Int[Array, " m"]) -> Float[Array, "n m"]:
    """Responses of the units that a draw holds; zeros at -1."""
    columns = y[:, jnp.maximum(units, 0)]
    return jnp.where(units[None] < 0, jnp.zeros_like(columns), columns)
