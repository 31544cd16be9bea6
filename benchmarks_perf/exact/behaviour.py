"""Signatures of choices between objects."""

from typing import Any

import numpy as np
from scipy.stats import norm

from ..data import Inputs
from .regression import pearson

Answer = dict[str, Any]


def i2n(inputs: Inputs) -> Answer:
    """Normalised d' of each image against each distractor (Rajalingham et al. 2018), in two halves of the trials."""
    source, target = inputs["source_probabilities"], inputs["target"]
    objects, images = source.coords["choice"][1], source.coords["stimulus_id"][1]
    truth = np.searchsorted(objects, source.coords["object_name"][1])
    of_truth = np.take_along_axis(source.values, truth[:, None], axis=1)
    of_model = _normalised_dprime(source.values / (source.values + of_truth), truth)
    image, chosen, sample, distractor = (
        np.searchsorted(names, labels)
        for names, labels in (
            (images, target.coords["stimulus_id"][1]),
            (objects, target.values),
            (objects, target.coords["sample_obj"][1]),
            (objects, target.coords["dist_obj"][1]),
        )
    )
    random, raw = np.random.RandomState(0), []
    for _ in range(2):
        order = np.arange(len(image))
        random.shuffle(order)
        half = order[: len(order) // 2]
        counts = np.zeros((2, len(images), len(objects)))
        np.add.at(counts[0], (image[half], chosen[half]), 1)
        for offered in (sample, distractor):
            np.add.at(counts[1], (image[half], offered[half]), 1)
        with np.errstate(invalid="ignore"):
            of_people = _normalised_dprime(counts[0] / counts[1], truth)
        both = np.isfinite(of_people) & np.isfinite(of_model)
        raw.append(pearson(of_model[both], of_people[both]))
    return {"score": np.mean(raw), "raw": np.array(raw)}


def _normalised_dprime(rate: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """From the rates at which each distractor is taken for each image's object; NaN where they are the same."""
    rate = rate.copy()
    rate[np.arange(len(rate)), truth] = np.nan
    objects = range(rate.shape[1])
    false_alarms = np.array([[_mean(rate[truth == known, other]) for other in objects] for known in objects])
    dprime = np.clip(norm.ppf(1 - rate) - norm.ppf(false_alarms.T[truth]), -5, 5)
    for known in objects:
        for other in objects:
            dprime[truth == known, other] -= _mean(dprime[truth == known, other])
    return dprime


def _mean(values: np.ndarray) -> float:
    """Of those that are defined; NaN where none is."""
    defined = values[~np.isnan(values)]
    return defined.mean() if len(defined) else np.nan
