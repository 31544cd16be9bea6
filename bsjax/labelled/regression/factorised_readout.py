"""The factorised what/where read-out of convolutional features, cross-validated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.align import coordinate, two_dimensional
from bsjax.labelled.metric import CrossValidated
from bsjax.labelled.regression.crossvalidation import CrossRegressedCorrelation
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.tuning.full_grid import along_grid
from bsjax.metrics.regression.factorised_readout import FactorisedReadout

_GRID = ("channel", "channel_x", "channel_y")


@dataclass(frozen=True)
class MaskRegression(CrossValidated):
    """Cross-validated predictivity of a read-out with one spatial mask and one set of channel weights per neuroid.

    Features are placed on the grid of their sorted ``channel``, ``channel_x`` and ``channel_y``, in whatever order they
    are given. The fit uses gradient descent from a random start, so the last digits of the score depend on ``seed``;
    the same seed gives the same score. NaN values and incomplete grids are refused.

    Args:
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random splits of 90 % to 10 % of the
            stimuli, stratified by ``object_name``, seed 1.
        init_lr: learning rate of Adam.
        max_epochs: number of passes through the training stimuli.
        tol: stop after an epoch whose last batch has a smaller error (root of the summed squares).
        batch_size: stimuli per step.
        ls: penalty on the masks (size and roughness).
        ld: penalty on the channel weights.
        decay_rate: number of epochs after which the learning rate falls to a tenth, repeatedly.
        seed: seed of the initial values and of the order of the stimuli.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Klindt et al. 2017.

    Example:
        >>> metric = MaskRegression({"splits": 4, "stratification_coord": None})
        >>> metric.init_lr, metric.max_epochs
        (0.01, 40)
    """

    identifier = "mask_regression"

    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    init_lr: float = 0.01
    max_epochs: int = 40
    tol: float = 0.1
    batch_size: int = 50
    ls: float = 0.1
    ld: float = 0.1
    decay_rate: int = 25
    seed: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        for name in ("max_epochs", "batch_size", "decay_rate"):
            whole_number(vars(self)[name], name, 1)
        super().__post_init__()

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target``.

        Args:
            source: (presentation, neuroid) with ``stimulus_id``, and ``channel``, ``channel_x``, ``channel_y`` on
                neuroid; rows and neuroids in any order.
            target: (presentation, neuroid), as in ``CrossRegressedCorrelation``.

        Raises:
            ValueError: the neuroids do not fill the grid, or as in ``CrossRegressedCorrelation``.
        """
        source = two_dimensional(source, "source")
        places = {name: coordinate(source, name, "neuroid", "source") for name in _GRID}
        order, levels = along_grid(places, np.arange(source.sizes["neuroid"]), "source")
        mapping = FactorisedReadout(
            *map(len, levels),
            spatial_penalty=self.ls,
            channel_penalty=self.ld,
            learning_rate=self.init_lr,
            decay_every=self.decay_rate,
            epochs=self.max_epochs,
            batch_size=self.batch_size,
            tolerance=self.tol,
            seed=self.seed,
        )
        splits, settings = self.crossvalidation_kwargs, self.own_settings()
        metric = CrossRegressedCorrelation(mapping, self.identifier, splits, self.dtype, settings)
        return metric(source.isel(neuroid=order), target)
