"""Model pages: scores with ceilings, the recorded layers, and the provenance of the scores."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bsjax.leaderboard.encoding import script, shown
from bsjax.leaderboard.origins import Origins
from bsjax.leaderboard.records import STATES, Model, Node, Records
from bsjax.models import model_registry

# Largest number of layer names that a page lists.
_MOST_LAYERS = 12
_CELLS = ("score", "low", "high", "error", "raw", "ceiling", "ceiling_error")
_HEADINGS = {
    "digest": "digest of weights and code",
    "metric": "metric and its settings",
    "ceiling": "ceiling and its settings",
    "dtype": "computed in",
    "device": "computed on",
}
_FIRST = (*_HEADINGS, "bsjax")


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """Render a page for each model, whose table needs no scripts, and the file that adds links to the table."""
    template = environment.get_template("model.html.j2")
    # The addresses are in a shared file, since there are thousands of pages with hundreds of rows each.
    yield "pages.js", script("bsjaxPages", [[node.identifier, node.slug] for node in records.leaves])
    origins_of, profiles_of = records.origins.models, records.origins.profiles
    for number, model in enumerate(records.models):
        origins = origins_of[number]
        yield (
            f"models/{model.slug}.html",
            template.render(
                root="../",
                charts=True,
                model=model,
                rows=[(min(node.depth, 5), *_row(records, at, node, number)) for at, node in enumerate(records.nodes)],
                layers=_layers(model, origins),
                profiles=profiles_of.get(model.identifier, []),
                facts=_facts(model),
                provenance=provenance_rows(origins),
                loaded=_loading(model, records, number),
            ),
        )


def _row(records: Records, at: int, node: Node, number: int) -> tuple[str, str, list[str], str]:
    """The kind, name and cells of a node, and why its score is missing or incomplete."""
    if node.is_leaf:
        return _row_of_leaf(records, node, number)
    of = {name: column[at, number] for name, column in records.averages.items()}
    counted = f"{of['n_there']} of {of['n_leaves']} {'benchmark' if of['n_leaves'] == 1 else 'benchmarks'}"
    if not of["n_there"]:
        return "average", node.identifier, [], f"{STATES[of['state']]}: {counted}"
    cells = [shown(of["score"]), _within(np.nan, np.nan, of["error"])]
    return "average", node.identifier, cells, "" if of["n_there"] == of["n_leaves"] else f"of {counted}"


def _row_of_leaf(records: Records, node: Node, number: int) -> tuple[str, str, list[str], str]:
    columns = records.columns
    state = STATES[columns["state"][node.leaf, number]]
    if state != "scored":
        reason = records.texts["reason"][node.leaf, number]
        return "leaf", node.identifier, [], f"{state}: {reason}" if reason else state
    score, low, high, error, raw, ceiling, ceiling_error = (columns[name][node.leaf, number] for name in _CELLS)
    limit = shown(ceiling) + ("" if np.isnan(ceiling_error) else f" ±{shown(ceiling_error)}")
    return "leaf", node.identifier, [shown(score), _within(low, high, error), shown(raw), limit], ""


def _within(low: float, high: float, error: float) -> str:
    """The 95 % interval, or the error if there is none."""
    if not np.isnan(low):
        return f"{shown(low)} to {shown(high)}"
    return "" if np.isnan(error) else f"±{shown(error)}"


def _layers(model: Model, origins: Origins) -> list[dict[str, Any]]:
    """For each region, the layers that the model is committed to and those that were recorded."""
    given = model.facts.get("region_layer_map")
    committed = {region: _as_names(names) for region, names in given.items()} if isinstance(given, Mapping) else {}
    rows = []
    for region in dict.fromkeys([*committed, *origins.layers]):
        recorded = origins.layers.get(region, {})
        rows.append(
            {
                "region": region,
                "committed": _listed(committed.get(region, ())),
                "recorded": [(_listed(layers), n) for layers, n in sorted(recorded.items(), key=lambda each: -each[1])],
            }
        )
    return rows


def _as_names(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given or ()))


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_LAYERS
    return ", ".join(names[:_MOST_LAYERS]) + (f" and {more} more" if more > 0 else "")


def _facts(model: Model) -> list[tuple[str, str]]:
    """Further facts about a model in the store."""
    known = {name: value for name, value in model.facts.items() if name != "region_layer_map"}
    words = [(name.replace("_", " "), _in_words(value)) for name, value in known.items()]
    return [("family", model.family), *words] if model.family and "family" not in known else words


def _in_words(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def provenance_rows(origins: Origins, without: str = "") -> list[tuple[str, str]]:
    """Format the provenance of scores as (heading, text), optionally without one of the facts."""
    rows = []
    for name in sorted(
        origins.facts, key=lambda name: (name not in _FIRST, _FIRST.index(name) if name in _FIRST else 0)
    ):
        if name == without:
            continue
        counted = origins.facts[name]
        words = [f"{value} ({n} of {origins.n} scores)" for value, n in counted.most_common()]
        rows.append((_HEADINGS.get(name, name), next(iter(counted)) if _is_all(counted, origins) else "; ".join(words)))
    if origins.started:
        first, last = (moment[:16].replace("T", " ") for moment in origins.started)
        rows.append(("computed at", f"{first} UTC" if first == last else f"{first} to {last} UTC"))
    if origins.seconds:
        rows.append(("computing time", f"{shown(origins.seconds, 1)} s in total"))
    return rows


def _is_all(counted: Mapping[str, int], origins: Origins) -> bool:
    return len(counted) == 1 and sum(counted.values()) == origins.n


def _loading(model: Model, records: Records, number: int) -> dict[str, str] | None:
    """Code to load, score and look up the model; None if it is not registered in bsjax."""
    name = model.identifier
    if name not in model_registry and not model_registry.is_of_source(name):
        return None
    there = np.flatnonzero(records.columns["state"][:, number] == STATES.index("scored"))
    benchmark = records.leaves[there[0] if len(there) else 0].identifier
    return {
        "python": f"import bsjax\n\nmodel = bsjax.load_model({name!r})\nscore = bsjax.score(model, {benchmark!r})",
        "shell": f"bsjax score -m {shlex.quote(name)} -b {shlex.quote(benchmark)}\n"
        f"bsjax results show -m {shlex.quote(name)} -b {shlex.quote(benchmark)}",
    }
