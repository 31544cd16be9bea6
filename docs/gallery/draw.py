"""Draw the pictures of docs/gallery.md: ``python docs/gallery/draw.py [FOLDER] [--dark]``.

All that they show is computed here, of a small simulated experiment: neuroids of two regions that respond to 90 images
of six objects, with noise of each neuroid's own; models that see the same images more or less as these neuroids do; and
people and models that name the objects.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import jax.numpy as jnp
import matplotlib.style
import numpy as np
import pandas as pd
import xarray as xr
from PIL import Image, ImageDraw
from scipy.stats import norm
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

import bsjax
from bsjax import Score, plots
from bsjax.data import average_repetition
from bsjax.labelled.normalise import explained_variance
from bsjax.metrics import rdm

OBJECTS = ("bear", "car", "chair", "face", "fruit", "plane")
REGIONS = ("V4", "IT")
# How much noise the view of each model has.
MODELS = {"convnet-a": 0.6, "convnet-b": 0.65, "transformer": 1.2, "gabors": 2.5, "pixels": 6.0}
# What varies, its values, and how often a good observer is right.
EXPERIMENTS = {
    "contrast": ("contrast", np.array(["10 %", "30 %", "100 %"]), [0.55, 0.85, 0.99]),
    "noise": ("noise, standard deviation", np.array(["5 %", "20 %", "40 %"]), [0.99, 0.85, 0.5]),
}
# How good an observer is, and how far it finds hard what people find hard.
OBSERVERS = {"people": (0.98, 1.0), "convnet-a": (0.75, 0.35), "transformer": (0.92, 0.75)}
BINS = [(start, start + 20) for start in range(50, 250, 20)]
N_IMAGES, N_NEUROIDS, N_REPETITIONS, N_FACTORS, N_FEATURES = 90, 40, 6, 10, 30


def images(values: np.ndarray, **coords: object) -> xr.DataArray:
    """Responses of neuroids or features, ``(..., neuroid)``, to all images."""
    names = {"stimulus_id": [f"image-{n:02}" for n in range(N_IMAGES)], "object_name": np.repeat(OBJECTS, 15)}
    labels = {name: ("presentation", each) for name, each in names.items()}
    return xr.DataArray(values, {**labels, **coords}, ["presentation", "neuroid", "time_bin"][: values.ndim])


@cache
def seen() -> np.ndarray:
    """What there is to be seen in the images: factors that images of one object share to some degree."""
    rng = np.random.default_rng(0)
    of_objects = rng.normal(size=(len(OBJECTS), N_FACTORS))
    return np.repeat(of_objects, 15, axis=0) + rng.normal(size=(N_IMAGES, N_FACTORS))


@cache
def features(model: str) -> xr.DataArray:
    """Features of a model: what it sees, with noise, in as many directions as it has features."""
    rng = np.random.default_rng(list(MODELS).index(model) + 1)
    view = seen() + MODELS[model] * rng.normal(size=seen().shape)
    return images(view @ rng.normal(size=(N_FACTORS, N_FEATURES)))


@cache
def trials(region: str) -> xr.DataArray:
    """Single trials (presentation, neuroid) of a region's neuroids, each with noise of its own."""
    rng = np.random.default_rng(10 + REGIONS.index(region))
    signal = seen() @ rng.normal(size=(N_FACTORS, N_NEUROIDS)) / np.sqrt(N_FACTORS)
    noise = rng.uniform(0.5, 4.0, N_NEUROIDS)
    ids = {"neuroid_id": ("neuroid", [f"{region}-{n:02}" for n in range(N_NEUROIDS)])}
    each = [
        images(signal + noise * rng.normal(size=signal.shape), **ids).assign_coords(
            repetition=("presentation", np.full(N_IMAGES, n))
        )
        for n in range(N_REPETITIONS)
    ]
    return xr.concat(each, "presentation")


@cache
def measured(region: str) -> xr.DataArray:
    return average_repetition(trials(region))


@cache
def ceiling(region: str) -> Score:
    return bsjax.load_ceiling("internal_consistency")(trials(region))


@cache
def score(model: str, region: str = "IT", metric: str = "ridge") -> Score:
    """A model on a region, normalised by its ceiling."""
    found = bsjax.load_metric(metric)(features(model), measured(region))
    whole = explained_variance(found, ceiling(region))
    return Score(whole, provenance={"model": model, "benchmark": f"Simulated2026.{region}-{metric}"})


@cache
def over_time() -> dict[str, Score]:
    """Scores in time bins of responses that rise and fall, and are nothing but noise before 90 ms."""
    strength = np.array([max(0.0, (start - 70) / 40) * np.exp((130 - start) / 60) for start, _ in BINS])
    rng = np.random.default_rng(30)
    bins = {"time_bin_start": ("time_bin", [b for b, _ in BINS]), "time_bin_end": ("time_bin", [e for _, e in BINS])}
    response = measured("IT").values[..., None] * strength
    noisy = images(response + rng.normal(size=response.shape), **bins)
    metric = bsjax.load_metric("spantime_ridge")
    found = {}
    for model in ("convnet-a", "transformer"):
        given = features(model).values[..., None] * (strength > 0) + rng.normal(size=(N_IMAGES, N_FEATURES, len(BINS)))
        found[model] = metric(images(given, **bins), noisy)
    return found


@cache
def by_components() -> dict[str, dict[int, Score]]:
    """PLS with more and more components."""
    return {
        model: {n: bsjax.load_metric("pls", n_components=n)(features(model), measured("IT")) for n in (1, 2, 5, 10, 25)}
        for model in ("convnet-a", "transformer")
    }


def grid() -> pd.DataFrame:
    """A table as ``bsjax.score_grid(...).frame()`` gives it, with cells that have no score."""
    rows = []
    for model in MODELS:
        for region in REGIONS:
            for metric in ("ridge", "cka"):
                found = score(model, region, metric)
                row = {"model": model, "benchmark": f"Simulated2026.{region}-{metric}", "state": "scored"}
                rows.append(row | {"score": float(found), "error": found.error})
    rows[6] |= {"state": "failed", "score": np.nan}
    rows[13] |= {"state": "blocked", "score": np.nan}
    return pd.DataFrame(rows)


def profile() -> xr.DataArray:
    """Scores of layers that see the images better and better, and worse again."""
    layers = [f"layer{n}" for n in range(1, 9)]
    noise = {"V4": np.abs(np.arange(8) - 3.0) / 2 + 0.6, "IT": np.abs(np.arange(8) - 6.0) / 2 + 0.6}
    rng, metric = np.random.default_rng(40), bsjax.load_metric("ridge")
    directions = rng.normal(size=(N_FACTORS, N_FEATURES))
    found = [
        [
            metric(images((seen() + sd * rng.normal(size=seen().shape)) @ directions), measured(region))
            for sd in noise[region]
        ]
        for region in REGIONS
    ]
    coords = {
        "region": list(REGIONS),
        "layer": layers,
        "benchmark": ("region", [f"Simulated2026.{region}-ridge" for region in REGIONS]),
        **{
            end: (("region", "layer"), [[getattr(one.interval(), end) for one in row] for row in found])
            for end in ("low", "high")
        },
    }
    return xr.DataArray([[float(one) for one in row] for row in found], coords, ["region", "layer"])


def layer_profile(path: Path) -> None:
    """As ``plot_layer_choice`` draws what ``bsjax.choose_layers`` found."""
    scores = profile()
    best = scores.argmax("layer").values
    chosen = {region: str(scores["layer"].values[n]) for region, n in zip(REGIONS, best, strict=True)}
    ahead = np.diff(np.sort(scores.values, axis=1)[:, -2:])[:, 0]
    plots.plot_layer_profile(scores, path, chosen=chosen, margins=dict(zip(REGIONS, ahead, strict=True)))


@cache
def choices(observer: str, experiment: str, subjects: tuple[str, ...] = ()) -> xr.DataArray:
    """Objects that an observer, or each of several people, names: what is hard for one is hard for others, too."""
    _, conditions, shares = EXPERIMENTS[experiment]
    ability, alike = OBSERVERS[observer]
    rng, n = (
        np.random.default_rng([list(EXPERIMENTS).index(experiment), list(OBSERVERS).index(observer)]),
        len(subjects),
    )
    of_people, own = (np.random.default_rng(seed).normal(size=N_IMAGES) for seed in (60, [61, len(observer)]))
    ease = 0.85 * (alike * of_people + np.sqrt(1 - alike**2) * own) + 0.53 * rng.normal(size=(max(n, 1), N_IMAGES))
    which = np.tile(np.arange(3), N_IMAGES // 3)
    right = (ease > norm.isf(ability * np.array(shares)[which])).ravel()
    truth = np.tile(np.repeat(OBJECTS, 15), max(n, 1))
    taken_for = np.tile(np.roll(OBJECTS, 2).repeat(15), max(n, 1))
    other = np.where(rng.random(len(truth)) < 0.3, "na", rng.choice(OBJECTS, len(truth)))
    wrong = np.where(rng.random(len(truth)) < 0.4, taken_for, other)
    coords = {"stimulus_id": np.arange(N_IMAGES), "truth": np.repeat(OBJECTS, 15), "condition": conditions[which]}
    coords = {name: np.tile(each, max(n, 1)) for name, each in coords.items()}
    if subjects:
        coords["subject"] = np.repeat(subjects, N_IMAGES)
    labels = {name: ("presentation", each) for name, each in coords.items()}
    return xr.DataArray(np.where(right, truth, wrong), labels, ["presentation"])


def people(experiment: str) -> xr.DataArray:
    return choices("people", experiment, ("A", "B", "C", "D"))


def behaviour() -> tuple[dict[str, dict[str, xr.DataArray]], dict[str, xr.DataArray]]:
    """Of two models and of people, in two experiments."""
    models = {model: {name: choices(model, name) for name in EXPERIMENTS} for model in ("convnet-a", "transformer")}
    return models, {name: people(name) for name in EXPERIMENTS}


def silhouette(name: str, pen: ImageDraw.ImageDraw, ink: int, paper: int) -> None:
    """One of the objects, on 128 x 128 pixels."""
    if name == "bear":
        for box in ((28, 20, 56, 48), (72, 20, 100, 48), (26, 30, 102, 110)):
            pen.ellipse(box, ink)
        for box in ((46, 56, 54, 64), (74, 56, 82, 64), (50, 72, 78, 98)):
            pen.ellipse(box, paper)
        pen.ellipse((58, 76, 70, 86), ink)
    elif name == "car":
        pen.polygon([(34, 60), (46, 36), (84, 36), (98, 60)], ink)
        pen.rounded_rectangle((14, 58, 114, 88), 10, ink)
        pen.polygon([(44, 58), (51, 42), (80, 42), (88, 58)], paper)
        for x in (38, 90):
            pen.ellipse((x - 13, 76, x + 13, 102), paper)
            pen.ellipse((x - 10, 79, x + 10, 99), ink)
    elif name == "chair":
        for box in ((38, 16, 46, 112), (38, 20, 90, 30), (82, 16, 90, 112), (38, 40, 90, 46), (34, 64, 94, 74)):
            pen.rectangle(box, ink)
    elif name == "face":
        pen.ellipse((32, 14, 96, 114), ink)
        for box in ((46, 48, 58, 56), (70, 48, 82, 56)):
            pen.ellipse(box, paper)
        pen.line([(64, 58), (60, 76), (67, 76)], paper, 3)
        pen.arc((48, 72, 80, 98), 20, 160, paper, 4)
    elif name == "fruit":
        pen.ellipse((30, 44, 74, 108), ink)
        pen.ellipse((54, 44, 98, 108), ink)
        pen.line([(64, 50), (70, 22)], ink, 5)
        pen.ellipse((70, 20, 98, 34), ink)
    else:
        pen.ellipse((14, 56, 112, 74), ink)
        pen.polygon([(56, 62), (34, 18), (46, 18), (82, 62)], ink)
        pen.polygon([(56, 68), (34, 112), (46, 112), (82, 68)], ink)
        pen.polygon([(20, 64), (12, 42), (22, 42), (36, 62)], ink)


def stimuli(folder: Path) -> bsjax.StimulusSet:
    """The images of the experiment on contrast: each object at one of three contrasts."""
    shown, paths = choices("people", "contrast"), {}
    for number, name, condition in zip(*(shown[each].values for each in shown.coords), strict=True):
        contrast = int(condition.split()[0]) / 100
        image = Image.new("L", (128, 128), 150)
        silhouette(str(name), ImageDraw.Draw(image), round(150 * (1 - contrast)), 150)
        turn = np.random.default_rng(number).uniform(-25, 25)
        paths[number] = folder / f"{number}.png"
        image.rotate(turn, Image.Resampling.BICUBIC, fillcolor=150).save(paths[number])
    return bsjax.StimulusSet({"stimulus_id": list(paths)}, identifier="contrast", stimulus_paths=paths)


def divergent_images(path: Path) -> None:
    with TemporaryDirectory() as folder:
        plots.plot_divergent_images(
            choices("convnet-a", "contrast"),
            people("contrast"),
            path,
            stimuli=stimuli(Path(folder)),
            name="convnet-a",
            most=4,
        )


def tuning(path: Path) -> None:
    """Distributions of one property in two models and in the recording."""
    rng = np.random.default_rng(50)
    edges = [0.35, 0.7, 1.4, 2.8, 5.6, 11.2]

    def counts(mean: float) -> list[int]:
        return np.histogram(np.exp(rng.normal(np.log(mean), 0.6, 80)), edges)[0].tolist()

    recorded, scores = counts(2.5), []
    for model, mean in (("convnet-a", 2.0), ("gabors", 4.0)):
        distribution = {"property": "peak_spatial_frequency", "unit": "cycles per degree", "bins": edges}
        distribution |= {"recorded": recorded, "recorded_undefined": 0, "model": counts(mean), "model_undefined": 0}
        apart = np.abs(np.cumsum(np.array(recorded) / sum(recorded) - np.array(distribution["model"]) / 80)).max()
        made = {"model": model, "benchmark": "Simulated2026-peak_sf", "distribution": distribution}
        scores.append(Score(1 - apart, error=0.03, provenance=made))
    plots.plot_property_distributions(scores, path)


def prediction(path: Path) -> None:
    """Of one neuroid, for images that the regression was not fitted on."""
    target, best = measured("IT"), int(np.argmax(ceiling("IT").raw.mean("split").values))
    one = target.isel(neuroid=[best])
    guess = cross_val_predict(RidgeCV(), features("convnet-a").values, one.values[:, 0], cv=10)
    plots.plot_prediction(one.copy(data=guess[:, None]), one, neuroid=one["neuroid_id"].item(), path=path)


def matrix(values: xr.DataArray) -> np.ndarray:
    return np.asarray(rdm(jnp.asarray(values.values, jnp.float32)))


def objects() -> list[str]:
    return features("convnet-a")["object_name"].values.tolist()


def on_it() -> dict[str, Score]:
    return {model: score(model) for model in MODELS}


PICTURES: dict[str, Callable[[Path], object]] = {
    "scores": lambda path: plots.plot_scores(on_it(), path=path, normalised=False, title="Simulated2026.IT-ridge"),
    "model_comparison": lambda path: plots.plot_model_comparison(bsjax.compare_models(on_it()), path=path),
    "heat_map": lambda path: plots.plot_heat_map(grid(), path=path, errors=True),
    "layer_profile": layer_profile,
    "score_by_time": lambda path: plots.plot_score_by_time(over_time(), path=path),
    "score_by_number": lambda path: plots.plot_score_by_number(by_components(), path=path),
    "neuroid_ceilings": lambda path: plots.plot_neuroid_ceilings(score("convnet-a"), path=path),
    "prediction": prediction,
    "rdm": lambda path: plots.plot_rdm(matrix(measured("IT")), groups=objects(), path=path, title="Simulated2026.IT"),
    "rdm_pair": lambda path: plots.plot_rdm_pair(
        matrix(features("convnet-a")), matrix(measured("IT")), names=("convnet-a", "IT"), groups=objects(), path=path
    ),
    "mds": lambda path: plots.plot_mds(matrix(measured("IT")), groups=objects(), path=path, title="Simulated2026.IT"),
    "similarity_matrix": lambda path: plots.plot_similarity_matrix(
        bsjax.similarity_matrix(
            {model: features(model) for model in MODELS} | {each: measured(each) for each in REGIONS}
        ),
        path=path,
        title="CKA",
    ),
    "property_distributions": tuning,
    "model_vs_human": lambda path: plots.plot_model_vs_human(*behaviour(), path),
    "condition_curves": lambda path: plots.plot_condition_curves(
        *behaviour(), path, axes={name: axis for name, (axis, *_) in EXPERIMENTS.items()}
    ),
    "confusions": lambda path: plots.plot_confusions(
        choices("convnet-a", "contrast"), people("contrast"), path, name="convnet-a"
    ),
    "divergent_images": divergent_images,
}


def main(arguments: list[str] | None = None) -> None:
    """Write a picture of each kind into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    parser.add_argument("--dark", action="store_true", help="light on dark, as in a dark notebook")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.style.context("dark_background") if options.dark else nullcontext():
        for name, draw in PICTURES.items():
            path = options.folder / f"{name}.png"
            draw(path)
            # 256 colours are enough, and a third of the bytes.
            Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main()
