"""Digests of what plugins bring: their own code, and of bsjax's its name and version."""

from __future__ import annotations

import sys
from collections.abc import Collection
from types import FunctionType
from typing import Any

from bsjax.core.digests.values import digest_of
from bsjax.core.version import __version__

_PACKAGE = "bsjax."


def digest_of_plugin(value: object) -> str:
    """Digest of a value of a plugin's, in which bsjax's functions and classes count by their names and its version.

    What they read are the images that they are given, by whose content activations are kept.

    Raises:
        Undigestible: nothing can vouch for a part of it.

    Example:
        >>> from bsjax.compat.activations.images import load_images
        >>> len(digest_of_plugin([load_images, {"size": 224}]))
        32
    """
    return digest_of((value, __version__), _by_name)


def overrides_of(wrapper: Any, apart: Collection[str]) -> dict[str, Any]:
    """What decides what a wrapper of a plugin does, and is not bsjax's: its class, and what it holds.

    What a wrapper without code of its own holds, such as the size of its images for others to read, decides nothing.

    Args:
        wrapper: of one of bsjax's classes, or of a subclass.
        apart: attributes that are told otherwise.
    """
    extractor = wrapper._extractor  # whose methods the wrapper holds
    held = {
        name: value
        for name, value in vars(wrapper).items()
        if name not in apart and not _is_bsjaxs(value) and getattr(value, "__self__", None) is not extractor
    }
    classes = [each for each in (type(wrapper), type(extractor)) if _by_name(each) is each]
    return {"class": type(wrapper), "classes": classes, **held} if classes or any(map(callable, held.values())) else {}


def _is_bsjaxs(value: Any) -> bool:
    function = getattr(value, "__func__", value)
    return _by_name(function) is not function


def _by_name(value: Any) -> Any:
    """The name of a function or class that bsjax has under it; anything else as it is.

    A method of an object depends on that, and a function that bsjax makes when it is called on what it was made with.
    """
    if not isinstance(value, (type, FunctionType)) or not value.__module__.startswith(_PACKAGE):
        return value
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    # A class method is found bound to its class.
    return f"{value.__module__}.{value.__qualname__}" if getattr(found, "__func__", found) is value else value
