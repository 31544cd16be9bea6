"""The gratings: how many there are, in which order, and every pixel."""

import numpy as np
import pytest
from PIL import Image

from bsjax import StimulusSet
from bsjax.benchmarks.families.marques2020 import stimuli
from bsjax.benchmarks.families.marques2020.stimuli import BLANK, COLUMNS, RENDERED, gratings, grid, render
from bsjax.data.files.images import load_image
from bsjax.models import place_on_screen

SMALL = 0.1
COUNTS = {
    "Marques2020_receptive_field": 3528,
    "Marques2020_orientation": 1152,
    "Marques2020_spatial_frequency": 2112,
    "Marques2020_size": 2304,
    "Marques2020_blank": 1,
}


@pytest.mark.parametrize(("identifier", "n"), COUNTS.items())
def test_sets_are_complete_and_valid(identifier, n):
    shown = gratings(identifier, SMALL)
    assert len(shown) == n and shown.identifier == f"{identifier}--target0.1--sourceNone"
    shown.validate()
    assert set(shown["degrees"]) == {SMALL}
    assert set(shown.columns) == {"stimulus_id", "degrees", *(() if identifier == BLANK else COLUMNS)}


@pytest.mark.parametrize("identifier", [name for name in RENDERED if name != BLANK])
def test_the_last_column_changes_fastest(identifier):
    rows = grid(identifier)
    assert len(np.unique(rows, axis=0)) == len(rows)
    varied = rows[:, 4:] if identifier == stimuli.ORIENTATION else rows
    for chunk in varied.reshape(3, -1, 3) if identifier == stimuli.ORIENTATION else [varied]:
        assert (np.lexsort(chunk.T[::-1]) == np.arange(len(chunk))).all()


def test_what_the_gratings_are():
    levels = {name: [np.unique(column) for column in grid(name).T] for name in RENDERED if name != BLANK}
    y, x, contrast, radius, frequency, orientation, phase = levels["Marques2020_receptive_field"]
    np.testing.assert_allclose([y, x], [np.arange(-2.5, 2.6, 0.25)] * 2)
    assert (contrast.tolist(), radius.tolist(), frequency.tolist()) == ([1], [1 / 6], [3])
    assert (orientation.tolist(), phase.tolist()) == ([0, 45, 90, 135], [0, 180])
    rows = grid("Marques2020_orientation")
    np.testing.assert_allclose(np.unique((2 * rows[:, 3] * rows[:, 4]).round(9)), [2, 3, 4])  # cycles
    assert np.unique(rows[:, 5]).tolist() == list(range(0, 180, 15))
    _, _, _, radius, frequency, orientation, phase = levels["Marques2020_spatial_frequency"]
    assert radius.tolist() == [0.75, 2.25] and len(frequency) == 22
    np.testing.assert_allclose(np.log2(frequency[[0, -1]]), [-1.375, 3.875])
    assert orientation.tolist() == [0, 30, 60, 90, 120, 150] and phase.tolist() == list(range(0, 360, 45))
    _, _, _, radius, sizes_frequency, *_ = levels["Marques2020_size"]
    np.testing.assert_allclose(2 * radius, 2 ** np.linspace(-2.25, 3.25, 12))
    np.testing.assert_array_equal(sizes_frequency, frequency[[4, 8, 12, 16]])
    assert all(rows[:, :3].tolist() == [[0.5, 0.5, 1.0]] * len(rows) for rows in map(grid, list(levels)[1:]))


def test_a_disc_of_grating_on_gray():
    image = render([0.5, 0.5, 1.0, 2.25, 2.0, 30.0, 45.0])
    assert image.shape == (672, 672) and image.dtype == np.uint8
    y, x = np.mgrid[:672, :672] / 56 - 6.5
    inside = np.hypot(y, x) <= 2.25
    assert (image[~inside] == 128).all()
    assert abs(image[inside].mean() - 127) < 1 and image.min() == 0 and image.max() >= 254
    across = np.flatnonzero((image != 128).any(axis=0))
    assert across[-1] - across[0] + 1 == pytest.approx(2 * 2.25 * 56, abs=2)


@pytest.mark.parametrize("row", [(3.0, 45.0), (14.67, 90.0), (2.0, 150.0)])
def test_frequency_and_orientation_by_fourier_transform(row):
    frequency, orientation = row
    image = render([0.0, 0.0, 1.0, 3.0, frequency, orientation, 0.0]).astype(float) - 127.5
    image[np.hypot(*(np.mgrid[:672, :672] / 56 - 6)) > 3] = 0
    power = np.abs(np.fft.rfft2(image, (2048, 2048)))
    row_number, column_number = np.unravel_index(power.argmax(), power.shape)
    down, right = np.fft.fftfreq(2048, 1 / 56)[row_number], column_number * 56 / 2048
    assert np.hypot(down, right) == pytest.approx(frequency, abs=0.05)
    assert np.degrees(np.arctan2(down, right)) % 180 == pytest.approx(orientation, abs=1)


def test_phase_is_that_of_a_sine_about_the_centre():
    for phase, value in ((0, 127), (90, 255), (180, 127), (270, 0)):
        image = render([0.5, -1.0, 1.0, 1.0, 1.0, 0.0, phase])
        assert abs(int(image[336 + 28, 336 - 56]) - value) <= 1
    assert render([0, 0, 1, 1, 1, 0, 0])[336, 336 + 14] == 255  # light to the right of the centre
    assert render([0, 0, 1, 1, 1, 90, 0])[336 + 14, 336] == 255  # and below it


@pytest.mark.parametrize("degrees", [6.3, 12.7])
def test_another_field_has_the_pixels_of_the_published_image_on_that_screen(tmp_path, degrees):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(grid(name), 4) for name in COUNTS if name != BLANK])
    paths = {str(number): tmp_path / f"{number}.png" for number in range(len(rows))}
    for row, path in zip(rows, paths.values(), strict=True):
        Image.fromarray(render(row)).save(path)
    published = StimulusSet({"stimulus_id": list(paths)}, identifier="published", stimulus_paths=paths)
    placed = place_on_screen(published, degrees, source_visual_degrees=12)
    for number, row in enumerate(rows):
        image = load_image(placed.get_stimulus(str(number)))
        np.testing.assert_array_equal(image, np.repeat(render(row, len(image))[..., None], 3, axis=2))
