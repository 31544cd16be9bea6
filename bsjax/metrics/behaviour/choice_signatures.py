"""Behavioural signatures of object recognition: d' per image or object, overall or per distractor."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import PerStimulus
from bsjax.metrics.correlation import pearson
from bsjax.metrics.numerics import divide_or_nan, masked_mean

# A few trials without an error, or with errors only, would give an unbounded d'.
_CAP = 5.0


@dataclass(frozen=True)
class Signature:
    """One of the signatures of Rajalingham et al. 2018 (I1, I2, O1, O2; with ``normalise`` I1n, I2n).

    Attributes:
        of: d' of each ``"image"``, or of each ``"object"``.
        per_distractor: one value per distractor object instead of their mean.
        normalise: subtract the mean over the images of the same object, separately for each distractor.

    Example:
        >>> Signature(of="object", per_distractor=True).of  # O2
        'object'
    """

    of: Literal["image", "object"] = "image"
    per_distractor: bool = False
    normalise: bool = False

    def __post_init__(self) -> None:
        if self.normalise and self.of == "object":
            raise ValueError("a signature of objects has one value for each object: nothing is left to normalise")


class Rates(NamedTuple):
    """Shares of the choices between an image's object and a distractor, ``(images, objects)``.

    The two shares sum to 1; both are kept because the smaller one is the more precise. NaN where there was no such
    choice.
    """

    distractor: Float[Array, "*cells"]
    object: Float[Array, "*cells"]


class Consistency(NamedTuple):
    """Correlation ``r`` of two sides in each half of the trials, and how many cells were compared.

    ``compared`` counts the cells that were compared in every half. ``lost`` counts, for each half, the cells that the
    second side defines and the first does not. Images of weight zero are not counted; all other images count once.
    """

    r: Float[Array, " halves"]
    compared: Int[Array, ""]
    lost: Int[Array, " halves"]


def rates_of_probabilities(probabilities: Float[Array, "n c"], truth: Int[Array, " n"]) -> Rates:
    """Shares of two-way choices implied by choice probabilities: ``P(distractor) / (P(distractor) + P(object))``.

    Args:
        probabilities: probability of each object (column) for each image (row); rows need not sum to 1.
        truth: the object of each image, as a column index.

    Returns:
        NaN at the image's own object, and where both probabilities are zero or one of them is NaN.
    """
    own = jnp.broadcast_to(jnp.take_along_axis(probabilities, truth[:, None], axis=1), probabilities.shape)
    both = probabilities + own
    undefined = ~(both > 0) | _own(truth, probabilities.shape[1])
    return Rates(divide_or_nan(probabilities, both, undefined), divide_or_nan(own, both, undefined))


def rates_of_trials(
    truth: Int[Array, " n"], trials: tuple[Int[Array, " t"], ...], weights: Float[Array, "halves t"], *, n_objects: int
) -> Rates:
    """Shares of two-way choices in trials: how often an object was chosen, out of how often it was offered.

    Args:
        truth: the object of each image.
        trials: for each trial the image, the chosen object, and the two objects offered: the image's own and the
            distractor.
        weights: weight of each trial in each half, mostly 0 or 1.
        n_objects: number of objects.

    Returns:
        ``(halves, images, objects)``, NaN at the image's own object and where a distractor was never offered.

    Example:
        >>> import jax.numpy as jnp
        >>> image, chosen = jnp.array([0, 0, 1]), jnp.array([0, 1, 1])  # image 0 shows object 0, image 1 object 1
        >>> trials = image, chosen, jnp.array([0, 0, 1]), jnp.array([1, 1, 0])
        >>> rates = rates_of_trials(jnp.array([0, 1]), trials, jnp.ones((1, 3)), n_objects=2)
        >>> print(rates.distractor[0])
        [[nan 0.5]
         [0.  nan]]
    """
    stimulus, choice, sample, distractor = trials
    cells = truth.shape[0] * n_objects

    def count(objects: Int[Array, " t"]) -> Float[Array, "halves n c"]:
        total = jax.ops.segment_sum(weights.T, stimulus * n_objects + objects, cells)
        return total.T.reshape(-1, truth.shape[0], n_objects)

    chosen, offered = count(choice), count(sample) + count(distractor)
    undefined = ~(offered > 0) | _own(truth, n_objects)[None]
    return Rates(divide_or_nan(chosen, offered, undefined), divide_or_nan(offered - chosen, offered, undefined))


@at_full_precision
def signature(
    rates: Rates, truth: Int[Array, " n"], image_weights: PerStimulus | None = None, *, kind: Signature
) -> Float[Array, "..."]:
    """A behavioural signature: d' in units of the standard normal, from -5 to 5.

    The d' of an image against a distractor is ``z(hit rate) - z(false-alarm rate)``. A hit is the choice of the image's
    object; a false alarm is the choice of that object for an image of the distractor, averaged over such images. The
    d' of an object uses the mean hit rate of its images.

    Args:
        rates: shares of two-way choices ``(images, objects)``.
        truth: the object of each image.
        image_weights: non-negative weight of each image in means over images; 1 if None.
        kind: which signature.

    Returns:
        ``(images,)`` or ``(objects,)``, with a further axis of distractors for ``kind.per_distractor``. NaN where a
        rate is missing, and where d' would be ``inf - inf``. Means omit such cells.

    Source: Rajalingham et al. 2018.

    Example:
        >>> import jax.numpy as jnp
        >>> truth = jnp.array([0, 0, 1])
        >>> rates = rates_of_probabilities(jnp.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]), truth)
        >>> print(signature(rates, truth, kind=Signature()).round(2))
        [2.12 1.28 1.67]
    """
    confusions = Rates(*(_mean_of_images(share, truth, image_weights) for share in rates))
    swapped = Rates(confusions.distractor.T, confusions.object.T)
    if kind.of == "object":
        d = _d_prime(swapped, confusions)
        return d if kind.per_distractor else masked_mean(d, jnp.isfinite(d), 0)[0][0]
    d = _d_prime(rates, Rates(*(share[truth] for share in swapped)))
    if kind.normalise:
        d = d - _mean_of_images(d, truth, image_weights)[truth]
    return d if kind.per_distractor else masked_mean(d, jnp.isfinite(d), 1)[0][:, 0]


@at_full_precision
def choice_consistency(
    probabilities: Float[Array, "n c"],
    truth: Int[Array, " n"],
    stimulus: Int[Array, " t"],
    choice: Int[Array, " t"],
    sample: Int[Array, " t"],
    distractor: Int[Array, " t"],
    weights: Float[Array, "halves t"],
    image_weights: PerStimulus | None = None,
    *,
    kind: Signature,
) -> Consistency:
    """Pearson correlation of a model's signature with that of each half of the trials, over cells defined in both.
    Args:
        probabilities: the model's choice probabilities ``(images, objects)``.
        truth, stimulus, choice, sample, distractor, weights: as in ``rates_of_trials``.
        image_weights: as in ``consistency_of_rates``.
        kind: which signature.

    Source: Rajalingham et al. 2018.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> truth = jnp.arange(12) % 3
        >>> shown = jnp.tile(jnp.arange(12), 40)
        >>> sample = truth[shown]
        >>> distractor = (sample + 1 + jnp.asarray(rng.integers(0, 2, 480))) % 3
        >>> choice = jnp.where(jnp.asarray(rng.random(480)) < 0.8, sample, distractor)
        >>> probabilities = jnp.asarray(rng.dirichlet(np.ones(3), 12))
        >>> halves = jnp.asarray(rng.integers(0, 2, (2, 480)), float)
        >>> given = (probabilities, truth, shown, choice, sample, distractor, halves)
        >>> choice_consistency(*given, kind=Signature()).r.shape
        (2,)
    """
    trials = stimulus, choice, sample, distractor
    people = rates_of_trials(truth, trials, weights, n_objects=probabilities.shape[1])
    model = rates_of_probabilities(probabilities, truth)
    return consistency_of_rates(model, people, truth, image_weights, kind=kind)


@at_full_precision
def choice_reliability(
    truth: Int[Array, " n"],
    stimulus: Int[Array, " t"],
    choice: Int[Array, " t"],
    sample: Int[Array, " t"],
    distractor: Int[Array, " t"],
    weights: Float[Array, "halves t"],
    others: Float[Array, "halves t"],
    image_weights: PerStimulus | None = None,
    *,
    kind: Signature,
    n_objects: int,
) -> Consistency:
    """Pearson correlation of the signatures of two halves of the trials, over cells defined in both.

    Args:
        truth, stimulus, choice, sample, distractor, n_objects: as in ``rates_of_trials``.
        weights, others: weight of each trial in the first and in the second half of each split.
        image_weights: as in ``consistency_of_rates``.
        kind: which signature.

    Source: Rajalingham et al. 2018.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> truth = jnp.arange(12) % 3
        >>> shown = jnp.tile(jnp.arange(12), 40)
        >>> sample = truth[shown]
        >>> distractor = (sample + 1 + jnp.asarray(rng.integers(0, 2, 480))) % 3
        >>> choice = jnp.where(jnp.asarray(rng.random(480)) < 0.8, sample, distractor)
        >>> first = jnp.asarray(rng.integers(0, 2, (2, 480)), float)
        >>> given = (truth, shown, choice, sample, distractor, first, 1 - first)
        >>> choice_reliability(*given, n_objects=3, kind=Signature()).r.shape
        (2,)
    """
    trials = stimulus, choice, sample, distractor
    first, second = (rates_of_trials(truth, trials, part, n_objects=n_objects) for part in (weights, others))
    return consistency_of_rates(first, second, truth, image_weights, kind=kind)


@at_full_precision
def consistency_of_rates(
    first: Rates, second: Rates, truth: Int[Array, " n"], image_weights: PerStimulus | None = None, *, kind: Signature
) -> Consistency:
    """Pearson correlation of the signatures of two sides, from their shares of choices, over cells defined in both.

    Args:
        first: ``(images, objects)`` of a model, or ``(halves, images, objects)``.
        second: ``(halves, images, objects)``.
        truth: the object of each image.
        image_weights: non-negative weight of each image in means over images and in correlations of image signatures;
            1 if None. A whole number k is equivalent to k copies of the image with its trials.
        kind: which signature.
    """

    def of(rates: Rates) -> Float[Array, "*halves _"]:
        return signature(rates, truth, image_weights, kind=kind)

    people = jax.vmap(of)(second)
    model = jnp.broadcast_to(of(first)[None], people.shape) if first.object.ndim == 2 else jax.vmap(of)(first)
    a, b = (side.reshape(side.shape[0], -1) for side in (model, people))
    have, wanted = jnp.isfinite(a), jnp.isfinite(b)
    of_cells = None
    if image_weights is not None and kind.of == "image":
        of_cells = jnp.repeat(image_weights, a.shape[1] // truth.shape[0])[None]
        have, wanted = have & (of_cells > 0), wanted & (of_cells > 0)
    both = have & wanted
    r = pearson(a, b, axis=1, where=both, weights=of_cells)
    return Consistency(r, jnp.sum(jnp.all(both, axis=0)), jnp.sum(wanted & ~have, axis=1))


def _own(truth: Int[Array, " n"], n_objects: int) -> Bool[Array, "n c"]:
    return truth[:, None] == jnp.arange(n_objects, dtype=truth.dtype)[None]


def _d_prime(miss: Rates, false_alarm: Rates) -> Float[Array, "*cells"]:
    """``z(1 - miss) - z(false_alarm)``, clipped to the cap; NaN for ``inf - inf`` and for NaN rates."""
    (z_miss, end_miss), (z_false, end_false) = _z(miss), _z(false_alarm)
    end = -jnp.sign(end_miss + end_false)
    d = jnp.where(end == 0, jnp.clip(-(z_miss + z_false), -_CAP, _CAP), end * _CAP)
    missing = ~(jnp.isfinite(miss.distractor) & jnp.isfinite(false_alarm.distractor))
    return jnp.where(missing | (end_miss * end_false < 0), jnp.full_like(d, jnp.nan), d)


def _z(rates: Rates) -> tuple[Float[Array, "*cells"], Float[Array, "*cells"]]:
    """Normal quantile of the distractor's share, and its sign (else 0) where it is infinite."""
    smallest = jnp.finfo(rates.distractor.dtype).tiny
    zero, one = rates.distractor < smallest, rates.object < smallest
    low = rates.distractor < rates.object
    tail = jnp.where(low, rates.distractor, rates.object)
    # The quantile has an infinite slope at 0 and 1: there it is evaluated at 0.5, to keep gradients finite.
    inside = jnp.isfinite(tail) & ~zero & ~one
    z = ndtri(jnp.where(inside, tail, jnp.full_like(tail, 0.5)))
    return jnp.where(low, z, -z), one.astype(z.dtype) - zero.astype(z.dtype)


def _mean_of_images(
    values: Float[Array, "n c"], truth: Int[Array, " n"], weights: PerStimulus | None
) -> Float[Array, "c c"]:
    """Mean of the finite values over the images of each object (rows of the result)."""
    images = _own(truth, values.shape[1]).T.astype(values.dtype)
    images = images if weights is None else images * weights[None]
    defined = jnp.isfinite(values)
    count = images @ defined.astype(values.dtype)
    return divide_or_nan(images @ jnp.where(defined, values, jnp.zeros_like(values)), count, count == 0)
