"""What the site shows, read from a store."""

import numpy as np
import pytest

from bsjax.leaderboard.records import STATES, records
from bsjax.results.aggregation import aggregate
from tests.leaderboard.conftest import scored


@pytest.fixture(scope="module")
def read(ordinary_store):
    return records(ordinary_store)


def cell(read, model, benchmark):
    place = (
        [node.identifier for node in read.leaves].index(benchmark),
        [each.identifier for each in read.models].index(model),
    )
    return STATES[read.columns["state"][place]], read.texts["reason"][place]


def test_the_tree_is_depth_first_and_says_what_rows_say(read):
    by_name = {node.identifier: node for node in read.nodes}
    for number, node in enumerate(read.nodes):
        assert node.parent < number
        assert node.depth == (0 if node.parent < 0 else read.nodes[node.parent].depth + 1)
    it = by_name["MajajHong2015public.IT-pls"]
    assert (it.version, it.facts["region"], it.facts["species"], it.public) == (4, "IT", "macaque", True)
    assert read.nodes[it.parent].identifier == "IT" and not read.nodes[it.parent].is_leaf
    assert by_name["Doe2026-odd"].row is None and by_name["Doe2026-odd"].public is None
    families = [by_name[name].family for name in ("MajajHong2015public.IT-pls", "Doe2026-odd")]
    assert families == ["MajajHong2015", "Doe2026"]
    assert next(model for model in read.models if ":" in model.identifier).family == "torchvision"


def test_scores_of_an_earlier_version_are_missing_and_say_so(store):
    for model, version in (("a", 1), ("b", 2)):
        store.add(scored(model, "Doe2026-x", 0.5, benchmark_version=version))
    read = records(store)
    assert cell(read, "a", "Doe2026-x") == ("missing", "scored on version 1; the table shows version 2")
    assert np.isnan(read.columns["score"][0, 0]) and read.columns["score"][0, 1] == 0.5
    expected = aggregate(store.frame(), read.tree)
    np.testing.assert_array_equal(read.averages["score"].T.ravel(), expected["score"])
    assert len(read.history) == 2


def test_numbers_that_cannot_be_averaged_stop_nothing(store):
    store.add(scored("a", "Doe2026-x", np.inf, None))
    store.add(scored("b", "Doe2026-x", 0.5))
    read = records(store)
    assert cell(read, "a", "Doe2026-x") == ("undefined", "its score is infinite")
    assert read.averages["score"].tolist()[0][1] == 0.5


def test_a_benchmark_with_scores_that_others_are_averaged_under_is_named(store):
    store.add(scored("a", "Doe2026", 0.5))
    store.add(scored("a", "Doe2026-x", 0.4, parent="Doe2026"))
    read = records(store)
    assert [node.identifier for node in read.leaves] == ["Doe2026-x"] and "Doe2026 has scores" in read.notes[0]


def test_benchmarks_that_are_averaged_under_themselves_are_left_out_and_named(store):
    parents = {"Doe-a": "Doe-b", "Doe-b": "Doe-a", "Roe": "Roe", "Doe-x": "Doe-a", "Moe": "V1"}
    for name, above in parents.items():
        store.add(scored("a", name, 0.5, parent=above))
    read = records(store)
    assert {node.identifier for node in read.leaves} == {"Doe-x", "Moe"} and len(read.notes) == 3
    assert read.notes[0].startswith("Doe-a under Doe-b under Doe-a: Doe-a is averaged under itself")


def test_a_store_of_nothing_but_averages_is_refused(store):
    for name in ("V1", "V2", "engineering_vision"):
        store.add(scored("a", name, 0.5, parent="Doe"))
    with pytest.raises(ValueError, match="nothing to show: V1 has scores .*; V2 has scores .*; engineering_vision has"):
        records(store)
    store.add(scored("a", "Doe-x", 0.4, parent="Doe"))
    assert [node.identifier for node in records(store).nodes] == ["Doe", "Doe-x"]


def test_only_what_is_asked_for(ordinary_store):
    read = records(ordinary_store, models=["resnet*"], benchmarks=["MajajHong2015*"])
    assert [model.identifier for model in read.models] == ["resnet50"] and len(read.leaves) == 2
    with pytest.raises(ValueError, match="nothing to show"):
        records(ordinary_store, models=["nobody"])
