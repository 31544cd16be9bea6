"""What takes its time tells how far it is, and it is shown where somebody sees it."""

import io
import re
import time

import numpy as np
import pytest
import xarray as xr

import bsjax
from bsjax import Score
from bsjax.core.watching import is_watched, steps, watched, watcher
from bsjax.labelled.metric import scored
from bsjax.labelled.regression import crossvalidation
from bsjax.labelled.resampling.draws import in_draws
from bsjax.scoring.display import bars
from tests.scoring.conftest import Told


class Terminal(io.StringIO):
    def isatty(self):
        return True


def responses(n=20):
    values = np.random.default_rng(0).normal(size=(n, 4))
    return xr.DataArray(values, {"stimulus_id": ("presentation", np.arange(n))}, ["presentation", "neuroid"])


def mean_product(source, target):
    return Score(float((source.values * target.values).mean()))


def test_each_draw_and_each_permutation_of_ones_own_metric_is_told():
    told = Told()
    with watched(told), in_draws(bsjax.Resampling("stimuli", draws=12)), bsjax.Permutations.within(9):
        scored(mean_product, responses(), responses())
    draws, permutations = told.steps["each draw of stimuli"], told.steps["each permutation of stimuli"]
    assert draws == [(done, 12) for done in range(13)] and permutations == [(done, 9) for done in range(10)]
    assert all(each[0][0] == 0 and each[-1][0] == each[-1][1] for each in told.steps.values())


@pytest.mark.slow
def test_fits_to_draws_of_two_factors_are_told_in_parts_that_change_no_number(monkeypatch):
    told, ridge = Told(), bsjax.load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None})
    recorded = responses(40).assign_coords(neuroid_id=("neuroid", np.arange(4)))
    with in_draws(bsjax.Resampling(("stimuli", "neuroids"), draws=30)):
        with watched(told), monkeypatch.context() as small:
            small.setattr(crossvalidation, "_OPERATIONS", 1.0)
            in_parts = scored(ridge, responses(40) + recorded.values[::-1], recorded)
        at_once = scored(ridge, responses(40) + recorded.values[::-1], recorded)
    without, drawn = told.steps["ridge fitted to draws"][:2], told.steps["ridge fitted to draws"][2:]
    assert without == [(0, 1), (1, 1)] and drawn == [(done, 30) for done in range(0, 31, 2)]
    np.testing.assert_allclose(in_parts.uncertainty.draws, at_once.uncertainty.draws, rtol=1e-12)


@pytest.mark.slow
def test_layers_are_told():
    told = Told()
    with watched(told):
        bsjax.choose_layers(bsjax.load_model("gabor-v1"), benchmarks={"V1": "Simulated.V1-cka"}, n_bootstrap=10)
    [layers] = [found for what, found in told.steps.items() if what.startswith("layers against V1")]
    assert layers == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.slow
def test_progress_is_written_where_it_is_asked_for_and_nowhere_else(monkeypatch):
    streams = {asked: io.StringIO() for asked in (True, None, False)}
    for asked, stream in streams.items():
        monkeypatch.setattr("sys.stderr", stream)
        bsjax.score("pixels", "Simulated.V1-cka", store=None, progress=asked)
    said = streams.pop(True).getvalue()
    assert re.fullmatch(r"\[1/1\] pixels on Simulated.V1-cka: [\d.]+ s\n", said.splitlines(keepends=True)[-1])
    assert not any(stream.getvalue() for stream in streams.values())
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(bars, "_SOON", 0.0)
    bsjax.score_sources("cka", {"a": responses()}, responses(), progress=False)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("how", ["terminal", "pipe", "silenced"])
def test_bars_are_shown_on_a_terminal_alone(how, monkeypatch):
    stream = Terminal() if how != "pipe" else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(bars, "_SOON", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    if how == "silenced":
        monkeypatch.setenv(bars.VARIABLE, "0")
    with bars.shown(2):
        shown = watcher()
        for _ in steps("ab", "letters", 2):
            until = time.monotonic() + 20
            while how == "terminal" and "letters" not in stream.getvalue() and time.monotonic() < until:
                time.sleep(0.01)
    assert isinstance(shown, bars.Bars) == (how == "terminal") == ("letters" in stream.getvalue())
    assert not is_watched()
