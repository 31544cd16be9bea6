"""Functions with separate implementations for CPU, GPU and TPU, and the platform of the current program."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial, update_wrapper
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast

import jax

from bsjax.core.given_arrays import widened

P = ParamSpec("P")
R = TypeVar("R")

Platform = Literal["cpu", "gpu", "tpu"]

# Names of the platforms in JAX's lowering.
LOWERED_AS: dict[Platform, tuple[str, ...]] = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}

_config: Any = jax.config

# A change of this value makes JAX trace programs again.
_platform: Any = jax.make_user_context(default_value=None)


class Primitive(Generic[P, R]):
    """A function of arrays with platform-specific implementations; see ``primitive``."""

    def __init__(self, plain: Callable[P, R]) -> None:
        self.plain = plain
        self.own: dict[Platform, Callable[P, R]] = {}
        update_wrapper(self, plain)

    def on(self, *platforms: Platform) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorator that registers an implementation for these platforms."""

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
    """Decorator for a function of arrays that may have platform-specific implementations.

    The decorated function is the default for all other platforms. All implementations must compute the same result.

    Args:
        plain: takes arrays as positional arguments, and static settings as keyword arguments.

    Example:
        >>> @primitive
        ... def total(x):
        ...     return x.sum()
        >>> @total.on("cpu")
        ... def _total_in_pairs(x):
        ...     return (x[::2] + x[1::2]).sum()
        >>> print(total(jax.numpy.arange(4)), list(total.own))
        6 ['cpu']
    """
    return Primitive(plain)


def traced_for(platform: Platform) -> AbstractContextManager[Any]:
    """Context manager in which programs are traced for a single platform, which is faster than for all."""
    return _platform(platform)


def platform() -> Platform:
    """The platform that is traced for: that of ``traced_for``, else that of the default device."""
    return _platform.value or default_platform()


def default_platform() -> Platform:
    """The platform of JAX's default device, including one set by ``jax.default_device``.

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
