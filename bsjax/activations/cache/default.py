"""The default cache."""

import os

from bsjax.activations.cache.cache import ActivationCache

_OFF_VARIABLE = "RESULTCACHING_DISABLE"
# What Brain-Score calls the function whose results it caches, and the name of this one.
_NAMES = (
    "brainscore_vision.model_helpers.activations.core.ActivationsExtractorHelper._from_paths_stored",
    "bsjax.activations.cache",
)


def default_cache() -> ActivationCache | None:
    """The user's cache; None if ``$RESULTCACHING_DISABLE`` says so.

    As in Brain-Score, that is ``1`` for nothing to be stored at all, or names of modules, separated by commas, whose
    results are not: here ``bsjax.activations``, or what Brain-Score calls its own, or any beginning of these.

    Raises:
        ValueError: ``$BSJAX_CACHE_SIZE`` is not a size.

    Example:
        >>> default_cache().root.name
        'activations'
    """
    return None if is_switched_off(*_NAMES) else ActivationCache()


def is_switched_off(*names: str) -> bool:
    """Whether ``$RESULTCACHING_DISABLE`` says that nothing is kept of what goes by one of these names."""
    off = os.environ.get(_OFF_VARIABLE, "")
    prefixes = tuple(name.strip() for name in off.split(",") if name.strip() not in ("", "0"))
    return off.strip() == "1" or any(name.startswith(prefixes) for name in names)
