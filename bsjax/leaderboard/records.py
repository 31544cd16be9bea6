"""The content of the site, read from a store: models, the tree of benchmarks, and columns of numbers."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sqlalchemy import select

from bsjax.benchmarks import BenchmarkRow, benchmark_registry, benchmark_row, benchmark_rows
from bsjax.leaderboard.origins import AllOrigins, read_origins
from bsjax.results import tables
from bsjax.results.aggregation import How, aggregate
from bsjax.results.queries import are_last
from bsjax.results.tree import Tree, benchmark_tree

if TYPE_CHECKING:
    from bsjax.results import ResultStore


STATES = ("missing", "scored", "undefined", "failed", "not applicable")
"""States of a cell; the column ``state`` contains their indices. A cell is not applicable if it is missing and the
model is known to have no layer for the region of the benchmark."""

_MISSING, _SCORED, _UNDEFINED, _FAILED, _NOT_APPLICABLE = range(len(STATES))
_NUMBERS = ("score", "error", "low", "high", "raw", "raw_error", "ceiling", "ceiling_error")
_TEXTS = ("started", "key", "interval")
_CODES = {"scored": _SCORED, "undefined": _UNDEFINED, "resolved": _UNDEFINED, "failed": _FAILED}
# Facts of a benchmark that have the same names in the store and in a row.
_FACTS = ("region", "modality", "species", "kind", "about", "summary", "metric", "normalisation", "ceiling")


@dataclass(frozen=True)
class Model:
    """A model.

    Attributes:
        identifier: identifier of the model.
        slug: name of its file, without suffix.
        digest: digest of its weights and code, from its latest score; "" if unknown.
        facts: further facts in the store: ``visual_degrees``, ``region_layer_map``, and others.
        family: the fact of this name, else the source of the model, such as "torchvision"; "" if neither is known.
    """

    identifier: str
    slug: str
    digest: str
    facts: Mapping[str, Any]
    family: str


@dataclass(frozen=True)
class Node:
    """A node of the tree: a benchmark or an average.

    Attributes:
        identifier: identifier of the benchmark or average.
        slug: name of its file, without suffix; "" for an average.
        label: its identifier without the prefix that its parent has.
        parent: index of the parent; -1 for a root.
        depth: number of ancestors.
        leaf: its row in the columns; -1 for an average.
        engineering: whether its root is that of engineering benchmarks, which the website averages differently.
        version: the version shown; None for an average, and if there are only failures.
        family: publication or package, taken from its name, such as "MajajHong2015".
        public: whether all its data are public; None if unknown.
        facts: ``region``, ``modality``, ``species`` and others, from its row or the store.
        row: its row; None if it is not registered.
    """

    identifier: str
    slug: str
    label: str
    parent: int
    depth: int
    leaf: int
    engineering: bool
    version: int | None
    family: str
    public: bool | None
    facts: Mapping[str, Any]
    row: BenchmarkRow | None

    @property
    def is_leaf(self) -> bool:
        """Whether it is a benchmark."""
        return self.leaf >= 0


@dataclass(frozen=True, eq=False)
class Records:
    """The content of the site.

    Attributes:
        title: title of the site.
        how: treatment of missing scores in averages, see :func:`~bsjax.results.aggregation.aggregate`.
        built: when the store was read, ISO 8601 in UTC.
        models: the models, sorted by name.
        nodes: the nodes of the tree, depth first.
        leaves: the nodes that are benchmarks, in the order of the rows of the columns.
        columns: ``score``, ``error``, ``low``, ``high``, ``raw``, ``raw_error``, ``ceiling``, ``ceiling_error``,
            ``state`` (index into :data:`STATES`) and ``version``, ``(leaves, models)``; NaN if unknown.
        texts: ``reason``, ``started``, ``key``, ``interval``, ``(leaves, models)``; "" if unknown.
        averages: ``score``, ``error``, ``state`` (index into :data:`STATES`), ``n_there``, ``n_leaves``, ``n_failed``
            of all nodes, ``(nodes, models)``.
        history: all scores and failures over time, as from ``ResultStore.frame(latest=False)``.
        tree: the tree of benchmarks.
        store: the store, from which complete scores can be read by their keys.
        notes: descriptions of what the store contains and the site cannot show.
    """

    title: str
    how: How
    built: str
    models: list[Model]
    nodes: list[Node]
    leaves: list[Node]
    columns: Mapping[str, np.ndarray]
    texts: Mapping[str, np.ndarray]
    averages: Mapping[str, np.ndarray]
    history: pd.DataFrame
    tree: Tree
    store: ResultStore
    notes: list[str]

    @cached_property
    def origins(self) -> AllOrigins:
        """The provenance of the scores (:func:`read_origins`), read once for all pages."""
        return read_origins(self.store, self.texts["key"], self.history)


def records(
    store: ResultStore,
    *,
    models: Iterable[str] | None = None,
    benchmarks: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    how: How = "available",
    title: str = "",
) -> Records:
    """Read the content of the site from a store.

    Args:
        store: the store.
        models, benchmarks: identifiers or globs; by default all.
        exclude: identifiers or globs of models and benchmarks to leave out.
        how: treatment of missing scores in averages.
        title: title of the site.

    Raises:
        ValueError: nothing in the store matches, or only averages of other benchmarks do.
        OSError, ConnectionError, TimeoutError: the store cannot be read.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add_failure("pixels", "Doe2026.V4-pls", "no data")
        ...     read = records(store)
        >>> [node.identifier for node in read.nodes], read.columns["state"].tolist(), read.texts["reason"].tolist()
        (['Doe2026.V4-pls'], [[3]], [['no data']])
    """
    history = _without(store.frame(models, benchmarks, latest=False), exclude)
    if history.empty:
        raise ValueError(f"there is nothing to show: {store.url.render_as_string()} has no such scores or failures")
    tree, notes = _tree(history)
    if not tree.order:
        raise ValueError(f"there is nothing to show: {'; '.join(notes)}; name benchmarks as no average is named")
    history: pd.DataFrame = history.loc[history["benchmark"].isin(list(tree.leaves()))].reset_index(drop=True)
    last = _usable(history.loc[are_last(history)].reset_index(drop=True))
    named = sorted(last["model"].unique())
    nodes = _nodes(tree, last, _facts(store, tables.benchmarks, "version"))
    leaves = [node for node in nodes if node.is_leaf]
    of_models = _facts(store, tables.models, "digest")
    # The digest of the latest score that has one.
    digests = _pairs(last.sort_values("model_digest", key=lambda of: of != "", kind="stable"), "model", "model_digest")
    shown = [_model(name, digests[name], of_models) for name in named]
    columns, texts = _columns(last, shown, leaves)
    return Records(
        title=title or "bsjax leaderboard",
        how=how,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        models=shown,
        nodes=nodes,
        leaves=leaves,
        columns=columns,
        texts=texts,
        averages=_averages(last, tree, how, len(named)),
        history=history,
        tree=tree,
        store=store,
        notes=notes,
    )


def _without(found: Any, patterns: Iterable[str]) -> Any:
    """The rows of scores whose models and benchmarks match none of the patterns."""
    for pattern in patterns:
        model, benchmark = (
            found[of].map(lambda name, p=pattern: fnmatchcase(name, p)) for of in ("model", "benchmark")
        )
        if not (model | benchmark).any():
            raise ValueError(f"no model and no benchmark of the store is called {pattern!r}, which was to be excluded")
        found = found[~(model | benchmark)].reset_index(drop=True)
    return found


def _tree(found: pd.DataFrame) -> tuple[Tree, list[str]]:
    """The tree of benchmarks with scores or failures, and notes on those that cannot be in it."""
    # The latest parent that is stated.
    parents = _pairs(found.sort_values("parent", key=lambda of: of != "", kind="stable"), "benchmark", "parent")
    circles = {name: above for name in parents if name in (above := _above(name, parents))}
    tree = benchmark_tree({name: above for name, above in parents.items() if name not in circles})
    leaves = set(tree.leaves())
    averaged = sorted(name for name in parents if name not in leaves and name not in circles)
    notes = [
        f"{name} has scores of its own and is an average of other benchmarks; its own scores are not shown"
        for name in averaged
    ]
    notes += [
        f"{' under '.join([name, *circles[name]])}: {name} is averaged under itself; its scores are not shown"
        for name in sorted(circles)
    ]
    return tree.only(name for name in tree.leaves() if name in parents and name not in circles), notes


def _above(name: str, parents: Mapping[str, str]) -> list[str]:
    """The parents above a benchmark, until one comes again."""
    above: list[str] = []
    while (name := parents.get(name, "")) and name not in above:
        above.append(name)
    return above


def _pairs(found: pd.DataFrame, one: str, other: str) -> dict[str, str]:
    """Value of one column -> latest value of another; duplicates are dropped first, as rows are many."""
    few = found.drop_duplicates([one, other], keep="last")
    return dict(zip(few[one], few[other], strict=True))


def _usable(last: pd.DataFrame) -> pd.DataFrame:
    """The latest scores without invalid numbers, such as infinite scores or negative errors from plugins."""
    infinite = np.isinf(last["score"].to_numpy(float))
    last.loc[infinite, "state"] = "undefined"
    last.loc[infinite, "reason"] = "its score is infinite"
    for name in _NUMBERS:
        last[name] = last[name].where(np.isfinite(last[name]))
    for name in ("error", "raw_error", "ceiling_error"):
        last[name] = last[name].where(last[name] >= 0)
    ordered = last["low"] <= last["high"]
    last[["low", "high"]] = last[["low", "high"]].where(ordered)
    return last


def _facts(store: ResultStore, table: Any, other: str) -> dict[tuple[str, Any], dict[str, Any]]:
    """(Name, digest or version) -> facts in the store."""
    with store.reading() as connection:
        rows = connection.execute(select(table.c.identifier, table.c[other], table.c.facts).order_by(table.c.id)).all()
    return {(name, which): facts for name, which, facts in rows}


def _model(name: str, digest: str, known: Mapping[tuple[str, Any], dict[str, Any]]) -> Model:
    facts = known.get((name, digest), {})
    source = re.match("([a-z]+):.", name)
    family = facts.get("family") or (source[1] if source else "")
    return Model(name, slug(name), digest, facts, str(family))


def _nodes(tree: Tree, last: pd.DataFrame, known: Mapping[tuple[str, Any], dict[str, Any]]) -> list[Node]:
    rows = {row.identifier: row for row in benchmark_rows()}
    others = [name for name in tree.order if name not in rows and benchmark_registry.is_of_source(name)]
    rows |= {row.identifier: row for row in map(benchmark_row, others) if row.plugin}
    versions = _greatest_versions(last)
    number = {name: at for at, name in enumerate(tree.order)}
    leaf = {name: at for at, name in enumerate(tree.leaves())}
    nodes: list[Node] = []
    for name in tree.order:
        above = tree.parent[name]
        is_leaf = name in leaf
        version = versions.get(name)
        row = rows.get(name) if is_leaf else None
        facts = dict(known.get((name, version), {})) if is_leaf else {}
        if row is not None:
            facts |= {each: value for each in _FACTS if (value := getattr(row, each)) != ""}
        nodes.append(
            Node(
                identifier=name,
                slug=slug(name) if is_leaf else "",
                label=_label(name, above),
                parent=number[above] if above else -1,
                depth=nodes[number[above]].depth + 1 if above else 0,
                leaf=leaf.get(name, -1),
                engineering="engineering" in tree.root(name).lower(),
                version=version,
                family=_family(name) if is_leaf else "",
                public=_is_public(row),
                facts=facts,
                row=row,
            )
        )
    return nodes


def _greatest_versions(last: pd.DataFrame) -> dict[str, int]:
    """Benchmark -> highest version that has a score; failures have no version."""
    known = last.loc[last["version"].notna(), ["benchmark", "version"]].drop_duplicates().sort_values("version")
    return {name: int(version) for name, version in zip(known["benchmark"], known["version"], strict=True)}


def _label(name: str, above: str) -> str:
    """A name without the prefix of its parent, if the rest begins with a separator."""
    rest = name.removeprefix(above) if above else name
    return rest[1:] if rest != name and rest[:1] in (".", "-", "_") and len(rest) > 1 else name


def _family(name: str) -> str:
    found = re.match(r"\D*?\d{4}(?=\D|$)", name)
    return found[0] if found else re.split("[._-]", name, maxsplit=1)[0] or name


def _is_public(row: BenchmarkRow | None) -> bool | None:
    if row is None or row.plugin:
        return None
    if row.with_data:
        return True
    access = set(row.access.values())
    return None if not access or "unknown" in access else access == {"public"}


def _columns(
    last: pd.DataFrame, models: list[Model], leaves: list[Node]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    size = len(leaves), len(models)
    at = (
        pd.Index([node.identifier for node in leaves]).get_indexer(pd.Index(last["benchmark"])),
        pd.Index([model.identifier for model in models]).get_indexer(pd.Index(last["model"])),
    )
    columns = {name: np.full(size, np.nan) for name in (*_NUMBERS, "version")}
    texts = {name: np.full(size, "", object) for name in ("reason", *_TEXTS)}
    state = np.full(size, _MISSING, np.int8)
    for name in columns:
        columns[name][at] = last[name].to_numpy(float)
    for name in texts:
        texts[name][at] = last[name].fillna("").to_numpy(object)
    codes, names = pd.factorize(last["state"])
    state[at] = np.array([_CODES[name] for name in names], np.int8)[codes]
    resolved = np.zeros(size, bool)
    resolved[at] = (last["state"] == "resolved").to_numpy(bool)
    texts["reason"][resolved] = "the score is time-resolved: a value for each time bin, and no single number"
    _leave_out_earlier_versions(columns, texts, state, leaves)
    _mark_not_applicable(state, texts["reason"], models, leaves)
    return {**columns, "state": state}, texts


def _leave_out_earlier_versions(
    columns: dict[str, np.ndarray], texts: dict[str, np.ndarray], state: np.ndarray, leaves: list[Node]
) -> None:
    """Treat scores of earlier versions as missing, as in :func:`aggregate`, and state the reason."""
    shown = np.array([np.nan if node.version is None else node.version for node in leaves])
    earlier = columns["version"] < shown[:, None]
    for leaf, model in zip(*np.nonzero(earlier), strict=True):
        was = int(columns["version"][leaf, model])
        for text in texts.values():
            text[leaf, model] = ""
        texts["reason"][leaf, model] = f"scored on version {was}; the table shows version {int(shown[leaf])}"
    for column in columns.values():
        column[earlier] = np.nan
    state[earlier] = _MISSING


def _mark_not_applicable(state: np.ndarray, reason: np.ndarray, models: list[Model], leaves: list[Node]) -> None:
    for number, model in enumerate(models):
        layers = model.facts.get("region_layer_map")
        if not isinstance(layers, Mapping) or not layers:
            continue
        for node in leaves:
            region = node.facts.get("region")
            if region and region not in layers and state[node.leaf, number] == _MISSING:
                state[node.leaf, number] = _NOT_APPLICABLE
                reason[node.leaf, number] = f"the model has no layer for {region}"


def _averages(last: pd.DataFrame, tree: Tree, how: How, n_models: int) -> dict[str, np.ndarray]:
    found = aggregate(last, tree, how)
    size = n_models, len(tree.order)
    averages = {name: found[name].to_numpy().reshape(size).T for name in ("score", "error")}
    averages |= {name: found[name].to_numpy(int).reshape(size).T for name in ("n_there", "n_leaves", "n_failed")}
    codes, names = pd.factorize(found["state"])
    state = np.array([STATES.index(name) for name in names], np.int8)[codes]
    return {**averages, "state": state.reshape(size).T}


_MOST_READABLE = 40
_DIGITS = 16


def slug(identifier: str) -> str:
    """Make the file name of a model or a benchmark, without suffix.

    It consists of lower-case letters, digits, and ``-._``, and ends in a digest of the identifier, so that identifiers
    that differ only in case have different files. It is never a path or a reserved name.

    Example:
        >>> slug("MajajHong2015.IT-pls")
        'majajhong2015.it-pls-8f806b96c3474680'
        >>> slug("../../x").rpartition("-")[0], slug("🧠").rpartition("-")[0]
        ('x', 'name')
    """
    # Lone surrogates cannot be encoded in UTF-8.
    digest = hashlib.sha256(identifier.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
    plain = unicodedata.normalize("NFKD", identifier).encode("ascii", "ignore").decode().lower()
    readable = re.sub("[^a-z0-9._]+", "-", plain)[:_MOST_READABLE].strip("-._")
    return f"{re.sub('[.]{2,}', '.', readable) or 'name'}-{digest}"
