"""Models x benchmarks: order, progress, failures, what is kept; and ``bsjax.score``."""

import gc
import warnings
import weakref
from functools import partial

import pytest

import bsjax
from bsjax import Score, benchmark_registry, load_benchmark, load_model, model_registry
from bsjax.results import ResultStore
from bsjax.scoring import Watcher, jobs, jobs_of, run, runner, watched
from tests.scoring.conftest import Small, stored_model


def test_every_model_meets_every_benchmark_model_by_model(good, bad, small):
    other = Small("Other.V1-ridge")
    jobs = jobs_of([good, bad], [small, other])
    assert [(job.model_identifier, job.benchmark_identifier) for job in jobs] == [
        ("good", "Small.V1-ridge"),
        ("good", "Other.V1-ridge"),
        ("bad", "Small.V1-ridge"),
        ("bad", "Other.V1-ridge"),
    ]


def test_a_failing_pair_does_not_lose_the_others(good, bad, small, broken):
    started = []

    class Told(Watcher):
        def begun(self, job):
            started.append(job)

    with watched(Told()):
        outcomes = list(run(jobs_of([good, bad], [broken, small])))
    assert [(job.model_identifier, job.benchmark_identifier) for job in started] == [
        (o.model, o.benchmark) for o in outcomes
    ]
    assert [outcome.score is None for outcome in outcomes] == [True, False, True, False]
    assert outcomes[0].error_line == "the data are incomplete"
    assert isinstance(outcomes[0].error, ValueError)
    assert outcomes[1].error is None and outcomes[1].error_line == ""
    assert all(outcome.seconds > 0 for outcome in outcomes)


def test_a_model_that_cannot_be_built_is_tried_once_and_fails_its_own_pairs_only(good, small):
    tried = []

    def unbuildable():
        tried.append(1)
        raise ImportError("needs the extra 'moon'")

    model_registry["unbuildable"] = unbuildable
    benchmarks = [small, *(Small(f"Other{n}.V1-ridge") for n in range(11))]
    try:
        outcomes = list(run(jobs_of(["unbuildable", good], benchmarks)))
        with pytest.warns(UserWarning) as warned:
            bsjax.score(["unbuildable", good], benchmarks, store=None)
    finally:
        del model_registry["unbuildable"]
    assert [outcome.error_line for outcome in outcomes] == 12 * ["needs the extra 'moon'"] + 12 * [""]
    assert len(tried) == 2 and len(warned) == 1 and "Other10.V1-ridge: needs the extra" in str(warned[0].message)


def test_planning_builds_nothing_and_outcomes_come_one_by_one(small):
    built = []

    def build(name):
        def factory():
            built.append(name)
            return stored_model(name, noise=0.1)

        return factory

    for name in ("first", "second"):
        model_registry[name] = build(name)
    try:
        outcomes = run(jobs_of(["first", "second"], [small, Small("Other.V1-ridge")]))
        assert built == []
        assert next(outcomes).model == "first"
        assert built == ["first"]
        assert len(list(outcomes)) == 3
        assert built == ["first", "second"]
    finally:
        del model_registry["first"], model_registry["second"]


def test_a_model_is_let_go_when_its_pairs_are_done(small):
    living = []

    def factory():
        model = stored_model("passing", noise=0.1)
        living.append(weakref.ref(model))
        return model

    model_registry["passing"] = factory
    try:
        outcomes = list(run(jobs_of(["passing", "pixels"], small)))
    finally:
        del model_registry["passing"]
    gc.collect()
    assert outcomes[0].score is not None
    assert living[0]() is None


@pytest.fixture
def registered():
    """Registers benchmarks that count how often they are built, and forgets them afterwards."""
    built = []

    def register(*identifiers):
        def factory(identifier):
            built.append(identifier)
            return Small(identifier)

        for identifier in identifiers:
            benchmark_registry[identifier] = partial(factory, identifier)
        return built

    yield register
    for identifier in set(built) | {name for name in benchmark_registry if name.startswith("Tiny")}:
        del benchmark_registry[identifier]


def test_benchmarks_on_the_same_data_follow_each_other(good):
    names = ["Marques2020_Ringach2002-circular_variance", "Simulated.V1-pls", "Marques2020_Ringach2002-or_bandwidth"]
    assert [job.benchmark for job in jobs_of(good, names)] == [names[0], names[2], names[1]]


def test_each_benchmark_is_built_once_though_few_are_kept(good, bad, registered, monkeypatch):
    monkeypatch.setattr(jobs, "KEPT_BENCHMARKS", 2)
    monkeypatch.setattr(runner, "KEPT_BENCHMARKS", 2)
    names = [f"Tiny{number}.V1-ridge" for number in range(5)]
    built = registered(*names)
    outcomes = list(run(jobs_of([good, bad], names)))
    assert all(outcome.error is None for outcome in outcomes) and len(outcomes) == 10
    assert built == names


def test_benchmarks_beyond_those_that_are_kept_are_let_go(good, monkeypatch):
    monkeypatch.setattr(runner, "KEPT_BENCHMARKS", 2)
    living = []

    def factory(identifier):
        benchmark = Small(identifier)
        living.append(weakref.ref(benchmark))
        return benchmark

    names = [f"Tiny{number}.V1-ridge" for number in range(3)]
    for name in names:
        benchmark_registry[name] = partial(factory, name)
    try:
        for number, _ in enumerate(run(jobs_of(good, names)), start=1):
            gc.collect()
            assert sum(one() is not None for one in living) == min(number, 2)
    finally:
        for name in names:
            del benchmark_registry[name]


def test_identifiers_and_objects_give_the_same_score():
    by_name = bsjax.score("pixels", "Simulated.V1-ridge")
    by_object = bsjax.score(load_model("pixels"), load_benchmark("Simulated.V1-ridge"))
    assert isinstance(by_name, Score)
    assert by_name.value == by_object.value
    assert by_name.provenance == by_object.provenance
    assert by_name.provenance["model"] == "pixels"


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


def test_unknown_identifiers_are_refused_before_anything_is_scored(good, small):
    with pytest.raises(KeyError, match="unknown model 'pixel'; nearest: pixels"):
        bsjax.score(["pixel", good], small)
    with pytest.raises(KeyError, match=r"no benchmark matches 'Simulatd\*'"):
        bsjax.score(good, "Simulatd*")


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


def test_a_score_is_computed_once_and_kept(results):
    begun = []

    class Told(Watcher):
        def begun(self, job):
            begun.append(job.model_identifier)

    with watched(Told()):
        first = bsjax.score("pixels", "Simulated.V1-cka")
        assert bsjax.score("pixels", "Simulated.V1-cka").to_dict() == first.to_dict()
        # A model that is given as an object is told by its content.
        assert bsjax.score(load_model("pixels"), "Simulated.V1-cka").to_dict() == first.to_dict()
        both = bsjax.score(["pixels", "gabor-v1"], "Simulated.V1-cka")
        assert begun == ["pixels", "gabor-v1"] and list(both) == [
            ("pixels", "Simulated.V1-cka"),
            ("gabor-v1", "Simulated.V1-cka"),
        ]
        assert bsjax.score("pixels", "Simulated.V1-cka", store=None) == first
        assert bsjax.score("pixels", "Simulated.V1-cka", resampling=bsjax.Resampling("stimuli", draws=20)) == first
    assert begun == ["pixels", "gabor-v1", "pixels", "pixels"]
    assert kept_in(results)["model"].tolist() == ["pixels", "gabor-v1", "pixels"]
    # The command and a grid have them, too.
    assert [cell.state for cell in bsjax.plan(["pixels", "gabor-v1"], "Simulated.V1-cka")] == ["scored", "scored"]


def test_another_place_for_scores(tmp_path, results):
    store = ResultStore(tmp_path / "mine.db")
    scores = [bsjax.score("pixels", "Simulated.V1-cka", store=each) for each in (store, tmp_path / "mine.db")]
    assert scores[0].to_dict() == scores[1].to_dict() and not results.exists()
    assert len(kept_in(tmp_path / "mine.db")) == 1


def test_nothing_is_kept_of_benchmarks_that_are_objects(good, small, broken, results):
    assert bsjax.score(good, small) > 0.9
    with pytest.raises(ValueError):
        bsjax.score(good, broken)
    assert not results.exists()


def test_a_failure_is_raised_as_it_is_and_kept(results):
    model_registry["unbuildable"] = lambda: 1 / 0
    try:
        with pytest.raises(ZeroDivisionError):
            bsjax.score("unbuildable", "Simulated.V1-cka")
    finally:
        del model_registry["unbuildable"]
    assert kept_in(results)["state"].tolist() == ["failed"]


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
