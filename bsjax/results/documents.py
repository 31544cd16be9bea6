"""Storage format of scores: a JSON document for each, and separate blobs for unaggregated values.

A document is ``Score.to_dict``, in which ``{"$raw": DIGEST}`` stands for raw values or values in draws. Each such array
is a blob: the digest of its labels, which many scores share, followed by its numbers as bytes. The labels are a blob of
JSON, which also holds the values if these are not numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bsjax.core.digests.plain import DIGITS, digest_of_bytes, digest_of_json
from bsjax.data.types.libraries import xr
from bsjax.labelled import Score
from bsjax.labelled.plain_values import labelled_to_plain

_RAW = "$raw"
_PARTS = ("unceiled", "ceiling")
_DRAWN = ("draws", "errors", "influence")


class Document(NamedTuple):
    """A score in its storage format.

    Attributes:
        key: digest of the document.
        content: the document, plain values.
        raw: digest -> raw values, or their labels.
    """

    key: str
    content: dict[str, Any]
    raw: dict[str, bytes]


def document_of(score: Score) -> Document:
    """Convert a score to a document.

    Raises:
        ValueError: its provenance cannot be written.

    Example:
        >>> made = document_of(Score(0.5, provenance={"benchmark": "Doe2026-pls"}))
        >>> score_of(made.content).provenance
        Provenance({'benchmark': 'Doe2026-pls'})
    """
    raw: dict[str, bytes] = {}
    try:
        plain = _plain(score, raw)
        return Document(digest_of_json(plain), plain, raw)
    except RecursionError as error:
        raise ValueError("the score is nested more deeply than can be written") from error


def score_of(
    content: dict[str, Any], raw: Callable[[str], bytes | None] = lambda digest: None, draws_alone: bool = False
) -> Score:
    """Read the score from a document.

    Args:
        content: of :class:`Document`.
        raw: digest -> raw values, or values in draws; return None to leave them out.
        draws_alone: whether to leave out raw values, but not values in draws.

    Raises:
        ValueError, KeyError: it is not a valid document, or a part of it is damaged.
    """
    return Score.from_dict(_filled(content, raw, draws_alone))


def named_values(said: Mapping[str, Any]) -> set[str]:
    """The digests of a score's unaggregated values and values in draws.

    Args:
        said: content of a :class:`Document`.

    Example:
        >>> named_values({"value": 0.5, "raw": {"$raw": "9f8e"}}), named_values({"value": 0.5})
        ({'9f8e'}, set())
    """
    known = said.get("uncertainty", {})
    parts = [said.get("raw"), *(known.get(name) for name in _DRAWN)]
    return {part[_RAW] for part in parts if part is not None}


def _plain(score: Score, raw: dict[str, bytes]) -> dict[str, Any]:
    """A score as plain values; raw values and draws are replaced by their digests and collected in ``raw``."""
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


def _filled(said: dict[str, Any], raw: Callable[[str], bytes | None], draws_alone: bool) -> dict[str, Any]:
    """A document as plain values, with raw values and draws in place of their digests."""
    filled = said | {name: _filled(said[name], raw, draws_alone) for name in _PARTS if name in said}
    if "raw" in said:
        filled["raw"] = None if draws_alone else _array(said["raw"][_RAW], raw)
    if "uncertainty" in said:
        known = said["uncertainty"]
        filled["uncertainty"] = known | {name: _array(known[name][_RAW], raw) for name in _DRAWN if name in known}
    return filled


def _noted(array: xr.DataArray, raw: dict[str, bytes]) -> dict[str, str]:
    """A reference to an array, whose labels and numbers are added to ``raw``."""
    values = np.asarray(array.values, order="C")
    if values.dtype.kind in "iufb":
        labels = labelled_to_plain(array.copy(data=np.zeros(values.shape, np.int8)), "raw")
        labels |= {"dtype": str(values.dtype), "values": None}
        if values.dtype.kind == "f":  # one bit pattern for all NaNs
            values = np.where(np.isnan(values), np.nan, values).astype(values.dtype)
        numbers = values.tobytes()
    else:
        labels, numbers = labelled_to_plain(array, "raw"), b""
    of_labels = digest_of_json(labels)
    content = of_labels.encode() + numbers
    raw |= {of_labels: json.dumps(labels).encode(), (digest := digest_of_bytes(content)): content}
    return {_RAW: digest}


def _array(digest: str, raw: Callable[[str], bytes | None]) -> dict[str, Any] | None:
    """The array with a digest, as plain values; None if it was not stored."""
    if (content := raw(digest)) is None:
        return None
    if digest_of_bytes(content) != digest:
        raise ValueError("its unaggregated values have changed")
    if (labels := raw(content[:DIGITS].decode())) is None:
        return None
    plain = json.loads(labels)
    if plain["values"] is None:
        plain["values"] = np.frombuffer(content[DIGITS:], np.dtype(plain["dtype"])).tolist()
    return plain
