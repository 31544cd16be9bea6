"""The tree of benchmarks."""

import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.benchmarks import benchmark_rows
from bsjax.results.tree import Tree, benchmark_tree

REGIONS = ("V1", "V2", "V4", "IT")


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any forest of up to 12 nodes, their places given or not."""
    names = draw(st.lists(st.text("abcV1-. ", min_size=1, max_size=4), min_size=1, max_size=12, unique=True))
    above = [draw(st.sampled_from(["", *names[:number]])) for number in range(len(names))]
    numbers = draw(st.dictionaries(st.sampled_from(names), st.integers(-2, 1200), max_size=4))
    return Tree(dict(zip(names, above, strict=True)), numbers)


def test_nodes_are_in_order_depth_first():
    parent = {"c": "V1", "V2": "all", "b": "V2", "V1": "all", "a": "V1", "all": "", "a0": ""}
    tree = Tree(parent)
    assert tree.order == ("a0", "all", "V1", "a", "c", "V2", "b") and tree.roots == ("a0", "all")
    assert tree.children("all") == ("V1", "V2") and tree.children("a") == ()
    assert tree.leaves() == ("a0", "a", "c", "b") and tree.leaves("V1") == ("a", "c") and tree.leaves("b") == ("b",)
    assert tree.root("c") == "all" and tree.root("all") == "all"
    # A number comes before none, and equal numbers leave it to the identifiers.
    ordered = Tree(parent, {"all": 0, "V2": 3, "V1": 3, "c": 7})
    assert ordered.order == ("all", "V1", "c", "a", "V2", "b", "a0")
    assert Tree(parent) == tree != ordered and pickle.loads(pickle.dumps(ordered)) == ordered


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        ({"all": "", "x": "all", "c": "b", "b": "d", "d": "c", "leaf": "c"}, "'b' under 'd' under 'c' under 'b'$"),
        ({"a": "V1", "b": "V2", "V2": ""}, "no nodes: 'V1'; give each a parent"),
        ({"a": None}, "for a root, got 'a': None"),
    ],
)
def test_what_is_no_tree_is_refused(parent, said):
    with pytest.raises(ValueError, match=said):
        Tree(parent)


def test_what_is_no_node_is_refused():
    tree = Tree({"all": "", "V1": "all", "a": "V1"})
    with pytest.raises(KeyError, match="no node 'b' in the tree of benchmarks; its roots are all"):
        tree.leaves("b")
    with pytest.raises(ValueError, match="some of its leaves, but these are none of them: V1, b"):
        tree.only(["a", "V1", "b"])


def test_the_tree_of_some_leaves_has_what_is_above_them():
    tree = Tree({"all": "", "V1": "all", "V2": "all", "a": "V1", "b": "V1", "c": "V2", "d": ""}, {"V2": 0, "V1": 1})
    cut = tree.only(["c", "b", "b"])
    assert cut.order == ("all", "V2", "c", "V1", "b") and cut.numbers == {"V2": 0, "V1": 1}
    assert tree.only(["d"]).order == ("d",) and tree.only(tree.leaves()) == tree


@given(trees())
def test_every_node_is_once_in_the_order_and_its_leaves_are_those_of_its_children(tree):
    assert sorted(tree.order) == sorted(tree.parent)
    places = {name: place for place, name in enumerate(tree.order)}
    for name, above in tree.parent.items():
        assert not above or places[above] < places[name]
        below = [leaf for child in tree.children(name) for leaf in tree.leaves(child)]
        assert list(tree.leaves(name)) == (below or [name])
        # All that is below a node follows it without a gap.
        subtree = [node for node in tree.order if node == name or name in _above(tree, node)]
        assert list(tree.order[places[name] : places[name] + len(subtree)]) == subtree
    assert Counter(tree.leaves()) == Counter(leaf for root in tree.roots for leaf in tree.leaves(root))
    assert tree.only(tree.leaves()) == tree


def _above(tree: Tree, name: str) -> list[str]:
    found = []
    while tree.parent[name]:
        name = tree.parent[name]
        found.append(name)
    return found


def test_the_tree_of_all_rows():
    rows, tree = benchmark_rows(), benchmark_tree()
    assert sorted(tree.leaves()) == sorted(row.identifier for row in rows)
    without = sorted(row.identifier for row in rows if not row.parent)
    assert tree.roots == ("average_vision", "engineering_vision", *without)
    assert tree.children("average_vision") == ("neural_vision", "behavior_vision")
    assert tree.children("neural_vision") == REGIONS
    for row in rows:
        above = _above(tree, row.identifier)
        if row.parent not in ("", "behavior", "engineering"):
            assert above[0] == row.parent
        if row.parent in REGIONS:
            assert above == [row.parent, "neural_vision", "average_vision"]
        if row.modality not in ("behaviour", "none") and row.parent:
            assert above[-3] == row.region, row.identifier
        if row.modality == "behaviour":
            assert above[-2:] == ["behavior_vision", "average_vision"], row.identifier
        if row.kind == "engineering":
            assert above[-1] == "engineering_vision", row.identifier


def test_a_stored_benchmark_has_its_place_by_its_parent():
    tree = benchmark_tree(
        {
            **{"one": "V4", "two": "behavior", "three": "engineering", "four": "Geirhos2021"},
            **{"five": "Doe2026.V2", "six": "Doe2026-IT", "seven": "Doe2026", "eight": "", "nine": "Roe2026"},
            # A store may say where a parent is, too.
            "Roe2026": "behavior",
        }
    )
    assert _above(tree, "one") == ["V4", "neural_vision", "average_vision"]
    assert _above(tree, "two") == ["behavior_vision", "average_vision"]
    assert _above(tree, "three") == ["engineering_vision"]
    assert _above(tree, "four") == ["Geirhos2021", "behavior_vision", "average_vision"]
    assert _above(tree, "five") == ["Doe2026.V2", "V2", "neural_vision", "average_vision"]
    assert _above(tree, "six") == ["Doe2026-IT", "IT", "neural_vision", "average_vision"]
    assert _above(tree, "seven") == ["Doe2026"] and _above(tree, "eight") == []
    assert _above(tree, "nine") == ["Roe2026", "behavior_vision", "average_vision"]
    assert tree.roots[:4] == ("average_vision", "engineering_vision", "Doe2026", tree.roots[3])


def test_what_is_stored_of_published_benchmarks_and_nodes_changes_nothing():
    published = {row.identifier: row.parent for row in benchmark_rows()}
    assert benchmark_tree(published) == benchmark_tree({}) == benchmark_tree()
    former = {"V1": "average_vision", "behavior": "average_vision", "MajajHong2015.IT-pls": "V4", "Geirhos2021": ""}
    assert benchmark_tree(former) == benchmark_tree()
