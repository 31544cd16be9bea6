"""Tables as CSV files, with types preserved and reproducible bytes.

A CSV file does not state which values are text and which are numbers, so a reader has to guess. The rules here:

- A column is numeric, or True and False, if all its values are. An empty value is missing; "NA" and "NaN" are missing
  in numeric columns only.
- A column with a leading zero ("001"), or with a number in quotes, is text. If the column names are in quotes as well,
  as R writes them, quotes are ignored, except that an unquoted NA is missing.
- Blanks around column names are removed. If there are any ("id, name"), the table was written by hand, and blanks
  around unquoted values are removed as well.
- In identifiers (``stimulus_id``, or any name that ends in ``_id``) a number must be written as Python writes it, so
  that nothing is lost: 7 but not 7.50 or 7e3. Integers written by Brain-Score come back as integers.
- Integers that exceed 64 bits, or that lose digits as floats in a column with fractions or missing values, stay text
  with all their digits. So do numbers that would become infinite or zero as floats.
- Text that these rules would misread is written in quotes. Brain-Score's reader ignores the quotes.
"""

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bsjax.core.file_reading import refuse_pipe
from bsjax.core.messages import some

_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r\n|\r|\n|\Z)')
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI]nf(?:inity)?)[ \t]*"
)
_INTEGER = re.compile(r"[ \t]*[+-]?(?:0|[1-9][0-9]*)[ \t]*")
_MOST_DIGITS = 100  # longer than any 64-bit integer, including blanks
_TRUTH = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}
_NOT_A_NUMBER = {"", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"}


def read_table(path: str | Path, text: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV file by the rules of this module.

    Args:
        path: the file, in UTF-8.
        text: names of columns to read as text, whatever their values.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is not a table in UTF-8; the message names the file, and the line if known.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "a.csv"
        ...     _ = file.write_text('stimulus_id,size\\n001,2\\n002,3.5\\n')
        ...     read_table(file).values.tolist()
        [['001', 2.0], ['002', 3.5]]
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no table at {path}: no such file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a table (CSV file)")
    refuse_pipe(path)
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not a CSV file in UTF-8: byte {error.start} is {error.object[error.start]:#x}"
        ) from None
    lines = _lines(content)
    header = next(lines, None)
    if header is None:
        raise ValueError(f"{path} is empty, not a table (CSV file)")
    names = [name if quoted else name.strip() for name, quoted in header[1]]
    by_hand = names != [name for name, _ in header[1]]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"{path} has more than one column {some(sorted(repeated))}")
    rows = []
    for number, line in lines:
        if len(line) != len(names):
            raise ValueError(f"{path}, line {number}: {len(line)} values in a table of {len(names)} columns")
        rows.append([(value if quoted else value.strip(), quoted) for value, quoted in line] if by_hand else line)
    says_nothing = all(quoted for _, quoted in header[1]) and not all(_needs_quotes(name) for name in names)
    columns = {}
    for position, name in enumerate(names):
        values = ["" if says_nothing and line[position] == ("NA", False) else line[position][0] for line in rows]
        quoted = [line[position][1] and not says_nothing for line in rows]
        columns[name] = _text(values, quoted) if name in text else _column(name, values, quoted)
    return pd.DataFrame(columns, columns=pd.Index(names))


def table_as_csv(table: pd.DataFrame) -> bytes:
    """Convert a table to the content of a CSV file, from which ``read_table`` restores the same table.

    Missing values become empty fields, and times become text.

    Raises:
        ValueError: a column name is not text or repeats; a column has values other than text, numbers, bool or times,
            or mixes these; or an integer next to fractions is too large for a float64. One message lists all problems.

    Example:
        >>> table_as_csv(pd.DataFrame({"stimulus_id": ["001", "2"], "size": [1.0, None], "made": [True, False]}))
        b'stimulus_id,size,made\\n001,1.0,True\\n"2",,False\\n'
    """
    names = list(table.columns)
    problems = [f"column {name!r}: its name is not text" for name in names if not isinstance(name, str)]
    problems += [f"column {name!r} is there more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    columns = []
    if not problems:
        for name in names:
            try:
                columns.append(_written(pd.Series(table[name])))
            except ValueError as error:
                problems.append(f"column {name!r}: {error}")
    if problems:
        raise ValueError("cannot write this table: " + "; ".join(problems))
    lines = [",".join(_quoted(name, False) for name in names)]
    lines += [",".join(row) for row in zip(*columns, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _lines(content: str) -> Iterator[tuple[int, list[tuple[str, bool]]]]:
    """Line number, and (value, whether quoted) of each field, for all lines that are not empty."""
    line, start, number = [], 1, 1
    for match in _FIELD.finditer(content):  # the pattern matches any text, so nothing is skipped
        inside, plain, end = match.groups()
        quoted = inside is not None
        line.append((inside.replace('""', '"') if quoted else plain, quoted))
        number += max(match.group().count("\n"), match.group().count("\r"))
        if end != ",":
            if line != [("", False)]:
                yield start, line
            line, start = [], number


def _column(name: str, values: list[str], quoted: list[bool]) -> pd.Series | np.ndarray:
    if any(quoted):
        return _text(values, quoted)
    present = [value for value in values if value]
    if not present:
        return np.full(len(values), np.nan)
    identifier = name.endswith("_id")
    if all(_INTEGER.fullmatch(value) for value in present):
        if any(len(value) > _MOST_DIGITS for value in present):
            return _text(values, quoted)
        numbers = [int(value) for value in present]
        exact = not identifier or all(map(_is_as_written, present, numbers))
        if exact and len(present) == len(values):
            for dtype in (np.int64, np.uint64):
                if np.iinfo(dtype).min <= min(numbers) and max(numbers) <= np.iinfo(dtype).max:
                    return np.array(numbers, dtype)
            return _text(values, quoted)
        if not exact:
            return _text(values, quoted)
    if all(value in _NOT_A_NUMBER or _NUMBER.fullmatch(value) for value in present):
        floats = [np.nan if value in _NOT_A_NUMBER else float(value) for value in values]
        some_numbers = not np.isnan(floats).all()
        kept = all(map(_is_kept, values, floats))
        if some_numbers and kept and (not identifier or _all_as_written(present)):
            return np.array(floats)
    if all(value in _TRUTH for value in present):
        truth = [_TRUTH[value] if value else np.nan for value in values]
        return np.array(truth, dtype=bool if len(present) == len(values) else object)
    return _text(values, quoted)


def _is_kept(text: str, number: float) -> bool:
    """Whether a float represents a text: all digits of an integer, and the magnitude of any number."""
    if len(text) > 15 and _INTEGER.fullmatch(text):
        return Decimal(text.strip()) == Decimal(number)
    if math.isinf(number):
        return "n" in text.lower()
    return number != 0 or not any(digit in "123456789" for digit in text.lower().partition("e")[0])


def _is_as_written(text: str, number: int | float) -> bool:
    return repr(number) == text


def _all_as_written(texts: list[str]) -> bool:
    return all(_is_as_written(text, int(text) if _INTEGER.fullmatch(text) else float(text)) for text in texts)


def _text(values: list[str], quoted: list[bool]) -> pd.Series:
    texts = [value if value or is_text else None for value, is_text in zip(values, quoted, strict=True)]
    return pd.Series(texts, dtype="str")


def _written(column: pd.Series) -> list[str]:
    values = column.astype(object).tolist()
    missing = column.isna().tolist()
    kinds = {type(value) for value, lost in zip(values, missing, strict=True) if not lost}
    write = _writer(kinds)
    return ["" if lost else write(value) for value, lost in zip(values, missing, strict=True)]


def _writer(kinds: set[type]) -> Callable[[Any], str]:
    """The function that writes values of these types.

    Raises:
        ValueError: a column cannot hold these types, or not together.
    """
    ways: list[tuple[tuple[type, ...], Callable[[Any], str]]] = [
        ((str,), lambda value: _quoted(value, True)),
        ((bool, np.bool_), str),
        ((int, np.integer), lambda value: repr(int(value))),
        ((int, float, np.integer, np.floating), _as_float),
        ((pd.Timestamp, np.datetime64), lambda value: pd.Timestamp(value).isoformat()),
    ]
    for types, way in ways:
        if all(issubclass(kind, types) and (kind is not bool or bool in types) for kind in kinds):
            return way
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(f"values of type {names}; a table holds text, bool, numbers or times, one of them in a column")


def _as_float(value: Any) -> str:
    exact = int(value) if isinstance(value, (int, np.integer)) else value
    try:
        number = float(exact)
    except OverflowError:
        number = math.inf
    if number != exact and exact == exact:
        raise ValueError(f"{exact} beside fractions, where a float64 cannot hold it: write the column as text")
    return repr(number)


def _needs_quotes(text: str) -> bool:
    return text != text.strip() or any(mark in text for mark in ',"\r\n')


def _quoted(text: str, as_value: bool) -> str:
    misread = as_value and (not text or text in _TRUTH or bool(_NUMBER.fullmatch(text)))
    if misread or _needs_quotes(text):
        return '"' + text.replace('"', '""') + '"'
    return text
