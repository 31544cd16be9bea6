"""Models x benchmarks: order, progress, failures, and what is kept."""

import gc
import weakref

from bsjax import model_registry
from bsjax.scoring import plan, run
from tests.scoring.conftest import Small, stored_model


def test_every_model_meets_every_benchmark_model_by_model(good, bad, small):
    other = Small("Other.V1-ridge")
    pairs = plan([good, bad], [small, other])
    assert [(pair.model, pair.benchmark) for pair in pairs] == [
        ("good", "Small.V1-ridge"),
        ("good", "Other.V1-ridge"),
        ("bad", "Small.V1-ridge"),
        ("bad", "Other.V1-ridge"),
    ]


def test_a_failing_pair_does_not_lose_the_others(good, bad, small, broken):
    started = []
    outcomes = list(run(plan([good, bad], [broken, small]), progress=started.append))
    assert [(pair.model, pair.benchmark) for pair in started] == [(o.model, o.benchmark) for o in outcomes]
    assert [outcome.score is None for outcome in outcomes] == [True, False, True, False]
    assert outcomes[0].error_line == "the data are incomplete"
    assert isinstance(outcomes[0].error, ValueError)
    assert outcomes[1].error is None and outcomes[1].error_line == ""
    assert all(outcome.seconds > 0 for outcome in outcomes)


def test_a_model_that_cannot_be_built_fails_its_own_pairs_only(good, small):
    def unbuildable():
        raise ImportError("needs the extra 'moon'")

    model_registry["unbuildable"] = unbuildable
    try:
        outcomes = list(run(plan(["unbuildable", good], small)))
    finally:
        del model_registry["unbuildable"]
    assert [outcome.error_line for outcome in outcomes] == ["needs the extra 'moon'", ""]


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
        outcomes = run(plan(["first", "second"], [small, Small("Other.V1-ridge")]))
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
        pairs = plan(["passing", "pixels"], small)
        outcomes = [outcome for outcome in run(pairs)]
    finally:
        del model_registry["passing"]
    gc.collect()
    assert outcomes[0].score is not None
    assert living[0]() is None


def test_an_error_without_words_is_named_by_its_type(good, small):
    class Speechless(Small):
        def __call__(self, candidate):
            raise MemoryError

    [outcome] = run(plan(good, Speechless("Speechless.V1-ridge")))
    assert outcome.error_line == "MemoryError"
