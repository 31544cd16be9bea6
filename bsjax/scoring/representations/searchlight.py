"""``searchlight``: models compared with every neighbourhood of a recording, such as the voxels within a radius."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.engine.running import run
from bsjax.labelled.align import aligned, finite_values
from bsjax.labelled.settings import proportion, whole_number
from bsjax.metrics.similarity.rdms.rdm import rdm, rdm_pairs
from bsjax.metrics.similarity.rdms.rdm_comparison import comparison_named
from bsjax.metrics.similarity.rdms.searchlights import searchlight_similarity
from bsjax.scoring.arrays import assemblies_of, loaded
from bsjax.scoring.display.bars import shown
from bsjax.scoring.representations.neighbourhoods import scores_of_neighbourhoods

if TYPE_CHECKING:
    from bsjax.labelled import Score

_SOURCE = "source"
_RDM = {"dissimilarity": "correlation", "comparison": "spearman"}


def searchlight(
    source: Any,
    target: Any,
    *,
    radius: float | None = None,
    positions: Any = ("x", "y", "z"),
    neighbours: Any = None,
    rings: int = 1,
    centres: Any = None,
    mask: Any = None,
    inside: float = 0.0,
    metric: str | Callable[..., Score] = "rdm",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> xr.DataArray:
    """Compare every neighbourhood of a recording with a model, or with many models: by RDMs, or by any other metric.

    Neighbourhoods of a volume are the voxels nearer to a centre than ``radius``. Those of a surface are the vertices
    that are at most ``rings`` edges of its mesh away. Any others, e.g. by geodesic distance, are given as lists.

    Args:
        source: features of a model ``(stimuli, features)``, or name -> features of many, such as layers.
        target: responses ``(stimuli, neuroids)``; rows matched as in :func:`bsjax.score_arrays`.
        radius: of the neighbourhoods of a volume, in the unit of the positions.
        positions: coordinates of the neuroids of ``target``, or an array ``(neuroids, dimensions)``.
        neighbours: for surfaces, instead of ``radius``: a sparse matrix ``(neuroids, neuroids)`` that is not zero
            between neighbours, or a list of the neuroids of each centre's neighbourhood, by number.
        rings: how many edges of a sparse matrix a neighbourhood reaches.
        centres: numbers of the neuroids to be centres, or a mask of them; all if None.
        mask: True for neuroids that count, ``(neuroids,)`` or a volume of as many voxels; others belong to no
            neighbourhood, and are no centres.
        inside: least share of a neighbourhood that the mask must hold for its centre to be scored; 1 leaves out all
            centres at the border.
        metric, crossvalidation_kwargs, metric_kwargs: as for :func:`bsjax.score_arrays`, e.g. ``"cka"``, ``"ridge"``,
            or ``comparison="corr"`` for RDMs. Each number is the score of one neighbourhood alone. Similarities and
            regressions that fit each neuroid alone take few calls for all centres; others, such as ``"pls"``, a call
            for each.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.

    Returns:
        ``(neuroid,)``, or ``(model, neuroid)`` for several: scores at the centres, whose numbers are the coordinate
        ``neuroid``, with the coordinates of the target's neuroids and ``neighbours``, the sizes of neighbourhoods. NaN
        where a score is undefined, e.g. of a constant RDM.

    Raises:
        KeyError: the metric is unknown.
        ValueError: not one of ``radius`` and ``neighbours`` is given, positions are missing, sizes differ, there is no
            centre, stimuli differ, or the metric does not take an argument.

    Source: Kriegeskorte, Goebel & Bandettini 2006; Oosterhof et al. 2011 (surfaces).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> voxels = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        >>> model = rng.normal(size=(20, 10))
        >>> brain = rng.normal(size=(20, 125))
        >>> near = np.linalg.norm(voxels - [1, 1, 1], axis=1) < 2
        >>> brain[:, near] += 3 * model @ rng.normal(size=(10, near.sum()))
        >>> found = searchlight(model, brain, radius=2, positions=voxels)
        >>> voxels[int(found.idxmax())].tolist()
        [1, 1, 1]
        >>> found = searchlight(model, brain, radius=2, positions=voxels, metric="cka")
        >>> voxels[int(found.idxmax())].tolist()
        [1, 1, 1]
    """
    made, settings = None, _RDM | metric_kwargs
    if metric != "rdm" or crossvalidation_kwargs is not None or settings.keys() != _RDM.keys():
        of_dtype = {} if dtype is None else {"dtype": dtype}
        made = loaded(metric, crossvalidation_kwargs, metric_kwargs | of_dtype, interval=False)
    else:
        comparison_named(settings["comparison"])
    single = not isinstance(source, Mapping)
    models = {_SOURCE: source} if single else dict(source)
    *sides, responses = assemblies_of({**models, "target": target})
    n = responses.sizes["neuroid"]
    counted = _mask(mask, n, "mask")
    chosen = np.flatnonzero(counted & _chosen(centres, n))
    pairs = _pairs_of_volume(radius, _positions(positions, target, n), chosen) if neighbours is None else None
    if pairs is None:
        if radius is not None:
            raise ValueError("give radius= for a volume, or neighbours= for a surface, not both")
        pairs = _pairs_of_surface(neighbours, whole_number(rings, "rings", 1), chosen, n, centres)
    rows, columns = pairs
    within = counted[columns]
    share = np.bincount(rows, within, len(chosen)) / np.maximum(np.bincount(rows, minlength=len(chosen)), 1)
    places, members, kept = _padded(rows[within], columns[within], len(chosen), share >= proportion(inside, "inside"))
    if not len(kept):
        raise ValueError(f"there is no centre of which at least {inside:.0%} of the neighbourhood is in the mask")
    with shown(progress=progress):
        if made is None:  # the RDM of a model is made once
            how, responded = settings["dissimilarity"], finite_values(responses, "target")
            of_models = zip(models, sides, strict=True)
            xs = [finite_values(aligned(side, responses, (name, "target")), name) for name, side in of_models]
            takes = f"a searchlight of {len(responses):,} stimuli and {len(kept):,} centres"
            known = {"takes": takes, "method": settings["comparison"], "dissimilarity": how}
            vectors = np.stack([run(_pairs_of_rdm, x, dtype=dtype, dissimilarity=how) for x in xs])
            values = run(searchlight_similarity, vectors, responded, places, members, dtype=dtype, **known)
        else:
            values = np.stack([scores_of_neighbourhoods(made, side, responses, places, members) for side in sides])
            settings = made.own_settings()
    coords = {"neuroid": chosen[kept], "neighbours": ("neuroid", members.sum(axis=1))}
    if isinstance(target, xr.DataArray):
        of_target = target.isel(neuroid=chosen[kept]).coords
        coords |= {
            name: each.variable for name, each in of_target.items() if each.dims == ("neuroid",) and name not in coords
        }
    coords |= {"model": list(models)}
    name = "rdm" if made is None else made.identifier
    attrs = {"metric": name, "settings": json.dumps(settings)}
    found = xr.DataArray(values, coords, ("model", "neuroid"), name, attrs)
    return found.isel(model=0, drop=True) if single else found


def _pairs_of_rdm(x: Any, *, dissimilarity: str) -> Any:
    return rdm_pairs(rdm(x, dissimilarity=dissimilarity))


def _mask(mask: Any, n: int, what: str) -> np.ndarray:
    """A mask of the neuroids; all if None."""
    found = np.ones(n, bool) if mask is None else np.asarray(mask).astype(bool).ravel()
    if len(found) != n:
        raise ValueError(f"{what} must say of each of the {n:,} neuroids whether it counts, got {len(found):,}")
    return found


def _chosen(centres: Any, n: int) -> np.ndarray:
    """A mask of the centres."""
    given = None if centres is None else np.asarray(centres)
    if given is None or given.dtype == bool:
        return _mask(given, n, "centres")
    wrong = given[(given < 0) | (given >= n)]
    if given.dtype.kind not in "iu" or given.ndim != 1 or len(wrong) or len(set(given.tolist())) < len(given):
        raise ValueError(f"centres must be different numbers of neuroids from 0 to {n - 1:,}, or a mask")
    return np.isin(np.arange(n), given)


def _positions(given: Any, target: Any, n: int) -> np.ndarray:
    """Positions of the neuroids, ``(neuroids, dimensions)``."""
    if isinstance(given, Sequence) and given and all(isinstance(name, str) for name in given):
        missing = [name for name in given if not isinstance(target, xr.DataArray) or name not in target.coords]
        if missing:
            raise ValueError(
                f"target has no coordinate {', '.join(missing)} on its neuroids: name those of the positions, or give "
                "positions=, an array (neuroids, dimensions)"
            )
        given = np.stack([target[name].values for name in given], axis=1)
    found = np.asarray(given, float)
    if found.ndim != 2 or len(found) != n or not np.isfinite(found).all():
        raise ValueError(f"positions must be finite, of the shape ({n}, dimensions), got {found.shape}")
    return found


def _pairs_of_volume(radius: float | None, positions: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each pair of a centre and a neuroid nearer to it than the radius: the place of the centre, and the neuroid."""
    from scipy.spatial import KDTree

    if radius is None or not 0 < radius < np.inf:
        raise ValueError(f"radius must be a positive number, got {radius!r}; for surfaces give neighbours=")
    near: Any = KDTree(positions[chosen]).sparse_distance_matrix(KDTree(positions), radius, output_type="ndarray")
    near = near[near["v"] < radius]
    return near["i"], near["j"]


def _pairs_of_surface(
    neighbours: Any, rings: int, chosen: np.ndarray, n: int, centres: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The same pairs from a sparse matrix, or from lists."""
    from scipy import sparse

    if sparse.issparse(neighbours):
        if neighbours.shape != (n, n):
            raise ValueError(f"neighbours must be of the shape ({n}, {n}), got {neighbours.shape}")
        edges: Any = sparse.csr_array(neighbours != 0) + sparse.eye_array(n, dtype=bool, format="csr")
        reached: Any = sparse.csr_array(sparse.eye_array(n, dtype=bool))[chosen]
        for _ in range(rings):
            reached = reached @ edges
        found = reached.tocoo()
        return found.row, found.col
    lists = [np.asarray(each, int).ravel() for each in neighbours]
    given = np.arange(n) if centres is None else np.flatnonzero(_chosen(centres, n))
    if len(lists) != len(given):
        raise ValueError(f"neighbours must be one list for each of {len(given):,} centres in order, got {len(lists):,}")
    columns = np.concatenate(lists)
    if len(columns) and not 0 <= columns.min() <= columns.max() < n:
        raise ValueError(f"neighbours must be numbers of neuroids from 0 to {n - 1:,}")
    places = np.full(n, -1)
    places[chosen] = np.arange(len(chosen))
    rows = places[np.repeat(given, [len(each) for each in lists])]
    return rows[rows >= 0], columns[rows >= 0]


def _padded(
    rows: np.ndarray, columns: np.ndarray, count: int, good: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Neighbourhoods of the good rows as an array padded with 0, its mask, and these rows."""
    rows, columns = rows[order := np.lexsort((columns, rows))], columns[order]
    sizes = np.bincount(rows, minlength=count)
    kept = np.flatnonzero(good & (sizes > 0))
    members = np.arange(sizes[kept].max(initial=0)) < sizes[kept, None]
    places = np.zeros(members.shape, np.int32)
    places[members] = columns[np.isin(rows, kept)]
    return places, members, kept
