"""Occluded objects in human visual cortex: Coggan & Tong (2024).

The data are fMRI pattern similarities of 9 subjects for eight objects, each shown whole, or with its upper or lower
part occluded. They hold one similarity matrix (RSM) of 24 images for each subject and region.

``RSA``, ``get_score``, ``get_ceiling`` and ``ceiler`` are the names of the steps in Brain-Score's tutorial on neural
benchmarks, for benchmarks ported from it.
"""

import warnings
from functools import partial

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.benchmarks.kinds.subject_matrices import SubjectMatricesBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import DataAssembly, NeuroidAssembly, load_dataset
from bsjax.engine.precision import precision
from bsjax.labelled import Score
from bsjax.labelled.align import finite_values, two_dimensional, unique_ids
from bsjax.labelled.normalise import squared_ceil_score
from bsjax.labelled.similarity.rdms.subject_rdms import LEFT, SubjectAgreement, SubjectSimilarity, square
from bsjax.metrics import compiled
from bsjax.metrics.similarity.rdms.rsm import responsive_rsm


def rdm(row: BenchmarkRow) -> SubjectMatricesBenchmark:
    """The comparison in one region.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("tong.Coggan2024_fMRI.V2-rdm").region
        'V2'
    """
    subjects = partial(subject_rsms, row.region)
    return SubjectMatricesBenchmark(row, subjects, SubjectSimilarity("corr"), get_ceiling, matrix=RSA)


def subject_rsms(region: str) -> DataAssembly:
    """The similarity matrix of each subject in a region.

    Returns:
        (subject, stimulus_left, stimulus_right), Pearson correlations.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data are not available.
        ValueError: the data have no such region.
    """
    with warnings.catch_warnings():
        # The published matrices use one dimension for rows and columns, and xarray warns; they get two names here.
        warnings.filterwarnings("ignore", "Duplicate dimension names", UserWarning)
        return _stacked(load_dataset("Coggan2024_fMRI"), region)


def RSA(assembly: NeuroidAssembly, neuroid_dim: str = "neuroid") -> DataAssembly:
    """The similarity matrix of a model's responses, over the units with a large mean response.

    Args:
        assembly: responses (presentation, neuroid) with ``stimulus_id``.
        neuroid_dim: the dimension of the units.

    Returns:
        (stimulus_left, stimulus_right), Pearson correlations; see :func:`bsjax.metrics.similarity.rsm.responsive_rsm`.

    Raises:
        ValueError: stimuli repeat, responses are not finite, or no unit's mean response is large enough.

    Example:
        >>> values = np.random.default_rng(0).normal(size=(5, 200))
        >>> values[:, :2] += 9.0
        >>> responses = NeuroidAssembly(values, dims=["presentation", "neuroid"],
        ...     coords={"stimulus_id": ("presentation", list("abcde"))})
        >>> RSA(responses).shape
        (5, 5)
    """
    responses = two_dimensional(assembly.rename({neuroid_dim: "neuroid"}), "assembly")
    ids, values = unique_ids(responses, "assembly"), finite_values(responses, "assembly")
    with precision() as dtype:
        matrix = np.asarray(compiled(responsive_rsm)(jnp.asarray(values, dtype)))
    if np.isnan(matrix).all():
        raise ValueError(
            f"none of the {responses.sizes['neuroid']} units has a mean response beyond 3.1 standard deviations of all "
            "units' mean responses, so that none is compared: record from a layer with more, or sparser, units"
        )
    return square(matrix, ids)


def get_score(source_rsm: xr.DataArray, target_rsm: xr.DataArray) -> Score:
    """Mean over subjects of the Pearson correlation of a model's matrix with each subject's, over pairs of stimuli.

    Args:
        source_rsm: the result of :func:`RSA`.
        target_rsm: (subject, stimulus_left, stimulus_right), or as published: stimuli, stimuli, and the subjects of one
            region.

    Raises:
        ValueError: the stimuli differ, or there are several regions.
    """
    return SubjectSimilarity("corr")(source_rsm, _stacked(target_rsm))


def get_ceiling(assembly: xr.DataArray) -> Score:
    """Mean over subjects of the Pearson correlation of each subject's matrix with the mean of the others'.

    Args:
        assembly: as ``target_rsm`` of :func:`get_score`.
    """
    return SubjectAgreement("lower", "corr")(_stacked(assembly))


ceiler = squared_ceil_score


def _stacked(assembly: xr.DataArray, region: str | None = None) -> DataAssembly:
    """Published matrices of one region with separate dimensions for rows, columns and subjects."""
    if LEFT in assembly.dims:
        return DataAssembly(assembly)
    rows, columns, _ = assembly.dims
    if rows != columns:
        raise ValueError(f"expected (presentation, presentation, neuroid) of similarities, got {assembly.dims}")
    regions = np.broadcast_to(assembly["region"].values.astype(str), assembly.shape[2:])
    chosen = np.ones(len(regions), bool) if region is None else regions == region
    present = ", ".join(np.unique(regions))
    if not chosen.any():
        raise ValueError(f"the data hold no region {region}; they hold {present}")
    if len(np.unique(regions[chosen])) > 1:
        raise ValueError(f"expected subjects of one region, got {present}: select one, e.g. assembly.sel(region='IT')")
    values = np.moveaxis(assembly.values[:, :, chosen], 2, 0)
    return square(values, assembly["stimulus_id"].values, assembly["subject"].values[chosen])
