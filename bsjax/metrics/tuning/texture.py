"""Responses to textures and to spectrally matched noise: modulation, sparseness and variance."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.metrics.numerics import divide_or_nan, is_constant, masked_mean, safe_sqrt
from bsjax.metrics.tuning.curves import PerUnit

_WINDOW = 0.1  # seconds in which spikes are counted
_OFFSET = 0.02  # keeps the ratio of two shares of variance finite


def texture_modulation_index(texture: Float[Array, "units families"], noise: Float[Array, "units families"]) -> PerUnit:
    r"""Texture modulation index: the mean of :math:`(t - n) / (t + n)` over texture families.

    Args:
        texture, noise: mean response to the samples of each family, above the spontaneous rate.

    Returns:
        1 for responses to textures only, -1 for responses to noise only; outside this range where a response is below
        the spontaneous rate. Families with :math:`t + n = 0` are omitted; NaN where none is left.

    Source: Freeman, Ziemba et al. 2013.

    Example:
        >>> import jax.numpy as jnp
        >>> print(texture_modulation_index(jnp.array([[9.0, 6.0, 0.0]]), jnp.array([[3.0, 6.0, 0.0]])))
        [0.25]
    """
    total = texture + noise
    silent = total == 0
    index = (texture - noise) / jnp.where(silent, jnp.ones_like(total), total)
    return masked_mean(index, ~silent, 1)[0][:, 0]


def sparseness(responses: Float[Array, "units stimuli"]) -> PerUnit:
    r"""Sparseness of a unit's responses over stimuli.

    .. math:: \frac{1 - (\frac1n \sum_k r_k)^2 / (\frac1n \sum_k r_k^2)}{1 - 1/n}

    Args:
        responses: responses to ``n >= 2`` stimuli, above the spontaneous rate. With means over the samples of each
            family, the result is the selectivity for texture families.

    Returns:
        0 for equal responses to all stimuli, 1 for a response to a single one; NaN where all responses are zero.

    Raises:
        ValueError: there are fewer than two stimuli.

    Source: Vinje & Gallant 2000; Freeman, Ziemba et al. 2013.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sparseness(jnp.array([[0.0, 0.0, 7.0, 0.0], [2.0, 2.0, 2.0, 2.0]])))
        [1. 0.]
    """
    count = responses.shape[1]
    if count < 2:
        raise ValueError(f"sparseness needs responses to two stimuli or more, got {count}")
    power = jnp.mean(responses**2, axis=1)
    return (1.0 - divide_or_nan(jnp.mean(responses, axis=1) ** 2, power, power == 0)) / (1.0 - 1.0 / count)


def variance_ratio(rates: Float[Array, "units families samples"]) -> PerUnit:
    r"""Ratio of the response variance across texture families to that across the samples of a family.

    The spike count x in 100 ms is transformed to stabilise its variance, :math:`y = \sqrt x + \sqrt{x + 1}`. With b
    samples per family, :math:`M_s` the mean square of :math:`y` within families and :math:`M_f` that between families,

    .. math:: V_s = M_s, \quad V_f = \frac{M_f - M_s}{b}, \quad V = V_s + V_f, \quad
        \frac{V_f / V + 0.02}{V_s / V + 0.02}

    Args:
        rates: spikes per second, including the spontaneous rate; at least two families of at least two samples.

    Returns:
        51 where the samples of a family do not differ, negative where families do not differ; NaN for a unit with
        constant responses or a negative rate.

    Raises:
        ValueError: there are fewer than two families or samples.

    Source: Freeman, Ziemba et al. 2013; Ziemba et al. 2016; the transform: Freeman & Tukey 1950.

    Example:
        >>> import jax.numpy as jnp
        >>> ratios = variance_ratio(jnp.array([[[10.0, 10.0], [40.0, 40.0]], [[10.0, 40.0], [10.0, 40.0]]]))
        >>> print([f"{ratio:.2f}" for ratio in ratios])
        ['51.00', '-0.49']
    """
    _, families, samples = rates.shape
    if families < 2 or samples < 2:
        raise ValueError(f"a ratio of variances needs two families of two samples or more, got {families} of {samples}")
    counts = _WINDOW * rates
    y = _root(counts) + _root(counts + 1.0)
    family_means = jnp.mean(y, axis=2)
    mean = jnp.mean(family_means, axis=1)
    within = jnp.sum((y - family_means[:, :, None]) ** 2, axis=(1, 2))
    between = samples * jnp.sum((family_means - mean[:, None]) ** 2, axis=1)
    constant = is_constant(within + between, mean, jnp.full_like(mean, families * samples))
    v_samples = within / (families * (samples - 1))
    v_families = (between / (families - 1) - v_samples) / samples
    total = v_samples + v_families
    shares = (divide_or_nan(part, total, constant) + _OFFSET for part in (v_families, v_samples))
    above, below = shares
    return above / below


def _root(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The square root, with a zero gradient at zero and NaN below it."""
    return jnp.where(x >= 0, safe_sqrt(x), jnp.nan)
