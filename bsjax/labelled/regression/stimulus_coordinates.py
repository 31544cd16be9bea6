"""Features of any width brought to one shape without a change to the score, so that all layers share a program.

A regression with a free intercept (PLS, ridge) and CKA see the features only through the inner products between
stimuli, and do not see a constant that is added to a feature. So the centred features :math:`X`, stimuli x features,
may give way to a factor :math:`F` with :math:`F F^T = X X^T`, as wide as there are stimuli. An RDM of Pearson
correlations depends on the correlations between stimuli alone, which one more column keeps. Both are summed up over
blocks of features, so that one small program serves every width and only one block is ever in double precision.
"""

import xarray as xr

from bsjax.engine.padding import padded
from bsjax.engine.precision import precision
from bsjax.engine.streaming import DependsOn
from bsjax.labelled.align import finite_values, two_dimensional
from bsjax.labelled.streaming import compress

N_FEATURES = "n_features"


def in_stimulus_coordinates(source: xr.DataArray, depends_on: DependsOn, dtype: str | None = None) -> xr.DataArray:
    """An assembly that scores as ``source`` does, in a shape that does not depend on how wide ``source`` is.

    Args:
        source: (presentation, neuroid).
        depends_on: what the metric depends on.
        dtype: in which the metric computes, as for the metric.

    Returns:
        For n stimuli: (n, n) of inner products that are those of ``source``'s centred features, where there are
        at least n; narrower features get columns of zeros up to a power of two, but stay narrower than n - 1,
        because ridge regression works on the smaller side. (n, n + 1) for correlations of at least n features. Else
        the source itself. Coordinates are those of the presentations; the attribute ``n_features`` is how many features
        there are.

    Raises:
        ValueError: other dimensions, or values that are not finite.

    Example:
        >>> import numpy as np, xarray as xr
        >>> x = np.random.default_rng(0).normal(size=(5, 1000))
        >>> z = in_stimulus_coordinates(xr.DataArray(x, dims=["presentation", "neuroid"]), "inner products").values
        >>> centred = x - x.mean(axis=0)
        >>> z.shape, np.allclose(z @ z.T, centred @ centred.T)
        ((5, 5), True)
    """
    source = two_dimensional(source, "source")
    n, width = source.shape
    if depends_on == "features" or (depends_on == "correlations" and width < n):
        return source
    if width >= n:
        with precision(dtype) as chosen:
            return compress(source, depends_on=depends_on)[0].astype(chosen).assign_attrs({N_FEATURES: width})
    values = finite_values(source, "source")
    if width < n - 2:
        values = padded(values, min(1 << (width - 1).bit_length(), n - 2), values.dtype)
    of_presentations = {name: c for name, c in source.coords.items() if c.dims == ("presentation",)}
    return xr.DataArray(values, of_presentations, ["presentation", "neuroid"], attrs={N_FEATURES: width})
