"""Cache of function results on disk, keyed by the identity of the function and its arguments."""

from __future__ import annotations

import functools
import inspect
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload
from zipfile import BadZipFile

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.activations.cache.cache import is_switched_off
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.files import as_json, cache_dir, optional, warn_once, write_atomically
from bsjax.core.identity.opened import Notes, following, unchanged
from bsjax.core.identity.source import OF_SCORES, own_source
from bsjax.core.identity.values import identity_of
from bsjax.data.types.assemblies import resolve_assembly_class
from bsjax.data.types.stimuli import StimulusSet
from bsjax.labelled import Score
from bsjax.labelled.plain_values import from_plain, to_plain

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
# Kinds of dtype that are stored as bytes; object arrays are stored as lists.
_AS_BYTES = "biufcSUmM"


@overload
def cached(function: Callable[Arguments, Result], /) -> Callable[Arguments, Result]: ...
@overload
def cached(*, version: str | None = None) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]: ...
def cached(function: Any = None, /, *, version: str | None = None) -> Any:
    """Decorator that stores what a function returns, so that each call is computed once across processes.

    The key is the identity (:func:`bsjax.core.identity.values.identity_of`) of the function and all its arguments: its
    source, the functions and plain values that it reads from outside, and the contents of its arguments. A changed
    line, array or weight therefore triggers a new computation. Files, folders and environment variables that are read
    during the call are recorded and checked before a result is reused. If a call cannot be identified, or returns a
    type that is not listed below, it runs every time, with a warning.

    Results may be numbers, text, dates, NumPy and JAX arrays, labelled arrays, assemblies and stimulus sets (whose
    files stay in place), scores, and lists, tuples and dicts of these. They are stored in ``$BSJAX_HOME/functions``.
    Nothing is evicted; delete the folder to clear the cache.

    ``RESULTCACHING_DISABLE=1`` switches caching off.

    Args:
        function: the function; for a method, the object is one of its arguments.
        version: replaces the function's source and what it reads in the key. Change it to recompute results.

    Raises:
        TypeError: the argument is not callable.

    Example:
        >>> calls = []
        >>> @cached(version="1")
        ... def mean(values):
        ...     calls.append(len(values))
        ...     return values.mean(axis=0)
        >>> mean(np.ones((3, 2))), mean(np.ones((3, 2)))
        (array([1., 1.]), array([1., 1.]))
        >>> len(calls) <= 1  # 0 if an earlier process has computed it
        True
    """
    if function is None:
        return functools.partial(_decorated, version=version)
    return _decorated(function, version)


def _decorated(function: Callable[Arguments, Result], version: str | None) -> Callable[Arguments, Result]:
    if not callable(function):
        raise TypeError(f"cached decorates a function, got {function!r}: settings have names, as in version='1'")
    name = f"{function.__module__}.{function.__qualname__}"
    parameters = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if is_switched_off(name):
            return function(*args, **kwargs)
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        made_by = function if version is None else [name, version]
        try:
            key = identity_of([own_source(*OF_SCORES), made_by, dict(bound.arguments)])
        except Undigestible as error:
            warn_once(f"what {name} returns is not kept: {error}; version='...' vouches for the function")
            return function(*args, **kwargs)
        place = cache_dir() / "functions" / key[:2] / f"{key}.npz"
        kept = _kept(place)
        if kept is not None:
            return kept[0]
        with following() as followed:
            result = function(*args, **kwargs)
        _keep(place, result, followed.notes(), name)
        return result

    return call


def _kept(place: Path) -> tuple[Any] | None:
    """The stored result, if the files read for it are unchanged; None otherwise, and if the file is damaged."""
    try:
        with open(place, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            said = json.loads(file["said"].tobytes())
            return (_restored(said["result"], file),) if unchanged(said["opened"]) else None
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
        return None


def _keep(place: Path, result: Any, notes: Notes, name: str) -> None:
    arrays: list[np.ndarray] = []
    try:
        said = as_json({"result": _taken_apart(result, f"what {name} returns", arrays), "opened": notes})
    except ValueError as error:
        warn_once(f"{error}; it is not kept")
        return
    content = io.BytesIO()
    held: dict[str, Any] = {"said": np.frombuffer(said, np.uint8)} | {f"a{n}": each for n, each in enumerate(arrays)}
    np.savez(content, **held)
    with optional("keep what functions return", place.parent):
        write_atomically(place, content.getvalue(), sync=False)


def _taken_apart(value: Any, what: str, arrays: list[np.ndarray]) -> dict[str, Any]:
    """A value as JSON; arrays are collected separately as bytes."""

    def part(entry: Any) -> dict[str, Any]:
        return _taken_apart(entry, what, arrays)

    match value:
        case Score():
            return {"score": value.to_dict()}
        case xr.DataArray():
            if type(value) is not xr.DataArray:
                resolve_assembly_class(type(value).__name__)
            # A multi-level index is stored as its coordinates.
            plain = xr.DataArray(value)
            levels = {dim: list(index.names) for dim, index in plain.indexes.items() if index.nlevels > 1}
            levels = {dim: names for dim, names in levels.items() if dim in plain.dims}
            flat = plain.drop_attrs(deep=False).reset_index(list(levels)).to_dict(data="array")
            return {"labelled": [part(each) for each in (type(value).__name__, flat, dict(value.attrs), levels)]}
        case StimulusSet():
            table = part({name: column.to_numpy() for name, column in value.items()})
            paths = part({stimulus_id: str(path) for stimulus_id, path in value.stimulus_paths.items()})
            index = part(value.index.to_numpy())
            return {"stimuli": {"table": table, "index": index, "identifier": value.identifier, "paths": paths}}
        case np.ndarray() | jax.Array() if np.asarray(value).dtype.kind in _AS_BYTES:
            arrays.append(np.asarray(value))
            return {"jax" if isinstance(value, jax.Array) else "array": f"a{len(arrays) - 1}"}
        case list() | tuple() if type(value) in (list, tuple):
            return {type(value).__name__: [part(each) for each in value]}
        case dict():
            return {"dict": [[to_plain(key, what), part(each)] for key, each in value.items()]}
    return {"plain": to_plain(value, what)}


def _restored(said: dict[str, Any], file: Any) -> Any:
    """The value that was passed to ``_taken_apart``."""
    [(kind, content)] = said.items()
    match kind:
        case "labelled":
            name, flat, attrs, levels = (_restored(each, file) for each in content)
            made = xr.DataArray.from_dict(flat).assign_attrs(attrs).set_index(levels)
            return made if name == "DataArray" else resolve_assembly_class(name)(made)
        case "score":
            return Score.from_dict(content)
        case "stimuli":
            table, index, paths = (_restored(content[name], file) for name in ("table", "index", "paths"))
            if lost := [path for path in paths.values() if not Path(path).is_file()]:
                raise FileNotFoundError(f"no file at {lost[0]}")  # the result is recomputed
            return StimulusSet(table, index=index, identifier=content["identifier"], stimulus_paths=paths)
        case "array":
            return file[content]
        case "jax":
            return jnp.asarray(file[content])
        case "list":
            return [_restored(each, file) for each in content]
        case "tuple":
            return tuple(_restored(each, file) for each in content)
        case "dict":
            return {from_plain(key): _restored(each, file) for key, each in content}
    return from_plain(content)
