"""Checks of kernels: pure functions of arrays that JAX compiles, batches and differentiates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.jax_names import jaxprs_in_params
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import Program, compiled, traces
from bsjax.engine.programs.platforms import traced_for
from bsjax.testing.contract import Property, Size, Violated, same, shown
from bsjax.testing.data import Change

Arrays = dict[str, np.ndarray]

_SINGLE = 1e-3  # tolerance of float32 against float64
_STEP = 1e-6  # step of finite differences, relative to the largest value


@dataclass(eq=False)
class Kernel:
    """A kernel and its declared properties; see :func:`bsjax.testing.checks` for the other fields.

    Attributes:
        kernel: function that takes arrays by keyword and returns one array.
        inputs: function that draws the arrays, always of the same shapes for a size.
        sized: whether ``inputs`` takes a size.
    """

    kernel: Callable[..., Any]
    inputs: Callable[..., Arrays]
    sized: bool = False
    invariances: Mapping[str, tuple[str, Change]] = field(default_factory=dict)
    bounds: tuple[float, float] = (-np.inf, np.inf)
    undefined: Callable[[Arrays], tuple[Arrays, Any]] | None = None
    padded: Change | None = None
    identical: Change | None = None
    itself: float | None = None
    large: Callable[[np.random.Generator], Arrays] | None = None
    memory: float = 10.0
    differentiable: bool | Sequence[str] = True
    atol: float = 1e-9
    examples: int = 3
    _jaxpr: Any = None

    def properties(self) -> list[Property]:
        """The properties that can be checked."""
        made = partial(Property, sized=self.sized)
        found = [
            made("range", "values are finite and within their bounds", self._range, 2),
            made("jit", "the compiled kernel gives the same values as the uncompiled one", self._jit),
            made("batch", "a batch gives the same values as a loop", self._batch),
            Property("branches", "a batch has no matrix decomposition that a single call skips", self._branches),
            Property("one trace", "it is traced once for each shape and dtype", self._one_trace),
            Property("dtype", "the result and all steps keep the dtype of the inputs", self._dtype),
            made("float32", f"float32, as on accelerators, agrees with float64 within {_SINGLE:g}", self._single),
        ]
        if self.differentiable:
            found.append(
                made(
                    "gradient",
                    "the gradient agrees with finite differences, and is finite where the value is undefined",
                    self._gradient,
                )
            )
        if self.undefined is not None:
            undefined = "an undefined value is NaN and does not affect other values"
            found.append(made("undefined", undefined, self._undefined))
        if self.padded is not None:
            found.append(
                made("mask", "masked entries do not affect the value", partial(self._mask, padded=self.padded))
            )
        if self.identical is not None:
            words = f"identical inputs have the value {self.itself:g}"
            found.append(made("itself", words, partial(self._itself, identical=self.identical)))
        if self.large is not None:
            words = f"it takes at most {self.memory:g} times the memory of its inputs"
            found.append(Property("memory", words, partial(self._memory, large=self.large)))
        for name, (words, change) in self.invariances.items():
            found.append(made(name, words, partial(self._invariant, change=change), self.examples))
        return found

    @cached_property
    def program(self) -> Program:
        """The compiled kernel as a function of a dict of arrays; all checks share it."""

        def kernel_under_test(arrays: Any) -> Any:
            return self.kernel(**arrays)

        return compiled(kernel_under_test)

    def draw(self, rng: np.random.Generator, size: Size) -> Arrays:
        """Inputs, of this size if ``inputs`` takes one."""
        return self.inputs(rng, size) if self.sized else self.inputs(rng)

    def value(self, arrays: Arrays, dtype: str = "float64") -> np.ndarray:
        """The value of the compiled kernel in this dtype."""
        with precision(dtype):
            return np.asarray(self.program(cast(arrays, dtype)))

    def _range(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        found = self.value(arrays)
        low, high = self.bounds
        if not np.isfinite(found).all():
            raise Violated(f"it returns {shown(found)}", arrays)
        if (found < low - _STEP).any() or (found > high + _STEP).any():
            raise Violated(f"it returns {shown(found)}, expected {low:g} to {high:g}", arrays)
        # A finite result must have no NaN in its steps either: users search for their own NaN by this switch.
        with precision("float64"), jax.debug_nans(True):
            self.program(cast(arrays))

    def _jit(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        with precision("float64"):
            try:
                found = self.value(arrays)
            except jax.errors.JAXTypeError as error:
                raise Violated(f"it cannot be compiled: {str(error).splitlines()[0]}", arrays) from None
            same(self.kernel(**cast(arrays)), found, self.atol, "compiled and uncompiled", arrays)

    @cached_property
    def _batched(self) -> Any:
        """The kernel of a batch on shares of a mesh, as a function of a dict of stacked arrays."""
        mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
        spec = jax.sharding.PartitionSpec("devices")
        batch = jax.vmap(lambda arrays: self.kernel(**arrays))
        return jax.jit(jax.shard_map(batch, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))

    def _batch(self, rng: np.random.Generator, size: Size) -> None:
        draws = [self.draw(rng, size) for _ in range(2)]
        with precision("float64"):
            found = self._batched(_stacked(draws))
        for got, arrays in zip(found, draws, strict=True):
            same(got, self.value(arrays), self.atol, "alone and in a batch", arrays)

    def _branches(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        with precision("float64"):
            batch = self._batched.trace(_stacked([arrays, arrays])).jaxpr
        one, many = _decompositions(self._traced(arrays).jaxpr), _decompositions(batch.jaxpr)
        if one != many:
            raise Violated(f"a single call has {one or 'none'}, a batch {many}: the batch computes both branches")

    def _traced(self, arrays: Arrays) -> Any:
        """The jaxpr in float64."""
        if self._jaxpr is None or self.sized:
            with precision("float64"):
                self._jaxpr = jax.make_jaxpr(lambda arrays: self.kernel(**arrays))(cast(arrays))
        return self._jaxpr

    def _one_trace(self, rng: np.random.Generator, size: Size) -> None:
        self.value(self.draw(rng, size))
        with traces() as counted:
            self.value(self.draw(rng, size))
        if counted:
            raise Violated(f"a second call with the same shapes is traced again: {dict(counted)}")

    def _dtype(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        with precision("float64"):
            single = jax.eval_shape(lambda arrays: self.kernel(**arrays), cast(arrays, "float32"))
        traced = self._traced(arrays)
        for given, [made] in (("float32", jax.tree.leaves(single)), ("float64", traced.out_avals)):
            if made.dtype != given:
                raise Violated(f"the result is {made.dtype} for inputs in {given}", arrays)
        if narrowed := _narrowings(traced.jaxpr):
            raise Violated(f"it casts float64 to {', '.join(sorted(narrowed))}", arrays)

    def _single(self, rng: np.random.Generator, size: Size) -> None:
        for arrays in (self.draw(rng, size), self._degenerate(rng, size)[0]):
            with traced_for("gpu"):
                found = self.value(arrays, "float32")
            same(found, self.value(arrays), _SINGLE, "float64 and float32", arrays)

    @cached_property
    def _slopes(self) -> Callable[[Any, Any], Any]:
        """The sum of the values and its gradient, with ``jax.checkpoint`` as in training loops that save memory."""

        def total(numbers: Any, rest: Any) -> Any:
            return jnp.nansum(jax.checkpoint(lambda numbers: self.program(numbers | rest))(numbers))

        return jax.jit(jax.value_and_grad(total))

    def _split(self, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """The inputs to differentiate by, and the other inputs."""
        named = arrays if isinstance(self.differentiable, bool) else self.differentiable
        numbers = {name: arrays[name] for name in named if np.asarray(arrays[name]).dtype.kind == "f"}
        return numbers, {name: values for name, values in arrays.items() if name not in numbers}

    def _gradient(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        numbers, rest = self._split(arrays)
        if not numbers:
            raise Violated("no input is floating-point: set differentiable=False", arrays)
        directions = {name: rng.normal(size=values.shape) * _step(values) for name, values in numbers.items()}
        with precision("float64"):
            _, slopes = self._slopes(cast(numbers), cast(rest))
        ahead, behind = (
            np.nansum(self.value({n: v + sign * directions[n] for n, v in numbers.items()} | rest)) for sign in (1, -1)
        )
        along = sum(np.vdot(slopes[name], direction) for name, direction in directions.items())
        if not np.isfinite(along):
            raise Violated(f"the gradient along a direction is {shown(along)}", arrays)
        if not any(np.any(slope) for slope in slopes.values()):
            raise Violated("all gradients are zero: set differentiable=False if it has none", arrays)
        # Rounding of the values limits how exact a difference is.
        slack = 1e-2 * max(abs(along), abs(ahead - behind) / 2) + 1e-11 * (1 + abs(ahead))
        if not abs((ahead - behind) / 2 - along) <= slack:
            raise Violated(f"the value changes by {(ahead - behind) / 2:.6g}, the gradient says {along:.6g}", arrays)
        arrays, _ = self._degenerate(rng, size)
        with precision("float64"):
            _, slopes = self._slopes(*map(cast, self._split(arrays)))
        if not all(np.isfinite(slope).all() for slope in slopes.values()):
            raise Violated("the gradient is not finite where the value is undefined", arrays)

    def _undefined(self, rng: np.random.Generator, size: Size) -> None:
        arrays, where = self._degenerate(rng, size)
        found = self.value(arrays)
        expected = np.zeros(found.shape, bool)
        expected[where] = True
        if (np.isnan(found) != expected).any() or not np.isfinite(found[~expected]).all():
            raise Violated(f"it returns {shown(found)}; expected NaN: {shown(expected)}", arrays)

    def _degenerate(self, rng: np.random.Generator, size: Size) -> tuple[Arrays, Any]:
        """Inputs with undefined values, and their index; the inputs as drawn if ``undefined`` is None."""
        arrays = _copied(self.draw(rng, size))
        return (arrays, ()) if self.undefined is None else self.undefined(arrays)

    def _mask(self, rng: np.random.Generator, size: Size, *, padded: Change) -> None:
        arrays = self.draw(rng, size)
        more = padded(_copied(arrays), rng)
        same(self.value(more), self.value(arrays), self.atol, "without and with masked entries", arrays, more)

    def _itself(self, rng: np.random.Generator, size: Size, *, identical: Change) -> None:
        arrays = identical(_copied(self.draw(rng, size)), rng)
        found = self.value(arrays)
        same(found, np.full(found.shape, self.itself), _STEP, "expected and found", arrays)

    def _memory(self, rng: np.random.Generator, size: Size, *, large: Callable[[np.random.Generator], Arrays]) -> None:
        with precision("float64"):
            arrays = cast(large(rng))
            analysis = self.program.lower(arrays).compile().memory_analysis()
        if analysis is None:  # the compiler of this device does not report it
            return
        taken, given = analysis.temp_size_in_bytes, sum(values.nbytes for values in arrays.values())
        if taken > self.memory * given:
            shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
            raise Violated(
                f"it takes {taken / given:.1f} times the {given:,} bytes of {shapes}: declare what it needs by "
                f"memory=, now {self.memory:g}"
            )

    def _invariant(self, rng: np.random.Generator, size: Size, *, change: Change) -> None:
        arrays = self.draw(rng, size)
        changed = change(_copied(arrays), rng)
        same(self.value(changed), self.value(arrays), _STEP, "before and after", arrays, changed)


def cast(arrays: Mapping[str, Any], dtype: str = "float64") -> dict[str, jax.Array]:
    """JAX arrays, the floating-point ones in this dtype."""
    return {name: jnp.asarray(v, dtype if np.asarray(v).dtype.kind == "f" else None) for name, v in arrays.items()}


def _stacked(draws: Sequence[Arrays]) -> dict[str, jax.Array]:
    return cast({name: np.stack([draw[name] for draw in draws]) for name in draws[0]})


def two_sided(kernel: Callable[..., Any], masked: bool) -> tuple[Callable[..., Any], Change | None]:
    """The kernel as a function of keywords ``x`` and ``y``, and a change that adds masked stimuli if it has masks."""
    if not masked:
        return lambda x, y: kernel(x, y), None

    def by_name(x: Any, y: Any, where: Any = None) -> Any:
        return kernel(x, y) if where is None else kernel(x, y, where=where)

    def more_stimuli(arrays: Arrays, rng: np.random.Generator) -> Arrays:
        n = len(arrays["x"])
        more = {name: np.concatenate([50.0 + values[:2], values]) for name, values in arrays.items()}
        return more | {"where": np.arange(n + 2) > 1}

    return by_name, more_stimuli


def _copied(arrays: Arrays) -> Arrays:
    return {name: np.array(values) for name, values in arrays.items()}


def _step(values: np.ndarray) -> float:
    size = float(np.nanmax(np.abs(values), initial=0.0, where=np.isfinite(values)))
    return _STEP * (size or 1.0)


def _equations(jaxpr: Any, into_branches: bool = True) -> Any:
    for equation in jaxpr.eqns:
        yield equation
        if into_branches or equation.primitive.name != "cond":
            for inner in jaxprs_in_params(equation.params):
                yield from _equations(inner, into_branches)


def _decompositions(jaxpr: Any) -> list[str]:
    """The decompositions outside conditional branches."""
    names = (equation.primitive.name for equation in _equations(jaxpr, into_branches=False))
    return [name for name in names if name in ("eigh", "svd")]


def _narrowings(jaxpr: Any) -> set[str]:
    """The narrower floating-point dtypes that float64 is cast to."""
    casts = (e for e in _equations(jaxpr) if e.primitive.name == "convert_element_type")
    narrow = {str(e.params["new_dtype"]) for e in casts if e.invars[0].aval.dtype == np.float64}
    return narrow & {"float32", "float16", "bfloat16"}
