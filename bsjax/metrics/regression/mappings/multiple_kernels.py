"""Multiple-kernel ridge regression: kernels of the same or of different features, each with its own penalty."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.metrics.regression.centring import centre
from bsjax.metrics.regression.mapping import with_penalties
from bsjax.metrics.regression.mappings.banded_ridge import check_bands, split_bands
from bsjax.metrics.regression.mappings.kernelised import KernelName, kernel_of
from bsjax.metrics.regression.mappings.penalty_search import PENALTIES, PenaltySearch, PreparedSpaces, Search


@with_penalties
class MultipleKernelRidge(PenaltySearch):
    r"""Kernel ridge regression with a sum of kernels, each with its own penalty for each target.

    Predictions are those of kernel ridge regression with penalty :math:`\alpha` and the kernel
    :math:`\sum_b \gamma_b k_b`, with shares :math:`\gamma_b \ge 0` that sum to 1. A kernel that does not help gets a
    small share. Shares and penalty of each target are searched as in ``BandedRidge``, which has linear kernels only.
    The intercept is free, which centres the kernels.

    Args:
        kernels: ``"linear"``, ``"rbf"`` or ``"polynomial"``, see ``Kernelised``.
        bands: number of features that each kernel is computed from, in the order of the features; None if each kernel
            is computed from all features.
        alphas, candidates, cv, seed, search, steps: as for ``BandedRidge``.
        gamma: of the RBF and polynomial kernels; by default one over the number of features of a kernel.
        degree: degree of the polynomial kernel.
        constant: constant of the polynomial kernel.

    Raises:
        ValueError: a kernel is not known; kernels and bands differ in number; or the bands do not sum to the number of
            features.

    Source: Bach 2008; Dupré la Tour et al. 2022 (himalaya).

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import train_test
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(80, 2)))
        >>> y = x[:, :1] + x[:, :1] * x[:, 1:]
        >>> mapping = MultipleKernelRidge(("linear", "polynomial"), alphas=(1e-3, 0.1), candidates=5, degree=2)
        >>> train_test(x[:50], x[50:], y[:50], y[50:], mapping=mapping).round(2).tolist()
        [1.0]
    """

    kernels: tuple[KernelName, ...] = ("linear", "rbf", "polynomial")
    bands: tuple[int, ...] | None = None
    alphas: tuple[float, ...] | Float[Array, " penalties"] = PENALTIES
    candidates: int | tuple[tuple[float, ...], ...] = 60
    cv: int = 5
    seed: int = 0
    search: Search = "random"
    steps: int = 30
    gamma: float | None = None
    degree: int = 3
    constant: float = 1.0

    @property
    def spaces(self) -> int:
        """The number of kernels."""
        return len(self.kernels)

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedSpaces:
        """Computes every kernel of all stimuli."""
        if self.bands is not None:
            check_bands(self.bands, x.shape[1])
            if len(self.bands) != len(self.kernels):
                raise ValueError(f"{len(self.kernels)} kernels need as many bands, and there are {len(self.bands)}")
        # The features themselves: a polynomial depends on their means.
        return PreparedSpaces(centre(x, y)._replace(x=x), jnp.stack(self._kernels(x, x)), None)

    def embed(self, prepared: PreparedSpaces, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """Kernels of new stimuli and the prepared ones."""
        return jnp.concatenate(self._kernels(x, prepared.centred.x), axis=1)

    def _kernels(self, a: Float[Array, "m p"], b: Float[Array, "n p"]) -> list[Float[Array, "m n"]]:
        sides = [[side] * self.spaces if self.bands is None else split_bands(side, self.bands) for side in (a, b)]
        kinds = zip(self.kernels, *sides, strict=True)
        return [kernel_of(one, other, kind, self.gamma, self.degree, self.constant) for kind, one, other in kinds]
