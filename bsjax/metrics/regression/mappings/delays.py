"""Delayed copies of features, with which any regression has a finite impulse response."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

_Runs = Shaped[Array | np.ndarray, " n"]


def delayed(
    x: Float[Array, "n p"], delays: Sequence[int] | Int[np.ndarray, " k"], *, runs: _Runs | None = None
) -> Float[Array, "n _"]:
    r"""Copies of the features at earlier samples, side by side: a regression on them has a finite impulse response.

    .. math:: z_t = (x_{t - d_1}, \ldots, x_{t - d_k})

    Args:
        x: features ``(samples, features)`` in the order of time.
        delays: :math:`d`, in samples; negative ones are later samples.
        runs: labels of the run that each sample belongs to, each run in one piece; a single run if None.

    Returns:
        ``(samples, delays x features)``, all features of the first delay first, in the dtype of ``x``. Zero where the
        run had not begun, so features should have a mean near zero.

    Raises:
        ValueError: there is no delay; runs are not one label for each sample; or a run is in several pieces.

    Source: Nishimoto et al. 2011; Huth et al. 2012 (delays for the response of the blood).

    Example:
        >>> x = jnp.array([[1.0], [2.0], [3.0], [4.0]])
        >>> delayed(x, (0, 1), runs=np.array(["a", "a", "b", "b"])).tolist()
        [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 3.0]]
    """
    n, steps = len(x), np.asarray(delays, int)
    if steps.ndim != 1 or not len(steps):
        raise ValueError(f"delays must be whole numbers of samples, at least one, e.g. (1, 2, 3), got {delays!r}")
    labels = np.zeros(n, int) if runs is None else np.asarray(runs)
    if labels.shape != (n,):
        raise ValueError(f"runs must be one label for each of {n} samples, got the shape {labels.shape}")
    begins = np.append(True, labels[1:] != labels[:-1])[:n]
    if begins.sum() != len(np.unique(labels)):
        raise ValueError(
            "the samples of each run must be in one piece, in the order of time: sort them by run and time"
        )
    run, source = np.cumsum(begins), np.arange(n)[None] - steps[:, None]
    place = np.clip(source, 0, n - 1)
    there = (source == place) & (run[place] == run[None])
    copies = jnp.where(there[:, :, None], x[place], jnp.zeros((), x.dtype))
    return jnp.moveaxis(copies, 0, 1).reshape(n, -1)
