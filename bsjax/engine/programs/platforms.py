"""Implementations by platform: a computation that a kind of device does better in a way of its own."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial, update_wrapper
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast

import jax

from bsjax.core.given_arrays import widened

P = ParamSpec("P")
R = TypeVar("R")

PRIMITIVES: "dict[str, Primitive[..., Any]]" = {}
"""All that have implementations of their own for a platform, by name."""

Platform = Literal["cpu", "gpu", "tpu"]

# What JAX's lowering calls each.
LOWERED_AS: dict[Platform, tuple[str, ...]] = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}

_config: Any = jax.config

# Programs are traced anew where this changes.
_platform: Any = jax.make_user_context(default_value=None)


class Primitive(Generic[P, R]):
    """A function of arrays with other implementations on some platforms; see ``primitive``."""

    def __init__(self, plain: Callable[P, R]) -> None:
        self.plain = plain
        self.own: dict[Platform, Callable[P, R]] = {}
        update_wrapper(self, plain)

    def on(self, *platforms: Platform) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Registers what is decorated for these platforms."""

        def register(implementation: Callable[P, R]) -> Callable[P, R]:
            self.own.update(dict.fromkeys(platforms, implementation))
            return implementation

        return register

    def __call__(self, *arrays: P.args, **settings: P.kwargs) -> R:
        arrays = jax.tree.map(widened, arrays)
        known = _platform.value
        if known is not None:
            return self.own.get(known, self.plain)(*arrays, **settings)
        own = {
            lowered: partial(function, **settings)
            for name, function in self.own.items()
            for lowered in LOWERED_AS[name]
        }
        return jax.lax.platform_dependent(*arrays, default=partial(self.plain, **settings), **own)


def primitive(plain: Callable[P, R]) -> Primitive[P, R]:
    """A function of arrays for which a platform may have an implementation of its own.

    What is decorated is the formula, which serves where there is none. Each other one gives the same.

    Args:
        plain: takes arrays by position, and by name what is no array and decides the program.

    Example:
        >>> @primitive
        ... def total(x):
        ...     return x.sum()
        >>> @total.on("cpu")
        ... def _total_in_pairs(x):
        ...     return (x[::2] + x[1::2]).sum()
        >>> print(total(jax.numpy.arange(4)), list(PRIMITIVES.pop("total").own))
        6 ['cpu']
    """
    PRIMITIVES[getattr(plain, "__name__", "")] = made = Primitive(plain)
    return made


def traced_for(platform: Platform) -> AbstractContextManager[Any]:
    """A block whose programs are traced for one platform alone, which takes less time than for any."""
    return _platform(platform)


def platform() -> Platform:
    """The platform that is traced for: that of the block, else that of the default device."""
    return _platform.value or default_platform()


def default_platform() -> Platform:
    """The platform of JAX's default device, which ``jax.default_device`` may have set.

    Example:
        >>> with jax.default_device("cpu"):
        ...     default_platform()
        'cpu'
    """
    unset = _config.jax_default_device is None
    return cast(Platform, jax.default_backend() if unset else default_device().platform)


def default_device() -> Any:
    """JAX's default device."""
    chosen = _config.jax_default_device
    return jax.local_devices(backend=chosen)[0] if chosen is None or isinstance(chosen, str) else chosen
