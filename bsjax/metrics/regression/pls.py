"""Partial least squares with all folds in step, one component at a time.

The components of all folds are columns of the same skinny products with the features, and what is iterated is small:
the leading eigenvector of the square of the fold's cross-product :math:`S = X^T Y`, taken on its smaller side and
deflated by rank-two updates (Dayal & MacGregor 1997, de Jong & ter Braak 1994).
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.fallbacks import with_fallback
from bsjax.metrics.linalg.eigenvectors import leading_eigenvector, power_iteration
from bsjax.metrics.numerics import rotated_to_few_columns, times_few
from bsjax.metrics.regression.centring import Centred, centre, cross_product, fold_moments, training_mask
from bsjax.metrics.regression.mapping import Traits

# A component shorter than this many rounding errors of the first one is noise: the data hold no more components.
_EXHAUSTED = 50.0


class PreparedPLS(NamedTuple):
    """Centred data, their cross-product, and the targets rotated to at most as many columns as there are stimuli."""

    centred: Centred
    embedding: Float[Array, "n p"]
    targets: Float[Array, "n s"]
    cross: Float[Array, "s p"]


class PLSParams(NamedTuple):
    """Rotations (features to scores), loadings (scores to targets) and means of every fold."""

    x_mean: Float[Array, "folds p"]
    y_mean: Float[Array, "folds q"]
    rotations: Float[Array, "folds k p"]
    y_loadings: Float[Array, "folds k q"]


class _CrossProduct(NamedTuple):
    """The deflated cross-product of every fold, deflated lazily.

    Taking each component off ``base`` would pass over the whole array, so components wait in ``pending``. ``square`` is
    formed anew, and in float32 ``base`` brought up to date, when rounding errors of the old size would start to show.
    """

    base: Float[Array, "folds s p"]
    x_loadings: Float[Array, "folds k p"]
    pending: Float[Array, "folds k s"]
    """Target loadings times squared score lengths, zero once taken off ``base``."""
    square: Float[Array, "folds m m"]
    """The deflated cross-product times itself, of the side of the targets or of the features, over ``scale``."""
    scale: Float[Array, " folds"]
    """What gave ``square`` a trace of 1 when it was last formed: float32 does not hold the squares of large data."""


class _State(NamedTuple):
    """What one component hands to the next."""

    cross: _CrossProduct
    start: Float[Array, "folds m"]
    rotations: Float[Array, "folds k p"]
    first_length: Float[Array, " folds"]
    exhausted: Bool[Array, " folds"]


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["n_components", "solver"])
@dataclass(frozen=True)
class PLS:
    r"""Partial least squares regression (PLS2; features and targets centred, not scaled).

    Component by component, the feature weights :math:`w` are the leading left singular vector of the deflated
    cross-product :math:`S = X^T Y`; with scores :math:`t = X r`, loadings :math:`p = X^T t / t^T t` and
    :math:`q = Y^T t / t^T t`, it is deflated as :math:`S \leftarrow S - (t^T t)\, p q^T`. The prediction is
    :math:`X R Q^T`.

    Args:
        n_components: how many components, at most the number of features and of training stimuli. Where the data hold
            fewer, the rest are empty.
        solver: ``"converged"`` iterates each component to rounding level: the result does not depend on the order of
            the targets. ``"nipals"`` starts the power iteration at the first target and stops it at scikit-learn's
            loose tolerance, as Brain-Score's numbers have it; its result moves by some 1e-4 with the order of the
            targets.

    Source: Wold 1975; Dayal & MacGregor 1997 (the recurrences); de Jong & ter Braak 1994.
    """

    n_components: int = 25
    solver: Literal["converged", "nipals"] = "converged"

    @property
    def traits(self) -> Traits:
        """It needs as many features as components, and one more training stimulus."""
        return Traits(
            "inner products",
            ignores_zero_features=True,
            ignores_zero_targets=True,
            least_features=self.n_components,
            least_training_stimuli=self.n_components + 1,
            advice=lambda features, stimuli: (
                f"pass n_components={min(features, stimuli - 1)} or fewer (the largest possible)"
            ),
        )

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedPLS:
        """Centres, and forms the cross-product of all stimuli."""
        centred = centre(x, y)
        # The scores depend on the targets up to their scale, with which products of products leave float32.
        size = jnp.max(jnp.abs(centred.y), initial=float(jnp.finfo(y.dtype).tiny))
        targets = centred.y / jax.lax.stop_gradient(size)
        if self.solver == "converged":
            # And through their inner products alone.
            targets = rotated_to_few_columns(targets)
        return PreparedPLS(centred, centred.x, targets, cross_product(centred._replace(y=targets)))

    def embed(self, prepared: PreparedPLS, x: Float[Array, "m p"]) -> Float[Array, "m p"]:
        """New stimuli as centred features."""
        return x - prepared.centred.x_mean

    def fit(
        self, prepared: PreparedPLS, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> PLSParams:
        """Rotations and loadings of every fold."""
        return self._components(prepared, held_out, held_out_mask)[0]

    def predict_held_out(
        self, prepared: PreparedPLS, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> Float[Array, "folds h q"]:
        """Predicted targets of the held-out stimuli of every fold, less their means: the fit takes all scores."""
        params, scores = self._components(prepared, held_out, held_out_mask)
        of_held_out = jnp.take_along_axis(scores, held_out[None], axis=2)
        return jnp.einsum("kfh,fkq->fhq", of_held_out, params.y_loadings)

    def _components(
        self, prepared: PreparedPLS, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> tuple[PLSParams, Float[Array, "k folds n"]]:
        """The fit of every fold, and the scores of all stimuli in it."""
        x, y = prepared.centred.x, prepared.centred.y
        train = training_mask(x.shape[0], held_out, held_out_mask, x.dtype)
        rotated = prepared.centred._replace(y=prepared.targets)
        moments = fold_moments(rotated, prepared.cross, held_out, held_out_mask)

        def component(state: _State, k: Int[Array, ""]) -> tuple[_State, Array]:
            cross = _bring_up_to_date(state.cross, always=self.solver == "nipals")
            weights, length, start = self._weights(cross, state.start)
            first_length = jnp.where(k == 0, length, state.first_length)
            rounding = _EXHAUSTED * jnp.finfo(x.dtype).eps * first_length
            exhausted = state.exhausted | ~(length > rounding)
            weights = jnp.where(exhausted[:, None], 0.0, weights)
            # What the scores times the targets are, too; here it is not to be had from the square, which has rounding
            # errors that would pass for components.
            taken_off = _times_features(cross, weights)
            rotation = weights
            for _ in range(2):  # once leaves rounding of large components in the scores of small ones
                rotation = rotation - _combine(_along(cross.x_loadings, rotation), state.rotations)
            scores = times_few(x, rotation) - jnp.sum(moments.x_mean * rotation, axis=1, keepdims=True)
            of_train = scores * train
            squared = jnp.sum(of_train**2, axis=1, keepdims=True)
            x_loading = of_train @ x / jnp.where(exhausted[:, None], 1.0, squared)
            cross = _take_off(cross, k, x_loading, taken_off, with_square=self.solver == "converged")
            rotations = _put(state.rotations, rotation, k)
            return _State(cross, start, rotations, first_length, exhausted), scores

        start = self._first_state(moments.cross, prepared.targets, train)
        last, scores = jax.lax.scan(component, start, jnp.arange(self.n_components))
        of_train = scores * train[None]
        squared = jnp.sum(of_train**2, axis=2, keepdims=True)
        y_loadings = of_train @ y / jnp.where(squared > 0, squared, 1.0)
        y_mean = train @ y / moments.n_train[:, None] + prepared.centred.y_mean
        params = PLSParams(moments.x_mean, y_mean, last.rotations, jnp.moveaxis(y_loadings, 0, 1))
        return params, scores

    def predict(self, params: PLSParams, embedded: Float[Array, "folds m p"]) -> Float[Array, "folds m q"]:
        """The targets predicted for embedded stimuli, less their means; no weights of features x targets are formed."""
        offset = jnp.sum(params.rotations * params.x_mean[:, None], axis=2)
        scores = jnp.einsum("fmp,fkp->fmk", embedded, params.rotations) - offset[:, None]
        return jnp.einsum("fmk,fkq->fmq", scores, params.y_loadings)

    def _first_state(
        self, cross: Float[Array, "folds s p"], targets: Float[Array, "n s"], train: Float[Array, "folds n"]
    ) -> _State:
        folds, s, p = cross.shape
        none_p = jnp.zeros((folds, self.n_components, p), cross.dtype)
        none_s = jnp.zeros((folds, self.n_components, s), cross.dtype)
        if self.solver == "nipals":
            square, scale = jnp.zeros((folds, 0, 0), cross.dtype), jnp.ones(folds, cross.dtype)
            start = _first_varying_target(targets, train)
        else:
            square, scale = _scaled_square(cross)
            # The target (or feature) with the largest share in the cross-product.
            start = jnp.take_along_axis(square, jnp.argmax(_diagonal(square), axis=1)[:, None, None], axis=1)[:, 0]
        lazy = _CrossProduct(cross, none_p, none_s, square, scale)
        return _State(lazy, start, none_p, jnp.zeros(folds, cross.dtype), jnp.zeros(folds, bool))

    def _weights(
        self, cross: _CrossProduct, start: Float[Array, "folds m"]
    ) -> tuple[Float[Array, "folds p"], Float[Array, " folds"], Float[Array, "folds m"]]:
        """Unit feature weights of the next component, the length of the cross-product along them, the next start."""
        if self.solver == "nipals":
            weights, length = power_iteration(cross.base, start)
            return weights, length, start
        leading = leading_eigenvector(cross.square, jax.lax.stop_gradient(start))
        if _on_features(cross.base):
            return leading.vector, _safe_sqrt(leading.value * cross.scale), leading.second
        direction = _times_targets(cross, leading.vector)
        length = _safe_sqrt(jnp.sum(direction**2, axis=1))
        return direction / jnp.where(length > 0, length, 1.0)[:, None], length, leading.second


def _on_features(cross: Float[Array, "folds s p"]) -> bool:
    return cross.shape[2] < cross.shape[1]


def _scaled_square(
    cross: Float[Array, "folds s p"],
) -> tuple[Float[Array, "folds m m"], Float[Array, " folds"]]:
    """The cross-product times itself at a trace of 1, and the scale that was taken off."""
    scale = jnp.sum(cross**2, axis=(1, 2))
    # Where nothing is left, neither is there anything to scale; a subnormal scale would make infinities.
    scale = jnp.where(scale > jnp.finfo(cross.dtype).tiny, scale, jnp.ones_like(scale))
    cross = cross / jnp.sqrt(scale)[:, None, None]
    if _on_features(cross):
        return jnp.einsum("fsp,fsq->fpq", cross, cross), scale
    return jnp.einsum("fsp,ftp->fst", cross, cross), scale


def _diagonal(square: Float[Array, "folds m m"]) -> Float[Array, "folds m"]:
    return jnp.diagonal(square, axis1=1, axis2=2)


def _along(rows: Float[Array, "folds k d"], vector: Float[Array, "folds d"]) -> Float[Array, "folds k"]:
    return jnp.einsum("fkd,fd->fk", rows, vector)


def _combine(weights: Float[Array, "folds k"], rows: Float[Array, "folds k d"]) -> Float[Array, "folds d"]:
    return jnp.einsum("fk,fkd->fd", weights, rows)


def _put(rows: Float[Array, "folds k d"], row: Float[Array, "folds d"], k: Int[Array, ""]) -> Float[Array, "folds k d"]:
    return jax.lax.dynamic_update_index_in_dim(rows, row, k, axis=1)


def _times_targets(cross: _CrossProduct, vector: Float[Array, "folds s"]) -> Float[Array, "folds p"]:
    whole = jnp.einsum("fsp,fs->fp", cross.base, vector)
    return whole - _combine(_along(cross.pending, vector), cross.x_loadings)


def _times_features(cross: _CrossProduct, vector: Float[Array, "folds p"]) -> Float[Array, "folds s"]:
    whole = jnp.einsum("fsp,fp->fs", cross.base, vector)
    return whole - _combine(_along(cross.x_loadings, vector), cross.pending)


def _take_off(
    cross: _CrossProduct,
    k: Int[Array, ""],
    x_loading: Float[Array, "folds p"],
    taken_off: Float[Array, "folds s"],
    *,
    with_square: bool,
) -> _CrossProduct:
    """The cross-product less ``x_loading`` times ``taken_off``, and its square to match."""
    square = cross.square
    if with_square:
        if _on_features(cross.base):
            own, image, squared = x_loading, _times_targets(cross, taken_off), jnp.sum(taken_off**2, axis=1)
        else:
            own, image, squared = taken_off, _times_features(cross, x_loading), jnp.sum(x_loading**2, axis=1)
        # (S - p c')'(S - p c') = S'S - u c' - c u' with u = S'p - p'p c / 2.
        image, own = (v / jnp.sqrt(cross.scale)[:, None] for v in (image - 0.5 * squared[:, None] * own, own))
        square = square - image[:, :, None] * own[:, None, :] - own[:, :, None] * image[:, None, :]
    return cross._replace(
        x_loadings=_put(cross.x_loadings, x_loading, k),
        pending=_put(cross.pending, taken_off, k),
        square=square,
    )


def _bring_up_to_date(cross: _CrossProduct, *, always: bool) -> _CrossProduct:
    """Forms anew what was deflated by updates, when rounding errors of its old size would start to show in the rest."""

    def deflated() -> Float[Array, "folds s p"]:
        return cross.base - jnp.einsum("fks,fkp->fsp", cross.pending, cross.x_loadings)

    if always:
        return cross._replace(base=deflated(), pending=jnp.zeros_like(cross.pending))

    eps = jnp.finfo(cross.base.dtype).eps
    double = eps < 1e-12
    lost = jnp.any(jnp.sum(_diagonal(cross.square), axis=1) < eps ** (0.375 if double else 0.25))
    if double:
        # Float64 has digits to spare: `base` may stay, and need not be copied through the condition at each component.
        square, scale = with_fallback(lost, lambda: (cross.square, cross.scale), lambda: _scaled_square(deflated()))
        return cross._replace(square=square, scale=scale)

    def all_anew() -> _CrossProduct:
        base = deflated()
        square, scale = _scaled_square(base)
        return cross._replace(base=base, pending=jnp.zeros_like(cross.pending), square=square, scale=scale)

    return with_fallback(lost, lambda: cross, all_anew)


def _first_varying_target(targets: Float[Array, "n s"], train: Float[Array, "folds n"]) -> Float[Array, "folds s"]:
    """A unit vector at the first target that is not constant over a fold's training stimuli: where NIPALS starts."""
    mean = (train @ targets) / jnp.sum(train, axis=1, keepdims=True)
    spread = jnp.max(jnp.abs(targets[None] - mean[:, None]) * train[:, :, None], axis=1)
    first = jnp.argmax(spread > 10 * jnp.finfo(targets.dtype).eps, axis=1)
    return jax.nn.one_hot(first, targets.shape[1], dtype=targets.dtype)


def _safe_sqrt(x: Float[Array, " folds"]) -> Float[Array, " folds"]:
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, jnp.ones_like(x))), jnp.zeros_like(x))
