"""Plans of what is drawn or exchanged, and the values of a metric under them.

There are two kinds: ``Resampling`` draws stimuli, neuroids and subjects with replacement, and ``Permutations``
exchanges responses among stimuli. The content of a draw or permutation depends only on the plan and the identifiers,
so that a score, its ceiling and the scores of other models use the same ones wherever they are computed.
"""

import hashlib
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.context import set_within
from bsjax.core.watching import steps
from bsjax.labelled.align import STIMULUS
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.uncertainty import BOTH, DRAW, FACTOR

# The coordinates that may hold the identifiers of each factor, with their dimensions.
PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "stimuli": (
        (STIMULUS, "presentation"),
        *((f"{STIMULUS}_{side}", f"stimulus_{side}") for side in ("left", "right")),
    ),
    "neuroids": (("neuroid_id", "neuroid"),),
    "subjects": (("subject", "neuroid"), ("subject", "presentation"), ("subject", "subject")),
}


class Plan(ABC):
    """What is drawn or exchanged: the base class of frozen dataclasses with these attributes among their fields.

    Attributes:
        draws: number of draws or permutations.
        seed: the same seed gives the same draws of the same identifiers.
        groups: a coordinate of the stimuli whose values are drawn or exchanged as whole groups.
        strata: a coordinate of the stimuli; stimuli are drawn or exchanged within each of its values.
    """

    draws: int
    seed: int
    groups: str | None
    strata: str | None
    fewest: ClassVar[int] = 1
    noun: ClassVar[str] = "draw"

    def __post_init__(self) -> None:
        whole_number(self.draws, "draws", self.fewest)
        whole_number(self.seed, "seed", 0)

    @classmethod
    def of(cls, given: Any) -> Self | None:
        """A plan of this kind as it is, or one with the given first setting; None for no plan.

        Example:
            >>> from bsjax import Permutations, Resampling
            >>> Resampling.of("subjects").over, Permutations.of(500).draws, Permutations.of(None)
            (('subjects',), 500, None)
        """
        make: Any = cls
        return given if given is None or isinstance(given, cls) else make(given)

    @classmethod
    def active(cls) -> Self | None:
        """The plan of this kind of the current block, see :meth:`within`."""
        return _ACTIVE.get().get(cls)

    @classmethod
    def within(cls, given: Any) -> AbstractContextManager[None]:
        """A block in which scores are also computed by a plan of this kind, see :meth:`of`; None for no plan.

        Raises:
            ValueError: an invalid plan.

        Example:
            >>> import bsjax
            >>> x = np.random.default_rng(0).normal(size=(30, 5))
            >>> with bsjax.Permutations.within(99):
            ...     score = bsjax.score_arrays(x, 2 * x, metric="cka")
            >>> score.provenance["p_value"]
            0.01
        """
        return set_within(_ACTIVE, {**_ACTIVE.get(), cls: cls.of(given)})

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that are drawn or exchanged."""
        return ("stimuli",)

    @property
    def passes(self) -> dict[str, tuple[str, ...]]:
        """The factors that are drawn together in each pass: all, and for two factors also each alone."""
        return {BOTH: self.factors} | ({name: (name,) for name in self.factors} if len(self.factors) > 1 else {})

    @abstractmethod
    def sample(self, sources: Sequence[Any], rest: Sequence[Any] = ()) -> "Sample":
        """What each draw holds of assemblies: of a model's ``sources`` and the ``rest``, which ends in measurements.

        Raises:
            ValueError: a factor has no identifiers, or a coordinate is missing.
        """

    def labels(self, ids: np.ndarray, assemblies: Sequence[Any], of: str = "stimuli") -> dict[str, np.ndarray]:
        """The groups and strata of stimuli, where asked for, from the first assembly that has them for all stimuli.

        Raises:
            ValueError: no assembly has the coordinate.
        """
        asked = {"groups": self.groups, "strata": self.strata}
        return {what: labels_of(name, ids, assemblies, of) for what, name in asked.items() if name is not None}


_ACTIVE: ContextVar[Mapping[type[Plan], Any]] = ContextVar("active plans", default=MappingProxyType({}))


def any_plan() -> bool:
    """Whether scores of the current block are also computed in draws or permutations."""
    return any(plan is not None for plan in _ACTIVE.get().values())


def digest(*said: Any) -> str:
    """The digest of a plan and of the identifiers it is for."""
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:24]


def places(assembly: Any, factor: str) -> list[tuple[str, str]]:
    """The names and dimensions of a factor's identifiers; empty if the assembly has none or is not labelled."""
    if not isinstance(assembly, xr.DataArray):
        return []
    return [place for place in PLACES[factor] if place[0] in assembly.coords and assembly[place[0]].dims == place[1:]]


def labels_of(name: str, ids: Any, assemblies: Sequence[Any], of: str = "stimuli") -> np.ndarray:
    """The label of each stimulus by a coordinate of the first assembly that has it for all of them."""
    for assembly in assemblies:
        for place, dim in places(assembly, "stimuli"):
            theirs = pd.Index(assembly[place].values)
            first = np.flatnonzero(~theirs.duplicated())
            at = theirs[first].get_indexer(pd.Index(ids))
            if name in assembly.coords and assembly[name].dims == (dim,) and (at >= 0).all():
                return assembly[name].values[first][at]
    raise ValueError(f"neither the responses nor the measurements have a coordinate {name!r} of the {of}")


@dataclass(frozen=True, eq=False)
class Sample(ABC):
    """A plan for given assemblies: the content of each draw or permutation."""

    plan: Plan

    @abstractmethod
    def assemblies(self, given: Sequence[Any], together: Sequence[str], draw: int) -> Sequence[Any]:
        """The assemblies in one draw of the factors that are drawn together."""

    def one_by_one(self, metric: Callable[..., Score], given: Sequence[Any]) -> dict[str, Any]:
        """The values of a metric in every draw, from one call per draw; NaN where a draw has too little data.

        Warnings of the calls are suppressed, because they repeat those of the score.

        Args:
            metric: any callable that returns scores.
            given: its assemblies.

        Raises:
            ValueError: no draw has a value; the message says why.
        """
        passes: dict[str, np.ndarray] = {}
        dims: tuple[str, ...] = ()
        for name, together in self.plan.passes.items():
            what = f"{self.plan.noun} of {' and '.join(together)}"
            calls = (self.assemblies(given, together, draw) for draw in range(self.plan.draws))
            values: list[np.ndarray] = []
            failure: ValueError | None = None
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                for assemblies in steps(calls, f"each {what}", self.plan.draws):
                    try:
                        score = metric(*assemblies)
                        dims, value = tuple(map(str, score.sizes)), np.asarray(score.value, float)
                    except ValueError as error:  # a draw may hold too little for the metric
                        failure, value = error, np.array(np.nan)
                    values.append(value)
            if failure is not None and not any(np.isfinite(value).any() for value in values):
                raise ValueError(f"no {what} has a score: {failure}") from failure
            passes[name] = np.stack(np.broadcast_arrays(*values))
        return {"values": self.labelled(passes, dims)}

    def in_passes(self, values: Callable[[Sequence[str]], Any]) -> xr.DataArray:
        """``values(factors)`` of each pass for the factors it draws together, see :meth:`labelled`."""
        return self.labelled({name: values(together) for name, together in self.plan.passes.items()})

    def labelled(self, passes: Mapping[str, np.ndarray], dims: Sequence[str] = ()) -> xr.DataArray:
        """Values ``(draws, ...)`` of each pass as the draws of an :class:`~bsjax.labelled.uncertainty.Uncertainty`."""
        whole = {name: np.asarray(values, float) for name, values in passes.items()}
        if len(whole) == 1:
            return xr.DataArray(whole[BOTH], dims=[DRAW, *dims])
        return xr.DataArray(np.stack(list(whole.values())), {FACTOR: list(whole)}, [FACTOR, DRAW, *dims])
