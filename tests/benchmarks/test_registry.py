"""The table of benchmarks."""

import pytest

from bsjax import benchmark_registry, list_benchmarks, load_benchmark
from bsjax.benchmarks import builtin_benchmarks

ALL = [
    *[f"Simulated.V1-{metric}" for metric in ("neuron_to_neuron", "pls", "ridge", "cka", "rdm")],
    *[f"Cowley2026.V4-{metric}" for metric in ("pls", "ridge", "cka", "rdm")],
]


def test_all_benchmarks_are_listed_with_a_line_on_each():
    assert {name for name in list_benchmarks() if name in ALL} == set(ALL)
    summaries = [benchmark_registry.summary(name) for name in ALL]
    assert all(summaries) and len(set(summaries)) == len(ALL)
    assert builtin_benchmarks()[7:] == ALL[:5]
    assert all(name.startswith("Marques2020_") for name in builtin_benchmarks()[:7])


@pytest.mark.parametrize("identifier", ALL)
def test_each_is_built_under_its_own_name(identifier):
    benchmark = load_benchmark(identifier)
    assert benchmark.identifier == identifier
    assert benchmark.parent == identifier.split(".")[1].split("-")[0]
    assert benchmark.version >= 1


def test_an_unknown_benchmark_names_the_nearest():
    with pytest.raises(KeyError, match="unknown benchmark 'Simulated.V1-rigde'; nearest: Simulated.V1-ridge"):
        load_benchmark("Simulated.V1-rigde")


def test_an_argument_that_a_benchmark_does_not_take_is_named():
    with pytest.raises(ValueError, match="'Simulated.V1-ridge': got an unexpected keyword argument 'data'"):
        load_benchmark("Simulated.V1-ridge", data="somewhere")
