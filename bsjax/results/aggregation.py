"""Aggregation of scores over the tree of benchmarks, for all models at once.

The score of a node is the mean of its children, not of its leaves: V1 with thirty benchmarks counts as much as V2 with
two. Missing scores can be treated in two ways, which give different numbers. Each average therefore reports how many
leaves it includes:

- ``"available"``: the mean of the children that have a score;
- ``"website"``: as on Brain-Score's website, where a child without a score counts as zero.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import special

from bsjax.core.labels import require_columns
from bsjax.core.messages import some
from bsjax.results.tree import Tree

How = Literal["available", "website"]

# Half the width of a 95 % interval of a normal distribution, in standard deviations.
_NORMAL_HALF = special.ndtri(0.975)
_COLUMNS = ("model", "benchmark", "score", "error", "state")
_NUMBERS = ("score", "error", "low", "high", "raw", "version")
# States of a node. Among children without a score, the state with the highest index wins.
_STATES = ("missing", "scored", "undefined", "failed")
_MISSING, _SCORED, _UNDEFINED, _FAILED = range(4)
_STATES_OF_ROWS = {"scored": _SCORED, "undefined": _UNDEFINED, "resolved": _UNDEFINED, "failed": _FAILED}


def aggregate(
    scores: pd.DataFrame,
    tree: Tree,
    how: How = "available",
    weights: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """The score of every node of a tree, for every model.

    A node with children i, scores xᵢ and weights wᵢ has the score Σ wᵢxᵢ / Σ wᵢ. With ``how="available"``, both sums
    are over the children that have a score. With ``how="website"``, they are over all children, and a child without a
    score has xᵢ = 0. In addition, as on the website,

    - scores of leaves are clipped to the range from 0 to 1;
    - under a root whose name contains "engineering", nothing is clipped, and raw scores are used where they exist;
    - of several scores of one model on one leaf, the one with the highest raw score counts, and those without a raw
      score come last; ``how="available"`` rejects duplicates.

    Either way, a node has a score if one of its children has one. Otherwise it is "failed" if one of them is, else
    "undefined" if one is, else "missing". The website has NaN for the first two of these, and NULL for the last.

    Errors of children are treated as independent: the error is √(Σ (wᵢeᵢ)²) / Σ wᵢ, with the sum of squares over the
    children that have a score. It is NaN if one of them has no error. The zero for a missing score is a convention,
    not a measurement, and has no error. If the interval of a leaf is wider than its error implies, as with splits that
    share stimuli, eᵢ is the standard deviation of a normal distribution with that interval.

    Args:
        scores: one row for each model and leaf, with the columns ``model``, ``benchmark``, ``score``, ``error`` (NaN
            if unknown) and ``state``: "scored", "undefined" or "resolved" (not a single number: the score is NaN), or
            "failed". Pairs without a row are missing. An optional column ``raw`` has scores before ceiling
            normalisation; ``low`` and ``high`` have the ends of 95 % intervals, NaN if unknown. With an optional
            column ``version``, only the highest version of each benchmark counts; rows without a version (NaN) always
            count. Other columns are ignored.
        tree: the tree of benchmarks; all benchmarks of ``scores`` must be among its leaves.
        how: treatment of missing scores.
        weights: node or leaf -> its weight among its siblings, 1 by default. A weight of 0 excludes it from the score
            and from the counts of leaves.

    Returns:
        One row for each model (in alphabetical order) and node (in the order of the tree), with the columns

        - ``model``, ``benchmark`` (the node), ``score``, ``error``, ``state``;
        - ``n_there``, number of leaves with a score, of ``n_leaves`` that count;
        - ``n_failed``, number of leaves that are failed or undefined;
        - ``complete``, whether all leaves have a score;
        - ``version``, if ``scores`` has it: for a leaf the version that counts, for other nodes 0.

    Raises:
        ValueError: ``how``, a weight or a row is invalid; the message names it.

    Example:
        >>> tree = Tree({"V1": "", "a": "V1", "b": "V1", "c": "V1"})
        >>> rows = [("net", "a", 0.5, 0.03, "scored"), ("net", "b", 0.4, 0.04, "scored")]
        >>> scores = pd.DataFrame(rows, columns=["model", "benchmark", "score", "error", "state"])
        >>> columns = ["benchmark", "score", "error", "n_there", "n_leaves"]
        >>> print(aggregate(scores, tree)[columns].head(1).to_string(index=False))
        benchmark  score  error  n_there  n_leaves
               V1   0.45  0.025        2         3
        >>> print(aggregate(scores, tree, how="website")[columns].head(1).round(4).to_string(index=False))
        benchmark  score  error  n_there  n_leaves
               V1    0.3 0.0167        2         3
    """
    if how not in ("available", "website"):
        raise ValueError(f"how must be 'available' or 'website', got {how!r}")
    shares = _shares(tree, weights or {})
    models, rows = _read(scores, tree)
    latest = np.full(len(tree.order), np.nan)
    np.fmax.at(latest, rows["node"], rows["version"])
    rows = rows[rows["version"].isna() | (rows["version"] == latest[rows["node"]])]
    if how == "website":
        rows = _as_on_the_website(rows, tree)
    if (again := rows.duplicated(["column", "node"])).any():
        raise ValueError(
            "one score of a model on a benchmark goes into an average, but there are several of "
            f"{_pairs(rows[again])}: keep one of each, e.g. the last"
        )
    cells = _averaged(rows, len(models), tree, how, shares)
    names = {
        "model": np.repeat(models, len(tree.order)),
        "benchmark": np.tile(np.array(tree.order, object), len(models)),
    }
    kept = ("score", "error", "state", "n_there", "n_leaves", "n_failed")
    table = pd.DataFrame(names | {name: cells[name].T.ravel() for name in kept})
    table["state"] = np.array(_STATES, object)[table["state"]]
    table["complete"] = (table["n_there"] == table["n_leaves"]) & (table["n_leaves"] > 0)
    if "version" in scores:
        is_leaf = np.array([not tree.children(name) for name in tree.order], bool)
        table["version"] = pd.array(np.tile(np.where(is_leaf, latest, 0), len(models)), dtype="Int64")
    return table


def _shares(tree: Tree, weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of all nodes, divided by the largest among their siblings, so that sums do not overflow."""
    unknown = [repr(name) for name in weights if name not in tree.parent]
    if unknown:
        raise ValueError(f"weights of what is no node of the tree: {some(unknown)}")
    wrong = [f"{weight!r} of {name!r}" for name, weight in weights.items() if not _is_weight(weight)]
    if wrong:
        raise ValueError(f"a weight must be a finite number, 0 or more, got {some(wrong)}")
    shares = {name: float(weights.get(name, 1)) for name in tree.order}
    for node in tree.order:
        greatest = max((shares[child] for child in tree.children(node)), default=0)
        shares |= {child: shares[child] / greatest for child in tree.children(node) if greatest}
    return shares


def _is_weight(given: Any) -> bool:
    try:
        return not isinstance(given, str | bool) and 0 <= float(given) < float("inf")
    except (TypeError, ValueError):
        return False


def _read(scores: pd.DataFrame, tree: Tree) -> tuple[np.ndarray, Any]:
    """The models, and the validated rows with the indices of their nodes and models."""
    require_columns(scores, _COLUMNS, "this table of scores")
    rows: Any = pd.DataFrame({name: np.asarray(scores[name], object) for name in ("model", "benchmark", "state")})
    for name, n_missing in rows.isna().sum().items():
        if n_missing:
            raise ValueError(f"{name} must be a text in every row, but {n_missing} rows have none")
    numbers = {name: _as_numbers(scores, name) for name in _NUMBERS}
    half = (numbers["high"] - numbers["low"]) / 2
    rows["column"], models = pd.factorize(rows["model"], sort=True)
    rows["node"] = pd.Index(tree.order).get_indexer(pd.Index(rows["benchmark"]))
    leaves = set(tree.leaves())
    if others := sorted(repr(name) for name in set(rows["benchmark"].unique()) - leaves):
        raise ValueError(
            f"scores are of leaves of the tree, but these are none: {some(others)}; leave their rows out, or say what "
            "they are averaged under, as benchmark_tree({benchmark: parent}) does"
        )
    state = rows["state"].map(_STATES_OF_ROWS)
    is_scored, is_number = (state == _SCORED).to_numpy(), ~np.isnan(numbers["score"])
    for must, wrong in (
        (f"a state must be one of {', '.join(_STATES_OF_ROWS)}", state.isna().to_numpy()),
        *((f"{name} must be finite, or NaN", np.isinf(column)) for name, column in numbers.items()),
        ("an error must be 0 or more", numbers["error"] < 0),
        ("the end of an interval must not be below its beginning", half < 0),
        ("a version must be a whole number", np.mod(numbers["version"], 1) > 0),
        ("what is 'scored' must have a score", is_scored & ~is_number),
        ("what has a score must be 'scored'", ~is_scored & is_number),
    ):
        if wrong.any():
            raise ValueError(f"{must}, but it is not so of {_pairs(rows[wrong])}")
    numbers["error"] = np.fmax(numbers["error"], half / _NORMAL_HALF)
    return np.asarray(models, object), rows.assign(state=state.astype(np.int8), **numbers)


def _as_numbers(scores: pd.DataFrame, name: str) -> np.ndarray:
    if name not in scores:
        return np.full(len(scores), np.nan)
    try:
        return pd.Series(scores[name]).to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number in every row, or NaN: {error}") from None


def _pairs(rows: pd.DataFrame) -> str:
    return some(
        [f"{model!r} on {benchmark!r}" for model, benchmark in zip(rows["model"], rows["benchmark"], strict=True)]
    )


def _engineering(tree: Tree) -> set[str]:
    return {name for root in tree.roots if "engineering" in root.lower() for name in tree.leaves(root)}


def _as_on_the_website(rows: Any, tree: Tree) -> Any:
    """One row for each pair, with the score that the website averages."""
    # The last sort keys break ties that the website leaves open, so that row order does not matter.
    order = {"column": True, "node": True, "raw": False, "score": False, "state": True, "error": True}
    rows = rows.sort_values(list(order), ascending=list(order.values())).drop_duplicates(["column", "node"])
    engineering = rows["benchmark"].isin(_engineering(tree))
    takes_raw = engineering & rows["raw"].notna() & (rows["state"] != _FAILED)
    shown = rows["raw"].where(takes_raw, rows["score"].where(engineering, rows["score"].clip(0, 1)))
    return rows.assign(score=shown, state=rows["state"].where(~takes_raw, _SCORED))


def _averaged(
    rows: pd.DataFrame, n_models: int, tree: Tree, how: How, shares: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """Statistics of all nodes and models, ``(nodes, models)``."""
    size, at = (len(tree.order), n_models), (rows["node"].to_numpy(), rows["column"].to_numpy())
    score, error = np.full(size, np.nan), np.full(size, np.nan)
    state, n_leaves = np.full(size, _MISSING, np.int8), np.ones(size, int)
    score[at], state[at] = rows["score"], rows["state"]
    error[at] = rows["error"].where(rows["state"] == _SCORED)
    n_there, n_failed = (state == _SCORED).astype(int), (state > _SCORED).astype(int)
    number_of = {name: number for number, name in enumerate(tree.order)}
    for number, node in reversed(list(enumerate(tree.order))):
        if not tree.children(node):
            continue
        counting = [child for child in tree.children(node) if shares[child]]
        children = np.array([number_of[child] for child in counting], int)
        share = np.array([shares[child] for child in counting])[:, None]
        there = state[children] == _SCORED
        any_there = there.any(0)
        total = np.where(any_there, _added_up(np.where(there | (how == "website"), share, 0)), 1)
        sums = _added_up(np.where(there, share * score[children], 0))
        squares = _added_up(np.where(there, (share * error[children]) ** 2, 0))
        score[number] = np.where(any_there, sums / total, np.nan)
        error[number] = np.where(any_there, np.sqrt(squares) / total, np.nan)
        state[number] = np.where(any_there, _SCORED, state[children].max(0, initial=_MISSING))
        for counts in (n_there, n_failed, n_leaves):
            counts[number] = counts[children].sum(0)
    counted = {"n_there": n_there, "n_leaves": n_leaves, "n_failed": n_failed}
    return {"score": score, "error": error, "state": state, **counted}


def _added_up(rows: np.ndarray) -> np.ndarray:
    """The sum of rows in sequence; NumPy's sum uses another order for a single model."""
    return np.add.accumulate(rows, axis=0)[-1] if len(rows) else np.zeros(rows.shape[1])
