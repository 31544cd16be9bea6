"""Origins of scores: what those of a model were made from, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Where a fact is looked for: what a score does not say of itself, its parts do, which were computed with it.
_PARTS = ("unceiled", "ceiling")


@dataclass
class Origins:
    """What several scores of one model were made from.

    Attributes:
        layers: region or task -> the layers that were recorded -> number of scores.
        facts: what is said, such as "dtype" or "jax" -> each of its values -> number of scores.
        started: when the first and the last were begun; None where none says so.
        seconds: that all took.
        n: number of scores.
    """

    layers: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)
    facts: dict[str, Counter[str]] = field(default_factory=dict)
    started: tuple[str, str] | None = None
    seconds: float = 0.0
    n: int = 0

    def add(self, said: Mapping[str, Any]) -> None:
        """Count one more score, as :func:`bsjax.results.reading.read_documents` gives it."""
        made = said["provenance"]
        self.n += 1
        for region, layers in layers_of(said).items():
            _count(self.layers, region, layers)
        known = {"device": _fact(said, "device"), "dtype": _fact(said, "dtype"), "digest": made.get("model_digest")}
        for name, value in {**known, **(_fact(said, "versions") or {})}.items():
            if value:
                _count(self.facts, name, str(value))
        start = made.get("start")
        if start:
            self.started = (
                (min(start, self.started[0]), max(start, self.started[1])) if self.started else (start, start)
            )
        self.seconds += made.get("seconds") or 0.0


def _count(counters: dict[str, Counter[Any]], name: str, value: Any) -> None:
    # Of hundreds of thousands of scores, a counter that is made for nothing each time takes as long as all the rest.
    if name not in counters:
        counters[name] = Counter()
    counters[name][value] += 1


def layers_of(said: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Region or task -> the layers that were recorded for a score.

    Example:
        >>> layers_of({"provenance": {"layers": {"IT": ["layer4"]}}}), layers_of({"provenance": {}})
        ({'IT': ('layer4',)}, {})
    """
    layers = said["provenance"].get("layers") or {}
    return {region: tuple(map(str, names)) for region, names in layers.items()}


def _fact(said: Mapping[str, Any], name: str) -> Any:
    for part in (said, *(said[part] for part in _PARTS if part in said)):
        found = part["provenance"].get(name)
        if found:
            return found
    return None
