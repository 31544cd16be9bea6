"""Features of any width in a fixed shape with the same scores, so that all layers share one program.

A regression with a free intercept (PLS, ridge) and CKA depend on the features only through the inner products between
stimuli, and not on a constant that is added to a feature. The centred features :math:`X`, stimuli x features, can
therefore be replaced by a factor :math:`F` with :math:`F F^T = X X^T`, with as many columns as stimuli. An RDM of
Pearson correlations depends only on the correlations between stimuli, which one more column preserves. Both are summed
over blocks of features, so that one small program serves every width and only one block is in double precision.
"""

import xarray as xr

from bsjax.engine.padding import padded
from bsjax.engine.precision import precision
from bsjax.engine.streaming import DependsOn
from bsjax.labelled.align import finite_values, two_dimensional
from bsjax.labelled.streaming import compress

N_FEATURES = "n_features"


def in_stimulus_coordinates(source: xr.DataArray, depends_on: DependsOn, dtype: str | None = None) -> xr.DataArray:
    """An assembly that scores like ``source``, in a shape that hardly depends on the width of ``source``.

    Args:
        source: (presentation, neuroid).
        depends_on: what the metric depends on.
        dtype: the precision of the metric.

    Returns:
        For n stimuli and inner products: (n, n) with the inner products of the centred features, if there are at least
        n; narrower features are padded with columns of zeros to a power of two, but to at most n - 2 columns, because
        ridge regression works on the smaller side. For correlations of at least n features: (n, n + 1). Otherwise the
        source itself. Coordinates are those of the presentations; the attribute ``n_features`` is the original number
        of features.

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
