"""The tolerances of all kernels in one table, each with what it is derived from.

Most are numbers of rounding errors, ``eps`` of the dtype, of what is computed with. The powers are powers of one
rounding error: half of its digits are lost in a square, and a solution loses as many as its matrix has condition.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

# Equal values: their mean is often off by one rounding error, and sums of many by few.
CONSTANT = 8.0
# The same of features that were rotated: each has rounding errors of the longest stimulus, of which the largest count.
ROTATED = 8.0 * CONSTANT
# What is left of positive and negative terms is nothing below this many rounding errors of the terms.
CANCELLED = 512.0

# Scores that differ by fewer are equal: a permutation that changes nothing gives the score itself.
SAME_SCORE = 64.0
# Scores of the same features in another order, which went through a regression: 4e-10 in float64, 7e-5 in float32.
SAME_FEATURES_POWER = 0.6
# What noise leaves of the power of responses is no signal below this many rounding errors of it.
SIGNAL = 32.0
# Dissimilarities that are nearer than this many rounding errors of their median are one.
SAME_DISSIMILARITY = 32.0

# An eigenvalue is zero below this many rounding errors of the largest for each root of their number: rounding errors
# add up at random.
EIGENVALUE = 2.0
# What is left of a column without its share of earlier ones is rounding below this many rounding errors of it.
DEPENDENT = 32.0
# What a stimulus has left is rounding below this many rounding errors for each stimulus of the longest one's square.
LEFT_OF_GRAM = 4.0
# So is what is left of a sum of squares once those of held-out stimuli are taken off, for each stimulus.
LEFT_OF_SQUARES = 4.0
# A component shorter than this many rounding errors of the first one is noise: the data hold no more components.
EXHAUSTED = 50.0
# Rounding errors in each term of a bound: of a difference of eigenvalues, two products, and the sum.
TERMS = 4.0

# Pivots above this power leave errors of 1e-3 of a solution in float32, and 1e-6 in float64.
PIVOT_POWER = 0.55
# What a fit leaves of stimuli at the least, so that it is known to 1e-3 in float32.
RESIDUAL_POWER = 0.45
# What a step of an alternation that converges still changes.
CONVERGED_POWER = 0.75
# Of a square that is deflated, the share below which the rounding errors of its old size start to show: in float32
# sooner, as components have fewer digits to lose.
SQUARE_POWER, SQUARE_POWER_32 = 0.375, 0.25
# The residual of an eigenpair beside its value: 4e-10 in float64, 7e-5 in float32. A regression sees a tenth of it.
EIGENPAIR_POWER = 0.6
# Eigenvalues this near, beside their size, have too few digits in their difference, and the sum of terms that are
# divided by it is right to the square of it (4e-11 in float64, 2e-5 in float32).
NEAR_POWER = 1 / 3


def rounding(of: Shaped[Array | np.ndarray, "..."], errors: float | int = 1, power: float = 1.0) -> float:
    """So many rounding errors of the dtype of an array, or a power of one.

    Example:
        >>> rounding(jnp.ones(3, "float32"), CONSTANT) == 2.0**-20
        True
    """
    return errors * float(jnp.finfo(of.dtype).eps) ** power
