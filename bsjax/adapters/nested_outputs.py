"""Nested inputs and outputs of networks."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def named_layers(layer: str, output: Any, is_array: Callable[[Any], bool]) -> dict[str, Any]:
    """The arrays in nested tuples, lists, mappings and dataclasses, in order, with their names as layers.

    The first has the name of the layer; each further one is named by its position below it, such as ``layer.1`` or
    ``layer.pooled``.

    Example:
        >>> def is_float(value): return isinstance(value, float)
        >>> named_layers("head", (None, {"hidden": 3.0, "pooled": 4.0}, [5.0]), is_float)
        {'head': 3.0, 'head.1.pooled': 4.0, 'head.2.0': 5.0}
    """
    found = list(_arrays(output, is_array))
    return {".".join((layer, *path)) if number else layer: array for number, (path, array) in enumerate(found)}


def may_give(layer: str, wanted: Collection[str] | None) -> bool:
    """Whether any of the wanted layers may be an output of this one; None stands for all layers.

    Example:
        >>> may_give("head", ["head.1"]), may_give("head", ["heads"]), may_give("head", None)
        (True, False, True)
    """
    return wanted is None or any(name == layer or name.startswith(f"{layer}.") for name in wanted)


def spread(batch: Any, arguments: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments for a batch; a tuple or dict is several inputs.

    Example:
        >>> spread((1, 2), {"train": False}), spread({"pixels": 1}, {}), spread(1, {})
        (((1, 2), {'train': False}), ((), {'pixels': 1}), ((1,), {}))
    """
    if isinstance(batch, Mapping):
        return (), {**batch, **arguments}
    return batch if isinstance(batch, tuple) else (batch,), dict(arguments)


def _arrays(output: Any, is_array: Callable[[Any], bool]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if is_array(output):
        yield (), output
        return
    if isinstance(output, Mapping):  # first, because a Hugging Face ModelOutput is also a dataclass
        parts = output.items()
    elif is_dataclass(output) and not isinstance(output, type):
        parts = ((field.name, getattr(output, field.name)) for field in fields(output))
    elif isinstance(output, (tuple, list)):
        parts = zip(getattr(output, "_fields", range(len(output))), output, strict=True)
    else:
        return
    for key, part in parts:
        for path, array in _arrays(part, is_array):
            yield (str(key), *path), array
