"""What a plugin's wrapper has of its own, beside what bsjax's class does."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bsjax.core.identity.code import BSJAX, named


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
    classes = [each for each in (type(wrapper), type(extractor)) if not _is_bsjaxs(each)]
    return {"class": type(wrapper), "classes": classes, **held} if classes or any(map(callable, held.values())) else {}


def _is_bsjaxs(value: Any) -> bool:
    known = named(getattr(value, "__func__", value))
    return known is not None and known.distribution == BSJAX
