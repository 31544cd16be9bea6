"""Tolerances of all kernels in one table, each with its derivation.

Most are multiples of the rounding error of the dtype, ``eps``. Names with POWER are powers of one rounding error: a
square loses half of the digits, and the solution of a system loses as many digits as its condition number has.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

# Constant values: their mean is often off by one rounding error, and sums of many by a few.
CONSTANT = 8.0
# Constant features after a rotation: each has the rounding errors of the longest stimulus, and the largest one counts.
ROTATED = 8.0 * CONSTANT
# A sum of positive and negative terms is zero below this many rounding errors of the terms.
CANCELLED = 512.0

# Scores that differ by fewer rounding errors are equal, such as those of a permutation without effect.
SAME_SCORE = 64.0
# Difference between regression scores of the same features in another order: 4e-10 in float64, 7e-5 in float32.
SAME_FEATURES_POWER = 0.6
# Response power minus noise is no signal below this many rounding errors of the power.
SIGNAL = 32.0
# Dissimilarities that differ by fewer rounding errors of their median are equal.
SAME_DISSIMILARITY = 32.0

# An eigenvalue is zero below this many rounding errors of the largest, times the square root of their number, because
# rounding errors add up randomly.
EIGENVALUE = 2.0
# A column is linearly dependent if its remainder, orthogonal to earlier ones, is below this many rounding errors of it.
DEPENDENT = 32.0
# Remainder of a stimulus in a pivoted Cholesky decomposition: zero below this many rounding errors per stimulus,
# relative to the largest squared length.
LEFT_OF_GRAM = 4.0
# A sum of squares minus those of held-out stimuli: zero below this many rounding errors per stimulus.
LEFT_OF_SQUARES = 4.0
# A PLS component shorter than this many rounding errors of the first is noise: there are no more components.
EXHAUSTED = 50.0
# Rounding errors per term of a bound: a difference of eigenvalues, two products, and the sum.
TERMS = 4.0

# Pivots above this power give relative errors of a solution of at most 1e-3 in float32 and 1e-6 in float64.
PIVOT_POWER = 0.55
# Bound of the relative rounding error of inner products of whitened columns: 8e-4 in float32 and 9e-8 in float64; most
# errors are a hundredth of it.
WHITENED_POWER = 0.45
# Smallest residual share of a stimulus that is accurate to 1e-3 in float32.
RESIDUAL_POWER = 0.45
# Change per step at which an alternation has converged.
CONVERGED_POWER = 0.75
# Share of a deflated square below which rounding errors relative to its original size matter; larger in float32, where
# components have fewer digits to lose.
SQUARE_POWER, SQUARE_POWER_32 = 0.375, 0.25
# Residual of an eigenpair relative to its eigenvalue: 4e-10 in float64, 7e-5 in float32. The effect on a regression is
# about a tenth of it.
EIGENPAIR_POWER = 0.6
# Relative difference below which eigenvalues are nearly equal, with too few digits in their difference. Sums of terms
# divided by such differences are accurate to its square (4e-11 in float64, 2e-5 in float32).
NEAR_POWER = 1 / 3


def rounding(of: Shaped[Array | np.ndarray, "..."], errors: float | int = 1, power: float = 1.0) -> float:
    """A multiple of the rounding error of an array's dtype, or of a power of it: ``errors * eps**power``.

    Example:
        >>> rounding(jnp.ones(3, "float32"), CONSTANT) == 2.0**-20
        True
    """
    return errors * float(jnp.finfo(of.dtype).eps) ** power
