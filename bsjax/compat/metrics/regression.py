"""Regressions and correlations of assemblies, for metrics of plugins."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.stats
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge

from bsjax.compat.assemblies import NeuroidAssembly, level_names, walk_coords
from bsjax.compat.metrics.transformations import CrossValidation
from bsjax.compat.score import Metric, Score


class Defaults:
    """Default names of dimensions and coordinates."""

    expected_dims = ("presentation", "neuroid")
    stimulus_coord = "stimulus_id"
    neuroid_dim = "neuroid"
    neuroid_coord = "neuroid_id"


class XarrayRegression:
    """A regression on rows matched by stimulus, whose predictions have the target's neuroids.

    Args:
        regression: an estimator with ``fit(x, y)`` and ``predict(x)``, as in scikit-learn.
        expected_dims: the dimensions of assemblies, in order.
        neuroid_dim: the dimension of neuroids.
        neuroid_coord: coordinate of the neuroids.
        stimulus_coord: coordinate of the stimuli, by which rows are matched.
    """

    def __init__(
        self,
        regression: Any,
        expected_dims: Sequence[str] = Defaults.expected_dims,
        neuroid_dim: str = Defaults.neuroid_dim,
        neuroid_coord: str = Defaults.neuroid_coord,
        stimulus_coord: str = Defaults.stimulus_coord,
    ) -> None:
        self._regression = regression
        self._expected_dims = expected_dims
        self._neuroid_dim = neuroid_dim
        self._neuroid_coord = neuroid_coord
        self._stimulus_coord = stimulus_coord
        self._target_neuroid_values: dict[str, np.ndarray] = {}

    def fit(self, source: Any, target: Any) -> None:
        """Fit the regression from source to target, both sorted by stimulus.

        Raises:
            ValueError: the dimensions of an assembly are not the expected ones, or the stimuli differ.
        """
        source, target = (self._align(each).sortby(self._stimulus_coord) for each in (source, target))
        if not np.array_equal(*(each[self._stimulus_coord].values for each in (source, target))):
            raise ValueError(f"source and target must have the same values of {self._stimulus_coord!r}")
        self._regression.fit(source, target)
        names = level_names(target, self._neuroid_dim)
        self._target_neuroid_values = {name: target.coords[name].values for name in names}

    def predict(self, source: Any) -> NeuroidAssembly:
        """Predict the target for a source.

        Raises:
            ValueError: the dimensions of the source are not the expected ones.
        """
        source = self._align(source)
        return self._package_prediction(self._regression.predict(source), source)

    def _package_prediction(self, predicted_values: Any, source: Any) -> NeuroidAssembly:
        coords = {name: (dims, values) for name, dims, values in walk_coords(source) if dims != (self._neuroid_dim,)}
        coords |= {name: ((self._neuroid_dim,), values) for name, values in self._target_neuroid_values.items()}
        return NeuroidAssembly(predicted_values, coords=coords, dims=source.dims)

    def _align(self, assembly: Any) -> Any:
        if set(assembly.dims) != set(self._expected_dims):
            raise ValueError(f"expected an assembly of the dimensions {self._expected_dims}, got {assembly.dims}")
        return assembly.transpose(*self._expected_dims)


class XarrayCorrelation:
    """Correlation of prediction and target for each neuroid.

    Args:
        correlation: ``(target, prediction) -> (r, p)``, such as ``scipy.stats.pearsonr``.
        correlation_coord: coordinate of the stimuli, by which rows are matched.
        neuroid_coord: coordinate of the neuroids, by which columns are matched.
    """

    def __init__(
        self,
        correlation: Callable[..., Any],
        correlation_coord: str = Defaults.stimulus_coord,
        neuroid_coord: str = Defaults.neuroid_coord,
    ) -> None:
        self._correlation = correlation
        self._correlation_coord = correlation_coord
        self._neuroid_coord = neuroid_coord

    def __call__(self, prediction: Any, target: Any) -> Score:
        """Correlations, with the coordinates of the target's neuroids.

        Raises:
            ValueError: stimuli or neuroids differ.
        """
        names = [self._correlation_coord, self._neuroid_coord]
        prediction, target = prediction.sortby(names), target.sortby(names)
        for name in names:
            if not np.array_equal(prediction[name].values, target[name].values):
                raise ValueError(f"prediction and target must have the same values of {name!r}")
        (dim,) = target[self._neuroid_coord].dims
        correlations = [
            self._correlation(target.isel({dim: number}), prediction.isel({dim: number}))[0]
            for number in range(target.sizes[dim])
        ]
        coords = {name: ((dim,), target.coords[name].values) for name in level_names(target, dim)}
        return Score(correlations, coords=coords, dims=[dim])


def _regression(estimator: Any, settings: Any, regression_kwargs: Any = None, xarray_kwargs: Any = None) -> Any:
    return XarrayRegression(estimator(**settings | (regression_kwargs or {})), **xarray_kwargs or {})


pls_regression = partial(_regression, PLSRegression, {"n_components": 25, "scale": False})
ridge_regression = partial(_regression, Ridge, {"alpha": 1})
linear_regression = partial(_regression, LinearRegression, {})


def pearsonr_correlation(xarray_kwargs: Mapping[str, Any] | None = None) -> XarrayCorrelation:
    """Pearson correlation of each neuroid."""
    return XarrayCorrelation(scipy.stats.pearsonr, **xarray_kwargs or {})


class CrossRegressedCorrelation(Metric):
    """A cross-validated regression and a correlation, run in Python; ``load_metric("pls")`` is the compiled equivalent.

    Args:
        regression: a regression such as :func:`pls_regression`.
        correlation: a correlation such as :func:`pearsonr_correlation`.
        crossvalidation_kwargs: arguments of :class:`~bsjax.compat.metrics.transformations.CrossValidation`.
    """

    def __init__(self, regression: Any, correlation: Any, crossvalidation_kwargs: Any = None) -> None:
        self.cross_validation = CrossValidation(
            **{"train_size": 0.9, "test_size": None} | (crossvalidation_kwargs or {})
        )
        self.regression, self.correlation = regression or pls_regression(), correlation

    def __call__(self, source: Any, target: Any) -> Score:
        """The median over neuroids, averaged over splits."""
        return self.cross_validation(source, target, apply=self.apply, aggregate=self.aggregate)

    def apply(self, source_train: Any, target_train: Any, source_test: Any, target_test: Any) -> Score:
        """The correlation of each neuroid in one split."""
        self.regression.fit(source_train, target_train)
        return self.correlation(self.regression.predict(source_test), target_test)

    def aggregate(self, scores: Any) -> Any:
        """The median over neuroids."""
        return scores.median(dim="neuroid")
