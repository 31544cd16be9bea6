"""Representational similarity, by CKA or RDMs, of two assemblies of responses to the same stimuli."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.memory_limit import refuse_unless_it_fits, taken_by, within_limit
from bsjax.engine.padding import padded, padded_width
from bsjax.engine.precision import default_dtype, in_dtype, in_range, precision, without_large_means
from bsjax.engine.programs.compilation import Program
from bsjax.engine.sharding import Shards, devices_in_use, sharded
from bsjax.engine.sources import of_sources
from bsjax.engine.streaming import must_stream, sides_to_stream
from bsjax.engine.transfers import to_host
from bsjax.labelled.aggregate import jackknife_deviations, jackknife_error, nan_mean, of_subsets, over_splits
from bsjax.labelled.align import (
    STIMULUS,
    listed,
    order_of,
    reordered,
    three_dimensional,
    two_dimensional,
    unique_ids,
    variable,
)
from bsjax.labelled.metric import CrossValidated, Metric, OfHalves, OfPairs, OfTimes, scored
from bsjax.labelled.resampling.draws import Drawn, Resampling, by_whole, in_draws, taken_whole, with_draws
from bsjax.labelled.resampling.permutations import Permuted
from bsjax.labelled.score import Score
from bsjax.labelled.settings import in_words, keep, settings_of, whole_number
from bsjax.labelled.splits import CrossValidation, WithTarget, k_folds
from bsjax.labelled.streaming import compress, of_grams_on_all_devices
from bsjax.labelled.uncertainty import DRAW, UNIT, Uncertainty
from bsjax.metrics import compiled, make_folds, similarity_on_subsets
from bsjax.metrics.bounds.products import PROBES
from bsjax.metrics.numerics import deviations
from bsjax.metrics.resampling.draws import label_codes, leave_out_counts
from bsjax.metrics.resampling.influence import (
    effective_number,
    grouped_influence,
    left_out_influence,
    similarity_in_draws,
    studentised_similarity_bootstraps,
)
from bsjax.metrics.resampling.permutation import similarity_permutations
from bsjax.metrics.resampling.subsets import unit_bootstraps
from bsjax.metrics.similarity.over_time import similarities_of_times
from bsjax.metrics.similarity.similarity import Similarity
from bsjax.metrics.similarity.vectors import inner_products

SimilarityError = Literal["jackknife", "bootstrap", "influence"]

_JACKKNIFE_GROUPS = 10
_SEED = 1  # for the draws of an error, and for probes of products
_FOLDS = 10
# Below this effective number of stimuli, derivatives are not accurate enough.
_FEW = 8
# If the stimuli outnumber the effective ones by more than this factor, leaving each one out is not accurate either.
_OF_MANY = 20
# With more stimuli, leaving each one out takes too long.
_MOST_LEFT_OUT = 1000
_FEWER = "fewer stimuli or neuroids"


class _Call(NamedTuple):
    """A program that compares two sides, its further arguments, and the sharding of all of them."""

    kernel: Program
    rest: tuple[np.ndarray, ...] = ()
    shards: Shards | None = None

    def result(self, x: Any, y: Any) -> Any:
        arrays = (x, y, *self.rest)
        return to_host(self.kernel(*arrays)) if self.shards is None else sharded(self.kernel, arrays, self.shards)

    def takes(self, x: Any, y: Any) -> int:
        """Bytes of memory that it needs, see ``taken_by``."""
        return taken_by(self.kernel, (x, y, *self.rest), self.shards)


def _repeated(kernel: Program, *rest: np.ndarray) -> _Call:
    """A call that devices share along the first axis of the arguments other than the sides."""
    return _Call(kernel, rest, Shards((None, None, *(0 for _ in rest)), repeats=0))


class _OfSimilarity(Metric):
    """The base class of metrics of the similarity of two representations."""

    normalisation = "r_over_sqrt_ceiling"
    similarity: Similarity
    settings: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        of = self.similarity
        keep(self, settings=self.settings or {}, symmetric=of.symmetric, zero_by_chance=of.zero_by_chance)
        by_products = of.depends_on == "inner products"
        keep(self, depends_on=of.depends_on, ignores_means=of.ignores_means or by_products, of_subjects=of.of_subjects)

    def __repr__(self) -> str:
        said = in_words(self.settings)
        return f"{self.identifier} ({said})" if said else self.identifier

    def own_settings(self) -> dict[str, Any]:
        """All settings, with those of the similarity by their own names."""
        return settings_of(self, part="similarity")

    def values_shortened(self, dtype: np.dtype, *parts: Any) -> Sequence[Any]:
        """Values in the range of the dtype, without large means of units, or of patterns that are correlated."""
        if self.similarity.ignores_scale:
            parts = tuple(in_range(dtype, part) for part in parts)
        if self.depends_on == "correlations":
            return without_large_means(dtype, *parts, of_rows=True)
        return super().values_shortened(dtype, *parts)

    @contextmanager
    def _sides(self, source: xr.DataArray, target: xr.DataArray, calls: list[_Call]) -> Iterator[tuple[Any, Any]]:
        """The arguments of the calls in a block of their precision: both sides in one order, padded and cast.

        Both sides are (presentation, neuroid) already, see ``two_dimensional``.
        """
        sides = self._aligned_values(source, target, calls)
        with precision(self.dtype) as dtype:
            yield self._arrays(sides, dtype)

    def _aligned_values(
        self, source: xr.DataArray, target: xr.DataArray, calls: list[_Call] | None
    ) -> tuple[np.ndarray | jax.Array, np.ndarray | jax.Array]:
        """The values of both sides in one order, compressed in blocks if the calls would need too much memory."""
        order, n, depends_on = order_of(source, target), len(target), self.depends_on
        if calls is None:
            source = reordered(source, order)
            return self.values_of_side(source=source)[0], self.values_of_side(target=target)[0]
        what = f"{self.identifier} of {n:,} stimuli, {source.shape[1]:,} and {target.shape[1]:,} neuroids"

        def needed(*widths: int) -> int:
            with precision(self.dtype) as dtype:
                # With several devices, memory holds little besides the features and their shares.
                shapes = [jax.ShapeDtypeStruct((n, self._padded_width(n, width)), dtype) for width in widths]
                return max((call.takes(*shapes) for call in calls), default=0)

        sides = [source, target]
        streams = sides_to_stream(n, [side.shape[1] for side in sides], depends_on, needed, what, _FEWER)
        source, target = (
            compress(side, depends_on=depends_on, names=[name])[0] if too_large else side
            for side, name, too_large in zip(sides, ("source", "target"), streams, strict=True)
        )
        source = reordered(source, order)
        return self.values_of_side(source=source)[0], self.values_of_side(target=target)[0]

    def _check_pairs(self, n: int) -> None:
        """Refuses RDMs that are too large on their own, early and where no program states its memory."""
        if self.similarity.compares_pairs:
            with precision(self.dtype) as dtype:
                takes = 2 * n * (n - 1) * dtype.itemsize
            what = f"{self.identifier} of {n:,} stimuli: each pair of them and its rank in both RDMs"
            refuse_unless_it_fits(takes, what, "fewer stimuli")

    def _why_undefined(self, sides: tuple[Any, Any], target: xr.DataArray) -> str | None:
        """The constant responses that leave a similarity undefined, in words; None if there are none."""
        found = []
        for values, what in zip(sides, ("source", "target"), strict=True):
            if self.similarity.varied_patterns:
                constant = to_host(compiled(deviations, where=None, axis=1)(values).constant)[:, 0]
                if constant.any():
                    ids = unique_ids(target, "target")[constant]
                    found.append(f"{what} has the same response in all units to {listed(ids, STIMULUS)}")
            elif to_host(compiled(deviations, where=None, axis=0)(values).constant).all():
                found.append(f"{what} has the same responses to all stimuli")
        return "; ".join(found) or None

    @property
    def _calls_again(self) -> bool:
        """Whether draws call the metric again: without a bootstrap, and if copies of a stimulus form no pairs."""
        return self.similarity.bootstraps is None and not self.similarity.compares_pairs

    def _check_stimuli(self, n: int) -> None:
        least = self.similarity.min_stimuli
        if n < least:
            raise ValueError(f"{self.identifier} needs at least {least} stimuli, there are {n}")

    def _padded_width(self, n: int, width: int) -> int:
        return padded_width(n, width) if self.similarity.ignores_zero_units else width

    def _arrays(self, sides: tuple[Any, Any], dtype: np.dtype) -> tuple[Any, Any]:
        """The arguments of the kernel: both sides, padded and cast."""
        x, y = (padded(values, self._padded_width(*values.shape), dtype) for values in sides)
        return x, y

    def with_target(self, target: xr.DataArray, folds: bool) -> WithTarget:
        """This metric for many sources, optionally on ten folds; see ``bsjax.labelled.layers.SharedTarget``."""
        target = two_dimensional(target, "target")
        n = target.sizes["presentation"]
        n_folds = min(_FOLDS, n // self.similarity.min_stimuli)
        if not folds or n_folds < 2:
            return WithTarget(self, target, None)
        splits = k_folds(n, n_folds, seed=1)

        def on_folds_of(source: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
            calls = [self._on_subsets(n, [split[side] for split in splits]) for side in (0, 1)]
            with self._sides(two_dimensional(source, "source"), target, calls) as arrays:
                within, held_out = (np.asarray(call.result(*arrays), float) for call in calls)
            return within, held_out

        return WithTarget(self, target, lambda sources, _: [on_folds_of(source) for source in sources])

    def _on_subsets(self, n: int, subsets: list[np.ndarray]) -> _Call:
        """The comparison of two sides on each subset of ``n`` stimuli."""
        folds = make_folds(n, [(subset, subset) for subset in subsets])
        by_products = self.depends_on == "inner products"
        kernel = compiled(similarity_on_subsets, similarity=self.similarity.kernel, rotation_invariant=by_products)
        return _repeated(kernel, np.asarray(folds.test), np.asarray(folds.test_mask))


def _exchanged(kernel: Callable[..., Any], y: Any, x: Any, **known: Any) -> Any:
    return kernel(x, y, **known)


@dataclass(frozen=True, repr=False)
class RepresentationalSimilarity(_OfSimilarity):
    """The similarity of two representations of the same stimuli.

    Args:
        similarity: a kernel with its variants, e.g. ``bsjax.labelled.similarity.cka.CKA``.
        identifier: its name in a score's provenance.
        error: the estimate of the standard error over the choice of stimuli. ``"jackknife"`` leaves out one of ten
            random groups of stimuli at a time, at ten times the cost. ``"bootstrap"`` uses draws
            (``bsjax.Resampling("stimuli", n_bootstraps, seed=1)``), whose similarities are in ``score.raw``.
            ``"influence"`` uses the derivatives of the similarity with respect to weights of the stimuli, for less than
            the cost of a second similarity. None gives no error.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        n_bootstraps: number of draws.
        settings: settings of the similarity, by the names that ``load_metric`` takes.

    Raises:
        ValueError: an unknown ``error``, fewer than two draws, or a kernel without a bootstrap.
    """

    similarity: Similarity
    identifier: str = field()
    error: SimilarityError | None = None
    dtype: str | None = None
    n_bootstraps: int = 200
    settings: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.error not in (None, *get_args(SimilarityError)):
            raise ValueError(f"error must be 'jackknife', 'bootstrap', 'influence' or None, got {self.error!r}")
        without = self.similarity.bootstraps is None
        if without and (self.error == "influence" or (self.error == "bootstrap" and self.similarity.compares_pairs)):
            has = "error='jackknife'" if self.similarity.compares_pairs else "error='jackknife' or 'bootstrap'"
            raise ValueError(f"{self!r} has no error by {self.error}: pass {has}, or None for no error")
        whole_number(self.n_bootstraps, "n_bootstraps", 2)

    @property
    def of_halves(self) -> OfHalves:
        """Compares halves by its kernel."""
        known = self.similarity
        return OfHalves(known.kernel, known.bootstraps, known.ignores_zero_units)

    def with_interval(self) -> Metric:
        """This similarity with an error by influence, if it supports one and has no error yet."""
        unknown = self.error is None and self.similarity.influence is not None
        return replace(self, error="influence") if unknown else self

    def __call__(self, assembly1: xr.DataArray, assembly2: xr.DataArray) -> Score:
        """Scores how similar the two representations are.

        Args:
            assembly1, assembly2: (presentation, neuroid) with ``stimulus_id``; rows in any order, any number of
                neuroids.

        Returns:
            The similarity; NaN if responses are constant. ``provenance.reason`` then names the side and, for RDMs, the
            stimuli.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; values are NaN; or the computation needs more memory
                than is available.
        """
        if self.error == "bootstrap":
            return self._bootstrapped(Resampling("stimuli", self.n_bootstraps, _SEED), assembly1, assembly2)
        source, target = two_dimensional(assembly1, "source"), two_dimensional(assembly2, "target")
        of_grams = self.similarity.of_grams
        if of_grams is not None and devices_in_use() > 1 and self.error is None:
            fits = [not must_stream(len(side), side.sizes["neuroid"], self.depends_on) for side in (source, target)]
            if not all(fits):
                self._check_stimuli(len(source))
                value = of_grams_on_all_devices(of_grams, source, target, fits[0])
                return replace(self, dtype="float64")._score(value)
        self._check_pairs(len(target))
        by = None if self.error is None else taken_whole(target)
        groups = None if by is None else target[by].values
        calls = self._calls(len(target), groups)
        with self._sides(source, target, calls) as arrays:
            found, spread = calls[0].result(*arrays), {}
            if self.error == "jackknife":
                spread = by_whole(by, jackknife_error(calls[1].result(*arrays)))
            if self.error == "influence":
                found, influence = found
                influence = self._where_few(influence, *arrays, by is None)
                spread = by_whole(by, error_of_influence(influence, groups))
            value = float(found)
            why = self._why_undefined(arrays, target) if math.isnan(value) else None
        return self._score(value, why, **spread)

    def _bootstrapped(self, plan: Resampling, *assemblies: xr.DataArray) -> Score:
        """The score with draws by a plan, whose similarities are its raw values."""
        with in_draws(plan):
            score = scored(replace(self, error=None), *assemblies)
        drawn = None if score.uncertainty is None else score.uncertainty.draws
        raw = None if drawn is None else drawn.rename({DRAW: "bootstrap"})
        return replace(score, raw=raw, provenance=replace(score.provenance, settings=self.own_settings()))

    def of_many(self, sources: Sequence[xr.DataArray], target: xr.DataArray) -> list[Score]:
        """The score of every source; sources of one shape on a device are computed in one program.

        Args:
            sources, target: as for a call.

        Raises:
            ValueError: as for a call.
        """
        if self.error is not None or not 1 < len(sources) >= devices_in_use():
            return [self(source, target) for source in sources]
        target = two_dimensional(target, "target")
        self._check_pairs(len(target))
        calls = [_Call(compiled(self.similarity.kernel))]
        sides = [self._aligned_values(two_dimensional(one, "source"), target, calls) for one in sources]
        self._check_stimuli(len(target))
        with precision(self.dtype) as dtype:
            arrays = [self._arrays(each, dtype) for each in sides]
            xs, y = [x for x, _ in arrays], arrays[0][1]
            values = [float(one) for one in of_sources(self.similarity.kernel, xs, (y,), Shards((None, None)))]
            why = [
                self._why_undefined(each, target) if math.isnan(value) else None
                for each, value in zip(arrays, values, strict=True)
            ]
        return [self._score(value, reason) for value, reason in zip(values, why, strict=True)]

    def of_pairs(self, stimuli: int, features: int) -> OfPairs | None:
        """Compares many pairs by its kernel, with errors by influence where it has them."""
        known = self.similarity
        if stimuli < known.min_stimuli or self.error not in (None, "influence"):
            return None
        may_pad = (known.ignores_zero_units, known.ignores_zero_units)
        if self.error is None:
            return OfPairs(known.kernel, lambda values: self._score(_of_pairs(values)), may_pad=may_pad)
        return OfPairs(self._to_draw(known.influence), lambda found: self._with_influence(*found), may_pad=may_pad)

    def _with_influence(self, values: np.ndarray, influences: np.ndarray) -> Score:
        """The scores of pairs; NaN where few stimuli carry the variance, or the error may be rounding."""
        influence, values = np.asarray(influences, float).T, np.asarray(values, float)
        spread = error_of_influence(influence, None)
        known = spread["uncertainty"]
        sure = False if known is None else ~known.is_rounding(values) & (effective_number(influence) >= _FEW)
        return self._score(_of_pairs(np.where(sure, values, np.nan)), **spread)

    def all_pairs(self, sides: Sequence[xr.DataArray]) -> np.ndarray:
        """The similarities of all pairs of sides; where it has a vector of one side, each is made once."""
        if self.similarity.vector is None:
            return super().all_pairs(sides)
        sides = [two_dimensional(side, "source") for side in sides]
        n = len(sides[0])
        self._check_stimuli(n)
        kernel = compiled(self.similarity.vector)
        with precision(self.dtype) as dtype:
            takes = (len(sides) + 4) * n * n * dtype.itemsize
            refuse_unless_it_fits(takes, f"{self.identifier} of {len(sides)} representations of {n:,} stimuli", "fewer")
            values = [self.values_of_side(source=reordered(side, order_of(side, sides[0])))[0] for side in sides]
            vectors = jnp.stack([kernel(padded(x, self._padded_width(*x.shape), dtype)) for x in values])
            return np.clip(np.asarray(compiled(inner_products)(vectors), float), -1.0, 1.0)

    def of_times(self, source: xr.DataArray, target: xr.DataArray) -> OfTimes:
        """The similarities of all times, with their covariances by a jackknife over groups of stimuli."""
        source, target = three_dimensional(source, "source"), three_dimensional(target, "target")
        (x,) = self.values_of_side(source=reordered(source, order_of(source, target)))
        (y,), n, by = self.values_of_side(target=target), len(target), taken_whole(target)
        self._check_stimuli(n)
        self._check_pairs(n)
        kept = self._without_groups(n, None if by is None else target[by].values)
        size = min(map(len, kept), default=n)  # equal sizes, by leaving out a few more
        rng = np.random.default_rng(_SEED)
        subsets = np.array([np.sort(rng.permutation(rows)[:size]) for rows in kept], np.int32).reshape(-1, size)
        how = {"similarity": self.similarity.kernel, "vector": self.similarity.vector}
        takes = f"{self.identifier} of {n:,} stimuli at {x.shape[2]} and {y.shape[2]} times"
        values, without = self.run_kernel(similarities_of_times, x, y, subsets, takes=takes, advice=_FEWER, **how)
        if len(kept) < 2:
            return OfTimes(values.astype(float))
        deviations = jackknife_deviations(np.moveaxis(without.astype(float), 0, -1))
        return OfTimes(values.astype(float), deviations * math.sqrt(n / len(kept) / (n - size)))

    @property
    def has_error_bound(self) -> bool:
        """Whether a kernel finds an interval that holds the exact similarity."""
        return self.similarity.within is not None

    def exact_within(self, assembly1: xr.DataArray, assembly2: xr.DataArray) -> tuple[float, float]:
        """An interval that holds the exact similarity, from products in this metric's dtype; see ``Metric``."""
        if self.similarity.within is None:
            return super().exact_within(assembly1, assembly2)
        source, target = two_dimensional(assembly1, "source"), two_dimensional(assembly2, "target")
        self._check_pairs(len(target))
        self._check_stimuli(len(target))
        probes = np.random.default_rng(_SEED).standard_normal((len(target), PROBES))
        kernel = compiled(self.similarity.within, working=np.dtype(self.dtype or default_dtype()).name)
        call = _Call(kernel, (probes,))
        with replace(self, dtype="float64")._sides(source, target, [call]) as arrays:
            low, high = call.result(*arrays)
        return float(low), float(high)

    def drawn_score(self, plan: Resampling, *assemblies: xr.DataArray) -> Score:
        """Its score with its values in draws, instead of its own; draws of stimuli alone reuse the same RDMs."""
        if self.error == "bootstrap":
            return self._bootstrapped(plan, *assemblies)
        statistic = self.similarity.statistic
        if statistic is None or self.error is not None or plan.factors != ("stimuli",) or devices_in_use() > 1:
            return super().drawn_score(plan, *assemblies)
        source, target = map(two_dimensional, assemblies, ("source", "target"))
        self._check_pairs(len(target))
        self._check_stimuli(len(target))
        drawn = plan.sample([source, target])
        counts = drawn.in_order("stimuli", target[STIMULUS])
        call = _repeated(compiled(similarity_in_draws, statistic=statistic), counts)
        with self._sides(source, target, [call]) as arrays:
            value, values, influence = call.result(*arrays)
            found = {"influence": self._by_id(drawn, self._where_few(influence, *arrays, drawn.alike), target)}
            why = self._why_undefined(arrays, target) if math.isnan(value) else None
        [name] = plan.passes
        return with_draws(self._score(float(value), why), drawn, drawn.labelled({name: values}), **found)

    def drawn_values(self, drawn: Drawn, assembly1: xr.DataArray, assembly2: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, see :func:`bsjax.labelled.metric.scored`.

        Pairs of a stimulus and its own copy are left out. Neuroids and subjects are drawn from the second assembly.
        """
        if self._calls_again:
            return super().drawn_values(drawn, assembly1, assembly2)
        source, target = two_dimensional(assembly1, "source"), two_dimensional(assembly2, "target")
        alone = drawn.plan.factors == ("stimuli",)
        # Drawn neuroids need all columns, so features cannot be compressed.
        calls = [_Call(compiled(self._to_draw(self.similarity.influence)))] if alone else None
        x, y = self._aligned_values(source, target, calls)
        passes: dict[str, np.ndarray] = {}
        found: dict[str, Any] = {}
        with precision(self.dtype) as dtype:
            for name, together in drawn.plan.passes.items():
                units = drawn.places(together, target, self.similarity.ignores_zero_units)
                sides = self._arrays((x, y), dtype) if units is None else (in_dtype(x, dtype), in_dtype(y, dtype))
                counts = drawn.in_order("stimuli", target[STIMULUS]) if "stimuli" in together else None
                if not alone or self.similarity.compares_pairs:
                    passes[name] = self._in_draws(sides, counts, units)
                if units is not None and len(drawn.plan.factors) == 1:
                    found |= self._left_out_units(sides, drawn, together[0], target)
                if alone:
                    _, each = self._within_limit(compiled(self._to_draw(self.similarity.influence)), *sides)
                    found["influence"] = self._by_id(drawn, self._where_few(each, *sides, drawn.alike), target)
                    if not self.similarity.compares_pairs:  # the derivatives of all draws are computed at once
                        kernel = compiled(studentised_similarity_bootstraps, bootstraps=self._bootstraps)
                        passes[name], errors = self._within_limit(kernel, *sides, counts)
                        found["errors"] = xr.DataArray(np.asarray(errors, float), dims=[DRAW])
        return {"values": drawn.labelled(passes), **found}

    def permuted_values(self, permuted: Permuted, assembly1: xr.DataArray, assembly2: xr.DataArray) -> dict[str, Any]:
        """Its values after permutations, see :func:`bsjax.labelled.resampling.calibration.with_null`."""
        source, target = two_dimensional(assembly1, "source"), two_dimensional(assembly2, "target")
        self._check_pairs(len(target))
        [permutation], of_all = permuted.permutations, self.similarity.permutations
        exchanged = partial(_exchanged, self.similarity.kernel)
        kernel = compiled(similarity_permutations, similarity=exchanged) if of_all is None else compiled(of_all)
        call = _repeated(kernel, permutation.in_order(order_of(source, target)))
        with self._sides(source, target, [call]) as (x, y):
            values = call.result(y, x)  # the kernel permutes the second side
        return {"values": permuted.in_passes(lambda _: values)}

    def _where_few(self, found: np.ndarray, x: Any, y: Any, alike: bool) -> np.ndarray:
        """Influences by derivatives, or by leaving out each stimulus if few of them carry the variance.

        ``alike`` says whether stimuli are drawn independently.
        """
        effective, n = float(effective_number(np.asarray(found))), len(found)
        if np.linalg.norm(found) <= n * np.finfo(found.dtype).eps:
            return found  # for equal representations there is only rounding
        if not alike or effective >= _FEW or n > _MOST_LEFT_OUT:
            return found
        if effective < n / _OF_MANY:
            warnings.warn(
                f"most of the error of {self!r} is that of {max(1, round(effective))} of {n} stimuli: responses have "
                "heavy tails, and intervals may be too narrow. Take their logarithms or ranks, or compare ranks of "
                "dissimilarities (rdm)",
                stacklevel=2,
            )
        return left_out_influence(self._in_draws((x, y), leave_out_counts(n), None))

    def _by_id(self, drawn: Drawn, influence: np.ndarray, target: xr.DataArray) -> np.ndarray:
        """Influences in the order of the drawn identifiers."""
        return influence[pd.Index(target[STIMULUS].values).get_indexer(pd.Index(drawn.ids["stimuli"]))]

    def _left_out_units(
        self, sides: tuple[Any, Any], drawn: Drawn, factor: str, target: xr.DataArray
    ) -> dict[str, Any]:
        """The contribution of each neuroid or subject, because copies in draws of few units bias the spread."""
        n = len(drawn.ids[factor])
        if not 2 < n <= _MOST_LEFT_OUT:
            return {}
        without = replace(drawn, counts={factor: leave_out_counts(n)}).places([factor], target)
        return {"influence": left_out_influence(self._in_draws(sides, None, without))}

    def _within_limit(self, kernel: Program, *arrays: Any) -> Any:
        return within_limit(kernel, arrays, f"{self!r} of draws of {len(arrays[0]):,} stimuli", _FEWER)

    @property
    def _bootstraps(self) -> Callable[..., Any]:
        """The kernel of the similarity in draws of the stimuli."""
        return self._to_draw(self.similarity.bootstraps)

    def _to_draw(self, kernel: Callable[..., Any] | None) -> Callable[..., Any]:
        """A kernel for draws of the stimuli; refuses similarities without one."""
        if kernel is None:
            raise ValueError(f"{self!r} cannot resample stimuli: this comparison of RDMs has no bootstrap")
        return kernel

    def _in_draws(self, sides: tuple[Any, Any], counts: np.ndarray | None, units: np.ndarray | None) -> np.ndarray:
        if counts is not None and units is None:
            return _repeated(compiled(self._bootstraps), counts).result(*sides)
        kernel = compiled(unit_bootstraps, similarity=self.similarity.kernel if counts is None else self._bootstraps)
        return self._within_limit(kernel, *sides, units, counts)

    def _calls(self, n: int, labels: np.ndarray | None = None) -> list["_Call"]:
        """The programs of a comparison over ``n`` stimuli; a jackknife leaves out whole groups of ``labels``."""
        self._check_stimuli(n)
        if self.error == "influence":
            return [_Call(compiled(self._to_draw(self.similarity.influence)))]
        calls = [_Call(compiled(self.similarity.kernel))]
        if self.similarity.in_shares is not None and devices_in_use() > 1:
            kernel = compiled(self.similarity.in_shares, shares=devices_in_use())
            calls = [_Call(kernel, (np.ones(n, bool),), Shards((0, 0, 0)))]
        if self.error == "jackknife":
            if not (kept := self._without_groups(n, labels)):
                raise ValueError(f"too few stimuli for a jackknife: {n}; leave error out")
            calls.append(self._on_subsets(n, kept))
        return calls

    def _without_groups(self, n: int, labels: np.ndarray | None) -> list[np.ndarray]:
        """The rows that the jackknife keeps when it leaves out each group; empty if there are too few stimuli."""
        codes = label_codes(labels, n, "groups")
        groups = min(_JACKKNIFE_GROUPS, n // self.similarity.min_stimuli, codes.max() + 1)
        if groups < 2:
            return []
        parts = k_folds(codes.max() + 1, groups, seed=1)
        return [np.flatnonzero(np.isin(codes, kept)) for kept, _ in parts]

    def _score(self, value: float | xr.DataArray, why: str | None = None, **spread: Any) -> Score:
        made = self.provenance(reason=why)
        return Score(value, **spread, formula="r", n_undefined=int(np.isnan(value).sum()), provenance=made)


@dataclass(frozen=True, repr=False)
class CrossValidatedSimilarity(CrossValidated, _OfSimilarity):
    """A similarity of two representations on random subsets of the stimuli: the mean, with the spread as error.

    Args:
        similarity, identifier, dtype, settings: as in ``RepresentationalSimilarity``.
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random subsets of 90 % of the stimuli,
            stratified by ``object_name``, seed 1.
    """

    similarity: Similarity
    identifier: str = field()
    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None
    settings: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        _OfSimilarity.__post_init__(self)
        keep(self, crossvalidation=CrossValidation.from_kwargs(self.crossvalidation_kwargs, test_size=0.9))

    def __call__(self, assembly1: xr.DataArray, assembly2: xr.DataArray) -> Score:
        """Scores how similar the two representations are, as in ``RepresentationalSimilarity``."""
        source, target = two_dimensional(assembly1, "source"), two_dimensional(assembly2, "target")
        self._check_pairs(len(target))
        subsets = [test for _, test in self.crossvalidation.of(target)]
        self._check_stimuli(min(map(len, subsets)))
        call = self._on_subsets(len(target), subsets)
        with self._sides(source, target, [call]) as arrays:
            raw = call.result(*arrays)
            why = self._why_undefined(arrays, target) if np.isnan(raw).any() else None
        made = self.provenance(reason=why)
        return over_splits(raw, {}, made, shared=of_subsets(subsets, target[STIMULUS].values))

    def drawn_values(self, drawn: Drawn, assembly1: xr.DataArray, assembly2: xr.DataArray) -> dict[str, Any]:
        """Its values in draws of the stimuli, with the same subsets; see :func:`bsjax.labelled.metric.scored`."""
        if self._calls_again:
            return super().drawn_values(drawn, assembly1, assembly2)
        bootstraps = self.similarity.bootstraps
        if drawn.plan.factors != ("stimuli",) or bootstraps is None:
            raise ValueError(
                f"{self!r} has draws of the stimuli alone"
                + ("" if bootstraps is not None else ", and none by this comparison of RDMs")
                + ": take the similarity of all stimuli, without subsets"
            )
        source, target = two_dimensional(assembly1, "source"), two_dimensional(assembly2, "target")
        counts = drawn.in_order("stimuli", target[STIMULUS])
        found = []
        with self._sides(source, target, [_repeated(compiled(bootstraps), counts)]) as sides:
            for _, subset in self.crossvalidation.of(target):
                held = np.zeros_like(counts)
                held[:, subset] = counts[:, subset]
                found.append(_repeated(compiled(bootstraps), held).result(*sides))
        return {"values": drawn.labelled({"both": nan_mean(np.stack(found, axis=1))})}


def error_of_influence(influence: np.ndarray, groups: np.ndarray | None) -> dict[str, Any]:
    """The ``error``, ``error_kind`` and ``uncertainty`` of a score by the influence of each stimulus."""
    units, dof = grouped_influence(influence, groups=groups)
    error: Any = float(np.linalg.norm(units)) if units.ndim == 1 else _of_pairs(np.linalg.norm(units, axis=0))
    method = f"by the influence of each of {len(units)}"
    if np.isnan(error).all():
        kind = f"none: the similarity of {len(units)} stimuli, or of all but one of them, is undefined"
        return {"error": None, "error_kind": kind, "uncertainty": None}
    each = xr.DataArray(variable([UNIT, "pair"][: units.ndim], units), coords={}, indexes={}, fastpath=True)
    known = Uncertainty(("stimuli",), error, method, dof=dof, influence=each)
    return {"error": error, "error_kind": known.words, "uncertainty": known}


def _of_pairs(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(np.asarray(values, float), dims=["pair"])
