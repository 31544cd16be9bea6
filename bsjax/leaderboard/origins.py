"""Summaries of the provenance of scores, by model and by benchmark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from bsjax.labelled.plain_values import from_plain
from bsjax.labelled.provenance import Provenance
from bsjax.results.reading import read_documents

if TYPE_CHECKING:
    from bsjax.results import ResultStore

# Parts of a score that are searched for a fact that the score itself does not state.
_PARTS = ("unceiled", "ceiling")


@dataclass
class Origins:
    """The provenance of several scores.

    Attributes:
        layers: region or task -> recorded layers -> number of scores.
        facts: fact such as "dtype" or "jax" -> value -> number of scores.
        started: start times of the first and the last score; None if unknown.
        seconds: total computing time.
        n: number of scores.
    """

    layers: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)
    facts: dict[str, Counter[str]] = field(default_factory=dict)
    started: tuple[str, str] | None = None
    seconds: float = 0.0
    n: int = 0

    def add(self, said: Mapping[str, Any]) -> None:
        """Add a score, in the format of :func:`bsjax.results.reading.read_documents`."""
        made = said["provenance"]
        self.n += 1
        for region, layers in layers_of(said).items():
            _count(self.layers, region, layers)
        by = {"metric": _computed_by(said), "ceiling": _computed_by(said.get("ceiling"))}
        known = {"device": _fact(said, "device"), "dtype": _fact(said, "dtype"), "digest": made.get("model_digest")}
        for name, value in {**by, **known, **(_fact(said, "versions") or {})}.items():
            if value:
                _count(self.facts, name, str(value))
        start = made.get("start")
        if start:
            self.started = (
                (min(start, self.started[0]), max(start, self.started[1])) if self.started else (start, start)
            )
        self.seconds += made.get("seconds") or 0.0


def _count(counters: dict[str, Counter[Any]], name: str, value: Any) -> None:
    # Not setdefault: with hundreds of thousands of scores, creating unused counters doubles the time.
    if name not in counters:
        counters[name] = Counter()
    counters[name][value] += 1


def layers_of(said: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Get the recorded layers of a score: region or task -> layers.

    Example:
        >>> layers_of({"provenance": {"layers": {"IT": ["layer4"]}}}), layers_of({"provenance": {}})
        ({'IT': ('layer4',)}, {})
    """
    layers = said["provenance"].get("layers") or {}
    return {region: tuple(map(str, names)) for region, names in layers.items()}


def _scored_again(history: pd.DataFrame) -> dict[str, dict[str, list[str]]]:
    """Model -> benchmark -> keys of its scores, the earliest first, for pairs with several scores."""
    scored = history.loc[history["state"] == "scored", ["model", "benchmark", "key", "started"]]
    scored = scored[scored.duplicated(["model", "benchmark"], keep=False)].sort_values("started", kind="stable")
    found: dict[str, dict[str, list[str]]] = {}
    for model, benchmark, key in scored[["model", "benchmark", "key"]].itertuples(index=False):
        found.setdefault(model, {}).setdefault(benchmark, []).append(key)
    return found


Profile = tuple[str, list[dict[str, Any]]]
"""A benchmark, and the scores of a model on it from different sets of layers."""


class AllOrigins(NamedTuple):
    """The provenance of all scores.

    Attributes:
        models, benchmarks: provenance of the scores of each model and of each benchmark.
        profiles: model -> profiles, for benchmarks where several sets of layers have been recorded.
        changes: key of a score -> what changed since the previous score of the same pair, in words.
    """

    models: list[Origins]
    benchmarks: list[Origins]
    profiles: dict[str, list[Profile]]
    changes: dict[str, str]


def read_origins(store: ResultStore, keys: np.ndarray, history: pd.DataFrame) -> AllOrigins:
    """Read the provenance of scores.

    Args:
        store: the store of results.
        keys: keys of the scores, ``(benchmarks, models)``; "" if there is none.
        history: all scores over time.
    """
    places = {keys[leaf, number]: (leaf, number) for leaf, number in np.argwhere(keys != "").tolist()}
    several = _scored_again(history)
    earlier = {key for benchmarks in several.values() for keys in benchmarks.values() for key in keys}
    of_leaves, origins = ([Origins() for _ in range(number)] for number in keys.shape)
    recorded, made = {}, {}
    for key, said in read_documents(store, places.keys() | earlier):
        if key in places:
            leaf, number = places[key]
            origins[number].add(said)
            of_leaves[leaf].add(said)
        if key in earlier:
            recorded[key] = (layers_of(said), said["value"], said.get("error"))
            made[key] = _made_of(said)
    profiles = {
        model: [(name, points) for name in sorted(benchmarks) if (points := _points(benchmarks[name], recorded))]
        for model, benchmarks in several.items()
    }
    changes = {
        later: _changed(made[before], made[later])
        for benchmarks in several.values()
        for each in benchmarks.values()
        for before, later in pairwise(each)
    }
    return AllOrigins(origins, of_leaves, profiles, changes)


def _made_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that determines a score, by its name for readers."""
    made = said["provenance"]
    return {
        "the model": made.get("model_digest"),
        "its layers": layers_of(said),
        "the version of the benchmark": made.get("benchmark_version"),
        "the data": made.get("data"),
        "the metric": _computed_by(said),
        "the ceiling": _computed_by(said.get("ceiling")),
        "the precision": _fact(said, "dtype"),
        "the device": _fact(said, "device"),
        **{f"{name} {{}}": version for name, version in (_fact(said, "versions") or {}).items()},
    }


def _changed(before: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """The differences in provenance of two scores, in words; packages are named only if nothing else differs."""
    differ = [name for name in later if later[name] != before.get(name) and later[name]]
    own = [name for name in differ if "{}" not in name]
    packages = [f"{name.format(before.get(name) or '?')} to {later[name]}" for name in differ if "{}" in name]
    return ", ".join(own or packages) or "computed again"


def _points(keys: list[str], recorded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The latest score from each set of layers; empty if there is only one set."""
    by_layers = {}
    for key in keys:
        layers, value, error = recorded[key]
        by_layers[", ".join(dict.fromkeys(name for names in layers.values() for name in names))] = (value, error)
    by_layers.pop("", None)
    return [
        {"layers": layers, "score": value, "error": np.nan if error is None else error}
        for layers, (value, error) in sorted(by_layers.items(), key=lambda each: _natural(each[0]))
        if len(by_layers) > 1
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key by which layer2 comes before layer10."""
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d+)", name)]


def _computed_by(part: Mapping[str, Any] | None) -> str:
    """The metric of a score or ceiling with its settings, in words."""
    if part is None:
        return ""
    names = ("metric", "settings", "seeds")
    made = {name: from_plain(part["provenance"][name]) for name in names if name in part["provenance"]}
    return Provenance(**made).computed_by


def _fact(said: Mapping[str, Any], name: str) -> Any:
    for part in (said, *(said[part] for part in _PARTS if part in said)):
        found = part["provenance"].get(name)
        if found:
            return found
    return None
