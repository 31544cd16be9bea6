"""Digests of JAX networks: the traced program and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

import jax
import numpy as np
from jax.extend import core

from bsjax.core.digests.values import Undigestible, digest_of

Forward = Callable[[Any, Any, Any, Collection[str] | None], Mapping[str, jax.Array]]

Traced = tuple[list[str], core.ClosedJaxpr]

# Parameters of operations that do not change what they compute: derivatives, names, where and how it is compiled.
_SILENT = frozenset(
    "jvp_jaxpr_fun fwd_jaxpr_thunk bwd out_trees name name_stack inline keep_unused donated_invars ctx_mesh "
    "in_shardings out_shardings in_layouts out_layouts sharding out_sharding mesh_axis_names compiler_options_kvs "
    "unroll".split()
)
_PROBE = 2


def jax_digest(forward: Forward, structure: Hashable, parameters: Any, batch: Any) -> str:
    """Digest of all that decides what a JAX network makes of images: the program, and its parameters by content.

    Args:
        forward: ``forward(structure, parameters, batch, layers)``, pure; it is traced, not run.
        structure: static.
        parameters: a pytree of arrays.
        batch: arrays like those that will be shown; their number of images does not matter.

    Raises:
        Undigestible: nothing vouches for a part, such as the content of a callback.

    Example:
        >>> import jax.numpy as jnp
        >>> def forward(structure, parameters, batch, layers):
        ...     return {"output": batch @ parameters}
        >>> weights = jnp.ones((4, 2))
        >>> before = jax_digest(forward, None, weights, np.zeros((8, 4), np.float32))
        >>> before == jax_digest(forward, None, weights, np.zeros((3, 4), np.float32))
        True
        >>> before == jax_digest(forward, None, weights.at[0, 0].set(2), np.zeros((8, 4), np.float32))
        False
    """
    return digest_of((program_digest(forward, structure, parameters, batch), parameters_digest(parameters)))


def parameters_digest(parameters: Any) -> str:
    """Digest of the arrays of a pytree and of their places in it.

    Example:
        >>> parameters_digest({"w": np.ones(2)}) == parameters_digest({"b": np.ones(2)})
        False
    """
    leaves, _ = jax.tree.flatten_with_path(parameters)
    return digest_of([(jax.tree_util.keystr(path), leaf) for path, leaf in leaves])


def program_digest(forward: Forward, structure: Hashable, parameters: Any, batch: Any) -> str:
    """Digest of the program that computes all layers, with the constants that it has closed over, by content.

    The program is that for two images, so that the number in ``batch`` does not matter; where it does not take two, it
    is that for as many as ``batch`` has. Names of functions, derivatives and compiler options do not enter it.

    Args:
        forward: ``forward(structure, parameters, batch, layers)``, pure.
        structure: static.
        parameters: a pytree of arrays, of which only shapes and dtypes count.
        batch: arrays, images along the first axis; only shapes and dtypes count.

    Raises:
        Undigestible: nothing vouches for a part of it.
    """
    return digest_of_traced(traced(forward, structure, parameters, batch))


def digest_of_traced(program: Traced) -> str:
    """Digest of what :func:`traced` gave, as it is now: a host callback in it may read what has changed meanwhile.

    Raises:
        Undigestible: nothing vouches for a part of it.
    """
    return digest_of(program, _instead)


def traced(forward: Forward, structure: Hashable, parameters: Any, batch: Any) -> Traced:
    """The names of all layers, and the program that computes them; arguments as of :func:`program_digest`."""

    def named(parameters: Any, batch: Any) -> dict[str, Any]:
        return dict(forward(structure, parameters, batch, None))

    try:
        program, outputs = jax.make_jaxpr(named, return_shape=True)(parameters, _of_size(batch, _PROBE))
    except Exception:  # a network may be made for batches of one size
        program, outputs = jax.make_jaxpr(named, return_shape=True)(parameters, _of_size(batch, None))
    return sorted(outputs), program


def _of_size(batch: Any, size: int | None) -> Any:
    def of_size(array: Any) -> jax.ShapeDtypeStruct:
        dtype = jax.dtypes.canonicalize_dtype(array.dtype)
        return jax.ShapeDtypeStruct((len(array) if size is None else size, *array.shape[1:]), dtype)

    return jax.tree.map(of_size, batch)


def _instead(value: Any) -> Any:
    """Plain values for the parts of a program."""
    if isinstance(value, core.ClosedJaxpr):
        return _program(value.jaxpr, value.consts)
    if isinstance(value, core.Jaxpr):
        return _program(value, ())
    if type(value).__name__ in ("PRNGImpl", "PyTreeDef", "ShapedArray", "AbstractRef"):
        text = str(value)
        if " at 0x" in text:
            raise Undigestible(f"a {type(value).__name__} of a JAX program shows no content: {text}")
        return type(value).__name__, text
    if type(value).__name__ == "TypedNdArray":  # a literal
        return np.asarray(value)
    return value


def _program(program: core.Jaxpr, constants: Iterable[Any]) -> Any:
    number: dict[Any, int] = {}

    def defined(variables: Iterable[Any]) -> list[tuple[int, str]]:
        for variable in variables:
            number[variable] = len(number)
        return [(number[variable], _kind(variable)) for variable in variables]

    def used(variables: Iterable[Any]) -> list[Any]:
        return [(_kind(v), v.val) if isinstance(v, core.Literal) else number[v] for v in variables]

    head = defined(program.constvars), list(constants), defined(program.invars)
    steps = []
    for step in program.eqns:
        options = {name: value for name, value in sorted(step.params.items()) if name not in _SILENT}
        steps.append((step.primitive.name, used(step.invars), options, defined(step.outvars)))
    return head, steps, used(program.outvars)


def _kind(variable: Any) -> str:
    """Shape and dtype, and whether the dtype is a weak one."""
    kind = variable.aval
    return f"{kind.str_short()}{' weak' if getattr(kind, 'weak_type', False) else ''}"
