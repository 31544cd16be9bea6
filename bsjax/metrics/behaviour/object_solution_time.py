"""Object solution times: when the object of an image becomes decodable from a population's responses."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.behaviour.choice_signatures import Signature, rates_of_probabilities, signature
from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder, decode
from bsjax.metrics.correlation import spearman


@at_full_precision
def decoded_d_primes(
    x: Float[Array, "bins n p"],
    labels: Int[Array, " n"],
    train: Bool[Array, "splits n"],
    test: Bool[Array, "splits n"],
    orders: Int[Array, "epochs n"],
    start: Float[Array, "p c"],
    *,
    decoder: SoftmaxDecoder,
) -> Float[Array, "splits bins n"]:
    """d' of each test image (I1) for a decoder per time bin and split, fitted on the training images.

    The splits of a time bin are fitted in parallel; on a CPU, the time bins follow one another.

    Args:
        x: recordings ``(time bins, images, units)``.
        labels: the object of each image, as a column index of ``start``.
        train, test: training and test images of each split.
        orders: an order of all images for each epoch, the same in all fits.
        start: initial weights ``(units, objects)``, the same in all fits.
        decoder: settings of the fits.

    Returns:
        ``(splits, time bins, images)``; NaN for images outside the test set, and where d' is undefined.
    """

    def one_bin(recordings: Float[Array, "n p"]) -> Float[Array, "splits n"]:
        def one_split(train: Bool[Array, " n"], test: Bool[Array, " n"]) -> Float[Array, " n"]:
            chosen = decode(decoder.fit(recordings, labels, train, orders, start), recordings)
            tested = jnp.where(test[:, None], chosen, jnp.full_like(chosen, jnp.nan))
            return signature(rates_of_probabilities(tested, labels), labels, kind=Signature())

        return jax.vmap(one_split)(train, test)

    return jnp.swapaxes(batched_map(one_bin, x), 0, 1)


def crossing_times(
    values: Float[Array, "bins n"], thresholds: Float[Array, " n"], times: Float[Array, " bins"]
) -> Float[Array, " n"]:
    """Time at which the value of each image first reaches its threshold, by linear interpolation.

    The line goes through the first time bin at or above the threshold and the highest earlier bin below it (the first
    one if several are equal). Without an earlier bin below the threshold, the result is the time of that first bin.

    Args:
        values: one value per time bin and image; NaN never reaches a threshold.
        thresholds: threshold of each image.
        times: time of each bin, ascending.

    Returns:
        NaN where the threshold is never reached.

    Example:
        >>> import jax.numpy as jnp
        >>> values = jnp.array([[0.0, 2.0, 0.0], [1.0, 2.0, 0.5], [3.0, 2.0, 0.8]])
        >>> print(crossing_times(values, jnp.array([2.0, 1.0, 1.0]), jnp.array([70.0, 80.0, 90.0])))
        [85. 70. nan]
    """
    bins = jnp.arange(times.shape[0])[:, None]
    reached = values >= thresholds[None]
    hit = jnp.argmax(reached, axis=0, keepdims=True)
    below = (bins < hit) & (values < thresholds[None])
    last = jnp.argmax(jnp.where(below, values, jnp.full_like(values, -jnp.inf)), axis=0, keepdims=True)
    straight = jnp.any(reached, axis=0) & jnp.any(below, axis=0)
    (high, low), (late, early) = (
        [jnp.take_along_axis(a, at, axis=0)[0] for at in (hit, last)]
        for a in (values, jnp.broadcast_to(times[:, None], values.shape))
    )
    rise = jnp.where(straight, high - low, jnp.ones_like(high))
    over = jnp.where(straight, high - thresholds, jnp.zeros_like(high))
    time = late - over / rise * (late - early)
    return jnp.where(jnp.any(reached, axis=0), time, jnp.full_like(time, jnp.nan))


@at_full_precision
def ost_correlation(
    x: Float[Array, "bins n p"],
    labels: Int[Array, " n"],
    train: Bool[Array, "splits n"],
    test: Bool[Array, "splits n"],
    orders: Int[Array, "epochs n"],
    start: Float[Array, "p c"],
    times: Float[Array, " bins"],
    thresholds: Float[Array, " n"],
    target: Float[Array, " n"],
    *,
    decoder: SoftmaxDecoder,
) -> Float[Array, " splits"]:
    """Spearman correlation of a population's object solution times with measured ones, over the test images of a split.

    Args:
        x, labels, train, test, orders, start, decoder: as in ``decoded_d_primes``.
        times: time of each bin, ascending.
        thresholds: the d' at which each image counts as solved.
        target: measured object solution times; NaN where an image was never solved.

    Returns:
        ``(splits,)``; NaN where fewer than two test images have both times, or all times of a side are equal.

    Source: Kar et al. 2019; Kubilius & Schrimpf et al. 2019.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import SoftmaxDecoder
        >>> rng = np.random.default_rng(0)
        >>> labels, ease = jnp.arange(60) % 3, jnp.asarray(rng.uniform(0.2, 2, 60))
        >>> signal = jnp.arange(4.0)[:, None, None] * ease[None, :, None] * jax.nn.one_hot(labels, 3)[None]
        >>> x = signal + 0.3 * jnp.asarray(rng.normal(size=(4, 60, 3)))
        >>> train = jnp.asarray(rng.permutation(60) < 40)[None]
        >>> orders = jnp.asarray([rng.permutation(60) for _ in range(20)])
        >>> times, thresholds = jnp.asarray([70.0, 80.0, 90.0, 100.0]), jnp.full(60, 1.0)
        >>> decoder = SoftmaxDecoder(epochs=20, learning_rate=0.1)
        >>> found = ost_correlation(x, labels, train, ~train, orders, jnp.zeros((3, 3)), times, thresholds, 1 / ease,
        ...     decoder=decoder)
        >>> found.shape
        (1,)
    """
    values = decoded_d_primes(x, labels, train, test, orders, start, decoder=decoder)

    def one_split(values: Float[Array, "bins n"]) -> Float[Array, ""]:
        times_of_images = crossing_times(values, thresholds, times)
        return spearman(times_of_images, target, where=jnp.isfinite(times_of_images) & jnp.isfinite(target))

    return jax.vmap(one_split)(values)
