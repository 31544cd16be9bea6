"""A linear softmax read-out of object identity, fitted by minibatches on the training stimuli of each split."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.arrays import Features, Mask, Scalar
from bsjax.metrics.optimisation.minibatches import descend, training_batches
from bsjax.metrics.regression.mapping import with_leaves

Labels = Int[Array, " n"]
Orders = Int[Array, "epochs n"]
Weights = Float[Array, "p c"]


class DecoderParams(NamedTuple):
    """Weights and biases for standardised features, with the mean and scale of the training stimuli."""

    weights: Weights
    bias: Float[Array, " c"]
    mean: Float[Array, " p"]
    scale: Float[Array, " p"]


@with_leaves("weight_decay", "learning_rate", "tolerance")
class SoftmaxDecoder:
    """Multinomial logistic regression on standardised features, fitted with Adam.

    The objective is the mean cross-entropy of a batch plus ``weight_decay / 2`` times the sum of squares of weights and
    biases. The default settings are those of the decoder of Kubilius & Schrimpf et al. 2019.

    Attributes:
        weight_decay: strength of the penalty.
        learning_rate: learning rate of Adam.
        epochs: number of passes over the training stimuli.
        batch_size: stimuli per step.
        tolerance: the fit stops after an epoch whose last batch has a smaller cross-entropy.

    Example:
        >>> SoftmaxDecoder(epochs=10).epochs
        10
    """

    weight_decay: float | Scalar = 0.463
    learning_rate: float | Scalar = 1e-4
    epochs: int = 40
    batch_size: int = 64
    tolerance: float | Scalar = 1e-4

    def fit(self, x: Features, labels: Labels, train: Mask, orders: Orders, start: Weights) -> DecoderParams:
        """Fits the decoder to the training stimuli of one split.

        Args:
            x: features of all stimuli.
            labels: the object of each stimulus, as a column index of ``start``.
            train: True for the training stimuli.
            orders: an order of all stimuli for each epoch (``epoch_orders``).
            start: initial weights (``initial_weights``); biases start at 1.
        """
        mean, scale = _moments(x, train)

        def loss(
            parameters: tuple[Weights, Float[Array, " c"]], rows: Int[Array, " size"], present: Bool[Array, " size"]
        ) -> tuple[Scalar, Scalar]:
            weights, bias = parameters
            scores = ((x[rows] - mean[None]) / scale[None]) @ weights + bias[None]
            likely = jnp.take_along_axis(jax.nn.log_softmax(scores), labels[rows][:, None], axis=1)[:, 0]
            count = jnp.maximum(jnp.sum(present), 1).astype(x.dtype)
            error = -jnp.sum(jnp.where(present, likely, jnp.zeros_like(likely))) / count
            decay = jnp.asarray(self.weight_decay, x.dtype)
            return error + 0.5 * decay * (jnp.sum(weights**2) + jnp.sum(bias**2)), error

        rows, present = training_batches(orders, train, self.batch_size)
        rates = jnp.full(orders.shape[0], self.learning_rate, x.dtype)
        initial = start, jnp.ones_like(start[0])
        weights, bias = descend(loss, initial, rows, present, rates, self.tolerance)
        return DecoderParams(weights, bias, mean, scale)


def initial_weights(key: Key[Array, ""], features: int, classes: int) -> Float[Array, "features classes"]:
    """Random float32 weights of unit fan-in variance, from a normal distribution cut at two standard deviations."""
    draw = jax.nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")
    return draw(key, (features, classes), jnp.float32)


@at_full_precision
def decode(params: DecoderParams, x: Float[Array, "m p"]) -> Float[Array, "m c"]:
    """Probability of each object for each stimulus.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from bsjax.metrics.optimisation.minibatches import epoch_orders
        >>> x, labels = jnp.array([[1.0], [2.0], [-1.0], [-2.0]]), jnp.array([1, 1, 0, 0])
        >>> decoder = SoftmaxDecoder(learning_rate=0.1)
        >>> orders = epoch_orders(jax.random.key(0), 4, decoder.epochs)
        >>> params = decoder.fit(x, labels, jnp.ones(4, bool), orders, jnp.zeros((1, 2)))
        >>> print(decode(params, x).argmax(axis=1))
        [1 1 0 0]
    """
    # The weights are scaled instead of the features: there are mostly fewer of them.
    weights = params.weights / params.scale[:, None]
    return jax.nn.softmax(x @ weights + (params.bias - params.mean @ weights)[None])


def _moments(x: Features, train: Mask) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
    """Mean and standard deviation over the training stimuli; the deviation of a constant feature is 1."""
    # Moments about the mean of all stimuli are products with the mask: no copy of the features per split.
    centre = jnp.mean(x, axis=0)
    around = x - centre[None]
    share = train.astype(x.dtype) / jnp.sum(train).astype(x.dtype)
    mean, square = share @ around, share @ around**2
    variance = square - mean**2
    least = rounding(x, CONSTANT)
    constant = variance <= least * (square + least * centre**2)
    return centre + mean, jnp.where(constant, 1.0, jnp.sqrt(jnp.where(constant, 1.0, variance)))
