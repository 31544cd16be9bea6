"""Stacked regression: a convex combination of the predictions of several feature spaces."""

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map, sum_of_each
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Embedded, Features, HeldOut, HeldOutMask, PerStimulus, Predicted, Targets
from bsjax.metrics.numerics import nonzero
from bsjax.metrics.regression.centring import training_mask
from bsjax.metrics.regression.mapping import Mapping, Traits, with_leaves
from bsjax.metrics.regression.mappings.banded_ridge import check_bands, split_bands
from bsjax.metrics.regression.mappings.elastic_net import Problem, weights_of
from bsjax.metrics.regression.mappings.penalty_search import solved_implicitly
from bsjax.metrics.regression.penalties.validation_folds import validation_masks, where_true

_MOST_STEPS = 20_000


class PreparedStack(NamedTuple):
    """What the mapping prepared of each feature space, and the targets."""

    spaces: tuple[Any, ...]
    y: Targets

    @property
    def embedding(self) -> Float[Array, "n d"]:
        """All stimuli in the coordinates of each space, one after the other."""
        return jnp.concatenate([space.embedding for space in self.spaces], axis=1)


@with_leaves("spaces", "shares")
class StackedParams:
    """The mapping's parameters of each space, the share of each space in the prediction, and widths of embeddings."""

    spaces: tuple[Any, ...]
    shares: Float[Array, "folds bands q"]
    widths: tuple[int, ...]


@with_leaves("mapping")
class Stacked(Mapping):
    r"""A regression on each of several feature spaces, and for each target a convex combination of their predictions.

    The prediction is :math:`\sum_b \gamma_b \hat y_b`. The shares :math:`\gamma_b \ge 0`, which sum to 1, minimise

    .. math:: \Bigl\| \sum_b \gamma_b (y - \hat y_b) \Bigr\|^2

    over validation folds within the training stimuli, so that they are at least as good there as the best single space.
    A combination of many features that are alike is less noisy than one joint regression, and a space that does not
    help gets a share of 0.

    Args:
        mapping: the regression of each space, e.g. ``RidgeCV(alpha_per_target=True)``.
        bands: number of features of each space, in the order of the features.
        cv: number of validation folds, each a run of consecutive training stimuli.

    Raises:
        ValueError: the sizes of the spaces do not sum to the number of features.

    Source: Breiman 1996; Lin, Dupré la Tour, Gallant & Naselaris 2024.

    Example:
        >>> from bsjax.metrics import Ridge, train_test
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(60, 8)))
        >>> y = x[:, :1] + x[:, 1:2]  # the first space predicts all of it
        >>> stacked = Stacked(Ridge(0.01), bands=(2, 6))
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=stacked).round(2).tolist()
        [1.0]
    """

    mapping: Mapping
    bands: tuple[int, ...]
    cv: int = 5

    @property
    def traits(self) -> Traits:
        """Those of the mapping; features must stay in the order of their spaces."""
        return self.mapping.traits.on_other_features(reported=("shares",))

    def prepare(self, x: Features, y: Targets) -> PreparedStack:
        """Prepares the mapping for each space."""
        check_bands(self.bands, x.shape[1])
        centred = y - jnp.mean(y, axis=0, keepdims=True)
        return PreparedStack(tuple(self.mapping.prepare(space, y) for space in split_bands(x, self.bands)), centred)

    def embed(self, prepared: PreparedStack, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of each space."""
        spaces = zip(prepared.spaces, split_bands(x, self.bands), strict=True)
        return jnp.concatenate([self.mapping.embed(space, of) for space, of in spaces], axis=1)

    def fit(self, prepared: PreparedStack, held_out: HeldOut, held_out_mask: HeldOutMask) -> StackedParams:
        """Parameters of each space, and shares of each target, in every fold."""
        most = held_out.shape[1] - (-len(prepared.y) // self.cv)
        train = training_mask(len(prepared.y), held_out, held_out_mask, prepared.y.dtype)
        shares = batched_map(lambda one: convex_weights(self._products(prepared, one, most)).T, train)
        spaces = tuple(self.mapping.fit(space, held_out, held_out_mask) for space in prepared.spaces)
        return StackedParams(spaces, shares, tuple(space.embedding.shape[1] for space in prepared.spaces))

    def predict(self, params: StackedParams, embedded: Embedded) -> Predicted:
        """The combined predictions, without the intercept."""
        parts = jnp.split(embedded, np.cumsum(params.widths)[:-1], axis=2)
        each = [self.mapping.predict(space, part) for space, part in zip(params.spaces, parts, strict=True)]
        return jnp.einsum("bfmq,fbq->fmq", jnp.stack(each), params.shares)

    def _products(self, prepared: PreparedStack, train: PerStimulus, most: int) -> Float[Array, "q bands bands"]:
        """Products of the residuals of all pairs of spaces, summed over validation folds."""

        def of_fold(masks: tuple[Array, Array]) -> Float[Array, "q bands bands"]:
            fitted, tested = masks
            rows, mask = where_true(fitted == 0.0, most, fitted.dtype)

            def residuals(space: Any) -> Targets:
                params = self.mapping.fit(space, rows[None], mask[None] > 0.0)
                left = prepared.y - self.mapping.predict(params, space.embedding[None])[0]
                return (left - (fitted @ left)[None] / jnp.sum(fitted)) * tested[:, None]

            of_spaces = jnp.stack([residuals(space) for space in prepared.spaces])
            return jnp.einsum("bnq,cnq->qbc", of_spaces, of_spaces)

        return sum_of_each(of_fold, validation_masks(train, self.cv))


def convex_weights(products: Float[Array, "q b b"]) -> Float[Array, "q b"]:
    r"""Weights :math:`w \ge 0` with sum 1 that minimise :math:`w^T R w`, for every matrix of products of residuals.

    They are the :math:`u \ge 0` that minimises :math:`\tfrac12 u^T R u - \sum_b u_b`, divided by its sum.
    """

    def of_target(product: Float[Array, "b b"]) -> Float[Array, " b"]:
        spaces = len(product)
        one = jnp.ones((), product.dtype)
        scaled = product / nonzero(jnp.trace(product) / spaces)
        # Spaces with equal predictions share the weight equally.
        equal = rounding(product, 64.0) * one
        problem = Problem(jnp.zeros_like(product[:0]), scaled, jnp.ones_like(product[:, :1]), 0.0 * one, equal)
        stepped = cast(tuple[Array, Array], weights_of(problem, jnp.full((spaces, 1), spaces * one), True, _MOST_STEPS))
        near = jax.lax.stop_gradient(stepped[0][:, 0])
        # Steps tell which weights are not zero; the others solve a linear system.
        there = (near > 0).astype(product.dtype)
        system = there[:, None] * scaled * there[None] + jnp.diag(there * equal + (1.0 - there))
        exact = solved_implicitly(system, there[:, None])[:, 0]
        found = jnp.where(jnp.all(exact >= 0), exact, near)
        return found / nonzero(jnp.sum(found))

    return jax.vmap(of_target)(products)
