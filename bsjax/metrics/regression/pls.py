"""Partial least squares regression, with the components of all folds computed together.

One product with the features computes the scores of a component in all folds. Iterations run on a small matrix: the
square of each fold's cross-product :math:`S = X^T Y`, on its smaller side. Its leading eigenvector gives the feature
weights, and rank-two updates deflate it (Dayal & MacGregor 1997, de Jong & ter Braak 1994).
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.products import skinny_product
from bsjax.engine.programs.platforms import platform
from bsjax.engine.tolerances import EXHAUSTED, rounding
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, HeldOutTargets, Predicted, Targets
from bsjax.metrics.correlation import pearson
from bsjax.metrics.determined import determined
from bsjax.metrics.numerics import nonzero, rotated_to_few_columns
from bsjax.metrics.regression.centring import Centred, centre, cross_product, fold_moments, training_mask
from bsjax.metrics.regression.crossvalidation import members, where_tested
from bsjax.metrics.regression.deflated_cross_product import DeflatedCrossProduct
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import LinearMapping, Traits, with_leaves
from bsjax.metrics.regression.pls_solvers import SOLVERS

# An operation of a QR decomposition takes three times as long as one of a product, and there are half as many.
_QR = 1.5


class PreparedPLS(NamedTuple):
    """Centred data, their cross-product, and scaled targets, rotated to at most as many columns as stimuli."""

    centred: Centred
    embedding: Features
    targets: Float[Array, "n s"]
    cross: Float[Array, "s p"]


class PLSParams(NamedTuple):
    """Means of features, rotations (features to scores) and loadings (scores to targets) of every fold."""

    x_mean: Float[Array, "folds p"]
    rotations: Float[Array, "folds k p"]
    y_loadings: Float[Array, "folds k q"]


class _State(NamedTuple):
    """State passed from one component to the next."""

    cross: DeflatedCrossProduct
    start: Float[Array, "folds m"]
    rotations: Float[Array, "folds k p"]
    least_length: Float[Array, " folds"]


@with_leaves()
class PLS(LinearMapping):
    r"""Partial least squares regression (PLS2; features and targets centred, not scaled).

    For each component, the feature weights :math:`w` are the leading left singular vector of the deflated
    cross-product :math:`S = X^T Y`. With scores :math:`t = X r` and loadings :math:`p = X^T t / t^T t` and
    :math:`q = Y^T t / t^T t`, the deflation is :math:`S \leftarrow S - (t^T t)\, p q^T`. The prediction is
    :math:`X R Q^T`.

    Args:
        n_components: number of components, at most the number of features, and fewer than training stimuli. If the data
            have a lower rank, the remaining components are empty.
        solver: ``"converged"`` iterates each component to rounding level. ``"nipals"`` starts the power iteration at
            the first target and stops at scikit-learn's loose tolerance, as Brain-Score does; its result depends on the
            order of the targets, by about 1e-4.

    Source: Wold 1975; Dayal & MacGregor 1997 (the recurrences); de Jong & ter Braak 1994.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import train_test
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 5)))
        >>> y = x @ jnp.asarray(rng.normal(size=(5, 2)))
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=PLS(n_components=5)).round(3).tolist()
        [1.0, 1.0]
    """

    n_components: int = 25
    solver: Literal["converged", "nipals"] = "converged"

    @property
    def traits(self) -> Traits:
        """Predictions depend on inner products; components need as many features, and one more training stimulus."""
        return Traits(
            "inner products",
            ignores_zero_features=True,
            ignores_zero_targets=True,
            least_features=self.n_components,
            least_training_stimuli=self.n_components + 1,
            advice=lambda p, n: f"pass n_components={min(p, n - 1)} or fewer (the largest possible)",
        )

    def prepare(self, x: Features, y: Targets) -> PreparedPLS:
        """Centres the data and computes their cross-product over all stimuli."""
        centred = centre(x, y)
        targets = SOLVERS[self.solver].targets(centred.y)
        return PreparedPLS(centred, centred.x, targets, cross_product(centred._replace(y=targets)))

    def fit(self, prepared: PreparedPLS, held_out: HeldOut, held_out_mask: HeldOutMask) -> PLSParams:
        """Rotations and loadings of every fold."""
        return self.components(prepared, held_out, held_out_mask)[0]

    def predict_held_out(self, prepared: PreparedPLS, held_out: HeldOut, held_out_mask: HeldOutMask) -> HeldOutTargets:
        """Predicted targets of the held-out stimuli of every fold, without the intercept."""
        params, scores = self.components(self.in_few_columns(prepared, len(held_out)), held_out, held_out_mask)
        return jnp.einsum("kfh,fkq->fhq", jnp.take_along_axis(scores, held_out[None], axis=2), params.y_loadings)

    def in_few_columns(self, prepared: PreparedPLS, folds: int) -> PreparedPLS:
        """Rotates the features to as many columns as stimuli if passes over all features would take longer.

        Component scores and loadings of targets stay the same; rotations are those of the new columns.
        """
        x = prepared.centred.x
        n, p = x.shape
        passes = self.n_components * folds * (p - n)
        if platform() != "cpu" or passes <= _QR * n * p:
            return prepared
        few = prepared.centred._replace(x=rotated_to_few_columns(x))
        return prepared._replace(centred=few, cross=cross_product(few._replace(y=prepared.targets)))

    def components(
        self, prepared: PreparedPLS, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> tuple[PLSParams, Float[Array, "k folds n"]]:
        """Parameters of every fold, and the component scores of all stimuli."""
        x, y = prepared.centred.x, prepared.centred.y
        train = training_mask(x.shape[0], held_out, held_out_mask, x.dtype)
        moments = fold_moments(prepared.centred._replace(y=prepared.targets), prepared.cross, held_out, held_out_mask)
        solver = SOLVERS[self.solver]

        def component(state: _State, k: Int[Array, ""]) -> tuple[_State, Array]:
            cross, (weights, length, start) = solver.weights(state.cross, state.start)
            least_length = jnp.where(k == 0, rounding(x, EXHAUSTED) * length, state.least_length)
            exhausted = ~(length > least_length)
            weights = jnp.where(exhausted[:, None], 0.0, weights)
            rotation = weights
            for _ in range(2):  # one pass leaves rounding errors of large components in the scores of small ones
                along = jnp.einsum("fkp,fp->fk", cross.x_loadings, rotation)
                rotation = rotation - jnp.einsum("fk,fkp->fp", along, state.rotations)
            scores = skinny_product(rotation, x) - jnp.sum(moments.x_mean * rotation, axis=1, keepdims=True)
            of_train = scores * train
            squared = jnp.sum(of_train**2, axis=1, keepdims=True)
            x_loading = of_train @ x / jnp.where(exhausted[:, None], 1.0, squared)
            # Target loadings times squared score lengths are the cross-product times the weights.
            cross = cross.less(k, x_loading, cross.times_features(weights))
            rotations = jax.lax.dynamic_update_index_in_dim(state.rotations, rotation, k, axis=1)
            return _State(cross, start, rotations, jnp.where(exhausted, jnp.inf, least_length)), scores

        cross, start = solver.begin(moments.cross, self.n_components, prepared.targets, train)
        first = _State(cross, start, jnp.zeros_like(cross.x_loadings), jnp.zeros_like(start[:, 0]))
        last, scores = jax.lax.scan(component, first, jnp.arange(self.n_components))
        of_train = scores * train[None]
        squared = jnp.sum(of_train**2, axis=2, keepdims=True)
        y_loadings = of_train @ y / nonzero(squared)
        return PLSParams(moments.x_mean, last.rotations, jnp.moveaxis(y_loadings, 0, 1)), scores

    def predict(self, params: PLSParams, embedded: Float[Array, "folds m p"]) -> Predicted:
        """Predicted targets without the intercept, computed from scores: no features x targets weights are formed."""
        offset = jnp.sum(params.rotations * params.x_mean[:, None], axis=2)
        scores = jnp.einsum("fmp,fkp->fmk", embedded, params.rotations) - offset[:, None]
        return jnp.einsum("fmk,fkq->fmq", scores, params.y_loadings)


@at_full_precision
def cross_validate_by_components(
    x: Features, y: Targets, folds: Folds, *, mapping: PLS
) -> Float[Array, "folds components q"]:
    """``cross_validate`` of PLS at every number of components up to ``mapping.n_components``, from one fit.

    The first components do not depend on how many there are, so that predictions of one component more are those of
    the components before, plus one product of scores and loadings.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        mapping: PLS with the largest number of components.

    Returns:
        Pearson r ``(folds, components, targets)``, in the dtype of the inputs; the first entry is that of one
        component. NaN as in ``cross_validate``.

    Source: Wold 1975.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> r = cross_validate_by_components(x, x @ jnp.ones((3, 1)), folds, mapping=PLS(3))
        >>> r.shape, r[0, 2].round(3).tolist()
        ((1, 3, 1), [1.0])
    """
    held_out, held_out_mask = jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask)
    prepared = mapping.in_few_columns(mapping.prepare(x, y), len(held_out))
    params, scores = mapping.components(prepared, held_out, held_out_mask)
    test, mask = where_tested(folds)
    told = determined(x, y, x)(*members(folds, len(x)))
    of_test = jnp.take_along_axis(scores, test[None], axis=2)

    def add(predicted: Predicted, one: tuple[Array, Array]) -> tuple[Array, Array]:
        score, loading = one
        predicted = predicted + score[:, :, None] * loading[:, None]
        r = pearson(predicted, y[test], axis=1, where=mask[:, :, None])
        return predicted, jnp.where(told, r, jnp.nan)

    each = of_test, jnp.moveaxis(params.y_loadings, 1, 0)
    return jnp.moveaxis(jax.lax.scan(add, jnp.zeros_like(y[test]), each)[1], 0, 1)
