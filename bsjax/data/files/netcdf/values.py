"""Representation of arrays and attributes in netCDF, which does not support all of their types.

| value | in the file |
|---|---|
| text | UTF-8 strings of any length; a missing value is a text that does not occur otherwise, in ``missing_value`` |
| bool | int8 with the attribute ``dtype = "bool"`` |
| int, uint, float32, float64 | unchanged |
| datetime64 | int64, ``nanoseconds since 1970-01-01``; read back in nanoseconds |
| object | the common type of its values; numbers with missing values are float64 with NaN |

Attributes are text, numbers, or lists of either. Other values that JSON can represent (None, bool, dict, list of
lists, ...) are stored as JSON, and ``bsjax_json`` lists their names.
"""

import datetime
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bsjax.core.messages import some

UNNAMED = "__xarray_dataarray_variable__"  # xarray's name in files for an array without a name
JSON_NAMES = "bsjax_json"

# Candidates for representing missing text: the first that does not occur is used. Brain-Score writes "".
_MISSING_TEXTS = ("", "NaN", "missing", "<missing>", "<no value>")

# Names reserved by netCDF or xarray.
_RESERVED = {
    *("CLASS", "DIMENSION_LABELS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST", "_FillValue", "_Netcdf4Coordinates"),
    *("_Netcdf4Dimid", "_NCProperties", "_nc3_strict", "_Unsigned", "_Encoding", "add_offset", "calendar"),
    *("coordinates", "dtype", "grid_mapping", "missing_value", "scale_factor", JSON_NAMES),
}
_NAME = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff][^\s/\x00-\x1f\x7f]*")
_INT64 = range(-(2**63), 2**63)


def name_problems(names: Iterable[Any], what: str) -> list[str]:
    """Problems of names that cannot be used for variables, dimensions or attributes.

    Example:
        >>> name_problems(["region", "object name"], "coordinate")
        ["coordinate 'object name': a name in a file is text without spaces and slashes; rename it"]
    """
    return [
        f"{what} {name!r}: a name in a file is text without spaces and slashes; rename it"
        for name in names
        if not (isinstance(name, str) and _NAME.fullmatch(name) and unicodedata.is_normalized("NFC", name))
    ]


def aliases(dim: Any) -> tuple[str, str]:
    """Names in files of a dimension's only coordinate, or of a coordinate with the dimension's name.

    Example:
        >>> aliases("neuroid")
        ('neuroid_', 'neuroid_level_0')
    """
    return f"{dim}_", f"{dim}_level_0"


def stored_array(values: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Convert an array to the values to write, and the attributes needed to read it.

    Raises:
        ValueError: a file cannot hold such values; the message gives advice.

    Example:
        >>> stored_array(np.array([True, False]))
        (array([1, 0], dtype=int8), {'dtype': 'bool'})
        >>> stored_array(np.array(["IT", None], dtype=object))
        (array(['IT', ''], dtype=object), {'missing_value': ''})
    """
    kind = values.dtype.kind
    if kind == "O":
        return _stored_objects(values)
    if kind in "UT":
        return _checked_text(values.astype(object)), {}
    if kind == "b":
        return values.astype(np.int8), {"dtype": "bool"}
    if kind in "iu":
        return values, {}
    if kind == "f" and values.dtype.itemsize in (4, 8):
        return values, {"_FillValue": values.dtype.type(np.nan)}
    if kind == "f":
        raise ValueError(f"a file holds no {values.dtype}: use astype('float32') or astype('float64')")
    if kind == "M":
        return _stored_times(values)
    advice = {
        "m": "store numbers, such as milliseconds",
        "S": "decode bytes to text first, with np.char.decode",
        "c": "store the real and the imaginary part",
    }
    raise ValueError(f"a file holds no {values.dtype}: {advice.get(kind, 'store numbers or text')}")


def _stored_objects(values: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    missing = np.asarray(pd.isna(values))
    present = values[~missing]
    kinds = {type(value) for value in present.flat}
    if not kinds:
        return stored_array(np.full(values.shape, np.nan))
    if all(issubclass(kind, str) for kind in kinds):
        if not missing.any():
            return _checked_text(values), {}
        stand_in = next((text for text in _MISSING_TEXTS if text not in set(present.flat)), None)
        if stand_in is None:
            raise ValueError(f"texts are missing, and each of {_MISSING_TEXTS} occurs among them: fill them in")
        return _checked_text(np.where(missing, stand_in, values)), {"missing_value": stand_in}
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds) and not missing.any():
        return stored_array(values.astype(bool))
    if all(issubclass(kind, (int, float, np.integer, np.floating)) and not issubclass(kind, bool) for kind in kinds):
        return _stored_numbers(values, missing)
    if all(issubclass(kind, (datetime.datetime, np.datetime64)) for kind in kinds):
        return stored_array(np.where(missing, np.datetime64("NaT"), values).astype("datetime64[ns]"))
    names = sorted(kind.__name__ for kind in kinds)
    lost = f", {int(missing.sum())} of them missing" if missing.any() else ""
    raise ValueError(f"values of type {', '.join(names)}{lost}: a file holds text, bool, numbers or times, not mixed")


def _stored_numbers(values: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    # A NumPy integer would be converted when compared with a float.
    given = [int(value) if isinstance(value, np.integer) else value for value in values[~missing].tolist()]
    if not missing.any() and all(isinstance(value, (int, np.integer)) for value in given):
        for dtype in (np.int64, np.uint64):
            if all(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in given):
                return values.astype(dtype), {}
    else:
        numbers = np.where(missing, np.nan, values).astype(np.float64)
        if given == numbers[~missing].tolist():
            return stored_array(numbers)
    raise ValueError("numbers too large for 64 bits, or for a float64 beside missing or fractional ones")


def _checked_text(texts: np.ndarray) -> np.ndarray:
    for text in texts.flat:
        if "\0" in text:
            raise ValueError(f"a file cannot hold a text with a null character in it: {text!r}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"a file cannot hold {text!r}, which is not Unicode text") from error
    return texts


def _stored_times(values: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    unit = np.datetime_data(values.dtype)[0]
    if unit == "generic":
        raise ValueError("times without a unit: use astype('datetime64[ns]')")
    nanoseconds = values.astype("datetime64[ns]")
    if (nanoseconds.astype(values.dtype) != values)[~np.isnat(values)].any():
        raise ValueError("times outside of the years 1678 to 2261, or finer than nanoseconds")
    # Units such as "days since" do not allow missing times in integers, but nanoseconds do.
    return nanoseconds.astype(np.int64), {"units": "nanoseconds since 1970-01-01", "calendar": "proleptic_gregorian"}


def stored_attributes(attrs: Mapping[Any, Any], of: str) -> tuple[dict[str, Any], list[str]]:
    """Convert attributes to the values to write, and list the problems of those that cannot be written.

    Args:
        attrs: the attributes.
        of: their owner, for messages.

    Example:
        >>> stored_attributes({"identifier": "A", "public": True, "bins": [70, 170]}, "the assembly")[0]
        {'identifier': 'A', 'public': 'true', 'bins': array([ 70, 170]), 'bsjax_json': 'public'}
        >>> stored_attributes({"size": 3, "units": "days since then"}, "the assembly")[1]
        ["attribute 'units' of the assembly: netCDF reads 'days since then' as that of times; rename it"]
    """
    stored: dict[str, Any] = {}
    as_json = []
    problems = name_problems(attrs, f"attribute of {of}")
    for name, value in attrs.items():
        if name in _RESERVED:
            problems.append(f"attribute {name!r} of {of}: netCDF uses that name for itself; rename it")
        elif name == "units" and isinstance(value, str) and " since " in value:
            problems.append(f"attribute 'units' of {of}: netCDF reads {value!r} as that of times; rename it")
        elif (plain := _plain(value)) is not None:
            stored[name] = plain
        else:
            try:
                _check_keys(value)
                stored[name] = json.dumps(value, default=_jsonable)
            except (TypeError, ValueError) as error:
                problems.append(f"attribute {name!r} of {of}: {error}; drop it, or make it text or numbers")
                continue
            as_json.append(str(name))
    if as_json:
        stored[JSON_NAMES] = " ".join(as_json)
    return stored, problems


def read_attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Restore attributes from their stored form; those of other writers become Python's own types.

    Example:
        >>> read_attributes({"public": "true", "n": np.int64(3), "bsjax_json": "public"})
        {'public': True, 'n': 3}
    """
    as_json = str(attrs.get(JSON_NAMES, "")).split()
    read: dict[str, Any] = {}
    for name, value in attrs.items():
        if name == JSON_NAMES:
            continue
        if name in as_json and isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError as error:
                raise ValueError(f"attribute {name!r} is not the JSON that it should be ({error})") from error
        read[name] = value.item() if isinstance(value, np.generic) else value
    return read


def _plain(value: Any) -> Any:
    """The value if netCDF has a type for it, else None."""
    if isinstance(value, str):
        # netCDF text ends at a null character, and must be valid Unicode; JSON escapes both.
        plain = "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
        return str(value) if plain else None
    if isinstance(value, (bool, np.bool_)):
        return None
    if type(value) in (float, np.float32, np.float64) or isinstance(value, np.integer):
        return value
    if isinstance(value, int) and value in _INT64:
        return value
    if type(value) is np.ndarray:
        return value if value.ndim == 1 and len(value) > 1 and value.dtype.str[1:] in _NUMBERS else None
    if isinstance(value, (list, tuple)) and len(value) > 1:  # a single value would be read back without its list
        if all(type(entry) is str and _plain(entry) is not None and entry for entry in value):
            return list(value)
        if len({type(entry) for entry in value}) == 1 and type(value[0]) in (int, float):
            return np.array(value) if all(_plain(entry) is not None for entry in value) else None
    return None


_NUMBERS = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}


def _check_keys(value: Any) -> None:
    """Raise an error for keys other than text, which JSON would convert."""
    if isinstance(value, dict):
        other = [key for key in value if not isinstance(key, str)]
        if other:
            raise TypeError(f"the keys of a dict have to be text, got {some(other)}")
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        _check_keys(entry)


def _jsonable(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return value.tolist()
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    raise TypeError(f"a file cannot hold a {type(value).__name__} ({some([value])})"[:200])
