"""Small helper functions that plugins import."""

from __future__ import annotations

import copy
import inspect
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.core.files import written_aside
from bsjax.data.remote.web_files import fetch_address


def _home() -> Path:
    return Path(os.environ.get("BRAINSCORE_HOME") or "~/.brain-score").expanduser()


framework_home = _home()
screen_folder = framework_home / "stimuli_on_screen"


def fullname(obj: object) -> str:
    """Module and name of a function, or of the class of anything else.

    Example:
        >>> fullname(fullname), fullname(3)
        ('bsjax.compat.helpers.fullname', 'builtins.int')
    """
    named: Any = obj if inspect.isfunction(obj) else type(obj)
    return f"{named.__module__}.{named.__name__}"


def is_iterable(x: object) -> bool:
    """Whether an object is iterable and not a string."""
    return isinstance(x, Iterable) and not isinstance(x, str)


def make_list(element: Any) -> Any:
    """Wrap a single object in a list; iterables are unchanged.

    Example:
        >>> make_list("conv1"), make_list(("conv1", "conv2"))
        (['conv1'], ('conv1', 'conv2'))
    """
    return element if is_iterable(element) and not isinstance(element, bytes) else [element]


def iterable_to_list(element: Any) -> Any:
    """Convert nested tuples and arrays to nested lists; other objects are unchanged."""
    several = isinstance(element, (list, tuple)) or (isinstance(element, np.ndarray) and element.ndim > 0)
    return [iterable_to_list(each) for each in element] if several else element


def map_fields(obj: object, func: Callable[[Any], Any]) -> None:
    """Replace each attribute of an object by the result of a function."""
    for name, value in list(vars(obj).items()):
        setattr(obj, name, func(value))


def combine_fields(objs: Sequence[Any], func: Callable[[list[Any]], Any]) -> Any:
    """Combine objects into one by applying a function to the values of each attribute; the class takes them by name."""
    if not objs:
        return objs
    return type(objs[0])(**{name: func([getattr(each, name) for each in objs]) for name in vars(objs[0])})


def recursive_dict_merge(dict1: Mapping[Any, Any], dict2: Mapping[Any, Any]) -> dict[Any, Any]:
    """Merge two dicts, and nested dicts likewise; otherwise values of the second take precedence.

    Example:
        >>> recursive_dict_merge({"a": {"b": 1}}, {"a": {"c": 2}})
        {'a': {'b': 1, 'c': 2}}
    """
    merged = copy.deepcopy(dict(dict1))
    for key, value in dict2.items():
        both = isinstance(merged.get(key), Mapping) and isinstance(value, Mapping)
        merged[key] = recursive_dict_merge(merged[key], value) if both else value
    return merged


def change_dict(
    d: Mapping[str, Any], change_function: Callable[..., Any], keep_name: bool = False, multithread: bool = False
) -> OrderedDict[str, Any]:
    """Apply a function to each value of a dict, or to each name and value."""

    def changed(item: tuple[str, Any]) -> tuple[str, Any]:
        name, value = item
        return name, change_function(name, value) if keep_name else change_function(value)

    if not multithread:
        return OrderedDict(map(changed, d.items()))
    with ThreadPool() as threads:
        return OrderedDict(threads.map(changed, d.items()))


def flatten(layer_output: np.ndarray, return_index: bool = False) -> Any:
    """Flatten all axes of activations except the first; with ``return_index`` also return the indices of these axes."""
    flat = layer_output.reshape(layer_output.shape[0], -1)
    if not return_index:
        return flat
    return flat, np.stack([axis.ravel() for axis in np.indices(layer_output.shape[1:])], axis=1)


def lstrip_local(path: str) -> str:
    """The part of a path from the folder ``.brainio`` on; other paths are unchanged."""
    parts = path.split(os.sep)
    return os.sep.join(parts[parts.index(".brainio") :]) if ".brainio" in parts else path


def download_weight_file(url: str, folder: str | None = None) -> str:
    """Download a file from the web to ``$BRAINSCORE_HOME/models`` (``~/.brain-score``), unless it exists; its path.

    Args:
        url: the address.
        folder: subfolder for the file.

    Raises:
        PermissionError, ConnectionError: the file cannot be downloaded completely; nothing is stored.
    """
    path = _home() / "models" / (folder or "") / Path(url).name
    if not path.exists():
        with written_aside(path) as part:
            if not fetch_address(url, part):
                raise ConnectionError(f"cannot fetch {url} (404: there is no such file)")
    return str(path)
