"""Pictures of behaviour: what is written in them, and that equal choices make equal files."""

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from bsjax import StimulusSet
from bsjax.plots.condition_curves import plot_condition_curves
from bsjax.plots.confusions import plot_confusions
from bsjax.plots.divergent_images import plot_divergent_images
from bsjax.plots.model_vs_human import plot_model_vs_human
from tests.plots.conftest import texts

pytest.importorskip("matplotlib")

OBJECTS = np.array(["cat", "cow", "dog", "owl"] * 6)
CONDITIONS = np.repeat(["c10", "c5"], 12)


def choices(share, subjects=(), seed=0):
    """Right in a share of the trials, else "na"; of one observer or of several subjects."""
    rng = np.random.default_rng(seed)
    n = max(len(subjects), 1)
    truth = np.tile(OBJECTS, n)
    said = np.where(rng.random(24 * n) < share, truth, "na")
    said[::5] = "cow"
    coords = {
        "stimulus_id": np.tile([f"i{i}" for i in range(24)], n),
        "truth": truth,
        "condition": np.tile(CONDITIONS, n),
    }
    if subjects:
        coords["subject"] = np.repeat(list(subjects), 24)
    return xr.DataArray(said, {name: ("presentation", each) for name, each in coords.items()}, ["presentation"])


MODEL, PEOPLE = choices(0.5), choices(0.8, "ABC", seed=1)


def by_experiment(path, models=("mine", "another")):
    return {"sketch": PEOPLE, "contrast": PEOPLE}, {name: {"sketch": MODEL, "contrast": MODEL} for name in models}


DRAW = {
    "model_vs_human": lambda path: plot_model_vs_human(*reversed(by_experiment(path)), path, title="all"),
    "curves": lambda path: plot_condition_curves(*reversed(by_experiment(path)), path, title="all"),
    "confusions": lambda path: plot_confusions(MODEL, PEOPLE, path, name="mine", title="all"),
    "divergent": lambda path: plot_divergent_images(MODEL, PEOPLE, path, name="mine", title="all"),
}
WRITTEN = {
    "model_vs_human": {"sketch", "contrast", "mean", "Accuracy", "mine", "another", "all"},
    "curves": {"sketch", "contrast", "c5", "c10", "mine", "another", "chance", "all"},
    "confusions": {"cat", "cow", "dog", "owl", "na", "object shown", "chosen object", "proportion of trials", "all"}
    | {f"mine: {100 * np.mean(MODEL.values == OBJECTS):.1f} % correct"},
    "divergent": {
        "Most people are correct, mine is wrong",
        "mine is correct, most people are wrong",
        "mine: na",
        "all",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAW)
def test_what_is_shown_is_named(tmp_path, name):
    DRAW[name](tmp_path / "figure.svg")
    assert WRITTEN[name] <= set(texts(tmp_path / "figure.svg"))


def test_images_are_shown_where_there_are_files_and_named_elsewhere(tmp_path):
    for number in range(24):
        Image.new("RGB", (9, 5), (255, 0, 0)).save(tmp_path / f"{number}.png")
    paths = {f"i{number}": tmp_path / f"{number}.png" for number in range(24)}
    stimuli = StimulusSet({"stimulus_id": list(paths)}, stimulus_paths=paths)
    plot_divergent_images(MODEL, PEOPLE, tmp_path / "figure.svg", stimuli=stimuli, most=2)
    drawn = (tmp_path / "figure.svg").read_text()
    assert drawn.count("<image") == 4 and not any(text in paths for text in texts(tmp_path / "figure.svg"))
    DRAW["divergent"](tmp_path / "names.svg")
    assert sum(text in paths for text in texts(tmp_path / "names.svg")) >= 4
