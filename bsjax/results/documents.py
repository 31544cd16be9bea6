"""Scores as a store holds them: what is each one's own, what several share, and what they are aggregates of.

A document is JSON, compressed. In it ``{"$shared": DIGEST}`` names the part that scores on the same benchmark have in
common: the ceiling, formulas, settings, versions; the document has the rest, in the same places. ``{"$raw": DIGEST}``
stands for raw values, or values in draws, whose numbers are bytes.
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

_SHARED, _RAW = "$shared", "$raw"
_DIGITS = 32
# What is said of one model's score; all else, of the benchmark and of how it is computed.
_OWN = ("value", "error", "uncertainty", "raw", "n_undefined")
# Of its uncertainty: what was drawn, and how, is the same of all models.
_DRAWN = ("draws", "errors", "influence")
_OWN_UNCERTAINTY = ("standard_error", *_DRAWN)
_OWN_ORIGIN = ("model", "model_digest", "layers", "start", "seconds", "reason")
_PARTS = ("unceiled", "ceiling")
# Compression refers to these words, so that nothing that is stored can be read without them: they are never changed.
_FIRST_WORDS = (
    b'"reason":"","details":{"n_undefined":"blocks.features.0.","layer1.0.conv2","V1":["V2":["V4":["IT":["layer4.",'
    b'"model."]}{"$shared":"","value":-0.,"error":0.0,"raw":{"$raw":""},"unceiled":{"value":0.,"error":0.0,"raw":{"$raw"'
    b':""}},"provenance":{"model":"","model_digest":"","layers":{"IT":["layer"]},"start":"2026-11-1T20:00+00:00","seconds":0.'
)
_WORDS = (
    b'"reason":"","details":{"n_undefined":"errors":{"$raw":""},"influence":{"$raw":""},"draws":{"$raw":""}},'
    b'"blocks.features.0.","layer1.0.conv2","V1":["V2":["V4":["model."]}{"$shared":"","value":0.,"error":0.0,'
    b'"uncertainty":{"standard_error":0.0},"raw":{"$raw":""},"provenance":{"model":"resnet","model_digest":"","layers":'
    b'{"IT":["layer4.0.conv2"]},"start":"2026-11-1T20:00:00+00:00","seconds":0.},"unceiled":{"value":-0.'
)
# What is packed says by their checksum which of these it refers to.
_WORDS_OF = {zlib.adler32(words): words for words in (_FIRST_WORDS, _WORDS)}


@dataclass(frozen=True)
class Document:
    """A score, taken apart.

    Attributes:
        key: digest of all that it says.
        content: its own part, packed.
        shared: digest -> a part that other scores may have too, not packed.
        raw: digest -> raw values, or the labels of such, not packed.
    """

    key: str
    content: bytes
    shared: dict[str, bytes] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)


def document_of(score: Score) -> Document:
    """A score as documents.

    Raises:
        ValueError: something in its provenance cannot be written.

    Example:
        >>> made = document_of(Score(0.5, provenance={"benchmark": "Doe2026-pls"}))
        >>> parts = {digest: packed(part) for digest, part in made.shared.items()}
        >>> score_of(made.content, parts.__getitem__).provenance
        Provenance({'benchmark': 'Doe2026-pls'})
    """
    raw: dict[str, bytes] = {}
    try:
        plain = _plain(score, raw, {})
        # Of the whole: however it is taken apart, the same score has the same key. Raw values are in it by digests.
        key = digest_of_json(plain)
    except RecursionError as error:
        raise ValueError("the score is nested more deeply than can be written") from error
    own, common = _apart(plain)
    digest = digest_of_json(common)
    own = {_SHARED: digest, **own}
    return Document(key, packed(_as_bytes(own)), {digest: _as_bytes(common)}, raw)


def score_of(
    content: bytes, shared: Callable[[str], bytes], raw: Callable[[str], bytes | None] = lambda digest: None
) -> Score:
    """The score of a document.

    Args:
        content: of :class:`Document`.
        shared: digest -> a shared part, packed.
        raw: digest -> raw values, or values in draws, packed; None leaves them out.

    Raises:
        ValueError, KeyError: it is no such document, or a part of it is damaged.
    """
    return Score.from_dict(_filled(said_in(content, lambda digest: plain_of(shared(digest))), raw))


def said_in(content: bytes, shared: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What the score of a document says, as plain values, with the digests of its raw values.

    Args:
        content: of :class:`Document`.
        shared: digest -> a shared part, as :func:`plain_of` gives it; it is not changed.

    Raises:
        ValueError, KeyError: it is no such document, or a part of it is damaged.

    Example:
        >>> made = document_of(Score(0.5, provenance={"benchmark": "Doe2026-pls"}))
        >>> said_in(made.content, lambda digest: plain_of(packed(made.shared[digest])))["value"]
        0.5
    """
    own = plain_of(content)
    return _together(own, shared(own.pop(_SHARED)))


def digest_of_json(content: Any) -> str:
    """The digest of what strict JSON can hold, whatever the order of keys in it.

    Example:
        >>> digest_of_json({"a": 1, "b": [2]}) == digest_of_json({"b": [2], "a": 1}) != digest_of_json({"a": 1})
        True
    """
    # In ASCII, where halves of pairs of surrogates are what they become when they are written and read.
    return _digest(json.dumps(content, sort_keys=True, allow_nan=False).encode())


def packed(part: bytes) -> bytes:
    """A part, compressed."""
    packer = zlib.compressobj(6, zdict=_WORDS)
    return packer.compress(part) + packer.flush()


def _unpacked(content: bytes) -> bytes:
    content = bytes(content)
    unpacker = zlib.decompressobj(zdict=_WORDS_OF.get(int.from_bytes(content[2:6], "big"), _WORDS))
    try:
        part = unpacker.decompress(content)
    except zlib.error as error:
        raise ValueError(f"a part of it is damaged: {error}") from error
    if not unpacker.eof:
        raise ValueError("a part of it is damaged: its end is missing")
    return part


def plain_of(content: bytes) -> Any:
    """What is kept as packed JSON, such as a score's document or what several have in common.

    Raises:
        ValueError: it is damaged.
    """
    return json.loads(_unpacked(content))


def _as_bytes(content: Any) -> bytes:
    # A file's name can hold half a pair of surrogates, for which UTF-8 has no bytes: it is written as JSON escapes it.
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return written.encode("utf-8", "backslashreplace")


def _plain(score: Score, raw: dict[str, bytes], seen: dict[int, str]) -> dict[str, Any]:
    """What a score says, with the digests of its raw values, which are noted, in their place; and of its draws."""
    alone = replace(score, raw=None, unceiled=None, ceiling=None, uncertainty=None).to_dict()
    plain = {name: value for name, value in alone.items() if value not in (None, "")}
    if not score.n_undefined:
        del plain["n_undefined"]
    if score.raw is not None:
        # A score and what it was before its normalisation are aggregates of one array.
        if id(score.raw) not in seen:
            seen[id(score.raw)] = _noted_raw(score.raw, raw)
        plain["raw"] = {_RAW: seen[id(score.raw)]}
    if (known := score.sampling_uncertainty) is not None:
        arrays = {name: getattr(known, name) for name in _DRAWN}
        noted = {name: {_RAW: _noted_raw(array, raw)} for name, array in arrays.items() if array is not None}
        plain["uncertainty"] = replace(known, **dict.fromkeys(_DRAWN)).to_dict() | noted
    parts = {name: getattr(score, name) for name in _PARTS}
    return plain | {name: _plain(part, raw, seen) for name, part in parts.items() if part is not None}


def _apart(plain: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is a score's own, and what others say, too."""
    origin = plain["provenance"]
    # Numbers with a point, and lists of them, are measured with each model; names and counts are the benchmark's.
    are_own = not all(isinstance(value, str | int) for value in origin.get("details", {}).values())
    names = (*_OWN_ORIGIN, *(["details"] if are_own else []))
    own = {name: plain[name] for name in _OWN if name in plain}
    own["provenance"] = {name: origin[name] for name in names if name in origin}
    common = {name: value for name, value in plain.items() if name not in (*_OWN, "unceiled")}
    common["provenance"] = {name: value for name, value in origin.items() if name not in names}
    if "uncertainty" in plain:
        known = plain["uncertainty"]
        own["uncertainty"] = {name: known[name] for name in _OWN_UNCERTAINTY if name in known}
        common["uncertainty"] = {name: value for name, value in known.items() if name not in _OWN_UNCERTAINTY}
    if "unceiled" in plain:
        own["unceiled"], common["unceiled"] = _apart(plain["unceiled"])
    return {name: value for name, value in own.items() if value != {}}, common


def _together(own: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    """What a score says, of what it alone says and what it has in common with others."""
    whole = common | own
    whole["provenance"] = common["provenance"] | own.get("provenance", {})
    if "uncertainty" in common:
        whole["uncertainty"] = common["uncertainty"] | own["uncertainty"]
    if "unceiled" in common:
        whole["unceiled"] = _together(own["unceiled"], common["unceiled"])
    return whole


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


def _filled(part: dict[str, Any], raw: Callable[[str], bytes | None]) -> dict[str, Any]:
    filled = part | {name: _filled(part[name], raw) for name in _PARTS if name in part}
    if "raw" in part:
        filled["raw"] = _raw_plain(part["raw"][_RAW], raw)
    if "uncertainty" in part:
        known = part["uncertainty"]
        filled["uncertainty"] = known | {name: _raw_plain(known[name][_RAW], raw) for name in _DRAWN if name in known}
    return filled


def _noted_raw(array: xr.DataArray, raw: dict[str, bytes]) -> str:
    """The digest of raw values: their labels by the digest of these, which other scores have too, and the numbers."""
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
    return digest


def _raw_plain(digest: str, raw: Callable[[str], bytes | None]) -> dict[str, Any] | None:
    body = raw(digest)
    whole = None if body is None else _unpacked(body)
    labels = None if whole is None else raw(whole[:_DIGITS].decode())
    if whole is None or labels is None:
        return None
    plain = plain_of(labels)
    if plain["values"] is None:
        plain["values"] = np.frombuffer(whole[_DIGITS:], np.dtype(plain["dtype"])).tolist()
    return plain


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
