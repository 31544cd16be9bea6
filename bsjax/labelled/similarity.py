"""Representational similarities of two assemblies over the same stimuli: CKA and RDMs."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from sklearn.model_selection import KFold

from bsjax.labelled.aggregate import over_splits, provenance
from bsjax.labelled.align import aligned, finite_values, two_dimensional
from bsjax.labelled.precision import precision
from bsjax.labelled.score import Score
from bsjax.labelled.splits import CrossValidation
from bsjax.metrics import compiled, make_folds, similarity_on_subsets

_JACKKNIFE_GROUPS = 10


class RepresentationalSimilarity:
    """One similarity of two representations of the same stimuli; symmetric in the two.

    Args:
        kernel: takes two ``(stimuli, units)`` arrays and ``where=``, e.g. ``bsjax.metrics.cka``.
        identifier: its name in a score's provenance.
        min_stimuli: the fewest stimuli it is defined for.
        rotation_invariant: whether it depends on inner products between stimuli alone.
        error: ``"jackknife"`` estimates the standard error with respect to the choice of stimuli, leaving out one of
            ten random groups of them at a time, at ten times the cost; None gives no error.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
    """

    def __init__(
        self,
        kernel: Callable[..., Any],
        identifier: str,
        min_stimuli: int,
        rotation_invariant: bool,
        error: Literal["jackknife"] | None = None,
        dtype: str | None = None,
    ) -> None:
        if error not in (None, "jackknife"):
            raise ValueError(f"error must be 'jackknife' or None, got {error!r}")
        self.kernel = kernel
        self.identifier = identifier
        self.min_stimuli = min_stimuli
        self.rotation_invariant = rotation_invariant
        self.error = error
        self.dtype = dtype

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how similar the two representations are.

        Args:
            source, target: (presentation, neuroid) with ``stimulus_id``; rows in any order, neuroids of any number.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; values are NaN.
        """
        x, y, _ = _aligned_values(source, target, self.identifier, self.min_stimuli)
        error, kind = None, ""
        with precision(self.dtype) as dtype:
            arrays = jnp.asarray(x, dtype), jnp.asarray(y, dtype)
            value = float(compiled(self.kernel)(*arrays))
            if self.error is not None:
                groups = min(_JACKKNIFE_GROUPS, len(x) // self.min_stimuli)
                if groups < 2:
                    raise ValueError(f"too few stimuli for a jackknife: {len(x)}; leave error out")
                splitter = KFold(groups, shuffle=True, random_state=1)
                left_in = _on_subsets(self, *arrays, [train for train, _ in splitter.split(x)])
                error = float(math.sqrt((groups - 1) * left_in.var()))
                kind = f"standard error over stimuli, jackknife of {groups} groups"
        return Score(
            value,
            error=error,
            error_kind=kind,
            formula="r",
            n_undefined=int(math.isnan(value)),
            provenance=provenance(self.identifier, dtype),
        )


class CrossValidatedSimilarity:
    """A similarity of two representations on random subsets of the stimuli: its mean, and its spread as an error.

    Args:
        kernel, identifier, min_stimuli, rotation_invariant, dtype: as in ``RepresentationalSimilarity``.
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random subsets of 90 % of the stimuli,
            stratified by ``object_name``, seed 1.
    """

    def __init__(
        self,
        kernel: Callable[..., Any],
        identifier: str,
        min_stimuli: int,
        rotation_invariant: bool,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,
        dtype: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.identifier = identifier
        self.min_stimuli = min_stimuli
        self.rotation_invariant = rotation_invariant
        self.crossvalidation = CrossValidation.from_kwargs(crossvalidation_kwargs, test_size=0.9)
        self.dtype = dtype

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how similar the two representations are, as in ``RepresentationalSimilarity``."""
        x, y, target = _aligned_values(source, target, self.identifier, self.min_stimuli)
        subsets = [test for _, test in self.crossvalidation.of(target)]
        _check_stimuli(min(map(len, subsets)), self.identifier, self.min_stimuli)
        with precision(self.dtype) as dtype:
            raw = _on_subsets(self, jnp.asarray(x, dtype), jnp.asarray(y, dtype), subsets)
        made = provenance(self.identifier, dtype, random_state=self.crossvalidation.random_state)
        return over_splits(raw, {}, made)


def _aligned_values(
    source: xr.DataArray, target: xr.DataArray, identifier: str, min_stimuli: int
) -> tuple[np.ndarray | jax.Array, np.ndarray | jax.Array, xr.DataArray]:
    source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
    source = aligned(source, target)
    _check_stimuli(source.sizes["presentation"], identifier, min_stimuli)
    x, y = finite_values(source, "source"), finite_values(target, "target")
    return x, y, target


def _check_stimuli(n: int, identifier: str, min_stimuli: int) -> None:
    if n < min_stimuli:
        raise ValueError(f"{identifier} needs at least {min_stimuli} stimuli, there are {n}")


def _on_subsets(
    metric: RepresentationalSimilarity | CrossValidatedSimilarity, x: Any, y: Any, subsets: list[np.ndarray]
) -> np.ndarray:
    folds = make_folds(len(x), [(subset, subset) for subset in subsets])
    kernel = compiled(similarity_on_subsets, similarity=metric.kernel, rotation_invariant=metric.rotation_invariant)
    return np.asarray(kernel(x, y, folds.test, folds.test_mask))
