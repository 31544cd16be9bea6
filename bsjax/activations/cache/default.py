"""The default activation cache."""

import os

from bsjax.activations.cache.cache import ActivationCache

_OFF_VARIABLE = "RESULTCACHING_DISABLE"
# Names by which caching can be disabled: Brain-Score's cached function, and this package.
_NAMES = (
    "brainscore_vision.model_helpers.activations.core.ActivationsExtractorHelper._from_paths_stored",
    "bsjax.activations.cache",
)


def default_cache() -> ActivationCache | None:
    """The user's cache; None if ``$RESULTCACHING_DISABLE`` disables it.

    As in Brain-Score, the variable is ``1`` to disable all caching, or a comma-separated list of modules: here
    ``bsjax.activations``, Brain-Score's own name, or any prefix of these.

    Raises:
        ValueError: ``$BSJAX_CACHE_SIZE`` is not a size.

    Example:
        >>> default_cache().root.name
        'activations'
    """
    return None if is_switched_off(*_NAMES) else ActivationCache()


def is_switched_off(*names: str) -> bool:
    """Whether ``$RESULTCACHING_DISABLE`` disables caching for one of these names."""
    off = os.environ.get(_OFF_VARIABLE, "")
    prefixes = tuple(name.strip() for name in off.split(",") if name.strip() not in ("", "0"))
    return off.strip() == "1" or any(name.startswith(prefixes) for name in names)
