r"""A factor of the inner products between stimuli, as wide as there are stimuli, by orthogonal transformations.

For features :math:`X`, stimuli x features, :math:`X^T = Q R` gives :math:`F = R^T` with :math:`F F^T = X X^T`. Features
are taken as many at a time as there are stimuli, each with the :math:`R` of those before, so that one small program
serves any number of them. No product of features is formed, which would square their condition: float32 will do.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations, rotated_to_few_columns


class Patterns(NamedTuple):
    """Of each stimulus the mean and the length of its centred responses over all features, and which do not vary."""

    mean: Float[Array, "n 1"]
    length: Float[Array, "n 1"]
    constant: Bool[Array, "n 1"]


def patterns(x: Shaped[Array, "n p"], *, dtype: np.dtype) -> Patterns:
    """What makes correlations of inner products."""
    found = deviations(x.astype(dtype), None, axis=1)
    return Patterns(found.mean, jnp.sqrt(found.squares), found.constant)


def block_of_features(
    x: Shaped[Array, "n p"], start: Int[Array | np.integer, ""], of: Patterns | None = None, *, dtype: np.dtype
) -> Float[Array, "n n"]:
    """The features from ``start`` on, as many as there are stimuli, or zeros where there are no more.

    Args:
        x: at least as many features as stimuli.
        start: of the first feature.
        of: the patterns of all features, for correlations: of mean zero and length one, or zero where they do not vary.
            Else features have no mean over stimuli.
        dtype: of the result.

    Example:
        >>> x = jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 5.0]])
        >>> print(block_of_features(x, np.int32(2), dtype=np.dtype("float32")))
        [[ 0. -1.]
         [ 0.  1.]]
    """
    n, width = x.shape
    first = jnp.minimum(start, width - n).astype(jnp.int32)
    block = jax.lax.dynamic_slice_in_dim(x, first, n, axis=1).astype(dtype)
    if of is None:
        block = deviations(block, None, axis=0).values
    else:
        length = jnp.where(of.constant, jnp.ones_like(of.length), of.length)
        block = jnp.where(of.constant, jnp.zeros_like(block), (block - of.mean) / length)
    return jnp.where(first + jnp.arange(n, dtype=jnp.int32) >= start, block, jnp.zeros_like(block))


@at_full_precision
def with_block(factor: Float[Array, "n n"], block: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The factor of the inner products of some features and of a block of further ones.

    Args:
        factor: that of the features before, or as many features themselves.
        block: the stimuli's values of the further features.

    Example:
        >>> x = jnp.array([[1.0, 2.0, 3.0, 0.0], [3.0, 1.0, 5.0, 2.0]])
        >>> factor = with_block(x[:, :2], x[:, 2:])
        >>> print(jnp.abs(factor @ factor.T - x @ x.T).max() < 1e-5)
        True
    """
    return rotated_to_few_columns(jnp.concatenate([factor, block], axis=1))


def with_zero_means(rows: Float[Array, "n n"]) -> Float[Array, "n m"]:
    """Rows with the same inner products and one more column, whose means are zero.

    What turns the new last axis into the direction of equal coordinates turns what is orthogonal to one into what is
    orthogonal to the other.
    """
    equal = 1.0 / jnp.sqrt(jnp.asarray(rows.shape[1] + 1, rows.dtype))
    sums = jnp.sum(rows, axis=1, keepdims=True) * equal / (1.0 - equal)
    return jnp.concatenate([rows - sums * equal, sums * (1.0 - equal)], axis=1)
