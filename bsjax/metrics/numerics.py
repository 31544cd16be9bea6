"""Guards against division by zero, shared by every kernel.

An undefined value (a constant unit, an empty half) is NaN, with gradients that stay finite: each guard swaps the
degenerate operand for a harmless one *before* the operation and puts NaN in its place afterwards, because the
gradient of ``where(bad, nan, a / b)`` is itself NaN when ``b`` is zero.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

# A column is constant when its standard deviation is below this many rounding errors of its mean.
_ROUNDING_ERRORS = 8.0
# Columns that a product is filled up to, see ``times_few``.
_FILLED = 16
# From so many times as many rows as columns on, a product reads a transposed operand where it lies as fast as a copy.
_MUCH_LONGER = 16


def divide_or_nan(
    numerator: Float[Array, "*shape"], denominator: Float[Array, "*shape"], undefined: Bool[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """``numerator / denominator``, and NaN with a zero gradient where ``undefined``."""
    quotient = numerator / jnp.where(undefined, jnp.ones_like(denominator), denominator)
    return jnp.where(undefined, jnp.full_like(quotient, jnp.nan), quotient)


def is_constant(
    sum_of_squares: Float[Array, "*shape"], mean: Float[Array, "*shape"], count: Float[Array, "..."]
) -> Bool[Array, "*shape"]:
    """Whether so many centred values with this sum of squares are constant up to the rounding of their mean.

    An exact test against zero does not do: the mean of ``n`` equal numbers is often off by an ulp, and what is left
    after centring is noise that correlates with nothing.
    """
    rounding = _ROUNDING_ERRORS * jnp.finfo(sum_of_squares.dtype).eps * jnp.abs(mean)
    return sum_of_squares <= count * rounding**2


def masked_mean(
    x: Float[Array, "..."], where: Bool[Array, "..."] | None, axis: int
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean over ``axis`` (kept, of length 1) of the values that ``where`` marks, and how many those are.

    ``where`` has the rank of ``x`` and lengths that broadcast with it. The mean of nothing is NaN.
    """
    if where is None:
        count = jnp.full_like(jnp.sum(x, axis=axis, keepdims=True), x.shape[axis])
        return jnp.mean(x, axis=axis, keepdims=True), count
    where = jnp.broadcast_to(where, x.shape)
    count = jnp.sum(where, axis=axis, keepdims=True).astype(x.dtype)
    total = jnp.sum(jnp.where(where, x, jnp.zeros_like(x)), axis=axis, keepdims=True)
    return divide_or_nan(total, count, count == 0), count


def matmul_t(a: Float[Array, "n p"], b: Float[Array, "n q"]) -> Float[Array, "p q"]:
    """``a.T @ b``, as fast as XLA's CPU product has it."""
    return left_of_product(a) @ b


def left_of_product(a: Float[Array, "n p"]) -> Float[Array, "p n"]:
    """``a.T`` as an array of its own, for a product of a transposed operand is up to 1.8 times slower on a CPU.

    Not of one much longer than wide, which is read where it lies as fast, without a copy of it in memory.
    """
    return a.T if a.shape[0] > _MUCH_LONGER * a.shape[1] else transposed(a)


def times_few(x: Float[Array, "n p"], rows: Float[Array, "k p"]) -> Float[Array, "k n"]:
    """``rows @ x.T`` for few rows: XLA's CPU product is fastest at a multiple of sixteen, even where some are zero."""
    k = rows.shape[0]
    filled = jnp.pad(rows, ((0, -k % _FILLED), (0, 0))) if k > _FILLED // 2 else rows
    return (x @ filled.T)[:, :k].T


def rotated_to_few_columns(x: Float[Array, "n p"]) -> Float[Array, "n d"]:
    """Responses with the same inner products between stimuli, in at most as many columns as there are stimuli."""
    return x if x.shape[1] <= x.shape[0] else jnp.linalg.qr(transposed(x), mode="r").T


def transposed(a: Float[Array, "*batch n p"]) -> Float[Array, "*batch p n"]:
    """The transpose as an array of its own, for a product or a triangular solve to read in order."""
    return jax.lax.optimization_barrier(jnp.swapaxes(a, -1, -2))
