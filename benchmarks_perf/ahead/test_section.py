"""What is kept of compiled programs, and what the page says of it."""

import pytest

from benchmarks_perf.ahead import results, section
from benchmarks_perf.ahead.devices import DEVICES
from benchmarks_perf.ahead.programs import LAYERS, programs
from benchmarks_perf.rows import TABLE
from bsjax import metric_registry
from tests.contract.table import TABLE as CONTRACT


def found(**changes):
    usual = {
        "trace_s": 0.1,
        "compile_s": 4.0,
        "compile_cpu_s": 3.0,
        "code_bytes": 2_000_000,
        "temporary_bytes": 7_000_000,
        "seconds": 0.002,
        "launches": 1234.0,
        "reads": 2.0,
        "steps": 25.0,
        "calls": {"cusolver_potrf_ffi": 1, "sort": 1},
        "in_rare_branches": {"sort": 1},
        "loops": [{"turns": None, "launches": 3.0, "depth": 1, "rare": False}],
        "longest": [{"what": "while/dot_general dot", "seconds": 0.001, "launches": 12.0}],
        "callbacks": 0,
        "has_float64": False,
        "precisions": {"highest,highest": 3},
        "compiler": "libtpu 0.1",
    }
    return usual | changes


def test_there_is_a_program_of_every_measured_row_and_of_every_registered_metric():
    named = programs()
    # Least squares of each feature twice is the program of least squares, and layers are those of PLS.
    assert {program.row for program in named.values()} - {None} == TABLE.keys() - {"linear_deficient", "layers"}
    spoken_for = {metric for name in named if name in CONTRACT for metric in CONTRACT[name].metrics}
    spoken_for |= {metric for metric in CONTRACT["I2n"].metrics}
    assert {name for name in metric_registry if metric_registry.is_bsjaxs(name)} - {
        "regression",
        "regression_split",
    } == spoken_for


@pytest.mark.parametrize("name", [name for name, program in programs().items() if program.of_source])
def test_many_sources_have_each_their_own_arrays(name):
    program = programs()[name]
    _, shapes = program.at(LAYERS)
    for array, shape in program.shapes.items():
        many = (LAYERS, *shape.shape) if array in program.of_source else shape.shape
        assert shapes[array].shape == many


def test_results_are_added_one_by_one_and_the_page_says_what_exceeds_its_bounds(tmp_path):
    assert section.rendered(tmp_path) == ""
    results.keep("tpu", "pls", 1, found(compile_s=99.0, compile_cpu_s=98.0, code_bytes=20_000_000), tmp_path)
    results.keep("tpu", "pls", LAYERS, found(seconds=9.0), tmp_path)
    results.keep("tpu", "rdm", 1, {"failed": "not compiled after 300 s"}, tmp_path)
    results.keep("tpu", "cka", 1, found(precisions={"default": 1}, in_rare_branches={}), tmp_path)
    assert results.kept("tpu", "pls", LAYERS, tmp_path)["seconds"] == 9.0
    assert results.kept("tpu", "ridge", 1, tmp_path) is None and results.read("cuda", tmp_path) == {}
    text = section.rendered(tmp_path)
    assert "TPU v5e" in text and "### NVIDIA" not in text and "Compiled by libtpu 0.1." in text
    row = next(line for line in text.splitlines() if line.startswith("| **pls**"))
    for said in ("98.0 s / 3.0 s", "1,234", "25+", "9e+03 ms", "cusolver_potrf, (sort)"):
        assert said in row
    assert text.index("**pls**") < text.index("**cka**") < text.index("**rdm**")
    for verdict in (
        "- Took more than 15 s to compile: pls.",
        "- Did not compile in time: rdm.",
        "- Code of more than 10 MB: pls.",
        "- Sorts or decomposes in a branch that usual data do not take: pls; pls (16 at once).",
        "most of it while/dot_general dot (0 %).",
        "- Calls the host, has float64, or multiplies below full precision: cka.",
    ):
        assert verdict in text


@pytest.mark.parametrize("plugin", DEVICES)
def test_no_program_that_is_kept_calls_the_host_has_float64_or_loses_digits(plugin):
    for name, by_layers in results.read(plugin).items():
        for layers, kept in by_layers.items():
            assert name in programs() and int(layers) in (1, LAYERS)
            if "failed" not in kept:
                assert not kept["callbacks"] and not kept["has_float64"] and "default" not in kept["precisions"], name
