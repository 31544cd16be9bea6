"""Plain values: anything that strict JSON can hold, and back without a loss.

Text, numbers, ``None``, lists, and dicts with keys of text stand for themselves. Whatever JSON has no word for is a
dict with a single key, which begins with ``$`` and names the kind: ``{"$float": "nan"}``, ``{"$tuple": [1, 2]}``.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DTYPE = re.compile(
    r"bool|u?int(8|16|32|64)|float(16|32|64)|object|[<>][iuf][248]|[<>]U\d{1,9}|\|S\d{1,9}"
    r"|(datetime64|timedelta64|[<>][Mm]8)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
# Bytes that a file's dtype of text may claim beyond its longest text.
_WIDEST_SPARE = 4096
_MOST_SHOWN = 60
# What pandas calls arrays of objects that need no look at each of them.
_OBJECTS_OF_JSON = {"string", "integer", "floating", "boolean", "empty"}


def to_plain(value: Any, what: str) -> Any:
    """``value`` as strict JSON can hold it; ``from_plain`` gives it back.

    NumPy's numbers come back as Python's of the same value, everything else as it is.

    Args:
        value: None, text, a number, a date, a NumPy or labelled array, or a list, tuple or dict of such.
        what: what it is, for messages.

    Raises:
        ValueError: there is something else in it; the message says where.

    Example:
        >>> to_plain({"bins": (70, 170), "threshold": float("inf")}, "the settings")
        {'bins': {'$tuple': [70, 170]}, 'threshold': {'$float': 'inf'}}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # of NumPy's text and of enumerations, the text itself
    if isinstance(value, np.bool):
        return bool(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):  # NumPy counts that as one
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _float_to_plain(value, what)
    if isinstance(value, tuple):
        return {"$tuple": [to_plain(entry, f"{what}[{n}]") for n, entry in enumerate(value)]}
    if isinstance(value, list):
        return [to_plain(entry, f"{what}[{n}]") for n, entry in enumerate(value)]
    if isinstance(value, Mapping):
        return _mapping_to_plain(value, what)
    if isinstance(value, xr.DataArray):
        return {"$labelled": labelled_to_plain(value, what)}
    if isinstance(value, (np.ndarray, np.generic)):
        kind = "$array" if isinstance(value, np.ndarray) else "$scalar"
        return {kind: {"shape": list(value.shape), **_values_to_plain(np.asanyarray(value), what)}}
    if type(value) is date:
        return {"$date": value.isoformat()}
    if type(value) is datetime and (value.tzinfo is None or type(value.tzinfo) is timezone):
        return {"$datetime": value.isoformat()}
    raise ValueError(
        f"{what} is a {type(value).__name__}, which cannot be written as JSON: expected None, text, numbers, dates, "
        "NumPy or labelled arrays, or lists, tuples and dicts of them"
    )


def from_plain(plain: Any) -> Any:
    """What ``to_plain`` was given.

    Raises:
        ValueError, TypeError, KeyError: it is not what ``to_plain`` makes.

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


def number_to_plain(value: float) -> float | str:
    """A float in a place where only numbers are: one that is not finite is the text that ``float`` reads.

    Example:
        >>> number_to_plain(0.5), number_to_plain(float("nan"))
        (0.5, 'nan')
    """
    return float(value) if math.isfinite(value) else str(float(value))


def number_from_plain(plain: Any, what: str) -> float:
    """What ``number_to_plain`` was given.

    Args:
        plain: a number, or ``"nan"``, ``"inf"`` or ``"-inf"``.
        what: what it is, for messages.

    Raises:
        ValueError: it is something else, or an integer larger than any float.

    Example:
        >>> number_from_plain("-inf", "the score")
        -inf
    """
    if isinstance(plain, str) and plain in _NOT_FINITE:
        return _NOT_FINITE[plain]
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise ValueError(f"{what} must be a number, or one of {', '.join(map(repr, _NOT_FINITE))}, got {_short(plain)}")
    try:
        return float(plain)
    except OverflowError as error:
        raise ValueError(f"{what} is an integer larger than any float") from error


def labelled_to_plain(array: xr.DataArray, what: str) -> dict[str, Any]:
    """A labelled array with its name, coordinates and attributes as strict JSON can hold it.

    Attributes that JSON cannot hold, such as the stimuli of a recording, are left out.

    Args:
        array: the array.
        what: what it is, for messages.

    Raises:
        ValueError: it has names or values that JSON cannot hold.

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
        **_variable_to_plain(array, what),
        "shape": list(array.shape),
        "coords": {name: _variable_to_plain(coord, f"{what}.{name}") for name, coord in array.coords.items()},
        **({"levels": levels} if levels else {}),
        **({} if array.name is None else {"name": array.name}),
    }


def labelled_from_plain(plain: Any, what: str) -> xr.DataArray:
    """What ``labelled_to_plain`` was given.

    Args:
        plain: the dict.
        what: what it is, for messages.

    Raises:
        ValueError, TypeError, KeyError: it is not what ``labelled_to_plain`` makes.

    Example:
        >>> array = xr.DataArray([1, 2], dims=["split"], coords={"split": ["a", "b"]})
        >>> labelled_from_plain(labelled_to_plain(array, "raw"), "raw").identical(array)
        True
    """
    plain = _checked(plain, dict, what)
    dims, shape = _names(plain["dims"], f"the dims of {what}"), _shape(plain["shape"], what)
    if len(dims) != len(shape):
        raise ValueError(f"{what} has the dimensions {dims} and the shape {shape}, which do not fit one another")
    sizes = dict(zip(dims, shape, strict=True))
    coords = {
        str(name): _variable_from_plain(coord, sizes, f"{what}.{name}")
        for name, coord in _checked(plain["coords"], dict, f"the coords of {what}").items()
    }
    if any(name in sizes and coord.dtype == np.float16 for name, coord in coords.items()):
        raise ValueError(f"{what} has a dimension with labels of float16, for which there is no index")
    name = plain.get("name")
    array = xr.DataArray(
        _variable_from_plain(plain, sizes, what), coords, name=None if name is None else _checked(name, str, what)
    )
    levels = _checked(plain.get("levels", {}), dict, f"the levels of {what}")
    for dim, names in levels.items():
        if any(array[level].dims != (dim,) for level in _names(names, f"the levels of {what}")):
            raise ValueError(f"{what} has levels of {_short(dim)} that are no coordinates on it")
    return array.set_index(levels)


def check_labelled(array: xr.DataArray, what: str) -> None:
    """Find out whether ``labelled_to_plain`` can write an array, without doing it for numbers and text.

    Raises:
        ValueError: it cannot.

    Example:
        >>> check_labelled(xr.DataArray([len], dims=["split"]), "raw")
        Traceback (most recent call last):
        ...
        ValueError: raw[0] is a builtin_function_or_method, which cannot be written as JSON: expected ...
    """
    labelled_to_plain(array.isel({dim: slice(0) for dim in array.dims}), what)
    for name, part in {"": array, **array.coords}.items():
        values = np.asarray(part.values)
        if values.dtype.kind == "O" and pd.api.types.infer_dtype(values, skipna=False) not in _OBJECTS_OF_JSON:
            _values_to_plain(values, f"{what}.{name}" if name else what)


def said(given: Any) -> str:
    """A value with its type, for messages.

    Example:
        >>> said(3)
        'the int 3'
    """
    return f"the {type(given).__name__} {_short(given)}"


def _float_to_plain(value: float | np.floating, what: str) -> Any:
    plain = float(value)
    if plain != value and not math.isnan(plain):
        raise ValueError(f"{what} is the {type(value).__name__} {value!r}, which has more digits than a float64 holds")
    return plain if math.isfinite(plain) else {"$float": str(plain)}


def _mapping_to_plain(value: Mapping[Any, Any], what: str) -> dict[str, Any]:
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {str.__str__(key): to_plain(entry, f"{what}[{key!r}]") for key, entry in value.items()}
    pairs = [[to_plain(key, f"a key of {what}"), to_plain(entry, f"{what}[{key!r}]")] for key, entry in value.items()]
    return {"$dict": pairs}


def _is_plain(value: Any) -> bool:
    try:
        to_plain(value, "")
    except (ValueError, RecursionError):
        return False
    return True


def _variable_to_plain(part: xr.DataArray, what: str) -> dict[str, Any]:
    attrs = {key: value for key, value in part.attrs.items() if _is_plain({key: value})}
    plain = {"dims": list(part.dims), **_values_to_plain(np.asarray(part.values), what)}
    return {**plain, "attrs": to_plain(attrs, what)} if attrs else plain


def _variable_from_plain(plain: Any, sizes: dict[str, int], what: str) -> xr.Variable:
    plain = _checked(plain, dict, what)
    dims = _names(plain["dims"], f"the dims of {what}")
    values = _values_from_plain(plain, [sizes[dim] for dim in dims], what)
    return xr.Variable(dims, values, _checked(from_plain(plain.get("attrs", {})), dict, f"the attrs of {what}"))


def _values_to_plain(values: np.ndarray, what: str) -> dict[str, Any]:
    """The dtype of an array, and its values as a flat list."""
    dtype, flat = values.dtype, values.ravel()
    if isinstance(values, np.ma.MaskedArray) or not _DTYPE.fullmatch(str(dtype)):
        raise ValueError(
            f"{what} has the type {type(values).__name__} and the dtype {dtype}, which cannot be written as JSON: "
            "expected numbers of at most 64 bits, truth values, text, dates or objects"
        )
    if dtype.kind == "O":
        listed = [to_plain(value, f"{what}[{n}]") for n, value in enumerate(flat)]
    elif dtype.kind == "f":
        listed = [number_to_plain(value) for value in flat.tolist()]
    elif dtype.kind in "Mm":
        listed = flat.astype(dtype.newbyteorder("="), copy=False).view(np.int64).tolist()
    else:
        listed = [v.decode("latin-1") for v in flat.tolist()] if dtype.kind == "S" else flat.tolist()
    return {"dtype": str(dtype), "values": listed}


def _values_from_plain(plain: dict[str, Any], shape: list[int], what: str) -> np.ndarray:
    listed, name = _checked(plain["values"], list, f"the values of {what}"), plain["dtype"]
    if not isinstance(name, str) or not _DTYPE.fullmatch(name):
        raise ValueError(f"{what} has no dtype that is known, but {_short(name)}")
    dtype = np.dtype(name)
    if len(listed) != math.prod(shape):
        raise ValueError(f"{what} has {len(listed)} values, its shape {shape} has {math.prod(shape)}")
    try:
        return _array(listed, dtype, what).reshape(shape)
    except OverflowError as error:
        raise ValueError(f"{what} has values that {dtype} cannot hold: {error}") from error


def _array(listed: list[Any], dtype: np.dtype, what: str) -> np.ndarray:
    if dtype.kind == "O":
        return np.fromiter((from_plain(value) for value in listed), dtype, len(listed))
    if dtype.kind == "f":
        exact = np.array([number_from_plain(value, f"{what}[{n}]") for n, value in enumerate(listed)], np.float64)
        with np.errstate(over="ignore"):
            array = exact.astype(dtype)
        if not np.array_equal(array.astype(np.float64), exact, equal_nan=True):
            raise ValueError(f"{what} has values that {dtype} cannot hold")
        return array
    kind = {"b": bool, "U": str, "S": str}.get(dtype.kind, int)
    listed = [_checked(value, kind, f"{what}[{n}]") for n, value in enumerate(listed)]
    if dtype.kind in "Mm":
        return np.array(listed, np.int64).view(dtype.newbyteorder("=")).astype(dtype, copy=False)
    if dtype.kind not in "US":
        return np.array(listed, dtype)
    array = np.array([text.encode("latin-1") for text in listed] if dtype.kind == "S" else listed, dtype.kind)
    # A file may claim any width; one that its own text does not need is believed within reason.
    return array.astype(dtype) if dtype.itemsize <= max(array.itemsize, _WIDEST_SPARE) else array


def _checked(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{what} must be a {kind.__name__}, got {_short(value)}")
    return value


def _names(value: Any, what: str) -> list[str]:
    names = [_checked(name, str, f"each of {what}") for name in _checked(value, list, what)]
    if len(set(names)) < len(names):
        raise ValueError(f"{what} must be different names, got {_short(names)}")
    return names


def _shape(value: Any, what: str) -> list[int]:
    shape = [_checked(n, int, f"the shape of {what}") for n in _checked(value, list, f"the shape of {what}")]
    if any(n < 0 for n in shape):
        raise ValueError(f"the shape of {what} must not be negative, got {shape}")
    return shape


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _array_from_plain(content: Any) -> np.ndarray:
    content = _checked(content, dict, "an array")
    return _values_from_plain(content, _shape(content["shape"], "an array"), "an array")


def _dict_from_plain(content: Any) -> dict[Any, Any]:
    pairs = _checked(content, list, "the pairs of a dict")
    return {from_plain(key): from_plain(value) for key, value in (_checked(pair, list, "a pair") for pair in pairs)}


_FROM_PLAIN: dict[str, Callable[[Any], Any]] = {
    "$array": _array_from_plain,
    "$date": lambda content: date.fromisoformat(_checked(content, str, "a date")),
    "$datetime": lambda content: datetime.fromisoformat(_checked(content, str, "a time")),
    "$dict": _dict_from_plain,
    "$float": lambda content: number_from_plain(content, "a number"),
    "$labelled": lambda content: labelled_from_plain(content, "a labelled array"),
    "$scalar": lambda content: _array_from_plain(content)[()],
    "$tuple": lambda content: tuple(from_plain(entry) for entry in _checked(content, list, "a tuple")),
}
