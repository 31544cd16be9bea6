"""Permutations of the responses to stimuli, by identifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import at_positions, known_ids
from bsjax.labelled.resampling.plans import Plan, Sample, digest, places
from bsjax.metrics.resampling.draws import permutations


@dataclass(frozen=True)
class Permutations(Plan):
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
    noun: ClassVar[str] = "permutation"

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
        found = places(assembly, "stimuli")
        if not found:
            what = " by ".join(map(str, getattr(assembly, "dims", ()))) or type(assembly).__name__
            raise ValueError(
                f"null= permutes stimuli, but this comparison has none; its dimensions are {what}. Leave null out"
            )
        names, dims = zip(*found, strict=True)
        ids = known_ids(assembly, "source") if dims == ("presentation",) else assembly[names[0]].values
        for name in names[1:]:
            if not np.array_equal(assembly[name].values, ids):
                raise ValueError(f"rows and columns of a matrix must be of the same stimuli: see {name!r}")
        return Permutation(dims, self.rows(ids, **self.labels(ids, [assembly, *others])), self.key(ids))

    def sample(self, sources: Sequence[Any], rest: Sequence[Any] = ()) -> Permuted:
        """The permutations of a model's responses: assemblies, and lists and dicts of them."""
        leaves = jax.tree.leaves(list(sources))
        return Permuted(self, [self.rows_of(leaf, rest) for leaf in leaves], len(sources))

    def key(self, ids: Any) -> str:
        """The digest of the plan for these stimuli; scores with the same key have the same permutations."""
        return digest(asdict(self), sorted(map(str, ids)))


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


@dataclass(frozen=True, eq=False)
class Permuted(Sample):
    """The permutations of a model's responses; the measurements stay.

    Attributes:
        permutations: those of each of the model's assemblies.
        sources: number of arguments that hold them; an argument may be a list or dict of assemblies.
    """

    plan: Permutations
    permutations: Sequence[Permutation]
    sources: int = 1

    @property
    def key(self) -> str:
        """The digest of the plan for these stimuli; values with the same key are paired draw by draw."""
        return " ".join(dict.fromkeys(permutation.key for permutation in self.permutations))

    def assemblies(self, given: Sequence[Any], together: Sequence[str], draw: int) -> list[Any]:
        """The assemblies after one permutation."""
        leaves, tree = jax.tree.flatten(list(given[: self.sources]))
        moved = [each.of(leaf, draw) for each, leaf in zip(self.permutations, leaves, strict=True)]
        return [*jax.tree.unflatten(tree, moved), *given[self.sources :]]
