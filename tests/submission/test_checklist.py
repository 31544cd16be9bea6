"""``bsjax check``: each item fails for what it is about, says what to do, and takes no other item with it."""

import numpy as np
import pytest
from typer.testing import CliRunner

from bsjax import NeuroidAssembly, Score, StimulusSet, load_metric
from bsjax.benchmarks import NeuralBenchmark, benchmark_registry
from bsjax.cli import app
from bsjax.submission import check_plugins
from bsjax.submission.checks.bibtex import bibtex_problems
from bsjax.submission.checks.check_benchmarks import check_benchmark
from bsjax.submission.checks.check_data import check_registrations
from bsjax.submission.checks.check_metrics import check_metric
from bsjax.submission.checks.run_tests import check_properties, check_tests

BENCHMARK = """
    from bsjax import Score, benchmark_registry
    from bsjax.benchmarks import BenchmarkBase

    class Constant(BenchmarkBase):
        def __call__(self, candidate):
            return {score}

    benchmark_registry["{registered}"] = lambda: Constant(
        "{identifier}", lambda: {ceiling}, version=1, parent={parent!r}, bibtex={bibtex!r}
    )
"""
GOOD = {
    "registered": "Doe2026.V1-constant",
    "identifier": "Doe2026.V1-constant",
    "ceiling": "Score(0.9)",
    "score": "Score(0.5)",
    "parent": "V1",
    "bibtex": "@article{doe, title={On V1}, author={Doe, J.}, year={2026}}",
}


def items(folder, **options):
    """name -> problems of all items, of a plugin whose tests are not run."""
    sections = [section for section in check_plugins(folder, **options) if not section.title.startswith("tests of")]
    return {item.name: list(item.problems) for section in sections for item in section.checks}


@pytest.fixture
def benchmark(plugin):
    return lambda **changes: items(plugin("doe", BENCHMARK.format(**{**GOOD, **changes})))


def test_a_benchmark_in_order(benchmark):
    assert {name: problems for name, problems in benchmark().items() if problems} == {}


@pytest.mark.parametrize(
    ("changes", "item", "words"),
    [
        ({"identifier": "Roe2026-m"}, "identifier", "calls itself 'Roe2026-m': use one"),
        ({"registered": "Doe2026", "identifier": "Doe2026"}, "identifier", "does not end in the metric"),
        ({"bibtex": "@article{doe, ...}"}, "bibtex", "doe has no title, author, year"),
        ({"ceiling": "Score(1.2)"}, "ceiling", "it is 1.2: estimate it from single trials"),
        ({"ceiling": "Score(float('nan'))"}, "ceiling", "are stimuli repeated"),
        ({"score": "1 / 0"}, "scores", "ZeroDivisionError"),
    ],
)
def test_an_item_that_fails(benchmark, changes, item, words):
    failed = {name: " ".join(problems) for name, problems in benchmark(**changes).items() if problems}
    assert list(failed) == [item] and words in failed[item]


def test_a_benchmark_that_does_not_load(plugin):
    folder = plugin("doe", "from bsjax import benchmark_registry\nbenchmark_registry['Doe2026-m'] = 'no.such:thing'\n")
    found = items(folder)
    assert list(found) == ["found", "claims", "loads"] and "there is no module no" in found["loads"][0]


def test_a_benchmark_whose_data_do_not_do_for_a_score(plugin):
    folder = plugin(
        "doe",
        """
        import numpy as np
        from bsjax import NeuroidAssembly, Score, benchmark_registry, load_metric
        from bsjax.benchmarks import NeuralBenchmark

        def build():
            assembly = NeuroidAssembly([[1.0], [np.nan]], dims=["presentation", "neuroid"], coords={
                "stimulus_id": ("presentation", ["a", "b"]), "neuroid_id": ("neuroid", ["n"])})
            return NeuralBenchmark("Doe2026.V1-ridge", assembly, load_metric("ridge"), 8, 1, lambda: Score(1.0))

        benchmark_registry["Doe2026.V1-ridge"] = build
        """,
    )
    found = items(folder)
    values, images = found["data"]
    assert "1 of 2 values is NaN" in values and "no attrs['stimulus_set']" in images
    assert all(word in found["scores"][0] for word in ("'object_name'", "'region'", "'time_bin_start'"))


def test_properties_outside_their_bins(plugin):
    target = """target = PropertyAssembly(
            [[10.0], [170.0]], {"neuroid_property": ["angle"]}, ["neuroid", "neuroid_property"],
            attrs={"angle_bins": [-22.5, 157.5]},
        )
        def __call__"""
    code = BENCHMARK.format(**GOOD).replace("def __call__", target)
    problems = " ".join(items(plugin("doe", f"    from bsjax.data import PropertyAssembly{code}"))["data"])
    assert problems.startswith("1 values of angle lie outside its bins, -22.5 to 157.5")


def test_identifiers_that_are_taken_or_hidden(plugin):
    folder = plugin(
        "doe",
        """
        from bsjax import metric_registry
        metric_registry["pls"] = lambda: 1
        for name in "ab":
            metric_registry[name * 2] = lambda: 1
        """,
    )
    found = items(folder)
    assert "write each out as a string" in found["found"][0]
    assert "registered by bsjax itself" in found["claims"][0] and "registered by bsjax itself" in found["loads"][0]


def test_a_model(plugin):
    folder = plugin(
        "doe",
        """
        import numpy as np
        from bsjax import model_registry, NeuroidAssembly

        class Model:
            identifier = "Doe"

            def visual_degrees(self):
                return 224 * 224

            def start_task(self, task, fitting_stimuli=None):
                raise ValueError("no tasks")

            def start_recording(self, region, time_bins):
                if region != "V4":
                    raise ValueError(f"not in {region}")

            def look_at(self, stimuli, number_of_trials=1):
                return NeuroidAssembly(np.ones((len(stimuli), 2)), dims=["presentation", "neuroid"], coords={
                    "stimulus_id": ("presentation", stimuli["stimulus_id"]), "neuroid_id": ("neuroid", [1, 1])})

        model_registry["doe"] = Model
        """,
    )
    [section] = [section for section in check_plugins(folder) if section.title == "model doe"]
    assert {item.name: " ".join(item.problems) for item in section.checks if not item.passed} == {
        "identifier": "it is registered as 'doe' and calls itself 'Doe': use one",
        "degrees": "it is 50176: give the width of the model's field in degrees",
        "records V4": "neuroid_id repeats 1: give each unit an id of its own",
    }
    assert "it records from V4" in [item.asks for item in section.checks]


@pytest.mark.parametrize("identifier", ["rdm", "ridge_split", "internal_consistency", "accuracy"])
def test_metrics_of_all_kinds_are_compared_with_themselves(identifier):
    assert [item.problems for item in check_metric(identifier)] == [(), ()]


def test_a_metric(plugin):
    folder = plugin(
        "doe",
        """
        from bsjax import Score, metric_registry

        metric_registry["nothing"] = lambda: lambda source, target: Score(float("nan"))
        metric_registry["text"] = lambda: lambda source, target: "very similar"
        metric_registry["bare"] = lambda: lambda source, target: 0.5
        metric_registry["odd"] = lambda: lambda source, target: source["no_such_coordinate"]
        """,
    )
    found = {section.title: section.checks[-1].problems for section in check_plugins(folder)}
    assert found["metric nothing"] == ("it gives nan on recordings",)
    assert found["metric text"] == ("it gives a str: return a bsjax.Score",)
    assert found["metric bare"] == ("it gives a float: return a bsjax.Score",)
    assert found["metric odd"][0].count("no_such_coordinate") >= 2  # on recordings, and on choices


def test_data_that_cannot_be_had(plugin):
    folder = plugin(
        "doe",
        """
        from bsjax import data_registry, stimulus_set_registry

        def load():
            raise FileNotFoundError("put responses.nc into ~/doe")

        data_registry["Doe2026"] = load
        stimulus_set_registry["Doe2026"] = lambda: ["a", "b"]
        """,
    )
    found = {section.title: section.checks for section in check_plugins(folder)}
    [problem] = found["data set Doe2026"][0].problems
    assert problem == f"{folder / '__init__.py'} line 5: FileNotFoundError: put responses.nc into ~/doe"
    assert found["stimulus set Doe2026"][0].problems == ("got a list: return a bsjax.StimulusSet",)


def test_registrations_of_data_in_s3(plugin):
    folder = plugin(
        "doe",
        """
        from bsjax import data_registry, stimulus_set_registry
        from bsjax.data import NeuroidAssembly, load_assembly_from_s3, load_stimulus_set_from_s3

        stimulus_set_registry["Doe2026"] = lambda: load_stimulus_set_from_s3(
            identifier="Doe2026", bucket="doe-lab", csv_sha1="1d47ea4a09ddd72cebabca95b985646650f21646",
            zip_sha1="c96036", csv_version_id="null", zip_version_id="null")
        data_registry["Doe2026"] = lambda: load_assembly_from_s3(
            identifier="Doe2026", bucket="doe-lab", cls=NeuroidAssembly)
        """,
    )
    [check] = check_registrations(folder)
    assert [problem.partition(": ")[2] for problem in check.problems] == [
        "zip_sha1 is 'c96036', which is no SHA-1 digest: 40 hexadecimal digits",
        "no sha1, version_id: take the registration that `bsjax data upload` prints",
    ]


@pytest.mark.parametrize(("test", "skipped"), [("check_metric('half')", False), ("pass", True)])
def test_metrics_whose_properties_are_not_tested(plugin, test, skipped):
    found = check_properties(plugin("half", "", test=f"def test_half(): {test}"))
    assert bool(found.skipped) == skipped and not found.problems


@pytest.mark.slow
def test_tests_that_are_missing_fail_or_take_too_long(plugin):
    folder = plugin("doe", "from bsjax import model_registry\nmodel_registry['doe'] = lambda: 'me'\n")
    [lacking] = check_tests(folder, 60)
    assert "test.py with functions test_..." in lacking.problems[0]
    (folder / "test.py").write_text("def test_x(): 1 / 0")
    _, failing = check_tests(folder, 60)
    assert failing.problems[0].startswith("pytest ended with 1:") and "ZeroDivisionError" in failing.problems[0]
    plugin("doe", "", test="import time\ntime.sleep(60)")
    _, slow = check_tests(folder, 0.5)
    assert slow.problems == ("they take longer than 0.5 s: make them faster, or give --timeout",)


@pytest.mark.parametrize(
    ("bibtex", "problems"),
    [
        ('@book{a, title = "On {\\"u}", editor = {Doe}, year = 1999}', []),
        ("% two\n@misc{a, title={x}, author={y}, year={z}}\n@misc{b, title={x}, author={y}}", ["b has no year"]),
        ("@article {a,\n title = {x},\n author = {y},\n year = {2021},\n journal = {z}\n", ["a is not closed"]),
        ("Doe 2026", ["it is not like @article"]),
        (" ", ["there is none"]),
    ],
)
def test_bibtex(bibtex, problems):
    found = bibtex_problems(bibtex)
    assert len(found) == len(problems)
    assert all(one.startswith(other) for one, other in zip(found, problems, strict=True))


@pytest.mark.parametrize("degrees", [None, 8])
def test_images_of_unknown_width(monkeypatch, degrees):
    recorded = NeuroidAssembly(np.eye(3), {"region": ("neuroid", ["V1"] * 3)}, ["presentation", "neuroid"])
    recorded = recorded.assign_coords(stimulus_id=("presentation", list("abc")))
    recorded.attrs["stimulus_set"] = StimulusSet({"stimulus_id": list("abc")})
    made = NeuralBenchmark("Doe2026.V1-cka", recorded, load_metric("cka"), degrees, ceiling_func=lambda: Score(0.9))
    monkeypatch.setitem(benchmark_registry, made.identifier, lambda: made)
    [size] = [item for item in check_benchmark(made.identifier) if item.name == "size"]
    assert ("pass visual_degrees=" in size.skipped) == (degrees is None)


def test_a_folder_without_a_plugin(tmp_path, search):
    search()
    with pytest.raises(FileNotFoundError, match="holds no plugin: expected an __init__.py that registers something"):
        list(check_plugins(tmp_path))


def test_the_command(plugin):
    folder = plugin("doe", BENCHMARK.format(**{**GOOD, "parent": ""}))
    run = CliRunner()
    failed = run.invoke(app, ["check", str(folder)])
    assert failed.exit_code == 1 and failed.stderr == "bsjax: 2 of 10 items fail\n"
    lines = failed.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("  FAILED")] == ["parent", "tests"]
    allowed = run.invoke(app, ["check", str(folder), "--allow", "parent", "--allow", "tests"])
    assert allowed.exit_code == 0 and allowed.stdout.endswith("all 10 items pass\n")
    unknown = run.invoke(app, ["check", str(folder), "--allow", "parents"])
    assert unknown.exit_code == 1 and "--allow parents: no item has this name; there are: bibtex" in unknown.output
