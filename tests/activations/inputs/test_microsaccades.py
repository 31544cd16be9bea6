"""Microsaccades: the reference's shifts, and answers at the right stimuli."""

import numpy as np
import pytest

from bsjax.activations import Microsaccades
from bsjax.activations.inputs.microsaccades import shifted
from bsjax.adapters import from_jax, unit_preprocessing

# Brain-Score's shifts for ten trials of 224 pixels over 8 degrees.
X = [0, -0.17895, -0.59198, -0.73260, -0.59609, -0.26358, 0.16693, 0.60674, 0.98666, 1.25971]
Y = [0, 0.40494, 0.20387, -0.22650, -0.65473, -0.95421, -1.07151, -1.00193, -0.77104, -0.42086]


def test_shifts_are_those_of_the_reference():
    shifts = 224 * np.array(Microsaccades(number_of_trials=10, visual_degrees=8).shifts)
    np.testing.assert_allclose(shifts, np.transpose([X, Y]), atol=5e-5)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_images_move_right_and_down_between_pixels(layout):
    image = np.zeros((1, 8, 8, 3), np.float32)
    image[0, 3, 4] = 1
    moved = shifted(image if layout == "NHWC" else image.transpose(0, 3, 1, 2), [(0.25 / 8, 1 / 8)])
    moved = moved if layout == "NHWC" else moved.transpose(0, 2, 3, 1)
    expected = np.zeros((8, 8))
    expected[4, 4:6] = 0.75, 0.25
    np.testing.assert_allclose(moved[0, ..., 0], expected, atol=1e-6)


def test_trials_differ_and_the_first_is_not_moved(stimuli):
    model = from_jax(lambda x: x, "net", unit_preprocessing(16), cache=None)
    shown, eyes = stimuli([2, 0, 2]), Microsaccades(3, visual_degrees=4.0, extent=0.4)
    answers = model(shown, "output", microsaccades=eyes)
    still = model(shown, "output")
    np.testing.assert_array_equal(answers.values[::3], still.values)
    assert np.abs(answers.values[1::3] - still.values).max() > 0.01
    np.testing.assert_array_equal(answers.values[:3], answers.values[6:])  # one image twice
    pixels = 16 * np.array(eyes.shifts)
    np.testing.assert_allclose(answers["microsaccade_shift_x_pixels"].values, np.tile(pixels[:, 0], 3))
    np.testing.assert_allclose(answers["microsaccade_shift_y_degrees"].values, np.tile(pixels[:, 1], 3) / 4)
    # Trials do not stick: the next call is without.
    np.testing.assert_array_equal(model(shown, "output").values, still.values)
