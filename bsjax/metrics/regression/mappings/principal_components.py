"""Principal-component regression."""

from jaxtyping import Array, Float

from bsjax.metrics.linalg.singular_values import singular_power
from bsjax.metrics.regression.mapping import Traits, with_leaves
from bsjax.metrics.regression.mappings.fold_weights import FoldWeights


@with_leaves()
class PrincipalComponents(FoldWeights):
    r"""Least squares on the leading principal components of the features, computed from each fold's training stimuli.

    With the singular value decomposition :math:`X = U S V^T` of the centred training features, the weights are
    :math:`V_k S_k^{-1} U_k^T Y`. Features are not scaled.

    Args:
        n_components: number of components; fewer are used where the training features have a lower rank. None for all,
            which is ordinary least squares with the minimum-norm solution.
        rcond: singular values of at most this share of the largest count as zero, as in ``numpy.linalg.lstsq``; None
            for rounding errors alone.

    Source: Hotelling 1957; Massy 1965; Golub & Van Loan 2013, section 5.5 (rank).

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import train_test
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 4)))
        >>> y = x @ jnp.ones((4, 1))
        >>> train_test(x[:20], x[20:], y[:20], y[20:], mapping=PrincipalComponents(4)).round(3).tolist()
        [1.0]
    """

    n_components: int | None = 100
    rcond: float | None = None

    @property
    def traits(self) -> Traits:
        """Predictions depend on inner products; targets are independent."""
        return Traits("inner products", True, ignores_zero_features=True, ignores_zero_targets=True)

    def interpolates(self, features: int, stimuli: int) -> bool:
        """True where all components of at least ``stimuli - 1`` are kept; with ``rcond``, the data decide."""
        kept = features if self.n_components is None else min(features, self.n_components)
        return self.rcond is None and kept >= stimuli - 1

    def weights(self, x: Float[Array, "n d"], y: Float[Array, "n q"]) -> Float[Array, "d q"]:
        """The least-squares weights of the leading components."""
        return singular_power(x, 1.0, -1, self.n_components, self.rcond).T @ y
