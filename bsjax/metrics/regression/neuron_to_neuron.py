"""Neuron-to-neuron: each target is predicted by the single feature that correlates best with it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import first_largest
from bsjax.engine.tolerances import LEFT_OF_SQUARES, rounding
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, Targets
from bsjax.metrics.numerics import inverse_root
from bsjax.metrics.regression.centring import (
    Centred,
    centre,
    held_out_rows,
    training_mask,
    without_constants,
)
from bsjax.metrics.regression.mapping import Mapping, Traits


class PreparedMatch(NamedTuple):
    centred: Centred
    embedding: Features


class MatchParams(NamedTuple):
    """The best feature of each target in every fold, and whether any feature varies."""

    feature: Int[Array, "folds q"]
    found: Bool[Array, "folds q"]


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=[])
@dataclass(frozen=True)
class NeuronToNeuron(Mapping):
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
        return Traits(fits_targets_alone=True, ignores_zero_features=True, ignores_zero_targets=True)

    def prepare(self, x: Features, y: Targets) -> PreparedMatch:
        """Centres the data."""
        centred = without_constants(centre(x, y))
        return PreparedMatch(centred, centred.x)

    def embed(self, prepared: PreparedMatch, x: Float[Array, "m p"]) -> Float[Array, "m p"]:
        """Centred features of new stimuli."""
        return x - prepared.centred.x_mean

    def fit(self, prepared: PreparedMatch, held_out: HeldOut, held_out_mask: HeldOutMask) -> MatchParams:
        """The best feature of each target in every fold."""
        similarities = _similarities(prepared.centred, held_out, held_out_mask)
        best, feature = first_largest(similarities, prepared.centred.x.T)
        return MatchParams(feature, best > -jnp.inf)

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


def _similarities(
    centred: Centred, held_out: HeldOut, mask: HeldOutMask
) -> Callable[[Float[Array, "b n"]], Float[Array, "b folds q"]]:
    """A function from a block of features, as rows, to their correlations with every target over training stimuli.

    Correlations are divided by that of the target with itself; those of features that do not vary are minus infinity.
    """
    y, n = jax.lax.stop_gradient(centred.y), len(centred.y)
    y_out, train = held_out_rows(y, held_out, mask), training_mask(n, held_out, mask, y.dtype)
    n_train = jnp.sum(train, axis=1)[:, None]
    y_mean = -jnp.sum(y_out, axis=1) / n_train

    def of_block(features: Float[Array, "b n"]) -> Float[Array, "folds b q"]:
        features = jax.lax.stop_gradient(features)
        x_out = held_out_rows(features.T, held_out, mask)
        x_mean, squares = train @ features.T / n_train, jnp.sum(features**2, axis=1)[None]
        left = squares - jnp.sum(x_out**2, axis=1) - n_train * x_mean**2
        # The remainder of a sum of squares after the subtraction may be rounding error only.
        varies = left > rounding(left, LEFT_OF_SQUARES) * n * squares
        removed = jnp.concatenate([x_out, (n_train * x_mean)[:, None]], axis=1).swapaxes(1, 2)
        cross = (features @ y)[None] - removed @ jnp.concatenate([y_out, y_mean[:, None]], axis=1)
        return jnp.where(varies[:, :, None], cross * inverse_root(left, varies)[:, :, None], -jnp.inf)

    return of_block
