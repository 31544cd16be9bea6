"""The table of behavioural benchmarks, as it is written in ``behaviors.toml``: light enough to be listed."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def behavior_rows() -> dict[str, dict[str, Any]]:
    """Identifier -> the fields of its row.

    Example:
        >>> all("factory" in row and "summary" in row for row in behavior_rows().values())
        True
    """
    table = tomllib.loads(Path(__file__).with_name("behaviors.toml").read_text(encoding="utf-8"))
    return {row["identifier"]: row for row in table["benchmark"]}
