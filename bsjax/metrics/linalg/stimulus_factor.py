r"""A square factor of the inner products between stimuli, by orthogonal transformations.

For features :math:`X`, stimuli x features, :math:`X^T = Q R` gives :math:`F = R^T` with :math:`F F^T = X X^T`. Features
are processed in blocks as wide as there are stimuli, each together with the :math:`R` of the blocks before, so one
small program serves any number of features. Products of features, which would square their condition number, are never
formed; float32 is therefore sufficient.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations, rotated_to_few_columns


class Patterns(NamedTuple):
    """Mean over all features of each stimulus, length of its centred responses, and whether they are constant."""

    mean: Float[Array, "n 1"]
    length: Float[Array, "n 1"]
    constant: Bool[Array, "n 1"]


def patterns(x: Shaped[Array, "n p"], *, dtype: np.dtype) -> Patterns:
    """Means and lengths of stimulus patterns, which turn inner products into correlations."""
    found = deviations(x.astype(dtype), None, axis=1)
    return Patterns(found.mean, jnp.sqrt(found.squares), found.constant)


def block_of_features(
    x: Shaped[Array, "n p"], start: Int[Array | np.integer, ""], of: Patterns | None = None, *, dtype: np.dtype
) -> Float[Array, "n n"]:
    """A block of as many features as there are stimuli, from ``start`` on; zeros beyond the last feature.

    Args:
        x: responses with at least as many features as stimuli.
        start: index of the first feature.
        of: the patterns over all features, for correlations: each stimulus is scaled to mean zero and length one, or to
            zero if it is constant. If None, features are centred over stimuli.
        dtype: dtype of the result.

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
    """Updates a factor of inner products by a block of further features.

    Args:
        factor: factor of the features so far, or the first block of features itself.
        block: values of the further features for all stimuli.

    Example:
        >>> x = jnp.array([[1.0, 2.0, 3.0, 0.0], [3.0, 1.0, 5.0, 2.0]])
        >>> factor = with_block(x[:, :2], x[:, 2:])
        >>> print(jnp.abs(factor @ factor.T - x @ x.T).max() < 1e-5)
        True
    """
    return rotated_to_few_columns(jnp.concatenate([factor, block], axis=1))


def with_zero_means(rows: Float[Array, "n n"]) -> Float[Array, "n m"]:
    """Rows of mean zero with the same inner products, in one more column.

    A reflection maps the new last axis to the direction of equal coordinates. Rows are orthogonal to the first, so
    their images are orthogonal to the second, which means that their means are zero.
    """
    equal = 1.0 / jnp.sqrt(jnp.asarray(rows.shape[1] + 1, rows.dtype))
    sums = jnp.sum(rows, axis=1, keepdims=True) * equal / (1.0 - equal)
    return jnp.concatenate([rows - sums * equal, sums * (1.0 - equal)], axis=1)
