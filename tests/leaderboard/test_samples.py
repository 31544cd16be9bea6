import base64
import io

import numpy as np
import pytest
from PIL import Image

from bsjax.benchmarks import benchmark_row
from bsjax.benchmarks.families.marques2020.stimuli import gratings
from bsjax.benchmarks.families.simulated import procedural
from bsjax.leaderboard.samples import samples


def pixels(address):
    kind, content = address.split(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))


@pytest.mark.slow
def test_gratings_are_those_of_the_stimulus_set(monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    row = benchmark_row("Marques2020_DeValois1982-pref_or")
    made, whole = samples(row), gratings(row.stimuli)
    assert len(made.images) == len({seen for _, seen, _ in made.images}) == 6
    for name, seen, address in made.images:
        number, of = map(int, name.split(" of "))
        assert of == len(whole)
        drawn = whole.iloc[number - 1]
        assert seen.startswith(f"a grating of {drawn['orientation']:g} degrees")
        image = np.asarray(Image.open(whole.get_stimulus(drawn["stimulus_id"])))
        np.testing.assert_array_equal(pixels(address), image[168:504:3, 168:504:3])


def test_simulated_recordings_show_each_kind():
    made = samples(benchmark_row("Simulated.V1-pls"))
    assert [name for name, _, _ in made.images] == list(procedural.KINDS)
    assert all(pixels(address).shape == (96, 96) for _, _, address in made.images)


@pytest.mark.parametrize("name", ["MajajHong2015public.IT-pls", "Rajalingham2018public-i2n"])
def test_images_of_others_are_not_shown(name):
    row = benchmark_row(name)
    made = samples(row)
    assert made.images == [] and "no licence is known" in made.words and row.data[0] in made.words
