"""Numbers and texts as a page holds them: columns as base64, JSON that no page takes for its own markup."""

from __future__ import annotations

import base64
import json
import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

_MOST_SHOWN = 1e6
# What ends a script, opens a tag or a comment, or ends a line for older readers of JavaScript. All other characters
# that are not ASCII are written as their numbers, too.
_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "<>&"}


def column(values: np.ndarray) -> str:
    """Numbers in base64: their bytes in C order, little-endian.

    Args:
        values: of 64-bit floats, or whole numbers.

    Example:
        >>> column(np.array([1.0, float("nan")])), column(np.array([1, 2], np.int8))
        ('AAAAAAAA8D8AAAAAAAD4fw==', 'AQI=')
    """
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return base64.b64encode(little.tobytes()).decode()


def json_in_page(value: Any) -> str:
    """JSON that can stand in a ``<script>`` and in JavaScript, whatever its texts hold.

    Raises:
        ValueError: NaN or an infinity is among its numbers.

    Example:
        >>> json_in_page({"name": "</script>\u2028é"})
        '{"name":"\\\\u003c/script\\\\u003e\\\\u2028\\\\u00e9"}'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.translate(str.maketrans(_ESCAPED))


def script(name: str, value: Any) -> str:
    """A script that sets a global to a value, for pages that cannot read files.

    Example:
        >>> script("bsjaxData", [1])
        'window.bsjaxData = [1];\\n'
    """
    return f"window.{name} = {json_in_page(value)};\n"


def shown(value: float | None, decimals: int = 3) -> str:
    """A number as pages show it, by the rule of JavaScript's ``toFixed``: halves are rounded away from zero.

    Args:
        value: the number; None and NaN are shown as nothing.
        decimals: digits after the point. What is greater than a million is written in full.

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
