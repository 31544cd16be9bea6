"""Models of RDMs with weights that are fitted to training stimuli and tested on pairs of held-out stimuli."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.arrays import Features, Mask, Scalar, Targets
from bsjax.metrics.numerics import deviations, masked_mean, nonzero, safe_sqrt
from bsjax.metrics.regression.centring import training_mask
from bsjax.metrics.regression.crossvalidation import where_tested
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import Mapping
from bsjax.metrics.regression.mappings.elastic_net import Problem, weights_of
from bsjax.metrics.regression.penalties.validation_folds import validation_masks, where_true
from bsjax.metrics.regression.ridge_system import centred_rows
from bsjax.metrics.similarity.rdms.dissimilarities import Measure
from bsjax.metrics.similarity.rdms.rdm import pairs_seen, rdm, rdm_pairs, rdm_similarity
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, cleaned, compare_rdm_vectors

Fit = Literal["weighted", "selected", "interpolated"]
Members = Bool[Array, "k w"]
Originals = Int[Array, " n"]
"""The number of each stimulus; copies of one stimulus, which have no dissimilarity, have the same number."""

_MOST_STEPS = 50_000


@at_full_precision
def cross_validated_rdm_model(
    x: Features,
    y: Targets,
    folds: Folds,
    spaces: Int[Array, "k w"],
    members: Members | None = None,
    originals: Originals | None = None,
    *,
    fit: Fit = "weighted",
    method: Method = "corr",
    dissimilarity: Measure = "correlation",
) -> tuple[Float[Array, " folds"], Float[Array, "folds k"]]:
    r"""Comparison of a measured RDM with a combination of the RDMs of several feature spaces, fitted and tested apart.

    The weights of :math:`\hat d = \sum_k w_k d_k` are those of :func:`rdm_weights` for the pairs of training stimuli.
    The combination is compared with the measured RDM over the pairs of which both stimuli are tested, as in rsatoolbox
    and frrsa: pairs of a training and a test stimulus are not used.

    Args:
        x: features of all spaces, ``(stimuli, features)``.
        y: measured responses ``(stimuli, units)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        spaces: columns of ``x`` that form each space, ``(spaces, widest)``, int32; padded with any column.
        members: False where padded; all if None.
        originals: number of each stimulus, ``(stimuli,)``, the same for copies of one; all different if None.
        fit: ``"weighted"``, ``"selected"`` or ``"interpolated"``, see :func:`rdm_weights`.
        method: how RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Returns:
        Similarities ``(folds,)`` and weights ``(folds, spaces)`` in the dtype of the inputs; NaN where an RDM that
        counts is undefined, or constant.

    Source: Khaligh-Razavi & Kriegeskorte 2014 (weighted RDMs); Schütt et al. 2023 (models, held-out stimuli).

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import make_folds
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 20)))
        >>> folds = make_folds(30, [(np.arange(15), np.arange(15, 30))])
        >>> spaces = jnp.arange(20, dtype="int32").reshape(2, 10)
        >>> value, weights = cross_validated_rdm_model(x, x[:, :10], folds, spaces, fit="selected")
        >>> print(value.round(3), weights)
        [1.] [[1. 0.]]
    """
    members = jnp.ones(spaces.shape, bool) if members is None else members
    of_units = partial(rdm, dissimilarity=dissimilarity)
    models = batched_map(lambda each: of_units(x[:, each[0]], where=each[1]), (spaces, members))
    target = rdm(y, dissimilarity=dissimilarity)
    vectors, wanted = rdm_pairs(models), rdm_pairs(target)

    def of_fold(fold: tuple[Array, ...]) -> tuple[Scalar, Float[Array, " k"]]:
        train, rows, tested = fold
        weights = rdm_weights(vectors, wanted, where=_pairs(train > 0, originals), fit=fit, method=method)
        at, (known, undefined) = (rows[:, None], rows[None]), cleaned(weights, None)
        predicted = rdm_pairs(jnp.sum(known[:, None, None] * models[:, *at], axis=0))
        seen = _pairs(tested, None if originals is None else originals[rows])
        value = compare_rdm_vectors(predicted, rdm_pairs(target[at]), where=seen, method=method)
        return jnp.where(undefined, jnp.nan, value), weights

    return batched_map(of_fold, _training_and_test(folds, x))


@at_full_precision
def rdm_weights(
    models: Float[Array, "k m"],
    target: Float[Array, " m"],
    *,
    where: Bool[Array, " m"] | None = None,
    fit: Fit = "weighted",
    method: Method = "corr",
) -> Float[Array, " k"]:
    r"""Weights :math:`w \ge 0` of several RDMs with which their sum is most similar to another RDM.

    ============ ==================================================================================================
    weighted     any weights that are not negative: non-negative least squares, :math:`\min_w \|y - \sum_k w_k d_k\|`
    selected     1 for the RDM that is most similar by ``method``, 0 for the others
    interpolated two weights, of RDMs that are neighbours in the given sequence; a single one at its ends
    ============ ==================================================================================================

    Least squares of vectors without their mean maximise the Pearson correlation, and of vectors as they are the cosine.
    Ranks have no such solution: with a comparison of ranks, weights are fitted by the correlation. If all RDMs
    correlate negatively, the best is a single one.

    Args:
        models: dissimilarities of pairs of stimuli, ``(rdms, pairs)``.
        target: the RDM to fit, ``(pairs,)``.
        where: True where a pair counts; all if None.
        fit: which weights are allowed.
        method: the comparison of RDMs, see ``compare_rdm_vectors``.

    Returns:
        ``(rdms,)`` in the dtype of the inputs; the scale of the sum is arbitrary. NaN where an RDM is NaN or constant;
        such an RDM is not selected.

    Source: Khaligh-Razavi & Kriegeskorte 2014; Schütt et al. 2023.

    Example:
        >>> models = jnp.array([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]])
        >>> print(rdm_weights(models, models[0] + 2.0 * models[1]).round(3))
        [1. 2. 0.]
    """
    count = len(models)
    if fit == "selected":
        repeated = jnp.broadcast_to(target, models.shape)
        seen = None if where is None else jnp.broadcast_to(where, models.shape)
        return _best(
            compare_rdm_vectors(models, repeated, where=seen, method=method), jnp.eye(count, dtype=models.dtype)
        )
    vectors, lengths, bad = _directions(jnp.concatenate([models, target[None]]), where, method)
    gram, right = vectors[:-1] @ vectors[:-1].T, vectors[:-1] @ vectors[-1]
    if fit == "interpolated":
        found = _best(*_on_edges(gram, right))
    else:
        single = _best(right, jnp.eye(count, dtype=gram.dtype))
        found = _not_negative(gram, right, jnp.zeros_like(right[0]))
        found = jnp.where(jnp.all(found == 0), single, found)
    return jnp.where(jnp.any(bad), jnp.nan, found * lengths[-1] / lengths[:-1])


def _directions(
    vectors: Float[Array, "k m"], where: Bool[Array, " m"] | None, method: Method
) -> tuple[Float[Array, "k m"], Float[Array, " k"], Bool[Array, " k"]]:
    """Vectors of unit length, centred unless angles are compared, their lengths, and which are NaN or constant."""
    seen = jnp.ones(vectors.shape, bool) if where is None else jnp.broadcast_to(where, vectors.shape)
    bad = jnp.any(jnp.isnan(vectors) & seen, axis=1)
    vectors = jnp.where(seen & ~bad[:, None], vectors, 0.0)
    vectors = vectors if method == "cosine" else deviations(vectors, seen, axis=1).values
    lengths = jnp.sqrt(nonzero(jnp.sum(vectors**2, axis=1)))
    return vectors / lengths[:, None], lengths, bad | jnp.all(vectors == 0, axis=1)


def _best(values: Float[Array, " c"], weights: Float[Array, "c k"]) -> Float[Array, " k"]:
    """The weights of the largest value; NaN if all are NaN."""
    none = jnp.isnan(values)
    return jnp.where(jnp.all(none), jnp.nan, weights[jnp.argmax(jnp.where(none, -jnp.inf, values))])


def _on_edges(gram: Float[Array, "k k"], right: Float[Array, " k"]) -> tuple[Float[Array, " c"], Float[Array, "c k"]]:
    """Correlations and weights of single vectors of unit length, and of the best sums of two neighbours."""
    one, two, between = right[:-1], right[1:], jnp.diagonal(gram, 1)
    left = 1.0 - between**2
    first, second = one - between * two, two - between * one
    inside = (first > 0) & (second > 0) & (left > rounding(gram, CONSTANT))
    left = jnp.where(inside, left, 1.0)
    value = jnp.where(inside, safe_sqrt((first * one + second * two) / left), -jnp.inf)
    single = jnp.eye(len(right), dtype=gram.dtype)
    edges = (first / left)[:, None] * single[:-1] + (second / left)[:, None] * single[1:]
    return jnp.concatenate([right, value]), jnp.concatenate([single, edges])


def _not_negative(gram: Float[Array, "k k"], right: Float[Array, " k"], penalty: Scalar) -> Float[Array, " k"]:
    """The weights that minimise ``w gram w / 2 - right w + penalty w**2 / 2`` and are not negative."""
    # Both bound the largest eigenvalue of a symmetric matrix.
    bounds = jnp.max(jnp.sum(jnp.abs(gram), axis=1)), jnp.sqrt(jnp.sum(gram**2))
    curvature = jnp.full((len(gram), 1), jax.lax.stop_gradient(jnp.minimum(*bounds)))
    problem = Problem(gram[:0], gram, right[:, None], jnp.zeros_like(penalty), penalty)
    weights, _ = cast(tuple[Array, Array], weights_of(problem, curvature, True, _MOST_STEPS))
    return weights[:, 0]


@at_full_precision
def cross_validated_feature_reweighting(
    x: Features,
    y: Targets,
    folds: Folds,
    originals: Originals | None = None,
    *,
    alpha: float | Scalar | Sequence[float] = 1.0,
    cv: int = 5,
    method: Method = "corr",
    dissimilarity: Measure = "correlation",
) -> tuple[Float[Array, " folds"], Float[Array, "folds p"], Float[Array, " folds"]]:
    r"""Feature-reweighted RSA: a measured RDM predicted by a weighted sum of the squared differences of each feature.

    The weights of :math:`\hat d_{ij} = \sum_f w_f (x_{if} - x_{jf})^2`, fitted by :func:`feature_weights` to the pairs
    of training stimuli, predict the pairs of which both stimuli are tested. Equal weights are RSA with squared
    Euclidean distances between features.

    Of several penalties, each fold takes the one whose weights, fitted to the training stimuli without an inner fold,
    predict the pairs of that inner fold most similarly, on average over the inner folds. These are runs of consecutive
    training stimuli.

    Args:
        x: features ``(stimuli, features)``.
        y: measured responses ``(stimuli, units)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        originals: as for :func:`cross_validated_rdm_model`.
        alpha: penalty, see :func:`feature_weights`, or a sequence of candidates.
        cv: number of inner folds; each needs three stimuli.
        method: how RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: of the measured responses, as for ``rdm``.

    Returns:
        Similarities ``(folds,)``, weights ``(folds, features)`` and penalties ``(folds,)`` in the dtype of the inputs;
        NaN where the measured RDM is undefined, and where no feature has a weight.

    Source: Kaniuth & Hebart 2022 (nested cross-validation), whose folds are random, and whose weights have any sign.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import make_folds
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 4)))
        >>> folds, kind = make_folds(30, [(np.arange(20), np.arange(20, 30))]), {"dissimilarity": "sqeuclidean"}
        >>> y = x * jnp.array([[3.0, 1.0, 0.0, 0.0]])
        >>> value, weights, _ = cross_validated_feature_reweighting(x, y, folds, **kind)
        >>> print(bool(value > 0.99), bool(weights[0, 0] > 5 * weights[0, 1]), bool(weights[0, 2] < 0.1))
        True True True
    """
    target = rdm(y, dissimilarity=dissimilarity)
    penalties = jnp.atleast_1d(jnp.asarray(alpha, x.dtype))

    def fitted(train: Mask, penalty: Scalar) -> Float[Array, " p"]:
        return feature_weights(x, target, where=train, originals=originals, alpha=penalty, method=method)

    def compared(weights: Float[Array, " p"], rows: Int[Array, " t"], tested: Mask) -> Scalar:
        known, undefined = cleaned(weights, None)
        predicted = rdm(x[rows] * safe_sqrt(known)[None], dissimilarity="sqeuclidean")
        seen = _pairs(tested, None if originals is None else originals[rows])
        measured = rdm_pairs(target[rows[:, None], rows[None]])
        value = compare_rdm_vectors(rdm_pairs(predicted), measured, where=seen, method=method)
        return jnp.where(undefined, jnp.nan, value)

    def of_inner(fold: tuple[Array, Array]) -> Float[Array, " penalties"]:
        train, tested = fold
        rows, mask = where_true(tested > 0, -(-len(x) // cv) if originals is None else len(x), x.dtype)
        each = jax.vmap(partial(fitted, train > 0))(penalties)
        return jax.lax.map(lambda weights: compared(weights, rows, mask > 0), each)

    def of_fold(fold: tuple[Array, ...]) -> tuple[Scalar, Float[Array, " p"], Scalar]:
        train, rows, tested = fold
        penalty = penalties[0]
        if len(penalties) > 1:
            inner = validation_masks(train, cv)[1]
            if originals is not None:  # copies of a stimulus are in one fold
                inner = inner[:, jnp.argmax(originals[:, None] == originals[None], axis=1)]
            values = jnp.nanmean(batched_map(of_inner, (train[None] - inner, inner)), axis=0)
            penalty = _best(values, penalties[:, None])[0]
        weights = fitted(train > 0, penalty)
        return compared(weights, rows, tested), weights, penalty

    return batched_map(of_fold, _training_and_test(folds, x))


@at_full_precision
def feature_weights(
    x: Features,
    target: Float[Array, "n n"],
    *,
    where: Mask | None = None,
    originals: Originals | None = None,
    alpha: float | Scalar = 1.0,
    method: Method = "corr",
) -> Float[Array, " p"]:
    r"""A weight of each feature, not negative, with which squared differences of features add up to an RDM.

    Minimises :math:`\sum_{i<j} (d_{ij} - b - \sum_f w_f (x_{if} - x_{jf})^2)^2 + \alpha \sum_f s_f^2 w_f^2` over
    :math:`w \ge 0` and b, where :math:`s_f^2` is the sum of squares of the deviations of a feature's squared
    differences from their mean, so that the scale of a feature does not matter. If angles are compared
    (``method="cosine"``), there is no b.

    Squared differences of pairs of stimuli are never formed. With centred features and :math:`q_f = x_f^2`, all of
    which have sums over stimuli :math:`Q_f`, their products are

    .. math:: \sum_{i<j} (x_{if} - x_{jf})^2 (x_{ig} - x_{jg})^2
        = n\, q_f \cdot q_g + Q_f Q_g + 2 (x_f \cdot x_g)^2

    Args:
        x: features ``(stimuli, features)``.
        target: the RDM to fit, ``(stimuli, stimuli)``.
        where: True where a stimulus counts; all if None.
        originals: as for :func:`cross_validated_rdm_model`.
        alpha: penalty, relative to the sum of squares of each feature.
        method: ``"cosine"`` for a fit without b, any other comparison for one with it.

    Returns:
        ``(features,)`` in the dtype of ``x``. NaN where a dissimilarity that counts is NaN, or all are equal.

    Source: Kaniuth & Hebart 2022, with a penalty relative to each feature.

    Example:
        >>> from bsjax.metrics import rdm
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> target = rdm(x * jnp.array([[2.0, 1.0]]), dissimilarity="sqeuclidean")
        >>> print(feature_weights(x, target, alpha=0.0).round(3))
        [4. 1.]
    """
    counts = jnp.ones(len(x), bool) if where is None else where
    known = _matrix_of_pairs(counts, originals)
    bad = jnp.any(jnp.isnan(target) & known)
    n, pairs = jnp.sum(counts).astype(x.dtype), jnp.sum(known).astype(x.dtype) / 2.0
    wanted = jnp.where(known & ~bad, target, 0.0)
    of_angles = method == "cosine"
    if not of_angles:
        wanted = deviations(wanted.reshape(1, -1), known.reshape(1, -1), axis=1).values.reshape(wanted.shape)
    rows, _ = centred_rows(x, counts.astype(x.dtype))
    squares = rows**2
    sums = jnp.sum(squares, axis=0)
    around = jnp.where(counts[:, None], squares - sums[None] / n, 0.0)
    # Without the products of means, which would cancel most of these.
    gram = n * around.T @ around + 2.0 * (rows.T @ rows) ** 2
    gram = gram + (2.0 - (0.0 if of_angles else n**2 / nonzero(pairs))) * sums[:, None] * sums[None]
    right = squares.T @ jnp.sum(wanted, axis=1) - jnp.sum(rows * (wanted @ rows), axis=0)
    size = jnp.sqrt(nonzero(jnp.diagonal(gram)))
    length = jnp.sqrt(nonzero(jnp.sum(wanted**2)))
    penalty = jnp.asarray(alpha, x.dtype)
    found = _not_negative(gram / size[:, None] / size[None], right / size / length, penalty)
    return jnp.where(bad | jnp.all(wanted == 0), jnp.nan, found * length / size)


@at_full_precision
def cross_validated_encoding_rdm(
    x: Features,
    y: Targets,
    folds: Folds,
    originals: Originals | None = None,
    *,
    mapping: Mapping,
    method: Method = "spearman",
    dissimilarity: Measure = "correlation",
) -> Float[Array, " folds"]:
    """Voxel-encoding RSA: the RDM of cross-validated predictions of the responses, compared with that of the responses.

    A mapping is fitted to the training stimuli of a fold. The RDM of its predictions for the test stimuli is compared
    with the RDM of the measured responses to them.

    Args:
        x: features ``(stimuli, features)``.
        y: measured responses ``(stimuli, units)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        originals: as for :func:`cross_validated_rdm_model`.
        mapping: the regression, e.g. ``Ridge(1.0)``.
        method: how RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Returns:
        ``(folds,)`` in the dtype of the inputs; NaN where ``rdm_similarity`` is.

    Source: Conwell et al. 2024 (voxel-encoding RSA); Khaligh-Razavi et al. 2017 (mixed RSA).

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 4)))
        >>> folds, y = make_folds(30, [(np.arange(20), np.arange(20, 30))]), x @ jnp.ones((4, 4)) + x
        >>> print(cross_validated_encoding_rdm(x, y, folds, mapping=Ridge(1e-6)).round(3))
        [1.]
    """
    prepared = mapping.prepare(x, y)
    params = mapping.fit(prepared, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))

    def of_fold(fold: tuple[Any, tuple[Array, ...]]) -> Scalar:
        fitted, (train, rows, tested) = fold
        one = jax.tree.map(lambda leaf: leaf[None], fitted)
        predicted = mapping.predict(one, prepared.embedding[None])[0]
        # A mapping predicts up to a constant of each target, on which patterns over targets depend.
        predicted = predicted + masked_mean(y - predicted, train[:, None] > 0, axis=0)[0]
        measured = y[rows]
        if originals is None:
            sides = predicted[rows], measured
            return rdm_similarity(*sides, where=tested, method=method, dissimilarity=dissimilarity)
        vectors = [rdm_pairs(rdm(side, dissimilarity=dissimilarity)) for side in (predicted[rows], measured)]
        return compare_rdm_vectors(*vectors, where=_pairs(tested, originals[rows]), method=method)

    return batched_map(of_fold, (params, _training_and_test(folds, x)))


def _training_and_test(folds: Folds, x: Features) -> tuple[Array, Array, Array]:
    """For every fold: 1 for its training stimuli ``(folds, n)``, its test stimuli, and their mask."""
    held_out, mask = jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask)
    return training_mask(len(x), held_out, mask, x.dtype), *where_tested(folds)


def _matrix_of_pairs(counts: Mask, originals: Originals | None) -> Bool[Array, "n n"]:
    """Mask of pairs of different stimuli that both count."""
    numbers = jnp.arange(len(counts)) if originals is None else originals
    return counts[:, None] & counts[None] & (numbers[:, None] != numbers[None])


def _pairs(counts: Mask, originals: Originals | None) -> Bool[Array, " m"] | None:
    return pairs_seen(counts) if originals is None else rdm_pairs(_matrix_of_pairs(counts, originals))
