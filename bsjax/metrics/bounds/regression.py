"""Intervals that hold the exact score of a regression, from weights of limited precision."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Features, Targets
from bsjax.metrics.bounds.angles import Within, cosine_within
from bsjax.metrics.determined import determined
from bsjax.metrics.regression.centring import centre, without_constants
from bsjax.metrics.regression.crossvalidation import members, where_tested
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import Mapping
from bsjax.metrics.regression.ridge_system import centred_rows


@at_full_precision
def cross_validation_within(x: Features, y: Targets, folds: Folds, *, mapping: Mapping, working: str) -> Within:
    r"""Intervals that hold the exact correlations of ``cross_validate``, from weights that are fitted in another dtype.

    The mapping bounds the distance of its weights from the exact ones, :math:`\|w - w^*\| \le r`, see
    ``Mapping.weights_within``. Predictions of the centred test stimuli :math:`T` then have an error of at most
    :math:`\|T\|_2\, r`, and :math:`\|T\|_2^2 \le \|T T^T\|_F`. Correlations follow by ``cosine_within``.

    Args:
        x, y, folds, mapping: as for ``cross_validate``; responses in float64.
        working: dtype of the fit.

    Returns:
        The ends ``(folds, targets)``; NaN where ``cross_validate`` is NaN because training does not determine a
        prediction. Nothing is left to chance.

    Source: see ``Mapping.weights_within`` of the mapping.

    Example:
        >>> import jax, numpy as np
        >>> from bsjax.metrics import Ridge, make_folds
        >>> with jax.enable_x64(True):
        ...     x = jnp.asarray(np.random.default_rng(0).normal(size=(40, 3)))
        ...     folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        ...     low, high = cross_validation_within(x, x[:, :2], folds, mapping=Ridge(1.0), working="float32")
        ...     print(bool((high - low < 1e-6).all()))
        True
    """
    centred = without_constants(centre(x, y))
    trains, tests = members(folds, len(x))

    def of_fold(fold: tuple[Array, ...]) -> tuple[Float[Array, " q"], Float[Array, " q"]]:
        train, rows, mask = fold
        train, test = train.astype(x.dtype), mask.astype(x.dtype)
        fitted_x, fitted_y = (centred_rows(side, train)[0] for side in (centred.x, centred.y))
        weights, off = mapping.weights_within(fitted_x, fitted_y, jnp.sum(train), working)
        tested_x, tested_y = (centred_rows(side[rows], test)[0] for side in (centred.x, centred.y))
        longest = jnp.sqrt(jnp.sqrt(jnp.sum((tested_x @ tested_x.T) ** 2)))
        unsure = rounding(x, 4 * sum(x.shape)) * jnp.sqrt(jnp.sum(tested_x**2) * jnp.sum(weights**2, axis=0))
        of_y = rounding(x, 4 * len(x)) * jnp.sqrt(jnp.sum(tested_y**2, axis=0))
        found = cosine_within(tested_x @ weights, tested_y, longest * off + unsure, of_y)
        nothing = (off == 0) & jnp.all(weights == 0, axis=0)  # so that the exact prediction is constant
        low, high = (jnp.where(nothing, jnp.nan, end) for end in found)
        return low, high

    low, high = batched_map(of_fold, (trains, *where_tested(folds)))
    told = determined(x, y, x)(trains, tests)
    return Within(jnp.where(told, low, jnp.nan), jnp.where(told, high, jnp.nan))
