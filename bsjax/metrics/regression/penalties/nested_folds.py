r"""Held-out residuals of a ridge regression with penalties chosen on folds within folds, from one inverse per penalty.

No fold is factorised. With the inner products :math:`K` of all stimuli and :math:`G = (K + \alpha)^{-1}`, the matrix
:math:`P = G - G 1 1^T G / (1^T G 1)` gives the residuals of any held-out stimuli b of a fit with an intercept to all
others: :math:`P_{bb}^{-1} (P y)_b`. Leaving out the stimuli o of an outer fold replaces P by its Schur complement
:math:`P - P_{:o} P_{oo}^{-1} P_{o:}`, and :math:`P y` by :math:`P y - P_{:o} P_{oo}^{-1} (P y)_o`, for the inner folds.
So one inverse per penalty serves all folds, and the rest are products. The penalty cancels: :math:`\alpha P = I - H -
1/n`, with the smoother :math:`H`, is computed in the space of features where these are fewer.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map, sum_of_each
from bsjax.engine.primitives.products import matmul_t, symmetric_product
from bsjax.engine.primitives.triangular import solve_lower
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.programs.platforms import platform
from bsjax.engine.tolerances import RESIDUAL_POWER
from bsjax.metrics.arrays import PerStimulus, Scalar, Targets
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed, inverse_if_well_posed
from bsjax.metrics.regression.centring import Centred, training_mask
from bsjax.metrics.regression.penalties.validation_folds import validation_masks, where_true
from bsjax.metrics.regression.ridge_system import Fold, mean_square

# Operations of a product that take as long as an eigendecomposition, per cubed row, and as a Cholesky decomposition.
_EIGH, _CHOLESKY = 30.0, 1.0
# Fewer operations saved than this do not pay for compiling a longer program.
_FEW = 2e9
# Features that are converted to float64 at a time.
_WIDENED = 1024


class Chosen(NamedTuple):
    """Predictions of held-out stimuli less the intercept, and penalties that were chosen for each target or for all.

    Where nothing is held out, the residuals of all stimuli take the place of predictions. ``gram`` holds the inner
    products of the features or of the stimuli, whichever are fewer.
    """

    values: Float[Array, "folds h q"]
    alpha: Float[Array, "folds _"]
    gram: Float[Array, "d d"]


class Products(NamedTuple):
    """Inner products of stimuli; or of features, with the centred features ``x``, where these are fewer."""

    gram: Float[Array, "d d"]
    x: Float[Array, "n p"] | None


def takes_nested_folds(n: int, p: int, q: int, penalties: int, held_out: tuple[int, int], cv: int) -> bool:
    """Whether one inverse per penalty takes fewer operations than an eigendecomposition per fold.

    Args:
        n, p, q: numbers of stimuli, features and targets.
        penalties: number of penalties.
        held_out: number of outer folds, and of stimuli that each leaves out.
        cv: number of inner folds.
    """
    (folds, h), d = held_out, min(n, p)
    m, t = -(-(n - h) // cv), n - h
    inverse = (_CHOLESKY + 4 / 3) * d**3 if d == n else _CHOLESKY * d**3 + n * d * (d + 2 * n)
    of_inner = 2 * m * (m * h + h * q + m * q + m * m)
    ours = penalties * (inverse + 2 * n * n * q + folds * (2 * h * h * (n + q + h) + cv * of_inner))
    k = min(p, t - t // cv)  # the rank of a fold
    errors = penalties * m * k * q if penalties * m <= k else 4 * k * k * m + 2 * m * k * q
    of_fold = (_EIGH * k + 2 * d) * k * k + 2 * k * k * q + 2 * errors
    theirs = folds * (cv * of_fold + (_EIGH + 2) * min(p, t) ** 3 + 4 * min(p, t) ** 2 * q)
    return theirs - ours > _FEW


def inner_folds(n: int, outer: Fold, cv: int) -> tuple[Fold, Bool[Array, ""]]:
    """Runs of consecutive training stimuli, ``(folds, cv, m)``, and whether they hold all training stimuli.

    They have room for outer folds of which none leaves out less than four fifths of what the largest does.
    """
    h = outer.held_out.shape[1]
    most = n - h + h // 5
    train = training_mask(n, *outer, jnp.dtype("float32"))

    def within(train: PerStimulus) -> tuple[Int[Array, "cv m"], Float[Array, "cv m"]]:
        _, tested = validation_masks(train, cv)
        return jax.vmap(lambda one: where_true(one > 0, -(-most // cv), train.dtype))(tested)

    rows, mask = jax.vmap(within)(train)
    return Fold(rows, mask > 0), jnp.all(jnp.sum(train, axis=1) <= most)


def nested_predictions(
    centred: Centred, outer: Fold, inner: Fold, alphas: Float[Array, " penalties"], *, per_target: bool
) -> tuple[Chosen, Bool[Array, ""]]:
    """Predictions at the penalty of the least validation error, and whether they are accurate.

    In float32, a penalty that is too small or too large for its digits is computed in float64, except on a TPU.

    Args:
        centred: features and targets, centred over all stimuli.
        outer, inner: the held-out stimuli of every outer fold, and of every validation fold within the others.
        alphas: the penalties; of several with the same error, the first is chosen.
        per_target: choose for each target, otherwise for all together.
    """
    at_penalty = partial(_at_penalty, outer=outer, inner=inner)
    found, accurate = _best(at_penalty, centred, alphas, outer.held_out.shape, per_target=per_target)
    # Targets less residuals are mostly rounding errors where the penalty leaves little of a prediction.
    least_share = _least_share(np.dtype("float64") if _widens(centred.y) else centred.y.dtype)
    return found, accurate & (jnp.max(jnp.diagonal(found.gram)) > least_share * jnp.max(found.alpha))


def validated_residuals(
    centred: Centred, cv: int, alphas: Float[Array, " penalties"], *, per_target: bool
) -> tuple[Chosen, Bool[Array, ""]]:
    """Residuals of a fit to all stimuli at the penalty of the least validation error, and whether they are accurate.

    Divided by the penalty, they are the weights of stimuli. All other arguments are those of ``nested_predictions``.

    Args:
        centred: features, as many as stimuli at least, and targets.
        cv: number of inner folds.
        alphas, per_target: the penalties, and for what they are chosen.
    """
    n = len(centred.y)
    begin = np.cumsum([0, *(n // cv + (fold < n % cv) for fold in range(cv))])
    longest = -(-n // cv)
    start = np.minimum(begin[:-1], n - longest)
    places = start[:, None] + np.arange(longest)
    runs = jnp.asarray(start), jnp.asarray((places >= begin[:-1, None]) & (places < begin[1:, None]))
    return _best(partial(_fitted_at_penalty, runs=runs), centred, alphas, (1, n), per_target=per_target)


def _widens(y: Targets) -> bool:
    """Whether penalties that need more digits are computed in float64."""
    return y.dtype.itemsize == 4 and platform() != "tpu"


def _best(
    at_penalty: Callable[..., tuple[Array, ...]],
    centred: Centred,
    alphas: Float[Array, " penalties"],
    shape: tuple[int, ...],
    *,
    per_target: bool,
) -> tuple[Chosen, Bool[Array, ""]]:
    """The values of the penalty of the least error, and whether all systems are well-posed.

    ``at_penalty`` takes products, targets and the penalty, and returns errors, values, and whether they are accurate.
    """
    folds, q, dtype = shape[0], centred.y.shape[1], centred.y.dtype
    products = _products(centred.x)
    largest = jnp.max(jnp.diagonal(products.gram))

    def of_penalty(best: tuple[Array, ...], alpha: Scalar) -> tuple[tuple[Array, ...], None]:
        least, values, chosen, accurate = best
        *found, posed = at_penalty(products, centred.y, alpha)
        if _widens(centred.y):

            def wide() -> list[Array]:
                with jax.enable_x64(True):
                    *made, posed = at_penalty(_wide_products(centred.x), centred.y.astype(float), alpha.astype(float))
                    return [*(values.astype(dtype) for values in made), posed]

            strong = largest > _least_share(dtype) * alpha
            *found, posed = with_fallback(~(posed & strong), lambda: [*found, posed], wide)
        errors, here = found
        if not per_target:
            errors = jnp.sum(errors, axis=1, keepdims=True)
        better = errors < least
        values = jnp.where(better[:, None], here, values)
        return (jnp.minimum(errors, least), values, jnp.where(better, alpha, chosen), accurate & posed), None

    choices = (folds, q if per_target else 1)
    none = jnp.full(choices, jnp.inf, dtype), jnp.zeros((*shape, q), dtype), jnp.broadcast_to(alphas[0], choices)
    (_, values, chosen, accurate), _ = jax.lax.scan(of_penalty, (*none, jnp.asarray(True)), alphas)
    return Chosen(values, chosen, products.gram), accurate


def _products(x: Float[Array, "n p"]) -> Products:
    return Products(symmetric_product(x), None) if x.shape[1] >= len(x) - 1 else Products(matmul_t(x, x), x)


def _wide_products(x: Float[Array, "n p"]) -> Products:
    """``_products`` in float64; only some features are held in float64 at a time where they outnumber stimuli."""
    n, p = x.shape
    if p <= max(n, _WIDENED):
        return _products(x.astype(float))

    def of_block(start: Int[Array, ""]) -> Float[Array, "n n"]:
        first = jnp.minimum(start, p - _WIDENED)
        block = jax.lax.dynamic_slice(x, (jnp.zeros_like(first), first), (n, _WIDENED)).astype(float)
        return symmetric_product(jnp.where(first + jnp.arange(_WIDENED) >= start, block, 0.0))

    return Products(sum_of_each(of_block, jnp.arange(0, p, _WIDENED)), None)


def _least_share(dtype: np.dtype) -> float:
    """The least share of a prediction in its target that keeps enough digits."""
    return float(jnp.finfo(dtype).eps) ** RESIDUAL_POWER


def _at_penalty(
    products: Products, y: Targets, alpha: Scalar, *, outer: Fold, inner: Fold
) -> tuple[Float[Array, "folds q"], Float[Array, "folds h q"], Bool[Array, ""]]:
    """Validation errors and predictions of every outer fold, and whether all systems are well-posed."""
    matrix, well_posed = _residual_maker(products, alpha, len(y))
    right = matrix @ y
    errors, predicted, each = batched_map(lambda folds: _of_fold(matrix, right, y, *folds), (outer, inner))
    return errors, predicted, well_posed & jnp.all(each)


def _fitted_at_penalty(
    products: Products, y: Targets, alpha: Scalar, *, runs: tuple[Int[Array, " cv"], Bool[Array, "cv m"]]
) -> tuple[Float[Array, "1 q"], Float[Array, "1 n q"], Bool[Array, ""]]:
    """Validation errors and residuals of a fit to all stimuli, and whether all systems are well-posed."""
    matrix, well_posed = _residual_maker(products, alpha, len(y))
    right, (starts, mask) = matrix @ y, runs
    places = starts[:, None] + jnp.arange(mask.shape[1])[None]
    blocks = jax.vmap(lambda start: jax.lax.dynamic_slice(matrix, (start, start), (mask.shape[1],) * 2))(starts)
    rows = right.reshape(*mask.shape, -1) if mask.size == len(y) else right[places]
    errors, each = batched_map(lambda run: _validation_error(*run), (blocks, rows, mask))
    return jnp.mean(errors, axis=0, keepdims=True), right[None], well_posed & jnp.all(each)


def _residual_maker(products: Products, alpha: Scalar, n: int) -> tuple[Float[Array, "n n"], Bool[Array, ""]]:
    """``alpha * P``, which turns targets into residuals of a fit to all stimuli, and whether it is well-posed."""
    gram, x = products
    penalty = alpha * jnp.eye(len(gram), dtype=gram.dtype)
    if x is None:
        # The constant vector is in the null space of a centred matrix; added there, it is an eigenvector of its own.
        shift = mean_square(gram)
        inverse, well_posed = inverse_if_well_posed(gram + shift / n + penalty)
        return alpha * inverse - alpha / (alpha + shift) / n, well_posed
    cholesky, well_posed = cholesky_if_well_posed(gram + penalty)
    rows = solve_lower(cholesky, x.T)
    return jnp.eye(n, dtype=gram.dtype) - 1.0 / n - matmul_t(rows, rows), well_posed


def _of_fold(
    matrix: Float[Array, "n n"], right: Float[Array, "n q"], y: Targets, outer: Fold, inner: Fold
) -> tuple[Float[Array, " q"], Float[Array, "h q"], Bool[Array, ""]]:
    """Validation errors within an outer fold, predictions of its held-out stimuli, and whether all are well-posed."""
    out = outer.rows(matrix)
    inverse, well_posed = _inverse(out[:, outer.held_out], outer.mask)
    residuals, others = inverse @ outer.rows(right), inverse @ out

    def error(fold: Fold) -> tuple[Float[Array, " q"], Float[Array, ""]]:
        rows = fold.held_out
        taken = out[:, rows]
        block = matrix[rows][:, rows] - matmul_t(taken, others[:, rows])
        error, well_posed = _validation_error(block, right[rows] - matmul_t(taken, residuals), fold.mask)
        return error, (~well_posed).astype(matrix.dtype)

    errors, failed = sum_of_each(error, inner)
    measured = outer.rows(y)
    intercept = -jnp.sum(measured, axis=0) / (len(y) - jnp.sum(outer.mask)).astype(y.dtype)
    # A target less its residual keeps few digits of a small prediction, and with the intercept fewer still.
    predicted = measured - residuals - intercept[None]
    return errors / len(inner.mask), predicted, well_posed & (failed == 0)


def _validation_error(
    block: Float[Array, "m m"], right: Float[Array, "m q"], mask: Bool[Array, " m"]
) -> tuple[Float[Array, " q"], Bool[Array, ""]]:
    """Mean squared errors of left-out stimuli, from their parts of ``P`` and ``P y``, and whether all is well-posed."""
    inverse, well_posed = _inverse(block, mask)
    residuals = jnp.where(mask[:, None] & mask[None], inverse, 0.0) @ right
    return jnp.sum(residuals**2, axis=0) / jnp.maximum(jnp.sum(mask), 1).astype(block.dtype), well_posed


def _inverse(matrix: Float[Array, "m m"], mask: Bool[Array, " m"]) -> tuple[Float[Array, "m m"], Bool[Array, ""]]:
    """The inverse within the mask, and whether the matrix is well-posed."""
    both, elsewhere = mask[:, None] & mask[None], mean_square(matrix) * jnp.eye(len(mask), dtype=matrix.dtype)
    return inverse_if_well_posed(jnp.where(both, matrix, elsewhere))
