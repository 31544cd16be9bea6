"""Rotation of the features onto the targets."""

from jaxtyping import Array, Float

from bsjax.metrics.linalg.singular_values import polar_factor
from bsjax.metrics.regression.mapping import Traits, with_leaves
from bsjax.metrics.regression.mappings.fold_weights import FoldWeights


@with_leaves()
class Rotation(FoldWeights):
    r"""The rotation (and reflection) of the features that comes nearest to the targets, fitted to training stimuli.

    Maximises :math:`\langle X R, Y \rangle` over matrices with orthonormal rows or columns, whichever are fewer:
    :math:`R = U V^T` of the singular value decomposition :math:`X^T Y = U S V^T`. It is stricter than a regression: no
    dimension of the features is amplified. An overall scale does not change a correlation, and is left out.

    Source: Schönemann 1966; Williams et al. 2021.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import train_test
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 3)))
        >>> y = x[:, ::-1]
        >>> train_test(x[:20], x[20:], y[:20], y[20:], mapping=Rotation()).round(3).tolist()
        [1.0, 1.0, 1.0]
    """

    @property
    def traits(self) -> Traits:
        """Predictions depend on inner products; features and targets of zeros change nothing."""
        return Traits("inner products", ignores_zero_features=True, ignores_zero_targets=True)

    def weights(self, x: Float[Array, "n d"], y: Float[Array, "n q"]) -> Float[Array, "d q"]:
        """The rotation."""
        return polar_factor(x.T @ y)
