"""Permutations of the responses to stimuli, by identifier."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.context import set_within
from bsjax.labelled.align import STIMULUS, at_positions, known_ids
from bsjax.labelled.settings import whole_number
from bsjax.metrics.resampling.draws import permutations

# The coordinates with the identifiers of stimuli, in responses and in stimuli x stimuli matrices.
_PLACES = {"presentation": STIMULUS, "stimulus_left": "stimulus_id_left", "stimulus_right": "stimulus_id_right"}


@dataclass(frozen=True)
class Permutations:
    """A plan of permutations of a model's responses among stimuli.

    A permutation depends only on the plan and the identifiers, so it is the same for all models, layers and neuroids.
    All units of a stimulus move together, which preserves the correlations between units. Repeated presentations of a
    stimulus move together too, so a stimulus is only exchanged with others that were shown equally often.

    Args:
        draws: number of permutations. The smallest possible p value is 1/(draws + 1).
        seed: seed of the permutations.
        groups: a coordinate of the stimuli whose values are exchanged as whole groups, e.g. the films of frames.
        strata: a coordinate of the stimuli; only stimuli with the same value are exchanged, e.g. of one condition.

    Raises:
        ValueError: no permutation is asked for, or the seed is not a whole number.

    Source: Good 2005, "Permutation, Parametric and Bootstrap Tests of Hypotheses".

    Example:
        >>> Permutations(draws=2, seed=2).rows(["a", "b", "a", "b"])
        array([[0, 1, 2, 3],
               [1, 0, 3, 2]])
    """

    draws: int = 1000
    seed: int = 0
    groups: str | None = None
    strata: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.draws, "draws", 1)
        whole_number(self.seed, "seed", 0)

    def rows(self, ids: Any, groups: np.ndarray | None = None, strata: np.ndarray | None = None) -> np.ndarray:
        """The presentation whose response replaces each one in each permutation, ``(draws, presentations)``.

        Args:
            ids: the stimulus of each presentation.
            groups, strata: labels of each presentation's stimulus.

        Raises:
            ValueError: no two stimuli can be exchanged, or groups differ in size.
        """
        names = np.asarray(ids).astype(str)
        _, first, which, times = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
        stratum = times if strata is None else pd.MultiIndex.from_arrays([times, np.asarray(strata)[first]])
        codes, _ = pd.factorize(stratum)
        together = np.asarray(groups)[first] if groups is not None else np.arange(len(first))
        if len(pd.DataFrame({"stratum": codes, "group": together}).drop_duplicates()) == len(np.unique(codes)):
            raise ValueError(
                f"cannot permute {len(first)} stimuli: no two of them were shown equally often, belong to the same "
                "stratum and to different groups. Use more stimuli, or coarser strata and smaller groups"
            )
        chosen = permutations(
            len(first), self.draws, self.seed, strata=codes, groups=None if groups is None else together
        )
        by_stimulus = np.argsort(which, kind="stable")
        starts = np.cumsum(times) - times
        turn = np.empty(len(names), int)
        turn[by_stimulus] = np.arange(len(names)) - np.repeat(starts, times)
        return by_stimulus[starts[chosen][:, which] + turn]

    def rows_of(self, assembly: xr.DataArray, others: Sequence[Any] = ()) -> Permutation:
        """The permutations of an assembly.

        Args:
            assembly: a model's responses, or its stimuli x stimuli matrix.
            others: assemblies that may hold the coordinates of groups and strata.

        Raises:
            ValueError: it has no stimuli, or a coordinate is missing.
        """
        coords = getattr(assembly, "coords", {})
        dims = [dim for dim, name in _PLACES.items() if name in coords and coords[name].dims == (dim,)]
        if not dims:
            what = " by ".join(map(str, getattr(assembly, "dims", ()))) or type(assembly).__name__
            raise ValueError(
                f"null= permutes stimuli, but this comparison has none; its dimensions are {what}. Leave null out"
            )
        ids = known_ids(assembly, "source") if dims == ["presentation"] else assembly[_PLACES[dims[0]]].values
        for dim in dims[1:]:
            if not np.array_equal(assembly[_PLACES[dim]].values, ids):
                raise ValueError(f"rows and columns of a matrix must be of the same stimuli: see {_PLACES[dim]!r}")
        labels = {
            what: _labels(name, ids, [assembly, *others])
            for what in ("groups", "strata")
            if (name := getattr(self, what)) is not None
        }
        return Permutation(tuple(dims), self.rows(ids, **labels), self.key(ids))

    def key(self, ids: Any) -> str:
        """The digest of the plan for these stimuli; scores with the same key have the same permutations."""
        said = json.dumps([asdict(self), sorted(map(str, ids))])
        return hashlib.sha256(said.encode()).hexdigest()[:24]


class Permutation(NamedTuple):
    """All permutations of one assembly.

    Attributes:
        dims: the dimensions of the stimuli.
        rows: the position whose values replace those of each position, ``(draws, stimuli)``.
        key: see :meth:`Permutations.key`.
    """

    dims: tuple[str, ...]
    rows: np.ndarray
    key: str

    def of(self, assembly: xr.DataArray, draw: int) -> xr.DataArray:
        """The assembly after one permutation: values move, labels stay."""
        moved = at_positions(assembly, dict.fromkeys(self.dims, self.rows[draw]))
        return assembly.copy(data=moved.data)

    def in_order(self, order: np.ndarray | None) -> np.ndarray:
        """The rows, ``(draws, stimuli)`` int32, for the assembly with its stimuli in another order.

        Args:
            order: positions of the assembly's stimuli, from :func:`bsjax.labelled.align.order_of`.

        Raises:
            ValueError: it repeats some stimuli.

        Example:
            >>> Permutation(("presentation",), np.array([[1, 2, 0]]), "").in_order(np.array([2, 0, 1])).tolist()
            [[1, 2, 0]]
        """
        if order is None:
            return self.rows.astype(np.int32)
        place = np.empty(self.rows.shape[1], np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return place[self.rows[:, order]]


_ACTIVE: ContextVar[Permutations | None] = ContextVar("plan of permutations", default=None)


def permutations_of(given: Permutations | int | None) -> Permutations | None:
    """A plan as it is, or a plan with the given number of permutations.

    Example:
        >>> permutations_of(500)
        Permutations(draws=500, seed=0, groups=None, strata=None)
    """
    return given if given is None or isinstance(given, Permutations) else Permutations(given)


def active_permutations() -> Permutations | None:
    """The plan of the current block, see :func:`in_permutations`."""
    return _ACTIVE.get()


def in_permutations(plan: Permutations | int | None) -> AbstractContextManager[None]:
    """A block in which scores are also computed after each permutation of the stimuli.

    Args:
        plan: a plan, or the number of permutations; None for no permutations.

    Raises:
        ValueError: an invalid plan.

    Example:
        >>> import bsjax
        >>> x = np.random.default_rng(0).normal(size=(30, 5))
        >>> with in_permutations(99):
        ...     score = bsjax.score_arrays(x, 2 * x, metric="cka")
        >>> score.provenance["p_value"]
        0.01
    """
    return set_within(_ACTIVE, permutations_of(plan))


def _labels(name: str, ids: np.ndarray, assemblies: Sequence[Any]) -> np.ndarray:
    """The values of a coordinate for given stimuli, from the first assembly that has it for all of them."""
    for assembly in assemblies:
        coords = getattr(assembly, "coords", {})
        if name in coords and STIMULUS in coords and coords[name].dims == coords[STIMULUS].dims:
            theirs = pd.Index(coords[STIMULUS].values)
            first = np.flatnonzero(~theirs.duplicated())
            places = theirs[first].get_indexer(pd.Index(ids))
            if (places >= 0).all():
                return coords[name].values[first][places]
    raise ValueError(f"neither the responses nor the measurements have a coordinate {name!r} of the stimuli")
