"""Choices of images, with images and trials repeated as often as a draw holds them, in arrays of one size."""

import numpy as np


def repeated(truth, trials, halves, image_counts, trial_counts, probabilities=None, size=None):
    """Every copy of an image is an image of its own, with copies of the trials of the image.

    Args:
        truth: the object of each image.
        trials: codes of stimulus, choice, sample and distractor.
        halves: weights of the trials, ``(..., trials)``.
        image_counts, trial_counts: how often there is each.
        probabilities: of a model ``(images, objects)``.
        size: how many images and trials there are to be; what is added has no weight, and probabilities that are NaN.

    Returns:
        The probabilities, the truth, the trials and their halves.
    """
    stimulus, *objects = trials
    images = np.repeat(np.arange(len(truth)), image_counts)
    rows, places = [], []
    for place, image in enumerate(images):
        own = np.repeat(np.flatnonzero(stimulus == image), trial_counts[stimulus == image])
        rows.append(own)
        places.append(np.full(len(own), place))
    rows, places = (np.concatenate(each).astype(int) for each in (rows, places))
    n, t = (len(images), len(rows)) if size is None else size
    assert n >= len(images) and t >= len(rows)

    def filled(values, length, fill):
        return np.concatenate([values, np.full((length - len(values), *values.shape[1:]), fill, values.dtype)])

    codes = [filled(np.asarray(each)[rows].astype(np.int32), t, 0) for each in objects]
    made = filled(np.asarray(truth)[images].astype(np.int32), n, 0), filled(places.astype(np.int32), t, 0), *codes
    held = np.moveaxis(filled(np.moveaxis(np.asarray(halves, float)[..., rows], -1, 0), t, 0.0), 0, -1)
    return None if probabilities is None else filled(probabilities[images], n, np.nan), made[0], made[1:], held
