"""The steps of a program, counted in its jaxpr: operations and bytes, with loops as often as they run."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from bsjax.engine.jax_names import ShapedArray, jaxprs_in_params

HOST_CALL = "host_call"
_KINDS = {
    "dot_general": "product",
    **dict.fromkeys(("cholesky", "triangular_solve", "qr", "geqrf", "householder_product", "lu"), "cholesky"),
    **dict.fromkeys(("eigh", "svd"), "eigh"),
    **dict.fromkeys(("sort", "top_k"), "sort"),
    HOST_CALL: "host sort",
}
# What XLA computes within the loop of the operation that reads it, if that is no library call.
_VIEWS = {"reshape", "squeeze", "expand_dims", "broadcast_in_dim", "stop_gradient", "iota"}
_REDUCTIONS = ("reduce", "argm")
_MOVES = {"gather", "scatter", "scatter-add", "concatenate", "pad", "transpose", "optimization_barrier", "copy", "rev"}
_MOVES |= {"dynamic_slice", "dynamic_update_slice", "cumsum", "cumlogsumexp", "cumprod", "cummax", "cummin"}
# Turns of a loop whose length the data decide.
_TURNS = 10


class Step(NamedTuple):
    """A step of a program.

    Attributes:
        kind: "product", "cholesky", "eigh", "sort", "host sort", or "" for one that only reads and writes.
        dtype: of its result.
        operations: floating-point operations; comparisons of a sort.
        moved: bytes that are read and written.
        times: how often the program takes the step.
    """

    kind: str
    dtype: str
    operations: float
    moved: float
    times: float = 1.0


def steps(jaxpr: Any, times: float = 1.0) -> Iterator[Step]:
    """The steps of a program, from its jaxpr.

    Loops count as often as they run; those whose length the data decide, ten times. Of a conditional, the branch with
    the least work counts, which is the one that data without degeneracies take. Elementwise operations count as the
    bytes of results that a product, a decomposition or a sort reads; all others are computed where they are read.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> def twice(x):
        ...     return jax.lax.fori_loop(0, 2, lambda _, y: y @ y, x)
        >>> traced = jax.jit(twice).trace(jnp.ones((10, 10)))
        >>> sum(step.operations * step.times for step in steps(traced.jaxpr.jaxpr))
        4000.0
    """
    written = {id(v) for each in jaxpr.eqns if _kind(each) or each.primitive.name in _MOVES for v in each.invars}
    for equation in jaxpr.eqns:
        name, inner = equation.primitive.name, list(jaxprs_in_params(equation.params))
        if name == "cond":
            yield from min(([*steps(branch, times)] for branch in inner), key=_work)
        elif inner and name != HOST_CALL and not _kind(equation):
            turns = {"scan": equation.params.get("length"), "while": _TURNS}.get(name, 1)
            for each in inner:
                yield from steps(each, times * turns)
        elif _kind(equation) or name in _MOVES or name.startswith(_REDUCTIONS):
            yield Step(_kind(equation), _dtype(equation), _operations(equation), _moved(equation), times)
        elif name not in _VIEWS and any(id(v) in written for v in equation.outvars):
            yield Step("", _dtype(equation), 0.0, sum(map(_bytes, equation.outvars)), times)


def _kind(equation: Any) -> str:
    return _KINDS.get(equation.primitive.name, "")


def _operations(equation: Any) -> float:
    """Floating-point operations of a product or decomposition; comparisons of a sort."""
    if not _kind(equation):
        return 0.0
    name, shape = equation.primitive.name, equation.invars[0].aval.shape
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return 2.0 * equation.outvars[0].aval.size * math.prod(shape[axis] for axis in contracted)
    if name in ("sort", "top_k", HOST_CALL):
        # A call on the host takes numbers of 64 bits as pairs; its result has their shape.
        one = (equation.outvars if name == HOST_CALL else equation.invars)[0].aval
        return one.size * math.log2(max([*one.shape[-1:], 2]))
    *batch, rows, columns = shape
    less = min(rows, columns)
    each = {
        "triangular_solve": math.prod(equation.outvars[0].aval.shape[-2:]) * rows,
        "cholesky": rows**3 / 3,
        "eigh": rows**3,
        "svd": 2 * rows * columns * less,
    }
    return math.prod(batch) * float(each.get(name, 2 * rows * columns * less - 2 * less**3 / 3))


def _work(branch: list[Step]) -> float:
    return float(sum(step.times * (step.operations + step.moved) for step in branch))


def _moved(equation: Any) -> float:
    return float(sum(map(_bytes, (*equation.invars, *equation.outvars))))


def _bytes(variable: Any) -> int:
    aval = variable.aval
    return aval.size * aval.dtype.itemsize if isinstance(aval, ShapedArray) else 0  # else a key or a token


def _dtype(equation: Any) -> str:
    return str(equation.outvars[0].aval.dtype)
