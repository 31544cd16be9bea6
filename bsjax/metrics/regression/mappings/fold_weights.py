"""Base class of linear mappings that are fitted fold by fold."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, PerStimulus, Targets
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes
from bsjax.metrics.regression.centring import Centred, centre, training_mask, without_constants
from bsjax.metrics.regression.mapping import LinearMapping, Weights
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


class FoldWeights(LinearMapping):
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

    def fit(self, prepared: PreparedAxes, held_out: HeldOut, held_out_mask: HeldOutMask) -> Weights:
        """Weights of every fold; on a CPU, only one fold is in memory at a time."""
        return Weights(of_folds(lambda x, y, n: self.weights(x, y), prepared.centred, held_out, held_out_mask))
