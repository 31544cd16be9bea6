"""Dimensions that code for shape and texture: the pairs of images, and the share."""

import random
from itertools import product

import numpy as np
import pytest

from bsjax import load_benchmark
from bsjax.benchmarks.families.islam2021 import benchmark as islam2021
from tests.support import served_data as served
from tests.support.recorder import Recorder

SHAPES, TEXTURES, PHOTOGRAPHS = ["boat", "cat", "dog"], ["cracked", "marbled", "woven"], 4
ROWS = list(product(SHAPES, range(PHOTOGRAPHS), TEXTURES))


@pytest.fixture
def stimuli():
    """Rows in no order."""
    rows = [ROWS[i] for i in np.random.default_rng(0).permutation(len(ROWS))]
    return served.stimuli_of(
        len(rows),
        shape=[shape for shape, _, _ in rows],
        texture=[texture for _, _, texture in rows],
        original_image_id=[f"{shape}{number}" for shape, number, _ in rows],
    )


def partners_by_search(stimuli, seed):
    """The rule, by looking through the whole table for every image."""
    draw, found = random.Random(seed), []
    shapes, textures = (sorted(set(stimuli[name])) for name in ("shape", "texture"))
    for _, one in stimuli.iterrows():
        factor = draw.choice(["shape", "texture"])
        if factor == "shape":
            texture = draw.choice([each for each in textures if each != one["texture"]])
            [row] = np.flatnonzero(
                (stimuli["original_image_id"] == one["original_image_id"]) & (stimuli["texture"] == texture)
            )
        else:
            shape = draw.choice([each for each in shapes if each != one["shape"]])
            row = draw.choice(np.flatnonzero((stimuli["texture"] == one["texture"]) & (stimuli["shape"] == shape)))
        found.append((int(row), factor))
    return found


def test_pairs_share_one_factor_and_differ_in_the_other(stimuli):
    pairs = islam2021.pair_images(stimuli)
    assert list(zip(pairs.partner.tolist(), pairs.factor.tolist(), strict=True)) == partners_by_search(stimuli, 1751)
    partners = stimuli.iloc[pairs.partner].reset_index(drop=True)
    same = {name: (stimuli[name] == partners[name]).to_numpy() for name in ("shape", "texture", "original_image_id")}
    np.testing.assert_array_equal(same["shape"], pairs.factor == "shape")
    np.testing.assert_array_equal(same["texture"], pairs.factor == "texture")
    assert same["original_image_id"][pairs.factor == "shape"].all()
    assert set(pairs.factor) == {"shape", "texture"}


def shares_by_numpy(values, pairs, factor):
    """Share of ``factor`` in whole units, from the covariance of the two sides."""
    sides = values, values[pairs.partner]
    variance = np.concatenate(sides).var(axis=0).sum()
    logits = []
    for name in ("shape", "texture"):
        a, b = (side[pairs.factor == name] for side in sides)
        mean = (a.mean(axis=0) + b.mean(axis=0)) / 2
        logits.append(((a - mean) * (b - mean)).mean(axis=0).sum() / variance)
    logits = np.exp([*logits, 1.0])
    n = values.shape[1]
    return int(logits[["shape", "texture"].index(factor)] / logits.sum() * n) / n


@pytest.mark.parametrize(("name", "region", "factor"), [("shape_v1", "V1", "shape"), ("texture_it", "IT", "texture")])
def test_the_score_is_that_of_numpy(serve, stimuli, name, region, factor):
    serve("Islam2021", stimuli=stimuli)
    rng = np.random.default_rng(1)
    of_shape = rng.normal(size=(3, 40))[np.unique(stimuli["shape"], return_inverse=True)[1]]
    values = 2 * of_shape + rng.normal(size=(len(stimuli), 40))
    model = Recorder(stimuli, values, degrees=2, backwards=True)
    benchmark = load_benchmark(f"Islam2021-{name}_dimensionality")
    score = benchmark(model)
    assert float(score) == shares_by_numpy(values, islam2021.pair_images(stimuli), factor)
    assert 0 < float(score) < 1 and score.raw["factor"].values.tolist() == ["shape", "texture", "residual"]
    assert model.recorded == [(region, [(70, 170)])]
    assert "degrees" not in model.looked[0][0].columns  # over the whole field
    assert benchmark.ceiling == 1 and score.ceiling is None and score.provenance["n_stimuli"] == len(stimuli)
