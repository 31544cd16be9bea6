"""Linear mappings that are fitted fold by fold: their base class, the rotation, and principal-component regression."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map
from bsjax.metrics.arrays import Embedded, Features, HeldOut, HeldOutMask, PerStimulus, Predicted, Targets
from bsjax.metrics.linalg.singular_values import polar_factor, singular_power
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes
from bsjax.metrics.regression.centring import Centred, centre, training_mask, without_constants
from bsjax.metrics.regression.mapping import Mapping, Traits, with_leaves
from bsjax.metrics.regression.ridge_system import centred_rows


class PreparedAxes(NamedTuple):
    """Centred data, with features along ``axes`` where they outnumber the stimuli; else ``axes`` is None."""

    centred: Centred
    axes: Float[Array, "p d"] | None

    @property
    def embedding(self) -> Float[Array, "n d"]:
        """All stimuli in the coordinates of the weights."""
        return self.centred.x


def of_folds(
    function: Callable[[Array, Array, Array], Any], centred: Centred, held_out: HeldOut, held_out_mask: HeldOutMask
) -> Any:
    """A function of every fold's features and targets, centred and zero outside the training set, and their number."""

    def of_fold(train: PerStimulus) -> Any:
        x, y = (centred_rows(side, train)[0] for side in (centred.x, centred.y))
        return function(x, y, jnp.sum(train))

    return batched_map(of_fold, training_mask(len(centred.y), held_out, held_out_mask, centred.y.dtype))


class FoldWeights(Mapping):
    """A mapping defined by ``weights``, the weights that a set of centred training stimuli has.

    Features that outnumber the stimuli are first rotated to as many coordinates as there are stimuli, so predictions
    must depend only on inner products between stimuli.
    """

    @abstractmethod
    def weights(self, x: Float[Array, "n d"], y: Targets) -> Float[Array, "d q"]:
        """The weights for centred features and targets; rows of zeros are stimuli that do not count."""

    def prepare(self, x: Features, y: Targets) -> PreparedAxes:
        """Centres the data and limits the number of coordinates to that of stimuli."""
        centred = without_constants(centre(x, y))
        if x.shape[1] <= x.shape[0]:
            return PreparedAxes(centred, None)
        axes, along = stimulus_axes(centred.x)
        return PreparedAxes(centred._replace(x=along), axes)

    def embed(self, prepared: PreparedAxes, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of the prepared stimuli."""
        centred = x - prepared.centred.x_mean
        return centred if prepared.axes is None else centred @ prepared.axes

    def fit(self, prepared: PreparedAxes, held_out: HeldOut, held_out_mask: HeldOutMask) -> Float[Array, "folds d q"]:
        """Weights of every fold; on a CPU, only one fold is in memory at a time."""
        return of_folds(lambda x, y, n: self.weights(x, y), prepared.centred, held_out, held_out_mask)

    def predict(self, params: Float[Array, "folds d q"], embedded: Embedded) -> Predicted:
        """Predicted targets of embedded stimuli, without the intercept."""
        return embedded @ params


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
