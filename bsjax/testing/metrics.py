"""Checks of metrics: properties of a metric of assemblies, and the selection of checks for any metric or kernel."""

from __future__ import annotations

import random
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.engine.precision import default_dtype, precision
from bsjax.labelled import KernelMetric, Metric, Resampling, Score, load_metric
from bsjax.labelled.metric import as_metric, name_of, scored
from bsjax.labelled.resampling.calibration import null_of
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.resampling.permutations import Permutations
from bsjax.testing.contract import STANDARD, Check, Property, Size, Violated, as_code, run_all, same, shown
from bsjax.testing.data import Change, assembly, invariance, noise, on_sides, related, with_values
from bsjax.testing.kernels import Kernel, two_sided

_CLOSE = 1e-6
_BY_CHANCE = 0.35  # allowed excess over chance of the mean of a few scores of noise
_IN_DRAWS = 0.15  # the same, of their mean over draws
_ABOVE = 0.05  # smallest difference between the score of related data and the mean of its permutations
_DRAWS, _PERMUTATIONS = 10, 19
_LARGE = Size(300, 200, 50)
_ALLOWANCE = 20_000_000  # bytes that a call may take for any inputs
_COMPILES = "/jax/core/compile/"


@dataclass(frozen=True, eq=False)
class Labelled:
    """A metric of assemblies and its declared properties; see :func:`checks` for the other fields.

    Attributes:
        metric: the metric.
        inputs: function that draws its assemblies; None for the standard source and target.
    """

    metric: Metric
    name: str
    inputs: Callable[[np.random.Generator], Sequence[Any]] | None = None
    invariances: Mapping[str, tuple[str, Change]] = field(default_factory=dict)
    bounds: tuple[float, float] = (-1.0, 1.0)
    chance: float | None = 0.0
    itself: float | None = None
    undefined: Callable[[Any], Any] | None = None
    memory: float = 10.0
    examples: int = 3
    size: Size = STANDARD

    def properties(self) -> list[Property]:
        """The properties that can be checked."""
        once = partial(Property, size=self.size)
        made = partial(once, sized=self.inputs is None)
        found = [
            made("range", "the score is a bsjax.Score, finite and within its bounds", self._range, 2),
            made("repeatable", "the same inputs have the same score, also after a call with others", self._repeatable),
            made("global seed", "global random generators are neither used nor seeded", self._global_seed),
            made("inputs", "the inputs are not modified", self._inputs_stay),
            made("one trace", "a second call with the same shapes compiles nothing", self._one_trace),
            made("settings", "the score names its metric and is restored by Score.from_dict", self._settings),
        ]
        if self.undefined is not None or self.inputs is None:
            undefined = "an undefined score is NaN, or raises a ValueError"
            found.append(made("undefined", undefined, self._undefined))
        if self.inputs is None:
            found += [
                made("order of rows", "rows are matched by stimulus_id, in any order", self._order_of_rows),
                made("other stimuli", "stimuli that are missing on one side raise a ValueError", self._other_stimuli),
                made("missing", "a missing value raises a ValueError, gives NaN or is counted", self._missing),
                made("digits", "inputs in float64 are not rounded to float32", self._digits),
                made("float32", "inputs in float32 have the same score as in float64", self._single),
                made("itself", "responses compared with themselves score at least as high as noise", self._itself),
                once(
                    "memory",
                    f"it takes at most {self.memory:g} times the memory of its inputs, and 20 MB",
                    self._memory,
                ),
                once(
                    "permutations",
                    "related inputs score higher than permuted ones, which are at chance",
                    self._permutations,
                ),
            ]
            if self.chance is not None:
                found += [
                    once("noise", "unrelated responses score at chance: nothing leaks between folds", self._noise),
                    once(
                        "draws",
                        "draws of unrelated responses score at chance: splits do not separate copies of a stimulus",
                        self._draws,
                    ),
                ]
            if self.metric.symmetric:
                found.append(made("symmetric", "swapping source and target does not affect the score", self._symmetric))
        for name, (words, change) in self.invariances.items():
            found.append(made(name, words, partial(self._invariant, change=change), self.examples))
        return found

    def draw(self, rng: np.random.Generator, size: Size) -> tuple[Any, ...]:
        """The inputs; standard ones have this size."""
        return _sides(related(rng, size)) if self.inputs is None else tuple(self.inputs(rng))

    def score(self, assemblies: Sequence[Any]) -> Score:
        """The score of assemblies, with warnings ignored."""
        with warnings.catch_warnings(action="ignore"):
            return self.metric(*assemblies)

    def value(self, assemblies: Sequence[Any]) -> np.ndarray:
        """The values of the score."""
        return np.asarray(self.score(assemblies), float)

    def _range(self, rng: np.random.Generator, size: Size) -> None:
        given = self.draw(rng, size)
        score, (low, high) = self.score(given), self.bounds
        if not isinstance(score, Score):
            raise Violated(f"it returns a {type(score).__name__}", given)
        values = np.asarray(score, float)
        if not np.isfinite(values).all():
            raise Violated(f"the score is {shown(values)}: {score.provenance.reason or 'no reason given'}", given)
        if values.min() < low - _CLOSE or values.max() > high + _CLOSE:
            raise Violated(f"the score is {shown(values)}, expected {low:g} to {high:g}", given)

    def _repeatable(self, rng: np.random.Generator, size: Size) -> None:
        given, other = self.draw(rng, size), self.draw(rng, size)
        first = self.value(given)
        self.value(other)
        same(self.value(given), first, 0.0, "first and second call", given)

    def _global_seed(self, rng: np.random.Generator, size: Size) -> None:
        given, states = self.draw(rng, size), (random.getstate(), np.random.get_state())
        found, left = [], []
        try:
            for seed in range(2):
                random.seed(seed)
                np.random.seed(seed)
                found.append(self.value(given))
                left.append((random.random(), np.random.random()))
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])
        same(found[1], found[0], 0.0, "with two global seeds", given)
        if any(one == other for one, other in zip(*left, strict=True)):
            raise Violated("it seeds a global random generator: create your own generator", given)

    def _inputs_stay(self, rng: np.random.Generator, size: Size) -> None:
        given = self.draw(rng, size)
        before = [each.copy(deep=True) if isinstance(each, xr.DataArray) else np.array(each) for each in given]
        self.score(given)
        for place, (was, now) in enumerate(zip(before, given, strict=True)):
            alike = was.identical(now) if isinstance(was, xr.DataArray) else np.array_equal(was, now, equal_nan=True)
            if not alike:
                raise Violated(f"argument {place + 1} was modified: work on a copy", tuple(before))

    def _one_trace(self, rng: np.random.Generator, size: Size) -> None:
        self.score(self.draw(rng, size))
        given = self.draw(rng, size)
        with _compilations() as made:
            self.score(given)
        if made:
            raise Violated(f"the second call traces or compiles {len(made)} times", given)

    def _settings(self, rng: np.random.Generator, size: Size) -> None:
        given = self.draw(rng, size)
        score = self.metric.recorded(self.score(given))
        if self.metric.identifier and score.provenance.metric != self.metric.identifier:
            raise Violated(f"its provenance names {score.provenance.metric!r}, not {self.metric.identifier!r}", given)
        if not np.array_equal(np.asarray(Score.from_dict(score.to_dict())), np.asarray(score), equal_nan=True):
            raise Violated("to_dict and from_dict change the score", given)

    def _order_of_rows(self, rng: np.random.Generator, size: Size) -> None:
        source, target = self.draw(rng, size)
        order = rng.permutation(len(source))
        calls = (source, target), (source[order], target), (source, target[order])
        # Splits may follow the row order of one side; the order of the other must not matter.
        first, *moved = map(self.value, calls)
        if not any(np.allclose(each, first, rtol=0, atol=1e-12) for each in moved):
            said = (
                f"the score is {shown(first)}, with reordered rows of the source {shown(moved[0])}, "
                f"of the target {shown(moved[1])}"
            )
            raise Violated(said, *calls[:2])

    def _other_stimuli(self, rng: np.random.Generator, size: Size) -> None:
        source, target = self.draw(rng, size)
        try:
            found = self.value([source[1:], target])
        except ValueError:
            return
        raise Violated(f"without the first stimulus of the source it returns {shown(found)}", (source[1:], target))

    def _missing(self, rng: np.random.Generator, size: Size) -> None:
        for side in range(2):
            values = list(related(rng, size))
            values[side][1, 0] = np.nan
            given = _sides(values)
            try:
                score = self.score(given)
            except ValueError:
                continue
            if np.isfinite(np.asarray(score, float)).any() and not score.n_undefined:
                raise Violated(f"it returns {shown(score)} and counts nothing as undefined", given)

    def _undefined(self, rng: np.random.Generator, size: Size) -> None:
        given = self.draw(rng, size)
        degenerate = on_sides(given, (1,), _constant) if self.undefined is None else self.undefined(given)
        try:
            found = self.value(degenerate)
        except ValueError:
            return
        if not np.isnan(found).all():
            raise Violated(f"it returns {shown(found)}, expected NaN", degenerate)

    def _digits(self, rng: np.random.Generator, size: Size) -> None:
        if np.dtype(self.metric.dtype or default_dtype()) != np.float64:
            return
        x, y = related(rng, size)
        # Sources that are equal in float32.
        near = [_sides((1.0 + 1e-9 * change, y)) for change in (x, rng.normal(size=x.shape))]
        if np.array_equal(*map(self.value, near), equal_nan=True):
            said = "sources that differ in the ninth digit have the same score: is it computed in float32?"
            raise Violated(said, *near)

    def _single(self, rng: np.random.Generator, size: Size) -> None:
        wide = on_sides(self.draw(rng, size), (0, 1), lambda each: each.astype(np.float32).astype(np.float64))
        narrow = on_sides(wide, (0, 1), lambda each: each.astype(np.float32))
        same(self.value(narrow), self.value(wide), 1e-3, "float64 and float32", narrow)

    def _itself(self, rng: np.random.Generator, size: Size) -> None:
        source, target = self._alike(rng, size)
        found, of_noise = self.value([target, target]), self.value([source, target])
        if self.itself is not None:
            same(found, np.full(found.shape, self.itself), _CLOSE, "expected and found", (target, target))
        if not (found >= of_noise).all():
            said = f"the score is {shown(found)} for identical inputs and {shown(of_noise)} for noise"
            raise Violated(said, (target, target))

    def _alike(self, rng: np.random.Generator, size: Size) -> tuple[Any, Any]:
        """Two independent sets of responses with the same number of units."""
        width = max(size.features, size.neuroids)
        return _sides(noise(rng, Size(size.stimuli, width, width)))

    def _memory(self, rng: np.random.Generator, size: Size) -> None:
        given = _sides(related(rng, _LARGE))
        tracemalloc.start()
        try:
            self.score(given)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        bytes_given = sum(each.nbytes for each in given)
        if peak > self.memory * bytes_given + _ALLOWANCE:
            raise Violated(
                f"it takes {peak:,} bytes for inputs of {bytes_given:,} bytes: declare what it needs by memory=, a "
                f"multiple of the inputs, now {self.memory:g}",
                given,
            )

    def _noise(self, rng: np.random.Generator, size: Size) -> None:
        draws = [_sides(noise(rng, size)) for _ in range(self.examples)]
        found = float(np.mean([self.value(each).mean() for each in draws]))
        if found > (self.chance or 0.0) + _BY_CHANCE:
            raise Violated(f"the mean of {self.examples} scores of noise is {found:.3f}, expected {self.chance:g}")

    def _draws(self, rng: np.random.Generator, size: Size) -> None:
        means = []
        for _ in range(self.examples):
            given = _sides(noise(rng, size))
            with in_draws(Resampling("stimuli", draws=_DRAWS)):
                known = self._scored(given).uncertainty
            if known is None or known.draws is None:
                raise Violated("it has no scores of draws of the stimuli", given)
            means.append(np.nanmean(known.draws.values))
        if np.mean(means) > (self.chance or 0.0) + _IN_DRAWS:
            raise Violated(
                f"the mean of draws of noise is {np.mean(means):.3f}, expected {self.chance:g}: copies of a stimulus "
                "are compared, or are split between training and test. A KernelMetric defines weighted_kernel, other "
                "metrics recognise copies by the coordinate drawn_from (docs/howto/own-metric.md). If the score of "
                "noise depends on the number of stimuli, pass chance=None"
            )

    def _permutations(self, rng: np.random.Generator, size: Size) -> None:
        given = self.draw(rng, size)
        with Permutations.within(_PERMUTATIONS):
            score = self._scored(given)
        null = null_of(score)
        if null is None:
            raise Violated("it has no scores of permutations", given)
        values = np.asarray(null.values, float)
        if self.chance is not None and values.mean() > self.chance + _BY_CHANCE:
            raise Violated(f"the mean of permutations is {values.mean():.3f}, expected {self.chance:g}", given)
        if not (np.asarray(score, float) > np.nanmean(values, axis=0) + _ABOVE).all():
            raise Violated(
                f"the score of related inputs is {shown(score)}, and the mean of permutations {values.mean():.3f}: if "
                "the metric should not detect the relation of these inputs, pass inputs that it should",
                given,
            )

    def _scored(self, given: Sequence[Any]) -> Score:
        with warnings.catch_warnings(action="ignore"):
            return scored(self.metric, *given)

    def _symmetric(self, rng: np.random.Generator, size: Size) -> None:
        source, target = self._alike(rng, size)
        same(self.value([target, source]), self.value([source, target]), _CLOSE, "original and swapped",
             (source, target), (target, source))  # fmt: skip

    def _invariant(self, rng: np.random.Generator, size: Size, *, change: Change) -> None:
        given = self.draw(rng, size)
        changed = change(given, rng)
        same(self.value(changed), self.value(given), _CLOSE, "before and after", given, changed)


def checks(
    metric: Any,
    *,
    inputs: Callable[[np.random.Generator], Any] | None = None,
    invariances: Sequence[str] | Mapping[str, Change] = ("permutation",),
    bounds: tuple[float, float] = (-1.0, 1.0),
    chance: float | None = 0.0,
    itself: float | None = None,
    undefined: Callable[[Any], Any] | None = None,
    differentiable: bool | Sequence[str] = True,
    memory: float = 10.0,
    examples: int = 3,
    size: tuple[int, int, int] = STANDARD,
    **of_kernel: Any,
) -> list[Check]:
    """The checks of a metric, one for each property, for example for ``pytest.mark.parametrize``.

    A metric is a *metric of assemblies* (an identifier of :func:`bsjax.list_metrics`, a :class:`bsjax.Metric`, or a
    function from assemblies to a :class:`bsjax.Score`) or a *kernel*: a JAX function from arrays ``(stimuli, units)``
    to an array. For a :class:`bsjax.KernelMetric`, both the metric of assemblies and its kernel are checked.

    Args:
        metric: the metric.
        inputs: function that draws the inputs, if these are not two sets of responses to the same stimuli. Returns a
            tuple of assemblies, or a dict of the arrays of a kernel, always of the same shapes.
        invariances: changes that do not affect the score: ``"permutation"``, ``"rotation"``, ``"scale"``,
            ``"unit scales"`` or ``"shift"`` of the units, or ``"stimuli"`` for their order. The prefix ``"source "`` or
            ``"target "`` limits a change of units to one side. Or a dict of names and functions
            ``(inputs, rng) -> inputs``.
        bounds: lowest and highest score.
        chance: expected score of noise; None if it depends on the size of the data, as for biased estimates.
        itself: score of responses compared with themselves; None if this has no fixed value.
        undefined: function from inputs to inputs for which the score is NaN; for a kernel, it also returns the index of
            the NaN values. By default, all responses of the second side are constant.
        differentiable: whether a kernel has non-zero gradients, or the names of the inputs for which it has them.
        memory: highest memory, as a multiple of the bytes of the inputs.
        examples: number of random inputs for each invariance.
        size: numbers of stimuli, units of the first side and units of the second side, if ``inputs`` is None.
        **of_kernel: for a kernel with ``inputs``: ``padded``, a function ``(inputs, rng) -> inputs`` that adds masked
            entries; ``identical``, one that makes both sides identical, for ``itself``; ``large``, a function that
            draws the inputs for the check of memory; ``atol``, the absolute tolerance of float64 results.

    Raises:
        ValueError: an invariance is unknown, or the object is not a metric.

    Example:
        >>> from bsjax.metrics import cka
        >>> [check.name for check in checks(cka)][:4]
        ['range', 'jit', 'batch', 'branches']
        >>> "order of rows" in [check.name for check in checks("cka", invariances=["rotation"], itself=1.0)]
        True
    """
    metric = load_metric(metric) if isinstance(metric, str) else metric
    if not callable(metric):
        raise ValueError(f"expected a metric, a kernel or an identifier, got {metric!r}")
    plain = metric.func if isinstance(metric, partial) else metric
    name = name_of(plain)
    changes = _changes(invariances)
    common = {"invariances": changes, "bounds": bounds, "itself": itself, "memory": memory, "examples": examples}
    if not isinstance(metric, Metric) and _is_kernel(metric, inputs):
        kernel = _kernel(metric, inputs, undefined, **common, differentiable=differentiable, **of_kernel)
        return [each.of(name, partial(as_code, call=name)) for each in kernel.properties()]
    given = {"chance": chance, "undefined": undefined, "size": Size(*size)}
    labelled = Labelled(as_metric(metric), name, inputs, **given, **common)
    found = labelled.properties()
    if isinstance(metric, KernelMetric):
        found += _of_its_kernel(metric, labelled, differentiable, memory)
    return [each.of(name, partial(as_code, call=name)) for each in found]


def check_metric(metric: Any, **promised: Any) -> None:
    """Checks a metric or a kernel, and raises the first failure.

    Args:
        metric: an identifier, a metric, a function of assemblies, or a kernel; see :func:`checks`.
        **promised: its declared properties, as for :func:`checks`: ``invariances``, ``bounds``, ``chance``, ...

    Raises:
        ContractError: a property does not hold. The message has the property in words, the values, and code to
            reproduce them.

    Example:
        >>> import jax.numpy as jnp
        >>> def shares(x, y):
        ...     return jnp.sum(x[:, 0] * y[:, 0]) / jnp.sqrt(jnp.sum(x[:, 0]**2) * jnp.sum(y[:, 0]**2))
        >>> check_metric(shares)  # constant responses give a number
        Traceback (most recent call last):
        ...
        bsjax.testing.contract.ContractError: shares fails 'undefined': an undefined value is NaN ...
    """
    run_all(checks(metric, **promised))


def _is_kernel(function: Callable[..., Any], inputs: Callable[[np.random.Generator], Any] | None) -> bool:
    """Whether a function that is not a ``Metric`` takes arrays, and not assemblies."""
    rng = np.random.default_rng(0)
    if inputs is not None:
        return isinstance(inputs(rng), Mapping)
    sides = related(rng)
    try:
        with precision():
            jax.eval_shape(function, *sides)
        return True
    except Exception:
        pass  # if it is a kernel, the checks report the error
    try:
        function(*_sides(sides))
    except Exception:
        return True
    return False


def _kernel(
    function: Callable[..., Any],
    inputs: Callable[[np.random.Generator], Any] | None,
    undefined: Callable[[Any], Any] | None,
    **promised: Any,
) -> Kernel:
    if inputs is not None:
        return Kernel(function, inputs, undefined=undefined, **promised)
    kernel, padded = two_sided(function, "where" in signature(function).parameters)
    given: dict[str, Any] = {
        "padded": padded,
        "undefined": undefined or (lambda arrays: (arrays | {"y": np.full_like(arrays["y"], 0.1)}, ...)),
        "large": lambda rng: dict(zip("xy", related(rng, _LARGE), strict=True)),
        "identical": None if promised["itself"] is None else lambda arrays, rng: arrays | {"y": arrays["x"]},
    }
    return Kernel(kernel, lambda rng, size: dict(zip("xy", related(rng, size), strict=True)), True, **given | promised)


def _of_its_kernel(
    metric: KernelMetric, labelled: Labelled, differentiable: bool | Sequence[str], memory: float
) -> list[Property]:
    """Properties of the kernel for the arrays of the metric's assemblies, without names that the metric has already."""

    def arrays(rng: np.random.Generator, size: Size = labelled.size) -> dict[str, np.ndarray]:
        return {f"array{n}": np.asarray(each) for n, each in enumerate(metric.arrays(*labelled.draw(rng, size)))}

    if any(np.asarray(each).dtype.kind not in "fiub" for each in arrays(np.random.default_rng(0)).values()):
        return []
    kernel = Kernel(
        lambda **given: metric.kernel(*given.values()),
        arrays if labelled.inputs is None else lambda rng: arrays(rng),
        labelled.inputs is None,
        large=(lambda rng: arrays(rng, _LARGE)) if labelled.inputs is None else None,
        differentiable=differentiable,
        memory=memory,
    )
    had = {each.name for each in labelled.properties()} - {"memory"}
    return [each for each in kernel.properties() if each.name not in had]


def _changes(invariances: Sequence[str] | Mapping[str, Change]) -> dict[str, tuple[str, Change]]:
    if isinstance(invariances, Mapping):
        return {name: (f"{name} does not affect the score", change) for name, change in invariances.items()}
    return {name: invariance(name) for name in invariances}


def _sides(values: Sequence[np.ndarray]) -> tuple[Any, ...]:
    return tuple(assembly(each, name) for each, name in zip(values, ("x", "y"), strict=True))


def _constant(each: Any) -> Any:
    return with_values(each, np.full(each.shape, 0.1))


@contextmanager
def _compilations() -> Iterator[list[str]]:
    """Collects the traces and compilations of JAX within a block."""
    made: list[str] = []

    def listen(event: str, duration_secs: float, **kwargs: Any) -> None:
        if event.startswith(_COMPILES):
            made.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield made
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
