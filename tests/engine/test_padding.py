"""Widths that arrays are padded to, and the padded arrays."""

import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.memory_limit import memory_limit
from bsjax.engine.padding import bucket, padded, padded_width


def test_at_most_an_eighth_is_added():
    for width in range(1, 20_000, 7):
        assert width <= bucket(width) <= width * 9 / 8
    assert len({bucket(width) for width in range(1024, 2048)}) == 9
    assert all(bucket(width) % 512 for width in range(9, 16_000, 7))


def test_at_most_128_kib_are_added_to_at_most_24_mib():
    for stimuli in (50, 1_000, 5_000, 40_000):
        for width in (101, 777, 3_001):
            added = padded_width(stimuli, width) - width
            assert added * stimuli * 8 <= 128 << 10
            assert (added > 0) == (stimuli * width * 8 <= 24 << 20)


def test_widths_stay_on_their_side_of_the_stimuli():
    assert [padded_width(60, width) for width in (33, 57, 59, 60, 61)] == [36, 58, 59, 60, 64]
    assert padded_width(1001, 1001) == 1001


def test_what_could_not_be_held_is_left_as_it_is():
    with memory_limit("1kB"):
        assert padded_width(60, 33) == 33


@pytest.mark.parametrize("of", [np.asarray, jnp.asarray])
def test_zeros_come_after_the_columns(of):
    values = of(np.arange(6, dtype=np.int32).reshape(2, 3))
    made = padded(values, 5, np.dtype("float32"))
    np.testing.assert_array_equal(made, [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0]])
    assert made.dtype == np.float32 and type(made) is type(padded(values, 3, np.dtype("float32")))
