"""Responses of several subjects to the same stimuli as arrays, and a model's RDM similarity to each subject."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import mean_score, nan_mean
from bsjax.labelled.align import (
    aligned,
    coordinate,
    finite_values,
    listed,
    order_of,
    reordered,
    two_dimensional,
    unique_ids,
)
from bsjax.labelled.metric import Metric
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.resampling.permutations import Permuted
from bsjax.labelled.score import Score
from bsjax.labelled.similarity.rdms.drawn_rdms import similarities_in_draws
from bsjax.metrics.resampling.permutation import rdm_permutations
from bsjax.metrics.similarity.rdms.rdm import rdm, rdm_pairs, rdms_of_subjects, similarity_to_subjects
from bsjax.metrics.similarity.rdms.rdm_comparison import comparison_named

FEWEST_STIMULI = 3
SUBJECT, LEFT, RIGHT = "subject", "stimulus_left", "stimulus_right"


@dataclass(frozen=True)
class SubjectRDMSimilarity(Metric):
    """Similarity of a model's dissimilarity matrix (RDM) to that of each subject, averaged over subjects.

    Dissimilarities are 1 - Pearson correlation of the patterns of two stimuli over all units. ``raw`` has one
    similarity per subject. A stimulus without values of a subject is left out for that subject. A subject with a
    constant pattern for a stimulus has no RDM; it is left out of the mean and counted in ``n_undefined``.

    Args:
        method: the comparison of two RDMs: ``"spearman"``, ``"corr"``, ``"cosine"``, ``"rho-a"`` or ``"tau-a"``.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: an unknown method.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> neural = xr.DataArray([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0]], dims=["presentation", "neuroid"],
        ...     coords={"stimulus_id": ("presentation", list("abc")), "subject": ("neuroid", ["s1"] * 3)})
        >>> float(SubjectRDMSimilarity()(neural.drop_vars("subject"), neural).raw.sel(subject="s1").round(6))
        1.0
    """

    identifier = "rdm of each subject"
    normalisation = "ceil_score"
    squared = False  # see ``SubjectSimilarity``

    method: str = "spearman"
    dtype: str | None = None

    def __post_init__(self) -> None:
        comparison_named(self.method)  # refuses an unknown method early

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how similar the model's RDM is to the subjects'.

        Args:
            source: the model's responses (presentation, neuroid) with ``stimulus_id``, rows in any order.
            target: the measured responses, with ``subject`` on neuroid.

        Raises:
            ValueError: stimuli differ, repeat, or are fewer than three; a coordinate is missing; the model's values are
                NaN, or only some values of a subject and stimulus are; or the computation needs more memory than is
                available.
        """
        target = two_dimensional(target, "target")
        source = aligned(two_dimensional(source, "source"), target)
        subjects, responses = by_subject(target, "target")
        if len(target) < FEWEST_STIMULI:
            raise ValueError(f"an RDM needs at least {FEWEST_STIMULI} stimuli, there are {len(target)}")
        what, advice = f"rdm of {len(target):,} stimuli and {len(subjects):,} subjects", "fewer stimuli or subjects"
        arrays = finite_values(source, "source"), *responses
        raw = self.run_kernel(similarity_to_subjects, *arrays, takes=what, advice=advice, method=self.method).astype(
            float
        )
        return mean_score(
            xr.DataArray(raw, dims=[SUBJECT], coords={SUBJECT: subjects}),
            SUBJECT,
            formula="r",
            n_units=target.sizes["neuroid"],
            provenance=self.provenance(),
        )

    def drawn_values(self, drawn: Drawn, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`."""
        target = two_dimensional(target, "target")
        features = finite_values(aligned(two_dimensional(source, "source"), target), "source")
        subjects, responses = by_subject(target, "target")
        refuse_missing_stimuli(responses, subjects)
        model = self.run_kernel(rdm_pairs, self.run_kernel(rdm, features))
        pairs = self.run_kernel(rdm_pairs, self.run_kernel(rdms_of_subjects, responses.values, responses.units))
        return similarities_in_draws(self, model, pairs, unique_ids(target, "target"), subjects, drawn)

    def permuted_values(self, permuted: Permuted, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values after permutations, see :func:`bsjax.labelled.resampling.calibration.with_null`."""
        target, source = two_dimensional(target, "target"), two_dimensional(source, "source")
        _, responses = by_subject(target, "target")
        if responses.seen is not None:  # stimuli that a subject lacks cannot be permuted at once
            return super().permuted_values(permuted, source, target)
        order = order_of(source, target)
        rows, features = permuted.permutations[0].in_order(order), finite_values(reordered(source, order), "source")
        units = [slice(None)] * len(responses.values) if responses.units is None else list(responses.units)
        each = [  # the comparison is symmetric, and the kernel permutes the second side
            self.run_kernel(rdm_permutations, theirs[:, held], features, rows, method=self.method)
            for theirs, held in zip(responses.values, units, strict=True)
        ]
        return {"values": permuted.in_passes(lambda _: nan_mean(np.stack(each, axis=-1).astype(float)))}


class Responses(NamedTuple):
    """``values`` (subjects, stimuli, units), padded, with masks of valid ``units`` and ``seen`` stimuli, or None."""

    values: np.ndarray
    units: np.ndarray | None
    seen: np.ndarray | None


def by_subject(assembly: xr.DataArray, what: str) -> tuple[np.ndarray, Responses]:
    """Names of the subjects, and their responses.

    Raises:
        ValueError: a coordinate is missing, stimuli repeat, or only some values of a subject and stimulus are missing.
    """
    stimuli = unique_ids(assembly, what)
    subject, names = pd.factorize(coordinate(assembly, SUBJECT, "neuroid", what), sort=True)
    counts = np.bincount(subject)
    order = np.argsort(subject, kind="stable")
    place = np.arange(len(subject)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = np.zeros((len(names), len(stimuli), counts.max()))
    values[subject[order], :, place] = np.asarray(assembly.values, float)[:, order].T
    units = np.arange(counts.max()) < counts[:, None]
    missing = ~np.isfinite(values)
    seen = ~(np.isnan(values) | ~units[:, None, :]).all(axis=2)
    partly = np.argwhere((missing & seen[:, :, None]).any(axis=2))
    if len(partly):
        cells = [f"subject {names[s]} of {stimuli[i]}" for s, i in partly]
        raise ValueError(
            f"{what} has NaN or infinite values where it has others of the same subject and stimulus: "
            f"{listed(cells, 'responses')}. Drop those neuroids or stimuli; a stimulus that a subject has not seen is "
            "NaN in all of its neuroids"
        )
    values[missing] = 0.0
    return np.asarray(names), Responses(values, None if units.all() else units, None if seen.all() else seen)


def refuse_missing_stimuli(responses: Responses, subjects: np.ndarray) -> None:
    """Refuses draws of the stimuli if any subject lacks stimuli.

    Raises:
        ValueError: subjects lack stimuli; the message names them.
    """
    if responses.seen is not None:
        lacking = subjects[~responses.seen.all(axis=1)]
        raise ValueError(
            f"draws hold the same stimuli for all subjects, and some lack stimuli: {listed(lacking, 'subjects')}"
        )


def are_symmetric(matrices: np.ndarray) -> bool:
    """Whether matrices (..., n, n) are symmetric up to rounding in float32; NaN equals NaN."""
    return np.allclose(matrices, matrices.swapaxes(-1, -2), rtol=1e-4, atol=1e-6, equal_nan=True)


def pairs_of_stack(assembly: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Names of the subjects, and the pairs above the diagonal of their RDMs, shape ``(subjects, pairs)``.

    Raises:
        ValueError: other dimensions, or RDMs that are not square and symmetric, or infinite.
    """
    if set(assembly.dims) != {SUBJECT, LEFT, RIGHT}:
        raise ValueError(
            f"RDMs must have the dimensions {SUBJECT}, {LEFT} and {RIGHT}, they have: "
            f"{', '.join(map(str, assembly.dims))}"
        )
    assembly = assembly.transpose(SUBJECT, LEFT, RIGHT)
    values = np.asarray(assembly.values, float)
    s, n, m = values.shape
    if n != m:
        raise ValueError(f"RDMs must be square, they are {n} x {m}")
    if np.isinf(values).any() or not are_symmetric(values):
        raise ValueError("RDMs must be symmetric and hold finite dissimilarities, or NaN where a pair is missing")
    subjects = assembly[SUBJECT].values if SUBJECT in assembly.coords else np.arange(s)
    left, right = np.triu_indices(n, 1)
    return subjects, values[:, left, right]
