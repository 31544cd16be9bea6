"""Encoding of numbers and text for web pages: columns as base64, and JSON that is safe in HTML."""

import base64
import json
import math
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.core.extras import import_extra

_MOST_SHOWN = 1e6
# Characters that can end a script, or open a tag or a comment. json.dumps escapes all non-ASCII characters, among them
# those that end a line in older versions of JavaScript.
_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "<>&"}


def column(values: np.ndarray) -> dict[str, str]:
    """Encode an array as its type and, in base64, its bytes in C order, little-endian.

    Args:
        values: array of 64-bit floats or of integers.

    Example:
        >>> column(np.array([1, 2], np.int8))
        {'type': 'i1', 'base64': 'AQI='}
    """
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return {
        "type": f"{values.dtype.kind}{values.dtype.itemsize}",
        "base64": base64.b64encode(little.tobytes()).decode(),
    }


def json_in_page(value: Any) -> str:
    """Encode a value as JSON that is safe inside a ``<script>`` element and in JavaScript, for any text.

    Raises:
        ValueError: a number is NaN or infinite.

    Example:
        >>> json_in_page({"name": "</script>\u2028é"})
        '{"name":"\\\\u003c/script\\\\u003e\\\\u2028\\\\u00e9"}'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.translate(str.maketrans(_ESCAPED))


def script(name: str, value: Any) -> str:
    """Make a script that assigns a value to a global variable, for pages that cannot read files.

    Example:
        >>> script("bsjaxData", [1])
        'window.bsjaxData = [1];\\n'
    """
    return f"window.{name} = {json_in_page(value)};\n"


def shown(value: float | None, decimals: int = 3) -> str:
    """Format a number as the pages do, like JavaScript's ``toFixed``: halves are rounded away from zero.

    Args:
        value: the number; None and NaN give "".
        decimals: number of decimals. Numbers from a million on are written in full.

    Example:
        >>> [shown(value) for value in (0.0625, -0.0001, 1, 2.5e30, float("nan"), None)]
        ['0.063', '0.000', '1.000', '2.5e+30', '', '']
    """
    if value is None or math.isnan(value):
        return ""
    if abs(value) >= _MOST_SHOWN:
        return repr(float(value))
    rounded: float | Decimal = value
    if value * 2 * 10**decimals % 2 == 1:  # a half, which Python rounds to an even digit; decimals are slow
        rounded = Decimal(float(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{rounded:.{decimals}f}"
    return text[1:] if text[0] == "-" and not text.strip("-0.") else text


def templates_in(folder: Path) -> Any:
    """The templates of pages in a folder, whose values are escaped and must all be given.

    Raises:
        ImportError: the extra ``leaderboard`` is not installed.
    """
    jinja2 = import_extra("jinja2", "leaderboard")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
