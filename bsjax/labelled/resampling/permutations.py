"""Exchanges of the responses of stimuli, by their identifiers."""

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

# Where the identifiers of stimuli lie, of responses and of matrices of stimuli by stimuli.
_PLACES = {"presentation": STIMULUS, "stimulus_left": "stimulus_id_left", "stimulus_right": "stimulus_id_right"}


@dataclass(frozen=True)
class Permutations:
    """A plan of permutations: which stimuli exchange the responses that a model gives to them.

    What a permutation exchanges follows from the plan and the identifiers alone: it is the same for all models, layers
    and neuroids. All units of a stimulus move together, so that units stay as correlated as they are; of a stimulus
    that was shown several times, all presentations, so that it trades places with those shown as often.

    Args:
        draws: how many permutations. The least p value is 1/(draws + 1).
        seed: of the permutations.
        groups: a coordinate of the stimuli whose values trade places as wholes, e.g. the films that frames are of.
        strata: a coordinate of the stimuli: only those of one value trade places, e.g. of one condition.

    Raises:
        ValueError: there is no permutation, or the seed is no whole number.

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
        """The presentation whose response each one gets in each permutation, ``(draws, presentations)``.

        Args:
            ids: the stimulus of each presentation.
            groups, strata: a label of each presentation's stimulus.

        Raises:
            ValueError: no two stimuli can trade places, or groups differ in size.
        """
        names = np.asarray(ids).astype(str)
        _, first, which, times = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
        stratum = times if strata is None else pd.MultiIndex.from_arrays([times, np.asarray(strata)[first]])
        codes, _ = pd.factorize(stratum)
        together = np.asarray(groups)[first] if groups is not None else np.arange(len(first))
        if len(pd.DataFrame({"stratum": codes, "group": together}).drop_duplicates()) == len(np.unique(codes)):
            raise ValueError(
                f"no two of {len(first)} stimuli can trade places: it takes two that were shown equally often, and are "
                "of one stratum and of different groups"
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
        """What each permutation exchanges of an assembly.

        Args:
            assembly: a model's responses, or its matrix of stimuli by stimuli.
            others: assemblies that may have the coordinates of groups and strata.

        Raises:
            ValueError: it has no stimuli, or a coordinate is missing.
        """
        coords = getattr(assembly, "coords", {})
        dims = [dim for dim, name in _PLACES.items() if name in coords and coords[name].dims == (dim,)]
        if not dims:
            what = " by ".join(map(str, getattr(assembly, "dims", ()))) or type(assembly).__name__
            raise ValueError(
                "to know what a score is by chance, the responses to stimuli are exchanged; what is compared here has "
                f"no stimuli: {what}"
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
        """The digest of the plan for these stimuli: scores of one key were exchanged alike."""
        said = json.dumps([asdict(self), sorted(map(str, ids))])
        return hashlib.sha256(said.encode()).hexdigest()[:24]


class Permutation(NamedTuple):
    """What every permutation exchanges of one assembly.

    Attributes:
        dims: the dimensions of the stimuli.
        rows: the place along them whose values each place gets, ``(draws, stimuli)``.
        key: see :meth:`Permutations.key`.
    """

    dims: tuple[str, ...]
    rows: np.ndarray
    key: str

    def of(self, assembly: xr.DataArray, draw: int) -> xr.DataArray:
        """The assembly in one permutation: values trade places, labels stay."""
        moved = at_positions(assembly, dict.fromkeys(self.dims, self.rows[draw]))
        return assembly.copy(data=moved.data)

    def in_order(self, order: np.ndarray | None) -> np.ndarray:
        """The rows, ``(draws, stimuli)`` int32, of the assembly with its stimuli in another order.

        Args:
            order: the places of the assembly's stimuli, as of :func:`bsjax.labelled.align.order_of`.

        Raises:
            ValueError: it has some stimuli more than once.

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
    """A plan, or the number of its permutations, as a plan.

    Example:
        >>> permutations_of(500)
        Permutations(draws=500, seed=0, groups=None, strata=None)
    """
    return given if given is None or isinstance(given, Permutations) else Permutations(given)


def active_permutations() -> Permutations | None:
    """The plan of the block that runs, see :func:`in_permutations`."""
    return _ACTIVE.get()


def in_permutations(plan: Permutations | int | None) -> AbstractContextManager[None]:
    """A block in which scores of benchmarks are computed after each permutation of the stimuli as well.

    Args:
        plan: a plan, or how many permutations; None for none.

    Raises:
        ValueError: no such plan.

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
    """The values of a coordinate for stimuli, from the first assembly that has it for all of them."""
    for assembly in assemblies:
        coords = getattr(assembly, "coords", {})
        if name in coords and STIMULUS in coords and coords[name].dims == coords[STIMULUS].dims:
            theirs = pd.Index(coords[STIMULUS].values)
            first = np.flatnonzero(~theirs.duplicated())
            places = theirs[first].get_indexer(pd.Index(ids))
            if (places >= 0).all():
                return coords[name].values[first][places]
    raise ValueError(f"neither the responses nor the measurements have a coordinate {name!r} of the stimuli")
