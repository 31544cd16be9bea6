"""What a network returns, when it is not simply one array."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def first_array(output: Any, is_array: Callable[[Any], bool]) -> Any:
    """The first array in nested tuples, lists, mappings and dataclasses, in their own order; None if there is
    none.

    Example:
        >>> first_array((None, {"hidden": 3.0, "pooled": 4.0}), lambda value: isinstance(value, float))
        3.0
    """
    if is_array(output):
        return output
    if isinstance(output, Mapping):  # before dataclasses: a Hugging Face ModelOutput is both, and skips what is None
        parts = output.values()
    elif is_dataclass(output) and not isinstance(output, type):
        parts = (getattr(output, field.name) for field in fields(output))
    elif isinstance(output, (tuple, list)):
        parts = output
    else:
        return None
    found = (first_array(part, is_array) for part in parts)
    return next((array for array in found if array is not None), None)
