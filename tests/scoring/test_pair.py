"""Models x benchmarks: order, progress, failures, what is kept; and ``bsjax.score``."""

import gc
import warnings
import weakref
from functools import partial

import pytest

import bsjax
from bsjax import benchmark_registry, load_benchmark, load_model, model_registry
from bsjax.results import ResultStore
from bsjax.scoring import job, jobs_of, run, runner, watched
from tests.scoring.conftest import Small, Told, stored_model


def test_a_failing_pair_does_not_lose_the_others(good, bad, small, broken):
    with watched(told := Told()):
        outcomes = list(run(jobs_of([good, bad], [broken, small])))
    names = [(model, benchmark) for model in ("good", "bad") for benchmark in ("Broken.V1-ridge", "Small.V1-ridge")]
    assert [job.names for job in told.jobs] == [(o.model, o.benchmark) for o in outcomes] == names
    assert [outcome.score is None for outcome in outcomes] == [True, False, True, False]
    assert outcomes[0].error_line == "the data are incomplete"
    assert isinstance(outcomes[0].error, ValueError)
    assert outcomes[1].error is None and outcomes[1].error_line == ""
    assert all(outcome.seconds > 0 for outcome in outcomes)


def test_a_model_that_cannot_be_built_is_tried_once_and_fails_its_own_pairs_only(good, small, monkeypatch):
    tried = []

    def unbuildable():
        tried.append(1)
        raise ImportError("needs the extra 'moon'")

    monkeypatch.setitem(model_registry, "unbuildable", unbuildable)
    benchmarks = [small, *(Small(f"Other{n}.V1-ridge") for n in range(11))]
    outcomes = list(run(jobs_of(["unbuildable", good], benchmarks)))
    with pytest.warns(UserWarning) as warned:
        bsjax.score(["unbuildable", good], benchmarks, store=None)
    assert [outcome.error_line for outcome in outcomes] == 12 * ["needs the extra 'moon'"] + 12 * [""]
    assert len(tried) == 2 and len(warned) == 1 and "Other10.V1-ridge: needs the extra" in str(warned[0].message)


@pytest.mark.slow
def test_models_are_built_when_they_are_scored_and_let_go_afterwards(small, monkeypatch):
    built = {}

    def build(name):
        model = stored_model(name, noise=0.1)
        built[name] = weakref.ref(model)
        return model

    for name in ("first", "second"):
        monkeypatch.setitem(model_registry, name, partial(build, name))
    outcomes = run(jobs_of(["first", "second"], [small, Small("Other.V1-ridge")]))
    assert not built
    assert next(outcomes).model == "first" and list(built) == ["first"]
    assert len(list(outcomes)) == 3 and list(built) == ["first", "second"]
    gc.collect()
    assert built["first"]() is None


def test_benchmarks_on_the_same_data_follow_each_other(good):
    names = ["Marques2020_Ringach2002-circular_variance", "Simulated.V1-pls", "Marques2020_Ringach2002-or_bandwidth"]
    assert [job.benchmark for job in jobs_of(good, names)] == [names[0], names[2], names[1]]


@pytest.mark.slow
def test_each_benchmark_is_built_once_and_few_are_kept(good, bad, monkeypatch):
    monkeypatch.setattr(job, "KEPT_BENCHMARKS", 2)
    monkeypatch.setattr(runner, "KEPT_BENCHMARKS", 2)
    built = {}

    def factory(identifier):
        assert identifier not in built
        benchmark = Small(identifier)
        built[identifier] = weakref.ref(benchmark)
        return benchmark

    names = [f"Tiny{number}.V1-ridge" for number in range(5)]
    for name in names:
        monkeypatch.setitem(benchmark_registry, name, partial(factory, name))
    outcomes = run(jobs_of([good, bad], names))
    assert [next(outcomes).error for _ in range(10)] == [None] * 10
    gc.collect()
    assert list(built) == names and sum(one() is not None for one in built.values()) == 2


@pytest.mark.slow
def test_a_list_or_a_glob_gives_a_dict_of_pairs(good, bad, small):
    scores = bsjax.score([good, bad], small)
    assert list(scores) == [("good", "Small.V1-ridge"), ("bad", "Small.V1-ridge")]
    assert scores["good", "Small.V1-ridge"] > scores["bad", "Small.V1-ridge"]
    assert list(bsjax.score("pix*", "Simulated.V1-ri*")) == [("pixels", "Simulated.V1-ridge")]
    assert list(bsjax.score([good], small)) == [("good", "Small.V1-ridge")]


def test_a_pair_that_fails_is_left_out_with_a_warning(good, small, broken):
    with pytest.warns(UserWarning, match="^no score for good on Broken.V1-ridge: the data are incomplete$") as caught:
        scores = bsjax.score(good, [broken, small])
    assert list(scores) == [("good", "Small.V1-ridge")]
    assert [warning.filename for warning in caught] == [__file__]


def test_if_all_pairs_fail_so_does_the_call(good, broken):
    with pytest.raises(ValueError, match="no pair has a score:\ngood on Broken.V1-ridge: the data are inc"):
        bsjax.score(good, [broken])
    with pytest.raises(ValueError, match="^the data are\n    incomplete$"):
        bsjax.score(good, broken)


def test_data_goes_to_the_benchmarks_that_take_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        bsjax.score("pixels", "Cowley2026.V4-ridge", data=tmp_path)
    with pytest.raises(ValueError, match="no benchmark takes the argument 'data': Simulated.V1-ridge, Sim"):
        bsjax.score("pixels", "Simulated.V1-r*", data=tmp_path)


# The store.


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_RESULTS", str(tmp_path / "results.db"))
    return tmp_path / "results.db"


def kept_in(place):
    with ResultStore(place, read_only=True) as store:
        return store.frame(latest=False)


@pytest.mark.slow
def test_a_score_is_computed_once_and_kept(results):
    with watched(told := Told()):
        first = bsjax.score("pixels", "Simulated.V1-cka")
        assert bsjax.score("pixels", "Simulated.V1-cka").to_dict() == first.to_dict()
        # A model that is given as an object is told by its content.
        assert bsjax.score(load_model("pixels"), "Simulated.V1-cka").to_dict() == first.to_dict()
        both = bsjax.score(["pixels", "gabor-v1"], "Simulated.V1-cka")
        assert [job.model for job in told.jobs] == ["pixels", "gabor-v1"] == [model for model, _ in both]
        by_object = bsjax.score(load_model("pixels"), load_benchmark("Simulated.V1-cka"), store=None)
        assert by_object == first and by_object.provenance == first.provenance
        assert bsjax.score("pixels", "Simulated.V1-cka", resampling=bsjax.Resampling("stimuli", draws=20)) == first
    assert len(told.jobs) == 4
    assert kept_in(results)["model"].tolist() == ["pixels", "gabor-v1", "pixels"]
    # The command and a grid have them, too.
    assert [cell.state for cell in bsjax.plan(["pixels", "gabor-v1"], "Simulated.V1-cka")] == ["scored", "scored"]


def test_nothing_is_kept_of_benchmarks_that_are_objects(good, small, broken, results):
    assert bsjax.score(good, small) > 0.9
    with pytest.raises(ValueError):
        bsjax.score(good, broken)
    assert not results.exists()


def test_a_failure_is_raised_as_it_is_and_kept(results, monkeypatch):
    monkeypatch.setitem(model_registry, "unbuildable", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bsjax.score("unbuildable", "Simulated.V1-cka")
    assert kept_in(results)["state"].tolist() == ["failed"]


@pytest.mark.slow
def test_without_a_place_scores_are_computed(tmp_path, monkeypatch):
    (tmp_path / "home" / "results.db").mkdir(parents=True)
    monkeypatch.delenv("BSJAX_RESULTS", raising=False)
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert 0 < bsjax.score("pixels", "Simulated.V1-cka") < 1
    assert any("scores are computed each time" in str(each.message) for each in said)
    for named in (
        lambda: {"store": tmp_path / "home" / "results.db"},
        lambda: monkeypatch.setenv("BSJAX_RESULTS", "/dev/null/x") or {},
    ):
        with pytest.raises(OSError):
            bsjax.score("pixels", "Simulated.V1-cka", **named())
