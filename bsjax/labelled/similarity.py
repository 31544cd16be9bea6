"""Representational similarities of two assemblies over the same stimuli: CKA and RDMs."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import jax
import numpy as np
import xarray as xr
from sklearn.model_selection import KFold

from bsjax.labelled.aggregate import error_over, jackknife_error, no_error, over_splits, provenance
from bsjax.labelled.align import STIMULUS, finite_values, listed, two_dimensional, unique_ids
from bsjax.labelled.precision import in_dtype, precision
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.splits import CrossValidation
from bsjax.labelled.streaming import Sees, aligned_in_memory, cka_on_all_devices, must_stream, streamed
from bsjax.metrics import cka, cka_biased, compiled, make_folds, rdm_similarity, similarity_on_subsets
from bsjax.metrics.bootstraps import cka_bootstraps, rdm_bootstraps
from bsjax.metrics.numerics import deviations
from bsjax.metrics.sharding import dealt_out, several_devices, with_stimuli_dealt_out

SimilarityError = Literal["jackknife", "bootstrap"]

_JACKKNIFE_GROUPS = 10
_BOOTSTRAPS: dict[Callable[..., Any], Callable[[], Callable[..., Any]]] = {
    cka: lambda: compiled(cka_bootstraps),
    cka_biased: lambda: compiled(cka_bootstraps, unbiased=False),
    rdm_similarity: lambda: compiled(rdm_bootstraps),
}


class RepresentationalSimilarity:
    """One similarity of two representations of the same stimuli; symmetric in the two.

    Args:
        kernel: takes two ``(stimuli, units)`` arrays and ``where=``, e.g. ``bsjax.metrics.cka``.
        identifier: its name in a score's provenance.
        min_stimuli: the fewest stimuli it is defined for.
        rotation_invariant: whether it depends on inner products between stimuli alone.
        error: how the standard error with respect to the choice of stimuli is estimated. ``"jackknife"`` leaves out one
            of ten random groups of them at a time, at ten times the cost. ``"bootstrap"`` draws as many with
            replacement, leaving out comparisons of a stimulus with its copies (see ``bsjax.metrics.cka_bootstraps``
            and ``rdm_bootstraps``, seed 1); ``score.raw`` has the similarity of each draw, of which
            ``np.nanquantile(score.raw, [0.025, 0.975])`` is an interval. None gives no error.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        n_bootstraps: how many draws.

    Raises:
        ValueError: another ``error``, fewer than two draws, or a kernel that has no bootstrap.
    """

    def __init__(
        self,
        kernel: Callable[..., Any],
        identifier: str,
        min_stimuli: int,
        rotation_invariant: bool,
        error: SimilarityError | None = None,
        dtype: str | None = None,
        n_bootstraps: int = 200,
    ) -> None:
        if error not in (None, *get_args(SimilarityError)):
            raise ValueError(f"error must be 'jackknife', 'bootstrap' or None, got {error!r}")
        if error == "bootstrap" and kernel not in _BOOTSTRAPS:
            raise ValueError(f"{identifier} has no bootstrap: pass error='jackknife' or None")
        self.kernel = kernel
        self.identifier = identifier
        self.min_stimuli = min_stimuli
        self.rotation_invariant = rotation_invariant
        self.error = error
        self.dtype = dtype
        self.n_bootstraps = whole_number(n_bootstraps, "n_bootstraps", 2)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how similar the two representations are.

        Args:
            source, target: (presentation, neuroid) with ``stimulus_id``; rows in any order, neuroids of any number.

        Returns:
            NaN where responses are constant; ``provenance["undefined"]`` then says of which side, and for RDMs to which
            stimuli.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; values are NaN.
        """
        if several_devices() and self.kernel in (cka, cka_biased) and self.error is None:
            sides = two_dimensional(source, "source"), two_dimensional(target, "target")
            if any(must_stream(side, sees=self.sees) for side in sides):
                _check_stimuli(len(sides[0]), self.identifier, self.min_stimuli)
                return self._score(cka_on_all_devices(*sides, unbiased=self.kernel is cka), np.dtype("float64"))
        x, y, target = _aligned_values(source, target, self.identifier, self.min_stimuli, self.sees)
        spread: dict[str, Any] = {}
        raw = None
        with precision(self.dtype) as dtype:
            arrays = in_dtype(x, dtype), in_dtype(y, dtype)
            # What ranks pairs of stimuli does so on one device.
            on_all = several_devices() and self.rotation_invariant
            if self.error == "bootstrap":
                value, *of_draws = self._of_draws(*arrays).tolist()
                spread = _error_of_draws(np.array(of_draws), len(x))
                raw = xr.DataArray(of_draws, dims=["bootstrap"], coords={"bootstrap": np.arange(len(of_draws))})
            elif on_all:
                value = float(with_stimuli_dealt_out(self.kernel, *arrays))
            else:
                value = float(compiled(self.kernel)(*arrays))
            if self.error == "jackknife":
                groups = min(_JACKKNIFE_GROUPS, len(x) // self.min_stimuli)
                if groups < 2:
                    raise ValueError(f"too few stimuli for a jackknife: {len(x)}; leave error out")
                splitter = KFold(groups, shuffle=True, random_state=1)
                left_in = _on_subsets(self, *arrays, [train for train, _ in splitter.split(x)])
                spread = jackknife_error(left_in)
            why = _why_undefined(self, arrays, target) if math.isnan(value) else {}
        return self._score(value, dtype, raw, why, **spread)

    def _of_draws(self, x: Any, y: Any) -> np.ndarray:
        """The similarity of all stimuli and of each draw, which take little more than that of all stimuli alone."""
        counts = _counts_of_draws(len(x), self.n_bootstraps)
        return dealt_out(_BOOTSTRAPS[self.kernel](), (x, y, counts), (None, None, 0), 0)

    @property
    def sees(self) -> Sees:
        """What it depends on of either side."""
        return _seen_by(self)

    def _score(
        self,
        value: float,
        dtype: np.dtype,
        raw: xr.DataArray | None = None,
        why: Mapping[str, str] | None = None,
        **spread: Any,
    ) -> Score:
        return Score(
            value,
            **spread,
            raw=raw,
            formula="r",
            n_undefined=int(math.isnan(value)),
            provenance=provenance(self.identifier, dtype, **(why or {})),
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
        x, y, target = _aligned_values(source, target, self.identifier, self.min_stimuli, self.sees)
        subsets = [test for _, test in self.crossvalidation.of(target)]
        _check_stimuli(min(map(len, subsets)), self.identifier, self.min_stimuli)
        with precision(self.dtype) as dtype:
            arrays = in_dtype(x, dtype), in_dtype(y, dtype)
            raw = _on_subsets(self, *arrays, subsets)
            why = _why_undefined(self, arrays, target) if np.isnan(raw).any() else {}
        made = provenance(self.identifier, dtype, random_state=self.crossvalidation.random_state, **why)
        return over_splits(raw, {}, made)

    @property
    def sees(self) -> Sees:
        """What it depends on of either side."""
        return _seen_by(self)


def _counts_of_draws(n: int, draws: int) -> np.ndarray:
    """How often each of ``n`` stimuli is in all of them, once, and in each draw of as many with replacement."""
    drawn = np.random.default_rng(1).integers(0, n, (draws, n))
    drawn += n * np.arange(1, draws + 1)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=n * (draws + 1)).reshape(-1, n)
    counts[0] = 1
    return counts.astype(np.int32)


def _error_of_draws(values: np.ndarray, stimuli: int) -> dict[str, Any]:
    """The spread of the similarity over draws; those that hold all stimuli as often are one and the same."""
    different = np.unique(_counts_of_draws(stimuli, len(values))[1:][np.isfinite(values)], axis=0)
    if len(different) < 2:
        return {"error": None, "error_kind": no_error("bootstraps of different stimuli", len(different), len(values))}
    return error_over(values, "bootstraps of the stimuli", kind="standard deviation")


def _seen_by(metric: RepresentationalSimilarity | CrossValidatedSimilarity) -> Sees:
    if metric.kernel is rdm_similarity:
        return "correlations"
    return "inner products" if metric.rotation_invariant else "features"


def _aligned_values(
    source: xr.DataArray, target: xr.DataArray, identifier: str, min_stimuli: int, sees: Sees
) -> tuple[np.ndarray | jax.Array, np.ndarray | jax.Array, xr.DataArray]:
    source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
    source = aligned_in_memory(source, target, sees)
    (target,) = streamed(target, sees=sees, names=["target"])
    _check_stimuli(source.sizes["presentation"], identifier, min_stimuli)
    x, y = finite_values(source, "source"), finite_values(target, "target")
    return x, y, target


def _why_undefined(
    metric: RepresentationalSimilarity | CrossValidatedSimilarity, sides: tuple[Any, Any], target: xr.DataArray
) -> dict[str, str]:
    """For the provenance: which responses are constant, where that is what leaves a similarity undefined."""
    found = []
    for values, what in zip(sides, ("source", "target"), strict=True):
        if metric.kernel is rdm_similarity:
            constant = np.asarray(compiled(deviations, where=None, axis=1)(values).constant)[:, 0]
            if constant.any():
                ids = unique_ids(target, "target")[constant]
                found.append(f"{what} has the same response in all units to {listed(ids, STIMULUS)}")
        elif np.asarray(compiled(deviations, where=None, axis=0)(values).constant).all():
            found.append(f"{what} has the same responses to all stimuli")
    return {"undefined": "; ".join(found)} if found else {}


def _check_stimuli(n: int, identifier: str, min_stimuli: int) -> None:
    if n < min_stimuli:
        raise ValueError(f"{identifier} needs at least {min_stimuli} stimuli, there are {n}")


def _on_subsets(
    metric: RepresentationalSimilarity | CrossValidatedSimilarity, x: Any, y: Any, subsets: list[np.ndarray]
) -> np.ndarray:
    folds = make_folds(len(x), [(subset, subset) for subset in subsets])
    kernel = compiled(similarity_on_subsets, similarity=metric.kernel, rotation_invariant=metric.rotation_invariant)
    return dealt_out(kernel, (x, y, folds.test, folds.test_mask), (None, None, 0, 0), 0)
