"""Means of benchmarks over subjects or folds, with the arguments and attributes known to plugins."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.compat.benchmarks.base import BenchmarkBase
from bsjax.compat.metrics.bootstrap import attach_error, declare_no_error
from bsjax.compat.score import Score
from bsjax.labelled.aggregate import nan_mean

WRAPPER_N_BOOTSTRAP = 200
_NEUROID_COORDS = ("subject_id", "region", "roi", "voxel_index_in_brain_mask", "nc_4rep", "nc_12rep", "nc_allrep")


class _MeanBenchmark(BenchmarkBase):
    """The mean of benchmarks of the same kind, each built, scored and released before the next."""

    _over: str

    def __init__(self, identifier: str, keys: Iterable[Any], factory: Callable[[Any], Any]) -> None:
        self._keys, self._factory = list(keys), factory
        if not self._keys:
            raise ValueError(
                f"benchmark {identifier!r} averages the benchmarks of each {self._over}: give at least one"
            )
        first = factory(self._keys[0])
        self.region = first.region
        self.timebins = getattr(first, "timebins", None)
        bibtex, version = getattr(first, "bibtex", None), getattr(first, "version", 1)
        super().__init__(identifier, self._compute_ceiling, version, self.region, bibtex)

    def _compute_ceiling(self) -> Score:
        return self._mean([float(self._factory(key).ceiling) for key in self._keys])

    def _mean(self, values: Sequence[float]) -> Score:
        score = Score(np.mean(values))
        score.attrs[f"raw_{self._over}s"] = xr.DataArray(list(values), {self._over: self._keys}, [self._over])
        score.attrs["sem"] = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
        score.attrs["error"] = score.attrs["sem"]
        return score

    def __call__(self, candidate: Any) -> Score:
        """The mean of the scores, with a bootstrap error over them, and each score as an attribute."""
        scores, ceilings, raws = [], [], []
        for key in self._keys:
            child = self._factory(key)
            scores.append(child(candidate))
            ceilings.append(float(child.ceiling))
            raws.append(child_raw_scalar(scores[-1]))
        values = [float(score) for score in scores]
        score = self._mean(values)
        score.attrs[f"sem_{self._over}s"] = score.attrs.pop("sem")
        score.attrs |= {
            "raw": Score(float(nan_mean(np.array(raws)))),
            "ceiling": self._mean(ceilings),
            **self._details(scores),
        }
        if len(values) == 1:
            return declare_no_error(score, f"there is a single {self._over}")
        parts = score.attrs[f"raw_{self._over}s"]
        return attach_error(score, parts, [self._over], n_bootstrap=WRAPPER_N_BOOTSTRAP)

    def _details(self, scores: list[Score]) -> dict[Any, Any]:
        return dict(zip(self._keys, scores, strict=True))


class MultiSubjectNeuralBenchmark(_MeanBenchmark):
    """The mean score of benchmarks, one for each subject.

    Args:
        identifier: unique name.
        subjects: names of the subjects.
        per_subject_factory: name -> benchmark.
        peak_aggregation: ignored.
    """

    _over = "subject"

    def __init__(
        self,
        identifier: str,
        subjects: Sequence[str],
        per_subject_factory: Callable[[str], Any],
        peak_aggregation: float = 1.0,
    ) -> None:
        super().__init__(identifier, subjects, per_subject_factory)


class KFoldNeuralBenchmark(_MeanBenchmark):
    """The mean score of benchmarks, one for each fold.

    Args:
        identifier: unique name.
        n_folds: number of folds.
        fold_factory: number of a fold, from 0 -> benchmark.
        peak_aggregation: ignored.
    """

    _over = "fold"

    def __init__(
        self, identifier: str, n_folds: int, fold_factory: Callable[[int], Any], peak_aggregation: float = 1.0
    ) -> None:
        super().__init__(identifier, range(int(n_folds)), fold_factory)

    def _details(self, scores: list[Score]) -> dict[str, Any]:
        return {"folds": scores}


def child_raw_scalar(child_score: Any) -> float:
    """The mean of a score's raw values before normalisation; NaN if it has none."""
    raw = child_score.attrs.get("raw")
    return float("nan") if raw is None else float(np.mean(getattr(raw, "values", raw)))


def release(child: Any) -> None:
    """Release the data that a benchmark holds in memory."""
    for name in ("_assembly", "_similarity_metric", "_ceiling_func"):
        if hasattr(child, name):
            with contextlib.suppress(AttributeError):  # a property holds no data
                setattr(child, name, None)


def scaled_preallocate_memory(wrapper: Any, candidate: Any, child_factory: Any, raise_if_oom: bool = True) -> None:
    """Do nothing; the memory of an extraction is known before it runs, and bounded by ``--memory``."""


def block_diagonal_concat(
    slices: Sequence[Any],
    presentation_coords: Sequence[str] = ("stimulus_id", "subject_id_pres", "repetition"),
    neuroid_coords: Sequence[str] = _NEUROID_COORDS,
) -> NeuroidAssembly:
    """Combine recordings of subjects as blocks on the diagonal, with NaN elsewhere.

    Args:
        slices: dims presentation and neuroid, one for each subject; integers become float32.
        presentation_coords, neuroid_coords: coordinates to keep, if all slices have them.
    """
    kinds = [part.dtype if part.dtype.kind == "f" else np.dtype(np.float32) for part in slices]
    rows, columns = ([part.sizes[dim] for part in slices] for dim in ("presentation", "neuroid"))
    values = np.full((sum(rows), sum(columns)), np.nan, np.result_type(*kinds))
    row = column = 0
    for part, height, width in zip(slices, rows, columns, strict=True):
        values[row : row + height, column : column + width] = part.transpose("presentation", "neuroid").values
        row, column = row + height, column + width
    coords = {
        name: (dim, np.concatenate([part[name].values for part in slices]))
        for dim, names in (("presentation", presentation_coords), ("neuroid", neuroid_coords))
        for name in names
        if all(name in part.coords for part in slices)
    }
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"], name="data")
