"""A small data set and models for it, so that a benchmark scores in milliseconds."""

import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bsjax import ModelCommitment, NeuroidAssembly, Score, StimulusSet, load_benchmark
from bsjax.adapters import from_stored
from tests.compat.conftest import PUBLISHED, serve
from tests.support.plugin_fixtures import plugin, search
from tests.support.served_data import assembly_of

__all__ = ["plugin", "search", "serve"]


def parts(score: Score) -> tuple[float, float, float]:
    """What a score is made of: the raw one, the ceiling, and itself."""
    return float(score.unceiled), float(score.ceiling), float(score)


N_STIMULI, N_NEUROIDS, N_TRIALS = 40, 6, 4


@pytest.fixture
def stimuli(tmp_path: Path) -> StimulusSet:
    """Forty grey images of 8 x 8 pixels, without a size in degrees."""
    paths = {}
    for number in range(N_STIMULI):
        paths[f"s{number:02d}"] = tmp_path / f"{number}.png"
        Image.fromarray(np.full((8, 8, 3), 6 * number, np.uint8)).save(paths[f"s{number:02d}"])
    return StimulusSet({"stimulus_id": list(paths)}, identifier="forty", stimulus_paths=paths)


@pytest.fixture
def signal() -> np.ndarray:
    """What the neuroids respond without noise, ``(stimuli, neuroids)``."""
    return np.random.default_rng(3).normal(size=(N_STIMULI, N_NEUROIDS))


@pytest.fixture
def trials(stimuli: StimulusSet, signal: np.ndarray) -> NeuroidAssembly:
    """Noisy responses on every trial, one time bin, region IT."""
    noise = np.random.default_rng(4).normal(size=(N_TRIALS, *signal.shape))
    made = assembly_of(signal + noise, stimuli, region=["IT"] * N_NEUROIDS)
    return made.assign_attrs(stimulus_set=stimuli, stimulus_set_identifier=stimuli.identifier)


@pytest.fixture
def model(stimuli: StimulusSet, signal: np.ndarray) -> Callable[..., ModelCommitment]:
    """A model that responds the given values to the forty stimuli, by default the neuroids' own signal."""

    def make(values: np.ndarray = signal, identifier: str = "stored") -> ModelCommitment:
        ids = stimuli["stimulus_id"].tolist()
        activations = from_stored({"all": values.astype(np.float32)}, identifier, stimulus_ids=ids)
        return ModelCommitment(identifier, activations, region_layer_map={"IT": "all"}, visual_degrees=8)

    return make


@pytest.fixture
def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection is an error."""

    def refuse(*arguments: Any) -> None:
        raise AssertionError(f"a connection to {arguments[1:]} where none is needed")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def same_as_published(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``same_as_published(score, model)``: where Brain-Score's plugins are, the one of the same benchmark, unchanged,
    gives that score; also its interval, if that is asked for."""

    def check(own: Score, model: Any, parts: str = "value unceiled ceiling", atol=1e-9, interval=False) -> None:
        if not PUBLISHED.is_dir():
            pytest.skip("all but the comparison with Brain-Score's plugins holds: they are not here")
        monkeypatch.setenv("BSJAX_PLUGINS", str(PUBLISHED))
        with warnings.catch_warnings():
            for kind in (UserWarning, FutureWarning, DeprecationWarning):
                warnings.simplefilter("ignore", kind)
            plugin = load_benchmark(f"brainscore:{own.provenance['benchmark']}")(model)
        assert plugin.provenance["benchmark"] == own.provenance["benchmark"]
        for part in parts.split():
            one, two = (float(getattr(score, part)) for score in (own, plugin))
            assert one == pytest.approx(two, rel=0, abs=atol), part
        if interval:
            one, two = own.interval(), plugin.interval()
            assert (one.kind, one.over) == (two.kind, two.over)
            assert (own.formula, own.error_kind) == (plugin.formula, plugin.error_kind)
            np.testing.assert_allclose([one.low, one.high], [two.low, two.high], rtol=1e-6)

    return check
