"""What is said of data: counts that are right, of real files too; and the sheet of thumbnails."""

import numpy as np
import pandas as pd
import xarray as xr
from PIL import Image

from bsjax.data import StimulusSet
from bsjax.data.publishing.overview import count_missing, overview
from bsjax.data.publishing.thumbnails import thumbnail_sheet
from tests.support import lab


def test_an_assembly():
    assembly = lab.recordings().assign_coords(day=3, both=(("presentation", "neuroid"), np.ones((18, 5))))
    assembly[0, :2] = np.nan
    lines = overview(assembly.isel(presentation=slice(0, 14)).assign_attrs(note="word " * 100, table=pd.DataFrame()))
    assert "14 presentation × 5 neuroid" in lines[0] and "2 to 3 of 6 stimuli" in lines[1] and "2 of 70" in lines[2]
    words = [line.split() for line in lines]
    assert ["repetition", "int64", "3", "distinct", "0", "to", "2"] in words
    assert ["region", "text", "2", "distinct", "V4,", "IT"] in words and ["day", "int64", "1", "distinct", "3"] in words
    assert max(map(len, lines)) < 120


def test_a_stimulus_set(tmp_path):
    stimuli = lab.stimuli(tmp_path)
    stimuli.stimulus_paths["im_1"].unlink()
    lines = overview(stimuli.assign(half=["a", None] * 3))
    assert "6 stimuli" in lines[0] and "1 stimulus has no file" in lines[1] and "a; 3 missing" in lines[-1]


def test_missing_values_are_counted_block_by_block():
    values = np.random.default_rng(0).random((50, 100_000))
    values[values < 0.01] = np.nan
    assert count_missing(xr.DataArray(values)) == np.isnan(values).sum()
    assert count_missing(xr.DataArray(np.array(["a", None], dtype=object))) == 1
    assert count_missing(xr.DataArray(np.nan)) == 1


def test_the_sheet_shows_the_stimuli_in_their_places(tmp_path):
    colours = ["red", "green", "blue", "white", "black"]
    for colour in colours:
        Image.new("RGB", (20, 10), colour).save(tmp_path / f"{colour}.png")
    paths = {colour: tmp_path / f"{colour}.png" for colour in colours}
    stimuli = StimulusSet({"stimulus_id": colours}, stimulus_paths=paths)
    sheet = thumbnail_sheet(stimuli, columns=3, size=60)
    assert sheet.size == (10 + 3 * 70, 38 + 2 * 88)
    for number, colour in enumerate(colours):
        middle = 10 + number % 3 * 70 + 30, 38 + number // 3 * 88 + 30
        assert sheet.getpixel(middle) == Image.new("RGB", (1, 1), colour).getpixel((0, 0))
        # twice as wide as high
        assert sheet.getpixel((middle[0], middle[1] - 20)) == (255, 255, 255)


def test_what_cannot_be_shown_has_a_field_that_says_so(tmp_path):
    for name, content in (("film.mp4", b"a film"), ("broken.png", b"no image"), ("sound.wav", b"RIFF")):
        (tmp_path / name).write_bytes(content)
    ids = ["film.mp4", "broken.png", "sound.wav", "gone.png", "ünï · 刺激"]
    stimuli = StimulusSet({"stimulus_id": ids}, stimulus_paths={name: tmp_path / name for name in ids[:4]})
    sheet = thumbnail_sheet(stimuli, size=100)
    for number in range(5):
        assert sheet.getpixel((10 + number * 110 + 4, 38 + 4)) == (225, 225, 225)
