"""The same weights in torch and in flax: equal choices, and equal scores of behavioural benchmarks."""

import numpy as np
import pytest
from PIL import Image

from bsjax import BehavioralAssembly, ModelCommitment, PropertyAssembly, StimulusSet, load_benchmark

pytest.importorskip("torch")

from tests.adapters.test_equal_weights import FlaxConv, TorchConv, twins  # noqa: E402 (needs torch)
from tests.support.observers import observed  # noqa: E402

N_LEARNED, N_SHOWN = 24, 26
LABELS = np.array(["left", "right"] * 13)


def images(folder, n, seed):
    """Noise with a bright line to the left or to the right of the middle, and how far away it is."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    offset = np.repeat(np.linspace(1, 9, n // 2), 2)
    paths = {}
    for row in range(n):
        pixels = rng.integers(0, 60, (24, 24, 3))
        pixels[:, round(12 + (offset[row] if row % 2 else -offset[row]))] = 255
        paths[f"{folder.name}{row}"] = folder / f"{row}.png"
        Image.fromarray(pixels.astype(np.uint8)).save(paths[f"{folder.name}{row}"])
    labels = LABELS[:n]
    columns = {"image_label": labels, "truth": labels, "vernier_offset_arcsec": 40 * offset}
    return StimulusSet({"stimulus_id": list(paths), **columns}, stimulus_paths=paths)


@pytest.fixture(scope="module")
def models():
    """Random weights: the read-out is all that learns. No store, so that neither sees what the other computed."""
    return [
        ModelCommitment(name, net, behavioral_readout_layer="conv2", visual_degrees=2.986667)
        for name, net in zip(["torch", "flax"], twins(TorchConv, FlaxConv), strict=True)
    ]


def equal(benchmark, models, look):
    """Both models answer alike, not all the same, and score the same."""
    ours, theirs = (look(observed(benchmark, model)) for model in models)
    if ours.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
        ours, theirs = ours.argmax(axis=1), theirs.argmax(axis=1)
    np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(ours)) == 2
    scores = [benchmark(model) for model in models]
    assert [score.provenance["model"] for score in scores] == ["torch", "flax"]
    assert float(scores[0]) == pytest.approx(float(scores[1]), abs=1e-6) and float(scores[0]) > 0
    return scores[0]


def test_choices(serve, tmp_path, models):
    shown = images(tmp_path / "shown", N_SHOWN, 0)
    serve("Lonnqvist2024_train", stimuli=images(tmp_path / "learned", N_LEARNED, 1))
    right = np.random.default_rng(2).random((3, N_SHOWN)) < 0.8
    wrong = np.where(LABELS == "left", "right", "left")
    coords = {
        "stimulus_id": np.tile(shown["stimulus_id"], 3),
        "truth": np.tile(LABELS, 3),
        "subject": np.repeat(["a", "b", "c"], N_SHOWN),
    }
    people = BehavioralAssembly(
        np.where(right, LABELS, wrong).ravel(),
        coords={name: ("presentation", np.asarray(values)) for name, values in coords.items()},
        dims=["presentation"],
    )
    serve("Lonnqvist2024_inlab-instructions", people, shown)
    benchmark = load_benchmark("Lonnqvist2024_InlabInstructionsBehavioralAccuracyDistance")
    equal(benchmark, models, lambda choices: choices.values)


@pytest.mark.slow
def test_probabilities_on_trials_that_differ(serve, tmp_path, models):
    """Microsaccades shift the input of both alike; a small shift may tip a choice that is all but even."""
    people = PropertyAssembly([100.0, 120.0, 150.0], coords={"subject": ("subject", list("abc"))}, dims=["subject"])
    for name, seed in (("vernier_only", 3), ("short2", 4)):
        serve(f"Malania2007.{name}", people * (1 + 0.1 * seed))
        serve(f"Malania2007.{name}", stimuli=images(tmp_path / name, N_SHOWN, seed))
    serve("Malania2007.short2_fit", stimuli=images(tmp_path / "fit", N_LEARNED, 5))
    benchmark = load_benchmark("Malania2007.short2-threshold_elevation")
    score = equal(benchmark, models, lambda answers: answers["short2"].transpose("presentation", "choice").values)
    assert np.isfinite(score.unceiled.provenance["threshold"])
