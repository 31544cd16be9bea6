"""Bootstrap resampling of stimuli, neuroids and subjects, and the scores of each resample (draw)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data.types.plain import without_levels
from bsjax.labelled.align import DRAWN_ROW, drawn_from, listed
from bsjax.labelled.resampling.clusters import clustered_by
from bsjax.labelled.resampling.plans import PLACES, Plan, Sample, digest, labels_of, places
from bsjax.labelled.score import Score
from bsjax.labelled.uncertainty import DRAW, FACTOR, UNIT, as_value, of_draws
from bsjax.metrics.resampling.draws import bootstrap_counts, places_of
from bsjax.metrics.resampling.influence import grouped_influence

Factor = Literal["stimuli", "neuroids", "subjects"]
FACTORS: tuple[Factor, ...] = get_args(Factor)
# If a larger share of draws has no value, the score gets no error.
_MOST_UNDEFINED = 0.2


@dataclass(frozen=True)
class Resampling(Plan):
    """A plan of bootstrap draws.

    Args:
        over: the factors that are drawn with replacement: ``"stimuli"``, ``"neuroids"``, ``"subjects"``, or two of
            them. Two factors are drawn together and each alone; the variance follows Schütt et al. 2023, which does
            not count the noise in the data twice.
        draws: number of draws.
        seed: seed of the draws. The same seed gives the same draws of the same identifiers.
        groups: a coordinate of the stimuli whose values are drawn as whole groups, e.g. the objects shown.
        strata: a coordinate of the stimuli; each of its values keeps its number of stimuli in every draw.

    Raises:
        ValueError: an unknown factor, more than two factors, or fewer than two draws.

    Source: Efron 1979; Schütt et al. 2023 (two factors).

    Example:
        >>> Resampling("stimuli", draws=3).counts("stimuli", ["a", "b", "c"]).sum(axis=1).tolist()
        [3, 3, 3]
    """

    over: Factor | tuple[Factor, ...] = "stimuli"
    draws: int = 1000
    seed: int = 0
    groups: str | None = None
    strata: str | None = None
    fewest: ClassVar[int] = 2

    def __post_init__(self) -> None:
        over = (self.over,) if isinstance(self.over, str) else tuple(self.over)
        unknown = [name for name in over if name not in FACTORS]
        if unknown or not 1 <= len(set(over)) == len(over) <= 2:
            raise ValueError(f"over must be one or two different ones of {', '.join(FACTORS)}, got {self.over!r}")
        object.__setattr__(self, "over", over)
        super().__post_init__()
        for name, coord in (("groups", self.groups), ("strata", self.strata)):
            if coord is not None and "stimuli" not in over:
                raise ValueError(f"{name} is a coordinate of the stimuli, which over={over!r} does not draw")

    @classmethod
    def parse(cls, text: str) -> Resampling:
        """A plan from the command line: one factor, or two with a comma, strata after a slash, draws after a colon.

        Raises:
            ValueError: the text names no plan.

        Example:
            >>> Resampling.parse("stimuli,subjects/object_name:500")
            Resampling(over=('stimuli', 'subjects'), draws=500, seed=0, groups=None, strata='object_name')
        """
        names, colon, number = text.partition(":")
        names, _, strata = names.partition("/")
        if colon and not number.strip().isdecimal():
            raise ValueError(f"the number of draws must stand after the colon, as in stimuli:500, got {text!r}")
        over: Any = tuple(name.strip() for name in names.split(","))
        return cls(over, int(number) if colon else cls.draws, strata=strata.strip() or None)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The drawn factors."""
        return (self.over,) if isinstance(self.over, str) else self.over

    def counts(
        self, factor: str, ids: Any, groups: np.ndarray | None = None, strata: np.ndarray | None = None
    ) -> np.ndarray:
        """How often each draw holds each identifier, ``(draws, identifiers)``; independent of their order.

        Raises:
            ValueError: there are fewer than two identifiers, or one occurs twice.
        """
        names = np.asarray(ids)
        if len(names) < 2:
            raise ValueError(f"resampling {factor} needs at least 2 of them, got {listed(names, 'id')}")
        order = _sorted(names)
        labels = [None if each is None else np.asarray(each)[order] for each in (groups, strata)]
        seed = [self.seed, FACTORS.index(factor)]
        drawn = bootstrap_counts(len(names), self.draws, seed, groups=labels[0], strata=labels[1])
        counts = np.empty_like(drawn)
        counts[:, order] = drawn
        return counts

    def key(self, ids: Mapping[str, Any]) -> str:
        """The digest of the plan and of the identifiers of the drawn factors."""
        names = {factor: sorted(str(name) for name in np.asarray(of_factor)) for factor, of_factor in ids.items()}
        return f"{len(self.factors)}:{digest(*astuple(self), names)}"

    def sample(self, sources: Sequence[Any], rest: Sequence[Any] = ()) -> Drawn:
        """The draws for assemblies, the last of which holds the measurements."""
        plan, measured = self, [*sources, *rest][-1]
        ids: dict[str, np.ndarray] = {}
        counts: dict[str, np.ndarray] = {}
        labels: dict[str, np.ndarray] = {}
        if not isinstance(measured, xr.DataArray):
            raise ValueError(
                f"resampling {' and '.join(plan.factors)} needs labelled measurements, got {measured!r:.80}"
            )
        if "stimuli" in plan.factors and plan.groups is None and plan.strata is None:
            plan = replace(plan, groups=clustered_by(measured))
        for factor in plan.factors:
            if not (found := places(measured, factor)):
                present = [str(c) for c, coord in measured.coords.items() if coord.ndim == 1]
                raise ValueError(
                    f"resampling {factor} needs the coordinate {PLACES[factor][0][0]!r} of the measurements; they have "
                    f"{', '.join(present)}"
                )
            names = _identifiers(measured, found[0][0])
            # Rows that repeat a neuroid would be other neuroids, which the plan refuses.
            ids[factor] = names if factor == "neuroids" else names[~pd.Index(names).duplicated()]
            of_factor = plan.labels(ids[factor], [measured]) if factor == "stimuli" else {}
            counts[factor] = plan.counts(factor, ids[factor], **of_factor)
            labels |= of_factor
        return Drawn(plan, ids, counts, **labels)


@dataclass(frozen=True, eq=False)
class Drawn(Sample):
    """The draws of a plan for some assemblies.

    Attributes:
        plan: the plan.
        ids: factor -> its identifiers.
        counts: factor -> how often each draw holds each identifier, ``(draws, identifiers)`` in the order of ``ids``.
        groups, strata: the label of each stimulus in ``ids``, if the plan has groups or strata.
    """

    plan: Resampling
    ids: dict[str, np.ndarray]
    counts: dict[str, np.ndarray]
    groups: np.ndarray | None = None
    strata: np.ndarray | None = None

    @property
    def alike(self) -> bool:
        """Whether stimuli are drawn independently of one another, without groups or strata."""
        return self.groups is None and self.strata is None

    def drawn_alike(self, factor: str) -> tuple[int, int]:
        """The number of elements, or of whole groups, of a factor, and their degrees of freedom."""
        n = len(self.ids[factor])
        if factor != "stimuli" or self.alike:
            return n, n - 1
        first = np.arange(n) if self.groups is None else np.unique(self.groups, return_index=True)[1]
        strata = 1 if self.strata is None else len(np.unique(self.strata[first]))
        return len(first), len(first) - strata

    def in_order(self, factor: str, ids: Any) -> np.ndarray:
        """The counts of a factor for given identifiers, in any order and with repetitions.

        Raises:
            ValueError: an identifier is not drawn.
        """
        codes = self.codes(factor, ids)
        if (codes < 0).any():
            unknown = listed(pd.unique(np.asarray(ids)[codes < 0]), PLACES[factor][0][0])
            raise ValueError(f"the measurements, by which {factor} are drawn, lack {unknown}")
        return self.counts[factor][:, codes]

    def codes(self, factor: str, ids: Any) -> np.ndarray:
        """The position of each given identifier in a factor's ``ids``; -1 for identifiers that are not drawn."""
        return pd.Index(self.ids[factor]).get_indexer(pd.Index(np.asarray(ids))).astype(np.int32)

    def places(self, together: Sequence[str], assembly: xr.DataArray, may_pad: bool = True) -> np.ndarray | None:
        """The positions of an assembly's neuroids in each draw of neuroids, subjects or both, see :func:`places_of`.

        None if the pass draws neither.

        Raises:
            ValueError: draws have different numbers of neuroids, and ``may_pad`` is False.
        """
        factors = [factor for factor in ("neuroids", "subjects") if factor in together]
        if not factors:
            return None
        counts = [self.in_order(factor, _identifiers(assembly, PLACES[factor][0][0])) for factor in factors]
        places = places_of(np.prod(counts, axis=0)).astype(np.int32)
        if not may_pad and (places < 0).any():
            raise ValueError(
                f"draws of {' and '.join(factors)} have different numbers of neuroids, which this metric cannot "
                "compare: draw neuroids alone, or compare with the RDM of each subject (bsjax.benchmarks.RSABenchmark)"
            )
        return places

    def assemblies(self, given: Sequence[Any], together: Sequence[str], draw: int) -> list[Any]:
        """The rows and columns of each assembly in a draw.

        Copies of a stimulus have distinct identifiers, and a coordinate ``drawn_from`` by which splits keep them
        together.
        """
        made = []
        for number, one in enumerate(given):
            assembly = without_levels(one) if isinstance(one, xr.DataArray) else one
            # Neuroids first, while the subjects by which they are told apart have their own names.
            for factor in sorted(together, key="neuroids".__ne__):
                # The model's units are not drawn: neuroids and subjects are those of the measurements.
                if factor == "neuroids" and number < len(given) - 1:
                    continue
                found = places(assembly, factor)  # two of a matrix, whose rows and columns stay alike
                for name, dim in found:
                    own, ids = _identifiers(assembly, name), self.ids[factor]
                    codes = self.codes(factor, own)
                    # Identifiers of the model alone are not drawn.
                    times = np.where(codes < 0, 1, self.counts[factor][draw][codes])
                    # Copies are named as in the measurements, because text differs where 1 and 1.0 are equal.
                    names = [each if code < 0 else ids[code] for each, code in zip(own, codes, strict=True)]
                    assembly = _repeated(assembly, name, dim, times, names)
                if factor == "stimuli" and len(found) > 1:
                    assembly = _without_pairs_of_copies(assembly, *found)
            made.append(assembly)
        return made


def taken_whole(measured: xr.DataArray) -> str | None:
    """The coordinate whose values hold stimuli that are no independent samples: by the active plan, or by a test."""
    plan = Resampling.active()
    if plan is None or plan.groups is plan.strata is None:
        return clustered_by(measured)
    return plan.groups if plan.groups in measured.coords else None


def left_out_together(measured: xr.DataArray, stimuli: Any) -> tuple[str | None, np.ndarray]:
    """The coordinate of :func:`taken_whole`, and its label of each stimulus; the stimulus itself if there is none."""
    by = taken_whole(measured)
    return by, np.asarray(stimuli) if by is None else labels_of(by, stimuli, [measured])


def by_whole(groups: str | None, spread: dict[str, Any]) -> dict[str, Any]:
    """An error whose method names the coordinate that groups stimuli, if any."""
    known = spread["uncertainty"]
    if groups is None or known is None:
        return spread
    known = replace(known, method=f"{known.method}, stimuli of one {groups} together")
    return spread | {"error_kind": known.words, "uncertainty": known}


def in_draws(plan: Resampling | Factor | Sequence[Factor] | None) -> AbstractContextManager[None]:
    """A block in which benchmark scores, with their ceilings, and ``score_arrays`` are also computed in draws.

    Metrics and ceilings that are called directly are not drawn.

    Args:
        plan: a plan, or the factors to draw; None for no draws.

    Raises:
        ValueError: an invalid plan.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(30, 5))
        >>> with in_draws(Resampling("stimuli", draws=100)):
        ...     score = bsjax.score_arrays(x, x + rng.normal(size=x.shape), metric="cka")
        >>> score.uncertainty.draws.sizes["draw"], score.interval().kind
        (100, 't')
    """
    return Resampling.within(plan)


def with_draws(
    score: Score, drawn: Drawn, values: xr.DataArray, influence: np.ndarray | None = None, **known: Any
) -> Score:
    """A score with its values in draws, whose spread becomes its error.

    Draws without a value are counted. If they are more than a fifth, the rest is not representative: the score, or its
    time bin, has no error, and a warning says so.

    Args:
        score: the score of all data.
        drawn: the draws.
        values: see ``Uncertainty.draws``.
        influence: the contribution of each stimulus (or neuroid, or subject) to the score, in the order of
            ``drawn.ids``.
        **known: other fields of the uncertainty; the smallest ``dof`` is used.
    """
    plan, alike = drawn.plan, [drawn.drawn_alike(factor) for factor in drawn.plan.factors]
    [(units, dof), *others] = alike
    known["kind"] = "t"  # copies shift many scores, so only the spread of the draws is used, not their location
    if influence is not None:
        order = _sorted(drawn.ids[plan.factors[0]])
        labels = [None if each is None else each[order] for each in (drawn.groups, drawn.strata)]
        summed, _ = grouped_influence(np.asarray(influence, float)[order], groups=labels[0], strata=labels[1])
        known["influence"] = xr.DataArray(summed, dims=[UNIT, *(str(dim) for dim in score.sizes)])
    if not drawn.alike:
        known.pop("errors", None)  # they assume independent stimuli within each draw
    undefined = values.isnull() & np.isfinite(score.value)
    lost_of_each = undefined.any([FACTOR] if FACTOR in undefined.dims else []).sum(DRAW)
    lost, bins = int(np.max(lost_of_each.values, initial=0)), " and ".join(map(str, lost_of_each.dims))
    words = f"{plan.draws} bootstrap draws" + (", of both and of each alone" if others else "")
    words += f", of {units} whole groups by {plan.groups}" if drawn.groups is not None else ""
    words += f", {lost} of them undefined" + (f" in one {bins}" if bins else "") if lost else ""
    found = of_draws(
        score.value,
        values,
        plan.factors,
        words,
        dof=min(known.pop("dof", np.inf), *(each for _, each in alike)),
        sizes=(units, others[0][0]) if others else (None if units == dof + 1 else units, None),
        plan=plan.key(drawn.ids),
        **known,
    )
    score = replace(score, provenance=score.provenance.with_details(draws_undefined=lost)) if lost else score
    too_few = lost_of_each.values > _MOST_UNDEFINED * plan.draws
    if too_few.any():
        errors = np.where(too_few, np.nan, np.asarray(found.standard_error, float))
        found = replace(found, standard_error=as_value(score.value, errors))
        where = f" in {too_few.sum()} of {too_few.size} {bins}" if bins else ""
        what = score.provenance.metric or "the score"
        warnings.warn(
            f"{what} has no interval over {' and '.join(plan.factors)}{where}: {lost} of {plan.draws} draws have no "
            "value",
            stacklevel=4,
        )
    return replace(score, error=None, error_kind="", uncertainty=found)


def _identifiers(assembly: xr.DataArray, name: str) -> np.ndarray:
    """The values of a coordinate; neuroids whose identifiers repeat are told apart by their subjects, if known."""
    names = assembly[name].values
    if name != "neuroid_id" or pd.Index(names).is_unique or ("subject", "neuroid") not in places(assembly, "subjects"):
        return names
    subjects = assembly["subject"].values
    return np.array([f"{each} of {subject}" for each, subject in zip(names, subjects, strict=True)], dtype=object)


def _repeated(assembly: xr.DataArray, name: str, dim: str, times: np.ndarray, names: Sequence[Any]) -> xr.DataArray:
    """An assembly with each row or column as often as is said, its copies told apart by their names."""
    rows = np.repeat(np.arange(len(names)), times)
    copy = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    called = [
        f"{names[row]}, copy {n}" if n else str(names[row]) for row, n in zip(rows.tolist(), copy.tolist(), strict=True)
    ]
    named = {name: (dim, np.array(called, dtype=object)), drawn_from(name): (dim, assembly[name].values[rows])}
    if dim == "presentation":
        named[DRAWN_ROW] = (dim, assembly[DRAWN_ROW].values[rows] if DRAWN_ROW in assembly.coords else rows)
    return assembly.isel({dim: rows}).assign_coords(named)


def _without_pairs_of_copies(matrix: xr.DataArray, left: tuple[str, str], right: tuple[str, str]) -> xr.DataArray:
    """A drawn matrix, NaN for two copies of one stimulus, whose dissimilarity was not measured."""
    names, origins = ([matrix[label(name)] for name, _ in (left, right)] for label in (str, drawn_from))
    return matrix.where((origins[0] != origins[1]) | (names[0] == names[1]))


def _sorted(names: np.ndarray) -> np.ndarray:
    """The order that sorts identifiers as text; refuses repeated ones."""
    if pd.Index(names).has_duplicates:
        repeated = pd.unique(names[pd.Index(names).duplicated()])
        raise ValueError(
            "ids that are resampled must be unique, and those of neuroids unique in each subject; more than once: "
            f"{listed(repeated, 'identifiers')}"
        )
    return np.argsort(names.astype(str), kind="stable")
