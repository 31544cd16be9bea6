from functools import partial

import numpy as np
import pytest

from bsjax import Resampling, in_draws
from bsjax.labelled.ceilings.consistency import SplitHalfPredictorConsistency
from bsjax.labelled.metric import scored
from tests.support import single_trials

trials = partial(single_trials.trials, n=14, r=5, u=4, image="image_id")


def ragged(stimulus, repetition):
    return repetition < 1 + stimulus % 5


def by_definition(assembly):
    """Split by split and image by image, as the definition reads."""
    rng, raw = np.random.default_rng(0), []
    for _ in range(10):
        halves = []
        for image in np.unique(assembly["image_id"]):
            shown = assembly[assembly["image_id"].values == image].sortby("repetition")
            if len(shown) > 1:
                drawn = rng.permutation(shown["repetition"].values)
                first = np.isin(shown["repetition"].values, drawn[: len(drawn) // 2])
                halves.append([shown.values[half].mean(axis=0) for half in (first, ~first)])
        a, b = np.array(halves).transpose(1, 0, 2)
        r = np.array([np.corrcoef(p, q)[0, 1] for p, q in zip(a.T, b.T, strict=True)])
        raw.append(2 * r / (1 + r))
    return np.array(raw)


def test_ragged_trials_equal_the_definition_draw_for_draw():
    assembly = trials(keep=ragged)
    score = SplitHalfPredictorConsistency()(assembly)
    raw = by_definition(assembly)
    np.testing.assert_allclose(score.raw, raw, atol=1e-12)
    assert float(score) == pytest.approx(np.median(raw, axis=1).mean(), abs=1e-12)
    assert score.raw.dims == ("split", "neuroid") and score.n_units == 4


def test_stimulus_id_serves_where_there_is_no_image_id():
    ceiling = SplitHalfPredictorConsistency()
    assert float(ceiling(trials(image="stimulus_id"))) == float(ceiling(trials()))


def test_images_are_drawn_by_their_stimulus_id():
    plain = trials(keep=ragged).rename(image_id="stimulus_id")
    names = plain["stimulus_id"].values.astype(str)
    images = plain.assign_coords(image_id=("presentation", [f"{name}.png" for name in names]))
    with in_draws(Resampling(draws=8)):
        first, second = (scored(SplitHalfPredictorConsistency(), each).uncertainty for each in (plain, images))
        np.testing.assert_array_equal(first.draws, second.draws)
        coarse = plain.assign_coords(
            image_id=("presentation", np.char.replace(names, "s004", "s003")),
            repetition=("presentation", np.arange(len(plain))),
        )
        with pytest.raises(ValueError, match=r"several for 1 image_id \(s003\)"):
            scored(SplitHalfPredictorConsistency(), coarse)


def test_a_missing_cell_is_left_out_of_its_half():
    assembly = trials()
    assembly.values[3, 1] = np.nan
    score = SplitHalfPredictorConsistency()(assembly)
    full = SplitHalfPredictorConsistency()(trials())
    assert np.isfinite(score.raw).all()
    np.testing.assert_allclose(score.raw[:, [0, 2, 3]], full.raw[:, [0, 2, 3]], atol=1e-12)


def test_fewer_than_ten_images_are_undefined():
    score = SplitHalfPredictorConsistency()(trials(n=9))
    assert np.isnan(float(score)) and np.isnan(score.raw).all() and score.n_undefined == 4
    # Images shown once are no help.
    assert np.isnan(float(SplitHalfPredictorConsistency()(trials(n=12, keep=ragged))))
