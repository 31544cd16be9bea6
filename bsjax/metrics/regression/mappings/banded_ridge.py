"""Banded ridge regression: a penalty of its own for each feature space, chosen for each target."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.metrics.regression.centring import centre, without_constants
from bsjax.metrics.regression.mapping import with_penalties
from bsjax.metrics.regression.mappings.penalty_search import PENALTIES, PenaltySearch, PreparedSpaces, Search


@with_penalties
class BandedRidge(PenaltySearch):
    r"""Ridge regression on several feature spaces, each with its own penalty for each target.

    Minimises :math:`\|y - \sum_b x_b w_b\|^2 + \sum_b \frac{\alpha}{\gamma_b} \|w_b\|^2` with shares
    :math:`\gamma_b \ge 0` that sum to 1. Shares are candidates of a random search, drawn from Dirichlet distributions;
    the first ones are equal. The candidate and the penalty of a target are those with the smallest validation error
    within the training stimuli. Equal shares are ridge regression, with a penalty of :math:`\alpha` times the number of
    spaces.

    With ``search="gradient"``, gradient descent on the logarithms of the penalties of each target continues from there.
    The validation error is differentiated implicitly, through the normal equations of each validation fold.

    Args:
        bands: number of features of each space, in the order of the features.
        alphas: the penalties to choose from, all positive.
        candidates: number of candidate shares, or the shares themselves, one tuple for each candidate.
        cv: number of validation folds, each a run of consecutive training stimuli.
        seed: of the random search.
        search: ``"random"``, or ``"gradient"`` to improve on the best candidate.
        steps: largest number of steps of the gradient search; each factorises a system for every target and fold.

    Raises:
        ValueError: the sizes of the spaces do not sum to the number of features.

    Source: Nunez-Elizalde, Huth & Gallant 2019; Dupré la Tour et al. 2022 (both searches).

    Example:
        >>> from bsjax.metrics import train_test
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 30)))  # 2 features that matter, and 28 that do not
        >>> y = x[:, :1] + x[:, 1:2]
        >>> banded = BandedRidge((2, 28), alphas=(0.1, 1.0, 10.0), candidates=20)
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=banded).round(2).tolist()
        [1.0]
    """

    bands: tuple[int, ...]
    alphas: tuple[float, ...] | Float[Array, " penalties"] = PENALTIES
    candidates: int | tuple[tuple[float, ...], ...] = 60
    cv: int = 5
    seed: int = 0
    search: Search = "random"
    steps: int = 30

    @property
    def spaces(self) -> int:
        """The number of feature spaces."""
        return len(self.bands)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of features of each space."""
        return self.bands

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedSpaces:
        """Centres the data and computes the Gram matrix of every space."""
        check_bands(self.bands, x.shape[1])
        centred = without_constants(centre(x, y))
        if x.shape[1] < x.shape[0] - 1:
            return PreparedSpaces(centred, (centred.x.T @ centred.x)[None], centred.x.T @ centred.y)
        of_spaces = split_bands(centred.x, self.bands)
        return PreparedSpaces(centred, jnp.stack([space @ space.T for space in of_spaces]), None)

    def embed(self, prepared: PreparedSpaces, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of the prepared ones."""
        centred = x - prepared.centred.x_mean
        if prepared.cross is not None:
            return centred
        new, old = split_bands(centred, self.bands), split_bands(prepared.centred.x, self.bands)
        return jnp.concatenate([a @ b.T for a, b in zip(new, old, strict=True)], axis=1)


def check_bands(bands: tuple[int, ...], features: int) -> None:
    """Refuses sizes of spaces that do not sum to the number of features."""
    if sum(bands) != features:
        raise ValueError(f"bands {bands} are {sum(bands):,} features, and there are {features:,}")


def split_bands(x: Float[Array, "n p"], bands: tuple[int, ...]) -> list[Float[Array, "n b"]]:
    """The features of each space."""
    return jnp.split(x, np.cumsum(bands)[:-1], axis=1)
