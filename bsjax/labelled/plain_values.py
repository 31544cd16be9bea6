"""Plain values: conversion to and from strict JSON without loss.

Text, numbers, ``None``, lists, and dicts with text keys stand for themselves. Other values become a dict with a single
key that begins with ``$`` and names the kind: ``{"$float": "nan"}``, ``{"$tuple": [1, 2]}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from bsjax.data.types.libraries import pd, xr

_NOT_FINITE = "^(nan|-?inf)$"
Number = float | Annotated[str, Meta(pattern=_NOT_FINITE)]
"""A float in a field for numbers; NaN and infinities are the text that ``float`` reads."""

_DTYPE = (
    r"^(bool|u?int(8|16|32|64)|float(16|32|64)|object|[<>][iuf][248]|[<>]U\d{1,9}|\|S\d{1,9}"
    r"|(datetime64|timedelta64|[<>][Mm]8)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)$"
)
# The type of an array's list, by the kind of its dtype.
_LISTED: dict[str, Any] = {"b": list[bool], "f": list[Number], "O": list[Any], "U": list[str], "S": list[str]}
# Bytes by which the text dtype in a file may exceed its longest text.
_WIDEST_SPARE = 4096
_MOST_SHOWN = 60
_SIMPLE = (str, int, float, bool, NoneType)
_MOST_LOOKED_AT = 10_000
# Object arrays of these pandas types can be written without a check of each value.
_OBJECTS_OF_JSON = {"string", "integer", "floating", "boolean", "empty"}


class Array(Struct):
    """An array as a flat list with its shape; a variable of a labelled array has dimensions instead."""

    dtype: Annotated[str, Meta(pattern=_DTYPE)]
    values: list[Any]
    shape: list[Annotated[int, Meta(ge=0)]] = []
    dims: list[str] = []
    attrs: dict[str, Any] = {}


class Labelled(Array, kw_only=True):
    """A labelled array; ``levels`` names the levels of a MultiIndex per dimension."""

    coords: dict[str, Array]
    levels: dict[str, list[str]] = {}
    name: str | None = None


Value = Number | Labelled
OfValues = Callable[[np.ndarray, str], dict[str, Any]]


def checked(value: Any, kind: Any, what: str) -> Any:
    """``value`` converted to a type by msgspec; dicts become ``Struct`` objects.

    Raises:
        ValueError: it does not fit the type; the message says where.

    Example:
        >>> checked({"dtype": "float64", "values": 3}, Array, "raw")
        Traceback (most recent call last):
        ...
        ValueError: raw is the dict {'dtype': 'float64', 'values': 3}: Expected `array`, got `int` - at `$.values`
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem = str(error).replace(f"`str` matching regex '{_NOT_FINITE}'", "a number, or 'nan', 'inf' or '-inf'")
        raise ValueError(f"{what} is {said(value)}: {problem}") from error


def to_plain(value: Any, what: str, of_values: OfValues | None = None) -> Any:
    """``value`` as strict JSON; ``from_plain`` restores it.

    NumPy numbers come back as Python numbers of the same value, everything else unchanged.

    Args:
        value: None, text, a number, a date, a NumPy or labelled array, or a list, tuple or dict of these.
        what: its name in messages.
        of_values: writes an array's dtype and values; by default all values are listed. See :func:`check`.

    Raises:
        ValueError: it holds a value of another type; the message says where.

    Example:
        >>> to_plain({"bins": (70, 170), "threshold": float("inf")}, "the settings")
        {'bins': {'$tuple': [70, 170]}, 'threshold': {'$float': 'inf'}}
    """
    if isinstance(value, np.number | np.bool | np.str_) and not isinstance(value, np.timedelta64):
        value = value.item()
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)  # for enumerations, their text
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else {"$float": str(float(value))}
        case list() | tuple():
            each = [to_plain(entry, f"{what}[{n}]", of_values) for n, entry in enumerate(value)]
            return {"$tuple": each} if isinstance(value, tuple) else each
        case Mapping():
            pairs = [
                [to_plain(key, f"a key of {what}", of_values), to_plain(entry, f"{what}[{key!r}]", of_values)]
                for key, entry in value.items()
            ]
            is_text = all(isinstance(key, str) and not key.startswith("$") for key, _ in pairs)
            return dict(pairs) if is_text else {"$dict": pairs}
        case np.ndarray() | np.generic():
            array = {"shape": list(value.shape), **(of_values or _values_to_plain)(np.asanyarray(value), what)}
            return {"$array" if isinstance(value, np.ndarray) else "$scalar": array}
        case xr.DataArray():
            return {"$labelled": labelled_to_plain(value, what, of_values)}
        case date() if type(value) in (date, datetime) and type(getattr(value, "tzinfo", None)) in (NoneType, timezone):
            return {f"${type(value).__name__}": value.isoformat()}
    raise ValueError(
        f"{what} is a {type(value).__name__}, which cannot be written as JSON: expected None, text, numbers, dates, "
        "NumPy or labelled arrays, or lists, tuples and dicts of them"
    )


def from_plain(plain: Any) -> Any:
    """The value that ``to_plain`` was given.

    Raises:
        ValueError, TypeError, KeyError: ``to_plain`` does not make such a value.

    Example:
        >>> from_plain({"bins": {"$tuple": [70, 170]}, "threshold": {"$float": "inf"}})
        {'bins': (70, 170), 'threshold': inf}
    """
    if isinstance(plain, list):
        return [from_plain(entry) for entry in plain]
    if not isinstance(plain, dict):
        return plain
    if len(plain) == 1:
        [(kind, content)] = plain.items()
        if kind in _FROM_PLAIN:
            return _FROM_PLAIN[kind](content)
    return {key: from_plain(entry) for key, entry in plain.items()}


def field_to_plain(value: Any, what: str) -> Any:
    """``to_plain`` for a field of known type: a float becomes a ``Number``, a labelled array a ``Labelled``.

    Example:
        >>> field_to_plain(0.5, "value"), field_to_plain(float("nan"), "value")
        (0.5, 'nan')
    """
    if isinstance(value, float):
        return _number(value)
    return labelled_to_plain(value, what) if isinstance(value, xr.DataArray) else to_plain(value, what)


def value_of(plain: float | str | Labelled | None, what: str) -> Any:
    """The float or labelled array in a checked field that ``field_to_plain`` wrote; None stays None.

    Example:
        >>> value_of(checked("-inf", Value, "the score"), "the score")
        -inf
    """
    if isinstance(plain, Labelled):
        return _labelled(plain, what)
    return None if plain is None else float(plain)


def labelled_to_plain(array: xr.DataArray, what: str, of_values: OfValues | None = None) -> dict[str, Any]:
    """A labelled array with its name, coordinates and attributes as strict JSON.

    Attributes that JSON cannot hold, such as the stimulus set of a recording, are left out.

    Args:
        array: the array.
        what: its name in messages.
        of_values: as for :func:`to_plain`.

    Raises:
        ValueError: it has names or values that cannot be written as JSON.

    Example:
        >>> labelled_to_plain(xr.DataArray([0.5, float("nan")], dims=["split"]), "raw")
        {'dims': ['split'], 'dtype': 'float64', 'values': [0.5, 'nan'], 'shape': [2], 'coords': {}}
    """
    levels = {
        dim: list(index.names)
        for dim, index in array.indexes.items()
        if isinstance(index, pd.MultiIndex) and dim in array.dims
    }
    array = array.reset_index(list(levels)) if levels else array
    for name in (*array.dims, *array.coords, *([] if array.name is None else [array.name])):
        if not isinstance(name, str):
            raise ValueError(f"{what}, its dimensions and its coordinates must have names of text, got {name!r}")
    return {
        **_variable_to_plain(array, what, of_values),
        "shape": list(array.shape),
        "coords": {
            name: _variable_to_plain(coord, f"{what}.{name}", of_values) for name, coord in array.coords.items()
        },
        **({"levels": levels} if levels else {}),
        **({} if array.name is None else {"name": array.name}),
    }


def labelled_from_plain(plain: Any, what: str) -> xr.DataArray:
    """The labelled array that ``labelled_to_plain`` was given.

    Args:
        plain: the dict.
        what: its name in messages.

    Raises:
        ValueError, TypeError, KeyError: ``labelled_to_plain`` does not make such a dict.

    Example:
        >>> array = xr.DataArray([1, 2], dims=["split"], coords={"split": ["a", "b"]})
        >>> labelled_from_plain(labelled_to_plain(array, "raw"), "raw").identical(array)
        True
    """
    return _labelled(checked(plain, Labelled, what), what)


def _labelled(read: Labelled, what: str) -> xr.DataArray:
    sizes = dict(zip(read.dims, read.shape, strict=False))
    if not len(sizes) == len(read.dims) == len(read.shape):
        raise ValueError(
            f"{what} has the dimensions {read.dims} and the shape {read.shape}, which do not fit one another"
        )
    coords = {name: _variable(coord, sizes, f"{what}.{name}") for name, coord in read.coords.items()}
    if any(name in sizes and coord.dtype == np.float16 for name, coord in coords.items()):
        raise ValueError(f"{what} has a dimension with labels of float16, for which there is no index")
    array = xr.DataArray(_variable(read, sizes, what), coords, name=read.name)
    for dim, names in read.levels.items():
        if any(array[level].dims != (dim,) for level in names):
            raise ValueError(f"{what} has levels of {_short(dim)} that are no coordinates on it")
    return array.set_index(read.levels)


def check(value: Any, what: str) -> None:
    """Checks that ``to_plain`` can write a value, without converting the numbers and text of arrays.

    Raises:
        ValueError: it cannot; the message says where.

    Example:
        >>> check(xr.DataArray([len], dims=["split"]), "raw")
        Traceback (most recent call last):
        ...
        ValueError: raw[0] is a builtin_function_or_method, which cannot be written as JSON: expected ...
    """
    held = [value]
    for each in held:
        kind = type(each)
        if kind in _SIMPLE:
            continue
        if kind is dict and set(map(type, each)) <= {str}:
            held.extend(each.values())
        elif kind in (list, tuple):
            held.extend(each)
        elif kind is xr.DataArray and _holds_numbers_and_text(each):
            held.append(each.name)
        else:
            break
        if len(held) > _MOST_LOOKED_AT:  # a value that contains itself has no end
            break
    else:
        return
    to_plain(value, what, _check_values)


def _holds_numbers_and_text(array: xr.DataArray) -> bool:
    """Whether a labelled array can be written without a check of its values."""
    kinds = map(attrgetter("dtype.kind"), (array.variable, *array.coords.variables.values()))
    return set(kinds) <= set("biufU") and set(map(type, (*array.dims, *array.coords))) <= {str}


def _check_values(values: np.ndarray, what: str) -> dict[str, Any]:
    is_known = values.dtype.kind != "O" or pd.api.types.infer_dtype(values, skipna=False) in _OBJECTS_OF_JSON
    _values_to_plain(values.ravel()[:0] if is_known else values, what)
    return {}


def said(given: Any) -> str:
    """A value with its type, in words for messages.

    Example:
        >>> said(3)
        'the int 3'
    """
    return f"the {type(given).__name__} {_short(given)}"


def _number(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def _is_plain(value: Any) -> bool:
    try:
        check(value, "")
    except (ValueError, RecursionError):
        return False
    return True


def _variable_to_plain(part: xr.DataArray, what: str, of_values: OfValues | None) -> dict[str, Any]:
    attrs = {key: value for key, value in part.attrs.items() if _is_plain({key: value})}
    plain = {"dims": list(part.dims), **(of_values or _values_to_plain)(np.asarray(part.values), what)}
    return {**plain, "attrs": to_plain(attrs, what, of_values)} if attrs else plain


def _variable(read: Array, sizes: dict[str, int], what: str) -> xr.Variable:
    read.shape = [sizes[dim] for dim in read.dims]
    return xr.Variable(read.dims, _array(read, what), checked(from_plain(read.attrs), dict, f"the attrs of {what}"))


def _values_to_plain(values: np.ndarray, what: str) -> dict[str, Any]:
    """The dtype of an array, and its values as a flat list."""
    dtype, flat = values.dtype, values.ravel()
    if isinstance(values, np.ma.MaskedArray) or not re.match(_DTYPE, str(dtype)):
        raise ValueError(
            f"{what} has the type {type(values).__name__} and the dtype {dtype}, which cannot be written as JSON: "
            "expected numbers of at most 64 bits, truth values, text, dates or objects"
        )
    if dtype.kind == "O":
        listed = [to_plain(value, f"{what}[{n}]") for n, value in enumerate(flat)]
    elif dtype.kind == "f":
        listed = [_number(value) for value in flat.tolist()]
    elif dtype.kind in "Mm":
        listed = flat.astype(dtype.newbyteorder("="), copy=False).view(np.int64).tolist()
    else:
        listed = [v.decode("latin-1") for v in flat.tolist()] if dtype.kind == "S" else flat.tolist()
    return {"dtype": str(dtype), "values": listed}


def _array(read: Array, what: str) -> np.ndarray:
    dtype, size = np.dtype(read.dtype), math.prod(read.shape)
    if len(read.values) != size:
        raise ValueError(f"{what} has {len(read.values)} values, its shape {read.shape} has {size}")
    listed = checked(read.values, _LISTED.get(dtype.kind, list[int]), f"the values of {what}")
    try:
        array = _of_listed(listed, dtype)
    except OverflowError as error:
        raise ValueError(f"{what} has values that {dtype} cannot hold: {error}") from error
    if dtype.kind == "f" and not np.array_equal(array.astype(np.float64), np.array(listed, float), equal_nan=True):
        raise ValueError(f"{what} has values that {dtype} cannot hold")
    return array.reshape(read.shape)


def _of_listed(listed: list[Any], dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "O":
        return np.fromiter(map(from_plain, listed), dtype, len(listed))
    if dtype.kind in "Mm":
        return np.array(listed, np.int64).view(dtype.newbyteorder("=")).astype(dtype, copy=False)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(listed, np.float64).astype(dtype)
    if dtype.kind not in "US":
        return np.array(listed, dtype)
    array = np.array([text.encode("latin-1") for text in listed] if dtype.kind == "S" else listed, dtype.kind)
    # A file may claim any width; one wider than its text needs is accepted only within limits.
    return array.astype(dtype) if dtype.itemsize <= max(array.itemsize, _WIDEST_SPARE) else array


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


_FROM_PLAIN: dict[str, Callable[[Any], Any]] = {
    "$array": lambda content: _array(checked(content, Array, "an array"), "an array"),
    "$date": date.fromisoformat,
    "$datetime": datetime.fromisoformat,
    "$dict": lambda content: {
        from_plain(key): from_plain(value) for key, value in checked(content, list[tuple[Any, Any]], "a dict")
    },
    "$float": lambda content: float(checked(content, Number, "a number")),
    "$labelled": lambda content: labelled_from_plain(content, "a labelled array"),
    "$scalar": lambda content: _array(checked(content, Array, "a scalar"), "a scalar")[()],
    "$tuple": lambda content: tuple(map(from_plain, checked(content, list, "a tuple"))),
}
