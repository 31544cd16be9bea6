"""Comparison of stimuli x stimuli matrices between a model and several subjects, and among the subjects.

The matrices may hold similarities (RSMs) or dissimilarities (RDMs), as long as both sides hold the same.
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.data import DataAssembly
from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import mean_score
from bsjax.labelled.align import STIMULUS, coordinate, matched, refuse_single
from bsjax.labelled.metric import Metric
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.similarity.rdms.drawn_rdms import BOUNDS, ceilings_in_draws, similarities_in_draws
from bsjax.labelled.similarity.rdms.subject_responses import LEFT, RIGHT, SUBJECT, are_symmetric
from bsjax.metrics import compiled
from bsjax.metrics.ceilings.noise_ceiling import Pooling, rdm_noise_ceiling
from bsjax.metrics.similarity.rdms.rdm import rdm_pairs
from bsjax.metrics.similarity.rdms.rdm_comparison import compare_all_rdm_vectors, comparison_named

LEFT_ID, RIGHT_ID = "stimulus_id_left", "stimulus_id_right"


def square(values: np.ndarray, stimulus_ids: np.ndarray, subjects: np.ndarray | None = None) -> DataAssembly:
    """Labels stimuli x stimuli matrices.

    Args:
        values: (stimuli, stimuli), or (subjects, stimuli, stimuli).
        stimulus_ids: identifiers of the rows and columns.
        subjects: names of the subjects.

    Example:
        >>> square(np.eye(2), np.array(["a", "b"])).dims
        ('stimulus_left', 'stimulus_right')
    """
    coords = {LEFT_ID: (LEFT, stimulus_ids), RIGHT_ID: (RIGHT, stimulus_ids)}
    dims = [LEFT, RIGHT]
    if subjects is not None:
        coords[SUBJECT] = (SUBJECT, subjects)
        dims = [SUBJECT, *dims]
    return DataAssembly(values, coords=coords, dims=dims)


@dataclass(frozen=True)
class SubjectSimilarity(Metric):
    r"""Mean similarity of a model's matrix to those of the subjects.

    Each comparison is over all pairs of different stimuli; for asymmetric matrices, over both orders of each pair.
    ``raw`` has one value per subject, and the error is the standard error of their mean.

    Args:
        method: the comparison, see ``bsjax.metrics.compare_rdm_vectors``.
        squared: average :math:`\operatorname{sign}(r)\, r^2` instead of r.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Nili et al. 2014.

    Example:
        >>> ids = np.array(["a", "b", "c"])
        >>> model = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> score = SubjectSimilarity("corr")(square(model, ids), square(np.stack([model, -model]), ids, ["s1", "s2"]))
        >>> score.raw.values.round(3).tolist()
        [1.0, -1.0]
    """

    identifier = "subject_similarity"
    normalisation = "ceil_score"

    method: str = "spearman"
    squared: bool = False
    dtype: str | None = None

    def __call__(self, model: xr.DataArray, subjects: xr.DataArray) -> Score:
        """Compares a model with every subject.

        Args:
            model: (stimulus_left, stimulus_right) with the identifiers of the stimuli.
            subjects: (subject, stimulus_left, stimulus_right); stimuli in any order.

        Raises:
            ValueError: other dimensions, or different stimuli.
        """
        subjects, ids = _stack(subjects)
        matrix = _in_order(model, ids)
        vectors = compared_entries(matrix[None], subjects.values, method=self.method)
        r = self.run_kernel(compare_all_rdm_vectors, *vectors, method=self.method)[0]
        return _over_subjects(self, xr.DataArray(r, {SUBJECT: subjects[SUBJECT]}, [SUBJECT]))

    def drawn_values(self, drawn: Drawn, model: xr.DataArray, subjects: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`."""
        subjects, ids = _stack(subjects)
        ours, theirs = _pairs(_in_order(model, ids), "the model's"), _pairs(subjects.values, "the subjects'")
        return similarities_in_draws(self, ours, theirs, ids, subjects[SUBJECT].values, drawn)


@dataclass(frozen=True)
class SubjectAgreement(Metric):
    r"""Similarity of each subject's matrix to the mean of the others, or of all: a ceiling of ``SubjectSimilarity``.

    The true model is expected between two bounds. The lower bound compares with the mean matrix of the *other* subjects
    (leave one out), the upper bound with that of *all* subjects, which includes the subject's own. ``raw`` is (bound,
    subject).

    Args:
        bound: the bound that is the value, ``"lower"`` or ``"upper"``.
        method, squared, dtype: as in ``SubjectSimilarity``.
        pooling: ``"raw"`` averages the matrices as they are, ``"matched"`` on the scale of the comparison. With
            ``"bound"``, no matrix exceeds the upper bound, see ``bsjax.metrics.rdm_noise_ceiling``.

    Raises:
        ValueError: an unknown bound.

    Source: Nili et al. 2014.

    Example:
        >>> one = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> stack = square(np.stack([one, one + 1.0]), np.array(["a", "b", "c"]), ["s1", "s2"])
        >>> SubjectAgreement("lower", "corr")(stack)
        Score(1.0000, r)
    """

    identifier = "subject_agreement"

    bound: Literal["lower", "upper"]
    method: str = "spearman"
    squared: bool = False
    pooling: Pooling = "raw"
    dtype: str | None = None

    def __post_init__(self) -> None:
        if self.bound not in BOUNDS:
            raise ValueError(f"bound must be 'lower' or 'upper', got {self.bound!r}")

    def __call__(self, subjects: xr.DataArray) -> Score:
        """One of the two bounds; both are in ``raw``.

        Args:
            subjects: (subject, stimulus_left, stimulus_right).

        Raises:
            ValueError: other dimensions, or fewer than two subjects.
        """
        subjects, _ = _stack(subjects)
        refuse_single(subjects[SUBJECT].values)
        entries = compared_entries(subjects.values, method=self.method)[0]
        both = self.run_kernel(rdm_noise_ceiling, entries, method=self.method, pooling=self.pooling)
        coords = {"bound": list(BOUNDS), SUBJECT: subjects[SUBJECT]}
        return _over_subjects(self, xr.DataArray(both, coords, ["bound", SUBJECT]), BOUNDS.index(self.bound))

    def drawn_values(self, drawn: Drawn, subjects: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`."""
        subjects, ids = _stack(subjects)
        _pairs(subjects.values, "the subjects'")
        return ceilings_in_draws(self, np.asarray(subjects.values, float), ids, subjects[SUBJECT].values, drawn)


def compared_entries(*matrices: np.ndarray, method: str = "spearman") -> list[np.ndarray]:
    """The entries of matrices (..., n, n) that are compared, the same ones for all.

    If all matrices are symmetric up to rounding, they are the pairs of stimuli, (..., n (n - 1) / 2), because an entry
    that counts twice is tied with itself, which lowers Kendall's tau-a and rho-a. Otherwise they are all entries off
    the diagonal, (..., n (n - 1)).

    Raises:
        ValueError: matrices are not symmetric for a comparison of all pairs together.

    Example:
        >>> [entries.tolist() for entries in compared_entries(np.array([[1, 2], [3, 4]]), np.array([[0, 5], [5, 0]]))]
        [[2, 3], [5, 5]]
        >>> compared_entries(np.array([[0, 5], [5, 0]]))[0].tolist()
        [5.0]
    """
    if all(map(are_symmetric, matrices)):
        return list(map(_in_pairs, matrices))
    if not comparison_named(method).of_single_pairs:
        raise ValueError(f"the comparison {method!r} needs symmetric matrices: take another, or their mean with .T")
    return [m[..., ~np.eye(m.shape[-1], dtype=bool)] for m in matrices]


def _in_pairs(matrices: np.ndarray) -> np.ndarray:
    with precision("float64"):
        return np.asarray(compiled(rdm_pairs)(jnp.asarray(matrices, float)))


def _pairs(matrices: np.ndarray, whose: str) -> np.ndarray:
    """The pairs of symmetric matrices for draws of the stimuli; refuses asymmetric ones."""
    if not are_symmetric(matrices):
        raise ValueError(f"{whose} matrices are not symmetric: stimuli are drawn of symmetric ones")
    return _in_pairs(matrices)


def _ids(matrix: xr.DataArray, what: str) -> np.ndarray:
    if not {LEFT, RIGHT} <= set(matrix.dims):
        raise ValueError(
            f"{what} must have the dimensions {LEFT} and {RIGHT}, it has: {', '.join(map(str, matrix.dims))}"
        )
    ids, right = coordinate(matrix, LEFT_ID, LEFT, what), coordinate(matrix, RIGHT_ID, RIGHT, what)
    if not np.array_equal(ids, right):
        raise ValueError(f"rows and columns of {what} must be the same stimuli in the same order")
    return ids


def _in_order(model: xr.DataArray, ids: np.ndarray) -> np.ndarray:
    """The model's matrix with its stimuli in the order of the subjects'."""
    names = ("the model's matrix", "the subjects'")
    order = matched(_ids(model, "the model's matrix"), ids, names, STIMULUS, "stimuli")
    return model.transpose(LEFT, RIGHT).values[np.ix_(order, order)]


def _stack(subjects: xr.DataArray) -> tuple[xr.DataArray, np.ndarray]:
    ids = _ids(subjects, "the subjects' matrices")
    coordinate(subjects, SUBJECT, SUBJECT, "the subjects' matrices")
    return subjects.transpose(SUBJECT, LEFT, RIGHT), ids


def _over_subjects(metric: SubjectSimilarity | SubjectAgreement, r: xr.DataArray, row: int | None = None) -> Score:
    raw = r.astype(float)
    raw = raw * abs(raw) if metric.squared else raw
    subjects = xr.DataArray(raw.values if row is None else raw.values[row], dims=[SUBJECT])
    formula = "r²" if metric.squared else "r"
    return mean_score(subjects, SUBJECT, raw=raw, formula=formula, provenance=metric.provenance())
