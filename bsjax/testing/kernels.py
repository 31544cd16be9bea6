"""What a kernel promises: a pure function of arrays, which JAX compiles, batches and differentiates."""

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
from bsjax.engine.programs.compilation import compiled, traces
from bsjax.engine.programs.platforms import traced_for
from bsjax.testing.contract import Property, Size, Violated, same, shown
from bsjax.testing.data import Change

Arrays = dict[str, np.ndarray]

_SINGLE = 1e-3  # how far float32 may be from float64
_STEP = 1e-6  # of finite differences, relative to the size of the numbers


@dataclass(eq=False)
class Kernel:
    """A kernel and what it promises; see :func:`bsjax.testing.checks` for what each field says.

    Attributes:
        kernel: takes arrays by keyword, gives one array.
        inputs: a draw of its arrays, of a size where ``sized``: always of the same shapes.
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
        """All that can be checked of it."""
        made = partial(Property, sized=self.sized)
        found = [
            made("range", "a value is finite and within its bounds", self._range, 2),
            made("jit", "compiled and run step by step it gives the same", self._jit),
            made("batch", "a batch on a device gives what a loop gives", self._batch),
            Property("branches", "a batch takes no decomposition that one would not", self._branches),
            Property("one trace", "it is traced once for a shape and a dtype", self._one_trace),
            Property("dtype", "it keeps the dtype that it is given", self._dtype),
            made("float32", f"float32, as accelerators compute, agrees with float64 within {_SINGLE:g}", self._single),
        ]
        if self.differentiable:
            found.append(
                made(
                    "gradient",
                    "its gradient is that of its values, and finite where they are undefined",
                    self._gradient,
                )
            )
        if self.undefined is not None:
            undefined = "an undefined value is NaN, and spreads to no other"
            found.append(made("undefined", undefined, self._undefined))
        if self.padded is not None:
            found.append(made("mask", "what is masked out does not count", self._mask))
        if self.identical is not None:
            found.append(made("itself", f"a thing compared with itself is {self.itself:g}", self._itself))
        if self.large is not None:
            found.append(Property("memory", f"it takes at most {self.memory:g} times its inputs", self._memory))
        for name, (words, change) in self.invariances.items():
            found.append(made(name, words, partial(self._invariant, change=change), self.examples))
        return found

    @cached_property
    def program(self) -> Callable[[Any], Any]:
        """The compiled kernel of a dict of arrays; all checks share it."""

        def kernel_under_test(arrays: Any) -> Any:
            return self.kernel(**arrays)

        return compiled(kernel_under_test)

    def draw(self, rng: np.random.Generator, size: Size) -> Arrays:
        """Arrays of this size, where it has one."""
        return self.inputs(rng, size) if self.sized else self.inputs(rng)

    def value(self, arrays: Arrays, dtype: str = "float64") -> np.ndarray:
        """What the program gives."""
        with precision(dtype):
            return np.asarray(self.program(cast(arrays, dtype)))

    def _range(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        found = self.value(arrays)
        low, high = self.bounds
        if not np.isfinite(found).all():
            raise Violated(f"it gives {shown(found)}", arrays)
        if (found < low - _STEP).any() or (found > high + _STEP).any():
            raise Violated(f"it gives {shown(found)}, beyond {low:g} to {high:g}", arrays)
        # A result without NaN has none on the way: users look for their own by this switch.
        with precision("float64"), jax.debug_nans(True):
            self.program(cast(arrays))

    def _jit(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        with precision("float64"):
            try:
                found = self.value(arrays)
            except jax.errors.JAXTypeError as error:
                raise Violated(f"it cannot be compiled: {str(error).splitlines()[0]}", arrays) from None
            same(self.kernel(**cast(arrays)), found, self.atol, "compiled and step by step", arrays)

    def _batch(self, rng: np.random.Generator, size: Size) -> None:
        draws = [self.draw(rng, size) for _ in range(2)]
        mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
        spec = jax.sharding.PartitionSpec("devices")
        batch = jax.vmap(lambda arrays: self.kernel(**arrays))
        on_shares = jax.jit(jax.shard_map(batch, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))
        with precision("float64"):
            found = on_shares(cast({name: np.stack([draw[name] for draw in draws]) for name in draws[0]}))
        for got, arrays in zip(found, draws, strict=True):
            same(got, self.value(arrays), self.atol, "alone and in a batch", arrays)

    def _branches(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        stacked = {name: np.stack([values, values]) for name, values in arrays.items()}
        with precision("float64"):
            batch = jax.make_jaxpr(jax.vmap(lambda arrays: self.kernel(**arrays)))(cast(stacked))
        one, many = _decompositions(self._traced(arrays).jaxpr), _decompositions(batch.jaxpr)
        if one != many:
            raise Violated(f"alone it takes {one or 'none'}, in a batch {many}: a condition became a choice of both")

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
            raise Violated(f"other numbers of the same shapes are traced again: {dict(counted)}")

    def _dtype(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        with precision("float64"):
            single = jax.eval_shape(lambda arrays: self.kernel(**arrays), cast(arrays, "float32"))
        traced = self._traced(arrays)
        for given, [made] in (("float32", jax.tree.leaves(single)), ("float64", traced.out_avals)):
            if made.dtype != given:
                raise Violated(f"of {given} it makes {made.dtype}", arrays)
        if narrowed := _narrowings(traced.jaxpr):
            raise Violated(f"of float64 it makes {', '.join(sorted(narrowed))} on the way", arrays)

    def _single(self, rng: np.random.Generator, size: Size) -> None:
        for arrays in (self.draw(rng, size), self._degenerate(rng, size)[0]):
            with traced_for("gpu"):
                found = self.value(arrays, "float32")
            same(found, self.value(arrays), _SINGLE, "in float64 here and in float32 as there", arrays)

    @cached_property
    def _slopes(self) -> Callable[[Any, Any], Any]:
        """The value in one number and its gradient, as a training loop that saves memory takes them."""

        def total(numbers: Any, rest: Any) -> Any:
            return jnp.nansum(jax.checkpoint(lambda numbers: self.program(numbers | rest))(numbers))

        return jax.jit(jax.value_and_grad(total))

    def _split(self, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """Those that it has a gradient in, and the others."""
        named = arrays if isinstance(self.differentiable, bool) else self.differentiable
        numbers = {name: arrays[name] for name in named if np.asarray(arrays[name]).dtype.kind == "f"}
        return numbers, {name: values for name, values in arrays.items() if name not in numbers}

    def _gradient(self, rng: np.random.Generator, size: Size) -> None:
        arrays = self.draw(rng, size)
        numbers, rest = self._split(arrays)
        if not numbers:
            raise Violated("no input is a floating number: say differentiable=False", arrays)
        directions = {name: rng.normal(size=values.shape) * _step(values) for name, values in numbers.items()}
        with precision("float64"):
            _, slopes = self._slopes(cast(numbers), cast(rest))
        ahead, behind = (
            np.nansum(self.value({n: v + sign * directions[n] for n, v in numbers.items()} | rest)) for sign in (1, -1)
        )
        along = sum(np.vdot(slopes[name], direction) for name, direction in directions.items())
        if not np.isfinite(along):
            raise Violated(f"a gradient is {shown(along)}", arrays)
        if not any(np.any(slope) for slope in slopes.values()):
            raise Violated("all gradients are zero: say differentiable=False if it has none", arrays)
        # Rounding of the values is what a difference is known within.
        slack = 1e-2 * max(abs(along), abs(ahead - behind) / 2) + 1e-11 * (1 + abs(ahead))
        if not abs((ahead - behind) / 2 - along) <= slack:
            raise Violated(f"values change by {(ahead - behind) / 2:.6g}, by the gradient by {along:.6g}", arrays)
        arrays, _ = self._degenerate(rng, size)
        with precision("float64"):
            _, slopes = self._slopes(*map(cast, self._split(arrays)))
        if not all(np.isfinite(slope).all() for slope in slopes.values()):
            raise Violated("a gradient is not finite where the value is undefined", arrays)

    def _undefined(self, rng: np.random.Generator, size: Size) -> None:
        arrays, where = self._degenerate(rng, size)
        found = self.value(arrays)
        expected = np.zeros(found.shape, bool)
        expected[where] = True
        if (np.isnan(found) != expected).any() or not np.isfinite(found[~expected]).all():
            raise Violated(f"it gives {shown(found)}; undefined is {shown(expected)}", arrays)

    def _degenerate(self, rng: np.random.Generator, size: Size) -> tuple[Arrays, Any]:
        """Inputs for which it is undefined somewhere, and where, if it says so."""
        arrays = _copied(self.draw(rng, size))
        return (arrays, ()) if self.undefined is None else self.undefined(arrays)

    def _mask(self, rng: np.random.Generator, size: Size) -> None:
        if self.padded is None:
            return
        arrays = self.draw(rng, size)
        more = self.padded(_copied(arrays), rng)
        same(self.value(more), self.value(arrays), self.atol, "without and with what is masked out", arrays, more)

    def _itself(self, rng: np.random.Generator, size: Size) -> None:
        if self.identical is None:
            return
        arrays = self.identical(_copied(self.draw(rng, size)), rng)
        found = self.value(arrays)
        same(found, np.full(found.shape, self.itself), _STEP, "it should be, and is", arrays)

    def _memory(self, rng: np.random.Generator, size: Size) -> None:
        if self.large is None:
            return
        with precision("float64"):
            arrays = cast(self.large(rng))
            lowered = jax.jit(lambda arrays: self.kernel(**arrays)).lower(arrays)
            analysis = lowered.compile().memory_analysis()
        if analysis is None:  # this device's compiler does not say
            return
        taken, given = analysis.temp_size_in_bytes, sum(values.nbytes for values in arrays.values())
        if taken > self.memory * given:
            shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
            raise Violated(f"{taken / given:.1f} times the {given:,} bytes of {shapes}")

    def _invariant(self, rng: np.random.Generator, size: Size, *, change: Change) -> None:
        arrays = self.draw(rng, size)
        changed = change(_copied(arrays), rng)
        same(self.value(changed), self.value(arrays), _STEP, "before and after", arrays, changed)


def cast(arrays: Mapping[str, Any], dtype: str = "float64") -> dict[str, jax.Array]:
    """Arrays of JAX, whose floats have this dtype."""
    return {name: jnp.asarray(v, dtype if np.asarray(v).dtype.kind == "f" else None) for name, v in arrays.items()}


def two_sided(kernel: Callable[..., Any], masked: bool) -> tuple[Callable[..., Any], Change | None]:
    """A kernel of two arrays as one of ``x`` and ``y`` by keyword, and stimuli that do not count, if it has masks."""
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
    """Those that are always taken, and not in one branch of two."""
    names = (equation.primitive.name for equation in _equations(jaxpr, into_branches=False))
    return [name for name in names if name in ("eigh", "svd")]


def _narrowings(jaxpr: Any) -> set[str]:
    """The dtypes that float64 is cast to."""
    casts = (e for e in _equations(jaxpr) if e.primitive.name == "convert_element_type")
    narrow = {str(e.params["new_dtype"]) for e in casts if e.invars[0].aval.dtype == np.float64}
    return narrow & {"float32", "float16", "bfloat16"}
