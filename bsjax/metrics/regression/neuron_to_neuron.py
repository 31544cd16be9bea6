"""Neuron-to-neuron: each target is predicted by the single feature that correlates best with it."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.ordering import first_largest
from bsjax.engine.tolerances import LEFT_OF_SQUARES, rounding
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, Targets
from bsjax.metrics.numerics import inverse_root
from bsjax.metrics.regression.centring import (
    Centred,
    centre,
    cross_product,
    fold_moments,
    held_out_rows,
    without_constants,
)
from bsjax.metrics.regression.mapping import LinearMapping, Traits, with_leaves


class PreparedMatch(NamedTuple):
    centred: Centred
    embedding: Features
    cross: Float[Array, "q p"]
    squares: Float[Array, " p"]


class MatchParams(NamedTuple):
    """The best feature of each target in every fold, and whether any feature varies."""

    feature: Int[Array, "folds q"]
    found: Bool[Array, "folds q"]


@with_leaves()
class NeuronToNeuron(LinearMapping):
    """One-to-one mapping: the prediction is the feature with the largest (signed) training correlation.

    Features that are constant over the training stimuli of a fold are ignored; if all are, the prediction is NaN.

    Source: Brain-Score's ``neuron_to_neuron`` (Schrimpf et al. 2020).

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import train_test
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 4)))
        >>> train_test(x[:20], x[20:], x[:20, :1], x[20:, :1], mapping=NeuronToNeuron()).round(3).tolist()
        [1.0]
    """

    @property
    def traits(self) -> Traits:
        """Targets are independent, and zero features and targets have no effect."""
        return Traits(
            fits_targets_alone=True, ignores_zero_features=True, ignores_zero_targets=True, ignores_means=True
        )

    def prepare(self, x: Features, y: Targets) -> PreparedMatch:
        """Centres the data and computes cross-products and sums of squares over all stimuli."""
        centred = without_constants(centre(x, y))
        return PreparedMatch(centred, centred.x, cross_product(centred), jnp.sum(centred.x**2, axis=0))

    def fit(self, prepared: PreparedMatch, held_out: HeldOut, held_out_mask: HeldOutMask) -> MatchParams:
        """The best feature of each target in every fold."""
        return batched_map(lambda fold: _best_features(prepared, *fold), (held_out, held_out_mask))

    def predict(self, params: MatchParams, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """The values of the best features."""
        chosen = jnp.take_along_axis(embedded, params.feature[:, None, :], axis=2)
        return jnp.where(params.found[:, None, :], chosen, jnp.full_like(chosen, jnp.nan))

    def predict_held_out(
        self, prepared: PreparedMatch, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> Float[Array, "folds h q"]:
        """The values of the best features for the held-out stimuli, without copying other features."""
        params = self.fit(prepared, held_out, held_out_mask)
        chosen = prepared.centred.x[held_out[:, :, None], params.feature[:, None, :]]
        return jnp.where(params.found[:, None, :], chosen, jnp.full_like(chosen, jnp.nan))


def _best_features(prepared: PreparedMatch, held_out: Int[Array, " h"], mask: Bool[Array, " h"]) -> MatchParams:
    fold = (held_out[None], mask[None])
    moments = fold_moments(prepared.centred, prepared.cross, *fold)
    removed = jnp.sum(held_out_rows(prepared.centred.x, *fold) ** 2, axis=1)
    squares = (prepared.squares[None] - removed - moments.n_train[:, None] * moments.x_mean**2)[0]
    # The remainder of a sum of squares after the subtraction may be rounding error only.
    varies = squares > rounding(squares, LEFT_OF_SQUARES) * len(prepared.centred.x) * prepared.squares
    similarity = jnp.where(varies[None], moments.cross[0] * inverse_root(squares, varies)[None], -jnp.inf)
    found = jnp.broadcast_to(jnp.any(varies), similarity.shape[:1])
    return MatchParams(first_largest(similarity), found)
