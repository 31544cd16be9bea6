"""Choice probabilities from a model's features by logistic regression."""

import jax
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data import BehavioralAssembly
from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.running import run
from bsjax.labelled.aggregate import coords_on
from bsjax.labelled.align import coordinate, float_values, with_dims
from bsjax.metrics import decode
from bsjax.metrics.behaviour.logistic_regression import fit_logistic

_FITTED = "what the read-out is fitted to"


class ProbabilityReadout:
    """A linear read-out of labels: standardisation of the features, then multinomial logistic regression.

    Args:
        features: (presentation, neuroid), with the label of each presentation as a coordinate. Stimuli may repeat.
        label: name of that coordinate.
        c: inverse strength of the penalty; the default is that of Brain-Score.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: the coordinate or a label is missing, there are fewer than two labels, or features are not finite.

    Example:
        >>> features = xr.DataArray([[1.0], [2.0], [-1.0], [-2.0]], dims=["presentation", "neuroid"], coords={
        ...     "image_label": ("presentation", ["dog", "dog", "cat", "cat"])})
        >>> probabilities = ProbabilityReadout(features)(features)
        >>> probabilities["choice"].values.tolist(), probabilities.idxmax("choice").values.tolist()
        (['dog', 'cat'], ['dog', 'dog', 'cat', 'cat'])
    """

    def __init__(
        self, features: xr.DataArray, label: str = "image_label", c: float = 1e-3, dtype: str | None = None
    ) -> None:
        labels = coordinate(features, label, "presentation", _FITTED)
        codes, choices = pd.factorize(labels)  # in order of first occurrence, as in Brain-Score
        if len(choices) < 2:
            raise ValueError(
                f"a read-out needs at least two labels; all stimuli to fit have the {label} {choices[0]!r}"
            )
        self.choices = np.asarray(choices)
        self._dtype = dtype
        self._n_features = features.sizes["neuroid"]
        fit = compiled(fit_logistic, classes=len(choices), c=c)
        with precision(dtype) as used:  # parameters stay on the device
            shown = in_dtype(_features(features, _FITTED), used)
            self._parameters = fit(shown, codes.astype(np.int32), np.ones(len(codes), bool))

    def __call__(self, features: xr.DataArray) -> BehavioralAssembly:
        """The probability of every label for every presentation.

        Args:
            features: (presentation, neuroid), of the units that the read-out was fitted to.

        Returns:
            Dims ``(presentation, choice)``, with the coordinates of the presentations, and the labels as ``choice`` in
            the order of their first occurrence in the fit. Rows sum to 1.

        Raises:
            ValueError: another number of units, or features that are not finite.
        """
        if features.sizes["neuroid"] != self._n_features:
            raise ValueError(
                f"the read-out was fitted to {self._n_features} units, these stimuli have {features.sizes['neuroid']}"
            )
        values = run(decode, self._parameters, _features(features, "what is shown"), dtype=self._dtype)
        coords = {**coords_on(features, "presentation"), "choice": ("choice", self.choices)}
        return BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])


def _features(features: xr.DataArray, what: str) -> np.ndarray | jax.Array:
    return float_values(with_dims(features, what, "presentation", "neuroid"), what)
