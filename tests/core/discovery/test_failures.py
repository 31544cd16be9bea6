"""Plugins that call ``sys.exit`` or fail: an error of theirs, with its place, that ends nothing else."""

import sys

import pytest

import bsjax
from bsjax.core.discovery import not_exiting
from bsjax.core.discovery.failures import last_line_in
from bsjax.scoring import choose_layers, jobs_of, run
from bsjax.submission import check_plugins
from tests.support.forked import run_command

BENCHMARK = """
    from bsjax import Score, benchmark_registry

    class Half:
        identifier = "Doe2026-half"
        version = 1
        parent = "IT"
        bibtex = ""
        ceiling = Score(1.0)

        def __call__(self, candidate):
            candidate.look_at(["a.png"])
            return Score(0.5)

    benchmark_registry["Doe2026-half"] = Half
"""
MODEL = """
    '''A model.'''
    import sys
    from bsjax import model_registry
    {at_import}

    class Model:
        identifier = "{name}"

        def __init__(self):
            {in_constructor}

        def visual_degrees(self):
            return 8

        def start_recording(self, *arguments, **settings):
            pass

        def start_task(self, *arguments):
            raise ValueError

        def look_at(self, stimuli, number_of_trials=1):
            {in_look_at}

    model_registry["{name}"] = Model
"""
PLACES = {"at_import": 5, "in_constructor": 11, "in_look_at": 23}


def model(name, **code):
    return MODEL.format(name=name, **dict.fromkeys(PLACES, "pass") | code)


@pytest.fixture
def exiting(plugin):
    """A benchmark, a model that works, and one for each place in which a model can exit."""
    plugin("half", BENCHMARK)
    for place in PLACES:
        plugin(place, model(f"{place}-net", **{place: "sys.exit(0)"}))
    plugin("works", model("works-net"))
    return plugin


def place_of(plugin, place):
    return f"{plugin.root / place / '__init__.py'} line {PLACES[place]}"


def test_a_grid_goes_on_and_says_where_it_was(exiting):
    outcomes = {
        one.model: one for one in run(jobs_of([f"{place}-net" for place in PLACES] + ["works*"], "Doe2026-half"))
    }
    assert float(outcomes["works-net"].score) == 0.5
    for place in PLACES:
        outcome = outcomes[f"{place}-net"]
        assert outcome.score is None and isinstance(outcome.error, Exception)
        assert f"sys.exit(0) is called in {place_of(exiting, place)}" in outcome.error_line


def test_layers_are_not_chosen_silently():
    network = bsjax.adapters.from_jax(lambda images: images, "exits", preprocess=lambda images: sys.exit())
    with pytest.raises(RuntimeError, match=r"sys.exit\(\) is called in .*test_failures.py"):
        choose_layers(network, benchmarks={"V1": "Simulated.V1-ridge"})


def test_the_checklist_goes_on(exiting):
    for place in PLACES:
        folder = exiting.root / place
        items = {item.name: item for section in check_plugins(folder) for item in section.checks}
        said = "".join(problem for item in items.values() for problem in item.problems)
        assert "sys.exit(0) is called in" in said and "tests" in items


@pytest.mark.slow
def test_an_interrupt_still_interrupts(exiting, tmp_path):
    with pytest.raises(KeyboardInterrupt), not_exiting():
        raise KeyboardInterrupt
    exiting("stop", model("stop-net", in_look_at="import os, signal; os.kill(os.getpid(), signal.SIGINT)"))
    asked = ["score", "-m", "stop-net", "-m", "works-net", "-b", "Doe2026-half", "--results", str(tmp_path / "r.db")]
    done = run_command(*asked)
    assert done.returncode == 130 and "works-net" not in done.stdout + done.stderr


def test_an_error_in_a_network_is_said_with_its_place(plugin):
    pytest.importorskip("torch")
    plugin(
        "net",
        """
        import numpy as np
        import torch
        import bsjax

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.one = torch.nn.Linear(2, 2)

            def forward(self, images):
                raise LookupError("no weights")

        def build():
            activations = bsjax.adapters.from_torch(Net(), "fails", preprocess=lambda paths: np.zeros((len(paths), 2)))
            return bsjax.ModelCommitment("fails", activations, region_layer_map={"V1": "one"})

        bsjax.model_registry["fails"] = build
        """,
    )
    [outcome] = run(jobs_of("fails", "Simulated.V1-ridge"))
    assert outcome.error_line.startswith(f"{plugin.root / 'net' / '__init__.py'} line 12: ValueError: model 'fails'")
    assert outcome.error_line.endswith("LookupError: no weights")


def test_an_error_is_said_with_its_type_and_place(plugin):
    plugin("half", BENCHMARK)
    for place in PLACES:
        plugin(place, model(f"{place}-net", **{place: "raise LookupError('no weights')"}))
    for place, outcome in zip(PLACES, run(jobs_of([f"{place}-net" for place in PLACES], "Doe2026-half")), strict=True):
        assert f"{place_of(plugin, place)}: LookupError: no weights" in outcome.error_line


def test_an_error_that_is_its_own_cause_has_a_place(tmp_path):
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert last_line_in([tmp_path], first) == ""
    exec(compile("def fail(error):\n    raise error from error", tmp_path / "code.py", "exec"), names := {})
    with pytest.raises(ValueError, match="first") as raised:
        names["fail"](first)
    assert last_line_in([tmp_path / "other"], raised.value) == ""
    assert last_line_in([tmp_path], raised.value) == f"{tmp_path / 'code.py'} line 2"
