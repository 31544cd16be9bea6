"""Factorised read-outs: a spatial mask ("where") and channel weights ("what") for each neuroid."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, Mask, Scalar, Targets
from bsjax.metrics.numerics import safe_sqrt
from bsjax.metrics.optimisation.minibatches import descend, epoch_orders, training_batches
from bsjax.metrics.regression.centring import training_mask
from bsjax.metrics.regression.mapping import Mapping, with_leaves


class PreparedReadout(NamedTuple):
    embedding: Features
    y: Targets


class ReadoutParams(NamedTuple):
    """Mask over positions, weights over channels and bias of each target, for every fold."""

    where: Float[Array, "*folds q positions"]
    what: Float[Array, "*folds q channels"]
    bias: Float[Array, "*folds q"]


@with_leaves("spatial_penalty", "channel_penalty", "learning_rate", "tolerance")
class FactorisedReadout(Mapping):
    r"""Factorised regression: :math:`\hat y_q = \sum_c d_{qc} \sum_{xy} s_{qxy} x_{cxy} + b_q`, fitted with Adam.

    For each batch, the loss over all targets is
    :math:`\|\hat y - y\|_F + \lambda_s \sum_q (\|s_q\|^2 + \|\nabla^2 s_q\|) + \lambda_d \sum_q \|d_q\|^2`
    where :math:`\nabla^2` is the Laplacian (4 neighbours) with zeros around the mask. Masks and weights start at
    standard normal values, biases at zero. Initial values and the order of the stimuli are determined by ``seed`` and
    are the same in every fold.

    Attributes:
        channels, height, width: the grid of the features, in C order of (channel, x, y).
        spatial_penalty: :math:`\lambda_s`.
        channel_penalty: :math:`\lambda_d`.
        learning_rate: learning rate of Adam; divided by 10 every ``decay_every`` epochs (not counting the first epoch).
        decay_every: see ``learning_rate``.
        epochs: number of passes over the training stimuli.
        batch_size: stimuli per step.
        tolerance: the fit stops after an epoch whose last batch has a smaller :math:`\|\hat y - y\|_F`.
        seed: random seed of initial values and orders.

    Source: Klindt et al. 2017, "Neural system identification for large populations separating 'what' and 'where'".

    Example:
        >>> start = FactorisedReadout(channels=64, height=7, width=7).start(targets=10)
        >>> start.where.shape, start.what.shape
        ((10, 49), (10, 64))
    """

    channels: int
    height: int
    width: int
    spatial_penalty: float | Scalar = 0.1
    channel_penalty: float | Scalar = 0.1
    learning_rate: float | Scalar = 0.01
    decay_every: int = 25
    epochs: int = 40
    batch_size: int = 50
    tolerance: float | Scalar = 0.1
    seed: int = 0

    def prepare(self, x: Features, y: Targets) -> PreparedReadout:
        """Checks the number of features; folds are fitted from the data as they are."""
        if x.shape[1] != self.channels * self.height * self.width:
            raise ValueError(
                f"expected {self.channels} x {self.height} x {self.width} features, there are {x.shape[1]}"
            )
        return PreparedReadout(x, y)

    def embed(self, prepared: PreparedReadout, x: Float[Array, "m p"]) -> Float[Array, "m p"]:
        """Features of new stimuli, unchanged."""
        return x

    def start(self, targets: int) -> ReadoutParams:
        """Initial values, in float32 so that they are the same for every dtype."""
        where, what = jax.random.split(jax.random.key(self.seed), 3)[:2]
        return ReadoutParams(
            jax.random.normal(where, (targets, self.height * self.width), jnp.float32),
            jax.random.normal(what, (targets, self.channels), jnp.float32),
            jnp.zeros(targets, jnp.float32),
        )

    def orders(self, n: int) -> Int[Array, "epochs n"]:
        """The order of all stimuli in each epoch."""
        return epoch_orders(jax.random.split(jax.random.key(self.seed), 3)[2], n, self.epochs)

    def fit(self, prepared: PreparedReadout, held_out: HeldOut, held_out_mask: HeldOutMask) -> ReadoutParams:
        """Parameters of every fold; all folds are fitted in parallel."""
        x, y = prepared
        n, dtype = y.shape[0], y.dtype
        images = x.reshape(n, self.channels, -1)
        start = jax.tree.map(lambda value: value.astype(dtype), self.start(y.shape[1]))
        tenths = jnp.maximum(jnp.arange(self.epochs) - 1, 0) // self.decay_every
        rates = jnp.asarray(self.learning_rate, dtype) * jnp.asarray(0.1, dtype) ** tenths.astype(dtype)
        orders = self.orders(n)

        def loss(
            params: ReadoutParams, rows: Int[Array, " size"], present: Bool[Array, " size"]
        ) -> tuple[Scalar, Scalar]:
            seen = jnp.einsum("bcs,qs->bcq", images[rows], params.where)
            predicted = jnp.einsum("bcq,qc->bq", seen, params.what) + params.bias[None]
            difference = jnp.where(present[:, None], predicted - y[rows], jnp.zeros_like(predicted))
            error = safe_sqrt(jnp.sum(difference**2))
            return error + self._penalty(params), error

        def one_fold(train: Mask) -> ReadoutParams:
            rows, present = training_batches(orders, train, self.batch_size)
            return descend(loss, start, rows, present, rates, self.tolerance)

        return jax.vmap(one_fold)(training_mask(n, held_out, held_out_mask, dtype) > 0)

    def predict(self, params: ReadoutParams, embedded: Float[Array, "folds m p"]) -> Float[Array, "folds m q"]:
        """Predicted targets of new stimuli."""

        def one_fold(fold: tuple[ReadoutParams, Float[Array, "m p"]]) -> Float[Array, "m q"]:
            # For few stimuli, the weights take more memory than they save, but only one fold's exist at a time.
            (where, what, bias), x = fold
            weights = (what[:, :, None] * where[:, None, :]).reshape(len(bias), -1)
            return x @ weights.T + bias[None]

        return batched_map(one_fold, (params, embedded))

    def _penalty(self, params: ReadoutParams) -> Scalar:
        around = jnp.pad(params.where.reshape(-1, self.height, self.width), ((0, 0), (1, 1), (1, 1)))
        neighbours = around[:, :-2, 1:-1] + around[:, 2:, 1:-1] + around[:, 1:-1, :-2] + around[:, 1:-1, 2:]
        roughness = jnp.sum((4.0 * around[:, 1:-1, 1:-1] - neighbours) ** 2, axis=(1, 2))
        spatial = jnp.sum(params.where**2) + jnp.sum(safe_sqrt(roughness))
        on_space, on_channels = (
            jnp.asarray(one, spatial.dtype) for one in (self.spatial_penalty, self.channel_penalty)
        )
        return on_space * spatial + on_channels * jnp.sum(params.what**2)
