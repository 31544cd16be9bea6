"""Detection of a plugin's own code in its wrappers of networks."""

from collections.abc import Collection
from typing import Any

from bsjax.core.identity.code import BSJAX, named


def overrides_of(wrapper: Any, apart: Collection[str]) -> dict[str, Any]:
    """The parts of a wrapper that affect its behaviour and come from the plugin: its class and attributes.

    Attributes of a wrapper without code of its own, such as an image size for others to read, have no effect.

    Args:
        wrapper: an instance of a bsjax class or of a subclass.
        apart: names of attributes that are identified elsewhere.
    """
    extractor = wrapper._extractor  # the wrapper holds methods of it
    held = {
        name: value
        for name, value in vars(wrapper).items()
        if name not in apart and not _is_bsjaxs(value) and getattr(value, "__self__", None) is not extractor
    }
    classes = [each for each in (type(wrapper), type(extractor)) if not _is_bsjaxs(each)]
    return {"class": type(wrapper), "classes": classes, **held} if classes or any(map(callable, held.values())) else {}


def _is_bsjaxs(value: Any) -> bool:
    known = named(getattr(value, "__func__", value))
    return known is not None and known.distribution == BSJAX
