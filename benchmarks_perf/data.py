"""Arrays to measure on, drawn from a seed: activations and responses that share latent dimensions, with labels.

Plain NumPy, so that every implementation gets the very same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# As many as in the inputs of the oracle tests. It matters for PLS: with fewer latents than components, the
# last components fit noise, where an iterative solver converges slowly.
LATENTS = 20
CATEGORIES = 8


@dataclass(frozen=True)
class Labelled:
    """An array, its dimensions, and for each coordinate the dimension it lies on and its labels."""

    values: np.ndarray
    dims: tuple[str, ...]
    coords: Mapping[str, tuple[str, np.ndarray]]


Inputs = dict[str, Labelled]
"""The arguments of what is measured, in their order."""


def write(path: Path, inputs: Inputs) -> None:
    """Writes arrays as `workers.protocol.read` reads them."""
    flat = {}
    for name, array in inputs.items():
        flat |= {name: array.values, f"{name}/dims": np.array(array.dims)}
        flat |= {f"{name}/{dim}/{coord}": labels for coord, (dim, labels) in array.coords.items()}
    np.savez(path, **flat)


def labelled(values: np.ndarray, **coords: Mapping[str, np.ndarray]) -> Labelled:
    """An array with, for each of its dimensions in their order, the coordinates on it."""
    flat = {name: (dim, labels) for dim, named in coords.items() for name, labels in named.items()}
    return Labelled(values, tuple(coords), flat)


def presentations(n: int) -> dict[str, np.ndarray]:
    """Coordinates of ``n`` presentations; ``object_name`` is what splits are balanced over."""
    categories = min(CATEGORIES, -(-n // 10))  # a tenth of the stimuli must hold one of each
    names = np.array([f"object{i % categories}" for i in range(n)])
    return {"stimulus_id": np.array([f"stimulus{i:05d}" for i in range(n)]), "object_name": names}


def columns(n: int, what: str) -> dict[str, np.ndarray]:
    """Coordinates of ``n`` columns."""
    return {"neuroid_id": np.array([f"{what}{i:05d}" for i in range(n)]), "neuroid_num": np.arange(n)}


def responses(values: np.ndarray, what: str) -> Labelled:
    """``(presentation, neuroid)`` values, labelled."""
    return labelled(values, presentation=presentations(len(values)), neuroid=columns(values.shape[1], what))


def shared(random: np.random.Generator, n: int, widths: list[int], noise: list[float]) -> list[np.ndarray]:
    """Arrays of ``n`` rows and so many columns that share latents, each with noise of its own.

    The latents' standard deviation falls with the square root of their rank, so that components differ in
    size. With the noise, no component is ever exhausted.
    """
    latents = random.standard_normal((n, LATENTS)) / np.sqrt(np.arange(1, LATENTS + 1))
    return [
        latents @ random.standard_normal((LATENTS, width)) + level * random.standard_normal((n, width))
        for width, level in zip(widths, noise, strict=True)
    ]


def recordings(stimuli: int, features: int, neuroids: int, seed: int = 0) -> Inputs:
    """Features that predict the responses of neuroids.

    Examples:
        >>> drawn = recordings(stimuli=64, features=30, neuroids=5)
        >>> drawn["source"].values.shape, drawn["target"].values.shape
        ((64, 30), (64, 5))
    """
    source, target = shared(np.random.default_rng(seed), stimuli, [features, neuroids], [0.3, 1.0])
    return {"source": responses(source, "feature"), "target": responses(target, "site")}


def voxels(stimuli: int, features: int, side: int, centres: int) -> Inputs:
    """`recordings` of a cube of voxels, some of which are centres of searchlights."""
    drawn = recordings(stimuli, features, side**3)
    places = dict(zip("xyz", np.unravel_index(np.arange(side**3), (side, side, side)), strict=True))
    chosen = np.random.default_rng(0).permutation(side**3) < centres
    of_voxels = {**columns(side**3, "site"), **places, "centre": chosen}
    target = labelled(drawn["target"].values, presentation=presentations(stimuli), neuroid=of_voxels)
    return {**drawn, "target": target}


def twice(stimuli: int, features: int, neuroids: int) -> Inputs:
    """`recordings` whose every feature is there twice: half the rank, so that weights are not unique."""
    drawn = recordings(stimuli, features // 2, neuroids)
    return {**drawn, "source": responses(np.tile(drawn["source"].values, 2), "feature")}


def layers(layers: int, stimuli: int, features: int, neuroids: int) -> Inputs:
    """Several sources, as the layers of a model, and one target."""
    widths, noise = [features] * layers + [neuroids], [0.3 + 0.1 * i for i in range(layers)] + [1.0]
    *drawn, target = shared(np.random.default_rng(0), stimuli, widths, noise)
    sources = {f"layer{i:02d}": responses(values, f"layer{i:02d}-") for i, values in enumerate(drawn)}
    return {**sources, "target": responses(target, "site")}


def models(models: int, stimuli: int, features: int) -> Inputs:
    """Several sources, as of different models, and no target."""
    drawn = layers(models, stimuli, features, neuroids=1)
    return {name: array for name, array in drawn.items() if name != "target"}


def train_test(train: int, test: int, features: int, neuroids: int) -> Inputs:
    """`recordings` cut into the stimuli that train and those that test."""
    cut = {}
    for side, array in recordings(train + test, features, neuroids).items():
        for part, rows in (("train", slice(0, train)), ("test", slice(train, None))):
            coords = {k: (d, v[rows] if d == "presentation" else v) for k, (d, v) in array.coords.items()}
            cut[f"{side}_{part}"] = Labelled(array.values[rows], array.dims, coords)
    return cut


def repeated(stimuli: int, repetitions: int, neuroids: int) -> Inputs:
    """Single trials: every stimulus was shown so often, and each trial has noise of its own."""
    random = np.random.default_rng(0)
    (signal,) = shared(random, stimuli, [neuroids], [0.0])
    trials = signal + random.standard_normal((repetitions, stimuli, neuroids))
    shown = {name: np.tile(labels, repetitions) for name, labels in presentations(stimuli).items()}
    shown["repetition"] = np.repeat(np.arange(repetitions), stimuli)
    return {"assembly": labelled(trials.reshape(-1, neuroids), presentation=shown, neuroid=columns(neuroids, "site"))}


def model_and_trials(stimuli: int, repetitions: int, neuroids: int) -> Inputs:
    """Features of a model beside single trials."""
    (source,) = shared(np.random.default_rng(1), stimuli, [100], [0.3])
    return {"source": responses(source, "feature"), "target": repeated(stimuli, repetitions, neuroids)["assembly"]}


def in_time(stimuli: int, features: int, neuroids: int, bins: int) -> Inputs:
    """`recordings` in several time bins, in which the same weights predict."""
    drawn = shared(np.random.default_rng(0), stimuli * bins, [features, neuroids], [0.3, 1.0])
    start, shown = 10 * np.arange(bins), presentations(stimuli)
    time = {"time_bin_start": start, "time_bin_end": start + 10}
    inputs = {}
    for side, what, values in zip(("source", "target"), ("feature", "site"), drawn, strict=True):
        values = np.ascontiguousarray(values.reshape(stimuli, bins, -1).transpose(0, 2, 1))
        inputs[side] = labelled(values, presentation=shown, neuroid=columns(values.shape[1], what), time_bin=time)
    return inputs


def choices(images: int, objects: int, trials: int) -> Inputs:
    """A model's choice probabilities, and trials in which people chose between an image's object and another."""
    random = np.random.default_rng(0)
    names = np.array([f"object{i:02d}" for i in range(objects)])
    ids = np.array([f"image{i:04d}" for i in range(images)])
    truth = np.arange(images) % objects
    logits = random.standard_normal((images, objects))
    logits[np.arange(images), truth] += 2
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    # Every image meets every distractor about equally often.
    shown = np.arange(trials) % images
    of_trial = truth[shown]
    other = (of_trial + 1 + np.arange(trials) // images % (objects - 1)) % objects
    # What the model confuses, people do as well.
    odds = np.exp(0.7 * (logits[shown, of_trial] - logits[shown, other]))
    chosen = np.where(random.random(trials) < odds / (1 + odds), of_trial, other)
    of_image = {"stimulus_id": ids, "object_name": names[truth]}
    offered = {**dict.fromkeys(("truth", "sample_obj"), names[of_trial]), "dist_obj": names[other]}
    source = labelled(probabilities, presentation=of_image, choice={"choice": names})
    target = labelled(names[chosen], presentation={"stimulus_id": ids[shown], **offered})
    return {"source_probabilities": source, "target": target}
