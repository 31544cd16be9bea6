"""Time bins that are asked for from those that there are."""

import numpy as np
import pytest

from bsjax.models.time_alignment import align_time
from tests.support.served_data import assembly_of, stimuli_of

RNG = np.random.default_rng(0)


def assembly(bins, values=None):
    values = RNG.normal(size=(3, 2, len(bins))).astype(np.float32) if values is None else np.asarray(values)
    return assembly_of(values[None], stimuli_of(len(values)), bins)


FOUR = [(0, 50), (50, 100), (100, 150), (150, 200)]


def test_portions_weight_the_bins():
    there = assembly(FOUR)
    v = there.values
    aligned = align_time(there, [(50, 100), (25, 125), (0, 200)])
    np.testing.assert_array_equal(aligned.values[..., 0], v[..., 1])
    np.testing.assert_allclose(aligned.values[..., 1], (v[..., 0] + 2 * v[..., 1] + v[..., 2]) / 4, rtol=1e-5)
    np.testing.assert_allclose(aligned.values[..., 2], v.mean(axis=-1), rtol=1e-5, atol=1e-6)
    assert aligned["time_bin_start"].values.tolist() == [50, 25, 0] and aligned.dtype == np.float32
    assert aligned["time_bin_end"].values.tolist() == [100, 125, 200]
    assert aligned["stimulus_id"].values.tolist() == ["image000", "image001", "image002"]
    aligned.validate()
    counts = align_time(there.copy(data=np.ones(there.shape, int)), [(0, 75)])
    assert (counts.values == 1).all()


def test_the_portion_is_of_the_bin_that_there_is():
    """A short bin that lies inside weighs as much as a long one: all of both is asked for."""
    there = assembly([(0, 20), (20, 100)], [[[1.0, 3.0]]])
    assert align_time(there, [(0, 100)]).values.item() == 2.0
    assert align_time(there, [(0, 60)]).values.item() == pytest.approx((1 + 0.5 * 3) / 1.5)


def test_the_centre_chooses_a_bin():
    there = assembly(FOUR, [[[1.0, 2.0, 3.0, 4.0]]])
    aligned = align_time(there, [(60, 80), (0, 200), (75, 400 / 3)], mode="center")
    assert aligned.values[0, 0].tolist() == [2, 3, 3]
    with pytest.raises(ValueError, match="the time bin 200 to 300 ms is not covered"):
        align_time(there, [(200, 300)], mode="center")


@pytest.mark.parametrize("asked", [(150, 250), (-10, 50), (300, 400)])
def test_a_bin_that_is_not_covered(asked):
    with pytest.raises(ValueError, match=rf"{asked[0]} to {asked[1]} ms is not covered; .* 0 to 50, .*, 150 to 200$"):
        align_time(assembly(FOUR), [asked])
    with pytest.raises(ValueError, match="50 to 250 ms is not covered"):  # a gap
        align_time(assembly([(0, 100), (200, 300)]), [(50, 250)])


def test_outside_the_nearest_if_that_is_wanted():
    there = assembly([(100, 200), (200, 300)], [[[1.0, 2.0]]])
    aligned = align_time(there, [(70, 170), (0, 50), (400, 500), (150, 350)], outside="nearest")
    assert aligned.values[0, 0].tolist() == [1, 1, 2, pytest.approx((0.5 + 2) / 1.5)]


def test_nan_stays_where_it_is():
    there = assembly(FOUR, [[[1.0, 2.0, np.nan, np.nan]]])
    aligned = align_time(there, [(0, 100), (50, 150), (0, 50)])
    np.testing.assert_array_equal(aligned.values[0, 0], [1.5, np.nan, 1.0])


def test_modes_are_named():
    with pytest.raises(ValueError, match="mode must be 'portion' or 'center' .* got 'mean' and 'refuse'"):
        align_time(assembly(FOUR), [(0, 50)], mode="mean")
