"""Origins of scores, read in bulk: the documents of many scores, without making a score of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from bsjax.results import tables
from bsjax.results.documents import plain_of, together

if TYPE_CHECKING:
    from bsjax.results import ResultStore

# So many scores are read at a time. Of more than are asked for one by one, those that are wanted are picked here.
_AT_ONCE, _MOST_ASKED_FOR = 500, 500
# Where a fact is looked for: what a score does not say of itself, its parts do, which were computed with it.
_PARTS = ("unceiled", "ceiling")


class Documents:
    """What scores of a store say, as plain values; the parts that they have in common are read once.

    Args:
        store: the store.

    Example:
        >>> from bsjax.labelled import Score
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add(Score(0.5, provenance={"dtype": "float64"}), model="pixels", benchmark="Doe2026-pls")
        ...     [(_, said)] = Documents(store).of([key])
        >>> said["value"], said["provenance"]["dtype"]
        (0.5, 'float64')
    """

    def __init__(self, store: ResultStore) -> None:
        self._store = store
        self._shared: dict[str, dict[str, Any]] = {}

    def of(self, keys: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Key and what the score says, of those of the keys that are scores; no raw values are read.

        Raises:
            ValueError: the store is damaged.
            OSError, ConnectionError, TimeoutError: the store cannot be read.
        """
        wanted, of = set(keys), tables.scores.c
        asked = select(of.key, of.document)
        if len(wanted) <= _MOST_ASKED_FOR:
            asked = asked.where(of.key.in_(sorted(wanted)))
        with self._store.reading() as connection:
            rows = connection.execution_options(stream_results=True).execute(asked)
            for part in rows.partitions(_AT_ONCE):
                read = [(key, plain_of(content)) for key, content in part if key in wanted]
                self._read_shared(connection, {own["$shared"] for _, own in read})
                for key, own in read:
                    yield key, together(own, self._shared[own.pop("$shared")])

    def _read_shared(self, connection: Connection, digests: set[str]) -> None:
        of, lacking = tables.shared_parts.c, sorted(digests - self._shared.keys())
        if not lacking:
            return
        found = connection.execute(select(of.digest, of.content).where(of.digest.in_(lacking)))
        self._shared |= {digest: plain_of(content) for digest, content in found}
        missing = digests - self._shared.keys()
        if missing:
            raise ValueError(f"the store is damaged: parts of scores are missing: {', '.join(sorted(missing))}")


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
        """Count one more score, as :class:`Documents` gives it."""
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
