"""The tree of benchmarks, which defines the averages from single benchmarks up to the overall average.

Its leaves are benchmarks, which have scores. All other nodes are averages of their children. Published benchmarks name
the node under which they are averaged (``BenchmarkRow.parent``). The nodes above are those of the leaderboard on
Brain-Score's website:

- ``average_vision``, with ``neural_vision`` (``V1``, ``V2``, ``V4``, ``IT``) and ``behavior_vision``;
- ``engineering_vision``, a separate root.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from bsjax.benchmarks import BenchmarkRow, benchmark_rows
from bsjax.core.messages import some

_AVERAGE, _NEURAL, _BEHAVIOUR = "average_vision", "neural_vision", "behavior_vision"
_ENGINEERING = "engineering_vision"
_REGIONS = ("V1", "V2", "V4", "IT")
_MARQUES2020 = ("orientation", "receptive_field_size", "response_magnitude", "response_selectivity")
_MARQUES2020 += ("spatial_frequency", "surround_modulation", "texture_modulation")

# Nodes of the website whose position cannot be inferred from their benchmarks.
_WEBSITE = {
    _AVERAGE: "",
    _NEURAL: _AVERAGE,
    _BEHAVIOUR: _AVERAGE,
    _ENGINEERING: "",
    **dict.fromkeys(_REGIONS, _NEURAL),
    "Marques2020": "V1",
    **{f"V1-{group}": "Marques2020" for group in _MARQUES2020},
}
# The published benchmarks use both names.
_SAME = {"behavior": _BEHAVIOUR, "engineering": _ENGINEERING}
# Published directly under behaviour, but one node on the website, where 14 separate ones would dominate the average.
_GATHERED = {"Ferguson2024": _BEHAVIOUR}
_ORDER = {_AVERAGE: 0, _ENGINEERING: 1, _NEURAL: 0, _BEHAVIOUR: 1, "V1": 0, "V2": 1, "V4": 2, "IT": 3}
# The website's sort number of nodes without an explicit order.
_LAST = 999


@dataclass(frozen=True)
class Tree:
    """A tree of nodes with their parents.

    Attributes:
        parent: node -> the node above; "" for a root. Contains all nodes.
        numbers: node -> its position among its siblings; those without one come last. Ties are ordered by identifier.
        order: all nodes, depth first: each node comes before its descendants.
        roots: the nodes without a parent, in order.

    Raises:
        ValueError: a node has no identifier, a parent is not a node, the nodes form a cycle, or a number is given for
            something that is not a node.

    Example:
        >>> tree = Tree({"all": "", "V4": "all", "V1": "all", "a": "V4", "b": "V4"}, {"V4": 1})
        >>> tree.order
        ('all', 'V4', 'a', 'b', 'V1')
        >>> tree.children("all"), tree.leaves("V4"), tree.leaves()
        (('V4', 'V1'), ('a', 'b'), ('a', 'b', 'V1'))
    """

    parent: Mapping[str, str]
    numbers: Mapping[str, int] = field(default_factory=dict)
    order: tuple[str, ...] = field(init=False, repr=False, compare=False)
    roots: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _children: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parent, numbers = dict(self.parent), dict(self.numbers)
        _check_names(parent, numbers)
        below: dict[str, list[str]] = {name: [] for name in ("", *parent)}
        for name in sorted(parent, key=lambda name: (numbers.get(name, _LAST), name)):
            below[parent[name]].append(name)
        order: list[str] = []
        ahead = below[""][::-1]
        while ahead:
            order.append(ahead.pop())
            ahead += below[order[-1]][::-1]
        roots, children = tuple(below.pop("")), {name: tuple(names) for name, names in below.items()}
        made = {"parent": parent, "numbers": numbers, "order": tuple(order), "roots": roots, "_children": children}
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def children(self, name: str) -> tuple[str, ...]:
        """The children of a node, in order; empty for a leaf.

        Raises:
            KeyError: no such node.

        Example:
            >>> Tree({"V1": "", "b": "V1", "a": "V1"}).children("V1")
            ('a', 'b')
        """
        return self._children[self._known(name)]

    def leaves(self, name: str | None = None) -> tuple[str, ...]:
        """The leaves below a node, in order; a leaf itself; all leaves if no node is given.

        Raises:
            KeyError: no such node.

        Example:
            >>> tree = Tree({"V1": "", "V1-size": "V1", "a": "V1-size", "b": "V1"})
            >>> tree.leaves(), tree.leaves("V1-size"), tree.leaves("b")
            (('a', 'b'), ('a',), ('b',))
        """
        nodes = self.roots if name is None else self.children(name)
        if not nodes and name is not None:
            return (name,)
        return tuple(leaf for node in nodes for leaf in self.leaves(node))

    def root(self, name: str) -> str:
        """The root above a node; a root itself.

        Raises:
            KeyError: no such node.

        Example:
            >>> Tree({"all": "", "V1": "all", "a": "V1"}).root("a")
            'all'
        """
        self._known(name)
        while self.parent[name]:
            name = self.parent[name]
        return name

    def only(self, leaves: Iterable[str]) -> Tree:
        """The subtree of some leaves and the nodes above them.

        Used for averages of the public benchmarks, or of those on which all models were scored.

        Args:
            leaves: of this tree.

        Raises:
            ValueError: some are not leaves of this tree.

        Example:
            >>> Tree({"all": "", "V1": "all", "V2": "all", "a": "V1", "b": "V1", "c": "V2"}).only(["a"]).order
            ('all', 'V1', 'a')
        """
        wanted = list(leaves)
        others = [name for name in wanted if self._children.get(name, ("",))]
        if others:
            raise ValueError(f"a tree is cut down to some of its leaves, but these are none of them: {some(others)}")
        kept: dict[str, str] = {}
        for name in wanted:
            while name and name not in kept:
                kept[name] = self.parent[name]
                name = kept[name]
        return Tree(kept, {name: number for name, number in self.numbers.items() if name in kept})

    def _known(self, name: str) -> str:
        if name not in self.parent:
            raise KeyError(f"no node {name!r} in the tree of benchmarks; its roots are {some(self.roots)}")
        return name


def benchmark_tree(stored: Mapping[str, str] | None = None) -> Tree:
    """The tree of all registered benchmarks, and of others whose parents are known.

    Each benchmark is under the parent in its row. Those of Ferguson2024 are under a node of that name, as on the
    website. A benchmark without a parent is a root, as on the website. A parent without a known position, such as the
    family of a benchmark, is placed according to its benchmarks:

    - if all are of one region, under that region;
    - if behaviour was measured, under ``behavior_vision``; if neurons were recorded in several regions, under
      ``neural_vision``; if nothing was measured, under ``engineering_vision``.

    Benchmarks of plugins are not imported, so only the stored parent is known. If that is not a node yet, its name may
    end in a region, as in ``"Doe2026.V4"``; otherwise it becomes a root, so that published averages do not change
    until its position is given. ``stored`` may also give the parents of parents.

    Args:
        stored: benchmark or node -> its parent, e.g. of the benchmarks in a store. Ignored for bsjax's own benchmarks,
            whose rows give the parent, and for the nodes above them.

    Raises:
        ValueError: a parent is not text, or a benchmark would be averaged under itself or under another benchmark with
            scores.

    Example:
        >>> tree = benchmark_tree({"Doe2026.V4-pls": "V4", "Doe2026-odd": "Doe2026"})
        >>> tree.roots[:3], tree.children("average_vision")
        (('average_vision', 'engineering_vision', 'Doe2026'), ('neural_vision', 'behavior_vision'))
        >>> tree.parent["MajajHong2015.IT-pls"], tree.parent["Doe2026.V4-pls"], tree.root("Hermann2020")
        ('IT', 'V4', 'engineering_vision')
    """
    if odd := [f"{above!r} of {name!r}" for name, above in (stored or {}).items() if not isinstance(above, str)]:
        raise ValueError(f"the parent of a stored benchmark must be a text, '' where it has none, got {some(odd)}")
    rows = {row.identifier: row for row in benchmark_rows()}
    given = {name: _SAME.get(above, above) for name, above in (stored or {}).items() if name not in _SAME}
    parent = {row.identifier: _parent_of(row) for row in rows.values() if row.parent or not row.plugin}
    members: dict[str, list[BenchmarkRow]] = {}
    for name, above in parent.items():
        members.setdefault(above, []).append(rows[name])
    nodes = {**_WEBSITE, **_GATHERED}
    nodes |= {name: _place(of) for name, of in members.items() if name and name not in nodes}
    parent = {**given, **parent, **nodes}
    # Benchmarks of plugins without a stored parent.
    parent |= {name: "" for name in rows if name not in parent}
    for above in set(parent.values()) - set(parent) - {""}:
        region = re.search(rf"[._-]({'|'.join(_REGIONS)})$", above)
        parent[above] = region[1] if region else ""
    scored = sorted((name, above) for name, above in parent.items() if above in rows and above != name)
    if scored:
        said = [f"{name!r} under {above!r}" for name, above in scored]
        raise ValueError(f"nothing can be averaged under a benchmark that has scores of its own: {some(said)}")
    # Drop nodes of the website without benchmarks.
    tree = Tree(parent, {name: _ORDER[name] for name in _ORDER if name in parent})
    return tree.only(name for name in tree.leaves() if name not in nodes)


def _parent_of(row: BenchmarkRow) -> str:
    parent = _SAME.get(row.parent, row.parent)
    for group, above in _GATHERED.items():
        if parent == above and row.identifier.startswith(group):
            return group
    return parent


def _place(members: Collection[BenchmarkRow]) -> str:
    """The parent of a node, from the benchmarks that are averaged in it."""
    measured = {row.modality for row in members} - {"none", ""}
    regions = {row.region for row in members}
    if not measured:
        return _ENGINEERING
    if "behaviour" in measured:
        return _BEHAVIOUR
    return regions.pop() if len(regions) == 1 and regions <= set(_REGIONS) else _NEURAL


def _check_names(parent: Mapping[str, str], numbers: Mapping[str, int]) -> None:
    odd = [repr(name) for name in {**parent, **numbers} if not isinstance(name, str) or not name]
    if odd:
        raise ValueError(f"nodes of a tree of benchmarks are named by text, got {some(odd)}")
    odd = [f"{name!r}: {above!r}" for name, above in parent.items() if not isinstance(above, str)]
    if odd:
        raise ValueError(f"the parent of a node must be the name of a node, or '' for a root, got {some(odd)}")
    if missing := sorted(map(repr, set(parent.values()) - set(parent) - {""})):
        raise ValueError(f"parents that are no nodes: {some(missing)}; give each a parent of its own, '' for a root")
    if missing := sorted(map(repr, set(numbers) - set(parent))):
        raise ValueError(f"numbers of what is no node of the tree: {some(missing)}")
    try:
        TopologicalSorter({name: {parent[name]} for name in sorted(parent)}).prepare()
    except CycleError as error:
        circle = " under ".join(map(repr, error.args[1][::-1]))
        raise ValueError(f"benchmarks are averaged under themselves: {circle}") from None
