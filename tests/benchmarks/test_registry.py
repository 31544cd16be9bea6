"""The table of benchmarks."""

import pytest

from bsjax import load_benchmark


def test_an_unknown_benchmark_names_the_nearest():
    with pytest.raises(KeyError, match="unknown benchmark 'Simulated.V1-rigde'; nearest: Simulated.V1-ridge"):
        load_benchmark("Simulated.V1-rigde")


def test_an_argument_that_a_benchmark_does_not_take_is_named():
    with pytest.raises(ValueError, match="'Simulated.V1-ridge': got an unexpected keyword argument 'data'"):
        load_benchmark("Simulated.V1-ridge", data="somewhere")
