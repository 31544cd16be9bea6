"""Reduced-rank regression: ridge regression whose predictions span few dimensions of the targets."""

from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map
from bsjax.metrics.arrays import HeldOut, HeldOutMask, Scalar
from bsjax.metrics.linalg.singular_values import singular_power
from bsjax.metrics.regression.centring import training_mask
from bsjax.metrics.regression.mapping import Traits, Weights, with_leaves
from bsjax.metrics.regression.ridge import Ridge
from bsjax.metrics.regression.ridge_system import PreparedRidge, RidgeMapping, centred_rows


@with_leaves("alpha")
class ReducedRank(RidgeMapping):
    r"""Ridge regression with weights of a limited rank: all targets are predicted from few latent dimensions.

    Minimises :math:`\|Y - X W - b\|^2 + \alpha \|W\|^2` over weights of rank :math:`r` at most. The solution is
    :math:`\hat W V_r V_r^T`, with the ridge weights :math:`\hat W` and the leading eigenvectors :math:`V_r` of
    :math:`\hat Y^T Y`, where :math:`\hat Y = X \hat W` are the predictions of the centred training targets.

    Args:
        rank: number of latent dimensions.
        alpha: the penalty, a number or a traced scalar.

    Source: Izenman 1975; Mukherjee & Zhu 2011 (with a ridge penalty).

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import train_test
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 5)))
        >>> y = x[:, :1] @ jnp.asarray(rng.normal(size=(1, 3)))
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=ReducedRank(1, alpha=1e-3)).round(3).tolist()
        [1.0, 1.0, 1.0]
    """

    rank: int = 10
    alpha: float | Scalar = 1.0

    @property
    def traits(self) -> Traits:
        """Predictions depend on inner products; a target of zeros changes nothing."""
        return Traits("inner products", ignores_zero_features=True, ignores_zero_targets=True)

    def fit(self, prepared: PreparedRidge, held_out: HeldOut, held_out_mask: HeldOutMask) -> Weights:
        """Weights of every fold."""
        full = Ridge(self.alpha).fit(prepared, held_out, held_out_mask).weights

        def limited(fold: tuple[Array, Array]) -> Float[Array, "d q"]:
            weights, train = fold
            rows, targets = (centred_rows(side, train)[0] for side in (prepared.embedding, prepared.centred.y))
            shared = (rows @ weights).T @ targets
            return weights @ singular_power(0.5 * (shared + shared.T), 1.0, 0, self.rank)

        train = training_mask(len(prepared.embedding), held_out, held_out_mask, full.dtype)
        return Weights(batched_map(limited, (full, train)))
