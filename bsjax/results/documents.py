"""Scores as a store holds them: one JSON document each, and beside it the values that they are aggregates of.

A document is what ``Score.to_dict`` says, as compressed JSON, in which ``{"$raw": DIGEST}`` stands for raw values or
values in draws. These are compressed, too: the digest of their labels, which many scores have in common, and their
numbers as bytes; or labels, as JSON, with the values in them that are no numbers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled import Score
from bsjax.labelled.plain_values import labelled_to_plain

_RAW = "$raw"
_DIGITS = 32
_PARTS = ("unceiled", "ceiling")
_DRAWN = ("draws", "errors", "influence")


@dataclass(frozen=True)
class Document:
    """A score, taken apart.

    Attributes:
        key: digest of all that it says.
        content: what it says, compressed.
        raw: digest -> raw values, or the labels of such, not compressed.
    """

    key: str
    content: bytes
    raw: dict[str, bytes] = field(default_factory=dict)


def document_of(score: Score) -> Document:
    """A score as a document.

    Raises:
        ValueError: something in its provenance cannot be written.

    Example:
        >>> made = document_of(Score(0.5, provenance={"benchmark": "Doe2026-pls"}))
        >>> score_of(made.content).provenance
        Provenance({'benchmark': 'Doe2026-pls'})
    """
    raw: dict[str, bytes] = {}
    try:
        plain = _plain(score, raw)
        return Document(digest_of_json(plain), packed(_as_bytes(plain)), raw)
    except RecursionError as error:
        raise ValueError("the score is nested more deeply than can be written") from error


def score_of(content: bytes, raw: Callable[[str], bytes | None] = lambda digest: None) -> Score:
    """The score of a document.

    Args:
        content: of :class:`Document`.
        raw: digest -> raw values, or values in draws, compressed; None leaves them out.

    Raises:
        ValueError, KeyError: it is no such document, or a part of it is damaged.
    """
    return Score.from_dict(_filled(said_in(content), raw))


def said_in(content: bytes) -> dict[str, Any]:
    """What the score of a document says, as plain values, with the digests of its raw values.

    Raises:
        ValueError: it is damaged.

    Example:
        >>> said_in(document_of(Score(0.5, provenance={"benchmark": "Doe2026-pls"})).content)["value"]
        0.5
    """
    return json.loads(_unpacked(content))


def named_values(said: Mapping[str, Any]) -> set[str]:
    """The digests of what a score is an aggregate of, and of its values in draws.

    Args:
        said: of :func:`said_in`.

    Example:
        >>> named_values({"value": 0.5, "raw": {"$raw": "9f8e"}}), named_values({"value": 0.5})
        ({'9f8e'}, set())
    """
    known = said.get("uncertainty", {})
    parts = [said.get("raw"), *(known.get(name) for name in _DRAWN)]
    return {part[_RAW] for part in parts if part is not None}


def digest_of_json(content: Any) -> str:
    """The digest of what strict JSON can hold, whatever the order of keys in it.

    Example:
        >>> digest_of_json({"a": 1, "b": [2]}) == digest_of_json({"b": [2], "a": 1}) != digest_of_json({"a": 1})
        True
    """
    return _digest(json.dumps(content, sort_keys=True, allow_nan=False).encode())


def packed(content: bytes) -> bytes:
    """Raw values, or what a score says, compressed."""
    return zlib.compress(content)


def _unpacked(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error as error:
        raise ValueError(f"a part of it is damaged: {error}") from error


def _as_bytes(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def _plain(score: Score, raw: dict[str, bytes]) -> dict[str, Any]:
    """What a score says, with the digests of raw values and draws in their place; these are noted."""
    alone = replace(score, raw=None, unceiled=None, ceiling=None, uncertainty=None).to_dict()
    plain = {name: value for name, value in alone.items() if value not in (None, "")}
    if not score.n_undefined:
        del plain["n_undefined"]
    if score.raw is not None:
        plain["raw"] = _noted(score.raw, raw)
    if (known := score.sampling_uncertainty) is not None:
        arrays = {name: getattr(known, name) for name in _DRAWN}
        noted = {name: _noted(array, raw) for name, array in arrays.items() if array is not None}
        plain["uncertainty"] = replace(known, **dict.fromkeys(_DRAWN)).to_dict() | noted
    parts = {name: getattr(score, name) for name in _PARTS}
    return plain | {name: _plain(part, raw) for name, part in parts.items() if part is not None}


def _filled(said: dict[str, Any], raw: Callable[[str], bytes | None]) -> dict[str, Any]:
    """What a score says, with raw values and draws in the place of their digests."""
    filled = said | {name: _filled(said[name], raw) for name in _PARTS if name in said}
    if "raw" in said:
        filled["raw"] = _array(said["raw"][_RAW], raw)
    if "uncertainty" in said:
        known = said["uncertainty"]
        filled["uncertainty"] = known | {name: _array(known[name][_RAW], raw) for name in _DRAWN if name in known}
    return filled


def _noted(array: xr.DataArray, raw: dict[str, bytes]) -> dict[str, str]:
    """What stands for an array, whose labels and numbers are noted."""
    values = np.asarray(array.values, order="C")
    if values.dtype.kind in "iufb":
        labels = labelled_to_plain(array.copy(data=np.zeros(values.shape, np.int8)), "raw")
        labels |= {"dtype": str(values.dtype), "values": None}
        if values.dtype.kind == "f":  # NaN is NaN, whichever bits the processor has made it of
            values = np.where(np.isnan(values), np.nan, values).astype(values.dtype)
        numbers = values.tobytes()
    else:
        labels, numbers = labelled_to_plain(array, "raw"), b""
    of_labels = digest_of_json(labels)
    content = of_labels.encode() + numbers
    raw |= {of_labels: _as_bytes(labels), (digest := _digest(content)): content}
    return {_RAW: digest}


def _array(digest: str, raw: Callable[[str], bytes | None]) -> dict[str, Any] | None:
    """The array that a digest stands for, as plain values; None if it was not kept."""
    if (body := raw(digest)) is None:
        return None
    content = _unpacked(body)
    if (labels := raw(content[:_DIGITS].decode())) is None:
        return None
    plain = json.loads(_unpacked(labels))
    if plain["values"] is None:
        plain["values"] = np.frombuffer(content[_DIGITS:], np.dtype(plain["dtype"])).tolist()
    return plain
