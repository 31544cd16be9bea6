"""What changes between two looks at a model: its activations are computed anew, in the same process too."""

import importlib
import os
import sys

import h5py
import numpy as np
import pytest

from bsjax.activations import ActivationCache
from bsjax.adapters import from_jax, from_torch, unit_preprocessing

torch = pytest.importorskip("torch")
SIX = unit_preprocessing(6)
TABLE = {"gain": [2.0]}


class Settings:
    gain = 2.0


SETTINGS = Settings()


def by_a_table(images):
    return images * TABLE["gain"][0]


def by_an_attribute(images):
    return images * SETTINGS.gain


def by_another_function(images):
    return by_an_attribute(images)


class Object:
    def __init__(self):
        self.gain = 2.0

    def __call__(self, images):
        return images * self.gain


def closure():
    table = {"gain": 2.0}
    return lambda images: images * table["gain"], lambda gain: table.update(gain=gain)


def in_place():
    made = Object()
    return made, lambda gain: setattr(made, "gain", gain)


# Of all that the identity of a function holds, what a model must look at again.
IN_PLACE = {
    "a global table": lambda: (by_a_table, lambda gain: TABLE["gain"].__setitem__(0, gain)),
    "of a function that it calls": lambda: (by_another_function, lambda gain: setattr(SETTINGS, "gain", gain)),
    "a closure": closure,
    "an object that is called": in_place,
}


def of_kind(kind, function, cache):
    if kind == "jax":
        return from_jax(lambda images: function(images), "net", SIX, cache=cache)
    return from_torch(type("Net", (torch.nn.Identity,), {"forward": applied})(), "net", SIX, cache=cache)


def applied(self, images):
    return CURRENT[0](images)


CURRENT = [by_a_table]


@pytest.mark.parametrize(("kind", "is_kept"), [("jax", True), ("jax", False), ("torch", True)])
@pytest.mark.parametrize("what", IN_PLACE)
def test_what_a_function_reads_and_is_changed_in_place(what, kind, is_kept, stimuli, tmp_path):
    function, change = IN_PLACE[what]()
    CURRENT[0] = function
    model = of_kind(kind, function, ActivationCache(tmp_path / "cache") if is_kept else None)
    change(2.0)
    before = model(stimuli([0, 1]), "output").values
    change(4.0)
    after = model(stimuli([0, 1]), "output").values
    change(2.0)
    np.testing.assert_allclose(after, 2 * before, rtol=1e-6)
    np.testing.assert_array_equal(model(stimuli([0, 1]), "output").values, before)


@pytest.fixture
def helper(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_helper_of_test.py").write_text("SCALE = 2.0\n\n\ndef scaled(x):\n    return x * SCALE\n")
    yield importlib.import_module("own_helper_of_test")
    del sys.modules["own_helper_of_test"]


def test_the_global_of_a_helper_module_and_its_file(helper, tmp_path, stimuli):
    cache = ActivationCache(tmp_path / "cache")
    model = from_jax(lambda images: helper.scaled(images), "net", SIX, cache=cache)
    before = model(stimuli([0]), "output").values
    helper.SCALE = 4.0
    np.testing.assert_allclose(model(stimuli([0]), "output").values, 2 * before, rtol=1e-6)
    path = tmp_path / "own_helper_of_test.py"
    path.write_text(path.read_text().replace("x * SCALE", "x * SCALE * 2"))
    with pytest.warns(UserWarning, match="scaled was changed in .* after it was imported: .*version="):
        model(stimuli([0]), "output")
    importlib.invalidate_caches()
    importlib.reload(helper)
    np.testing.assert_allclose(model(stimuli([0]), "output").values, 2 * before, rtol=1e-6)


def read_by_path(place):
    with (place / "gain.txt").open() as file:
        return float(file.read())


def read_by_torch(place):
    return float(torch.load(place / "gain.pt"))


def read_by_hdf5(place):
    with h5py.File(place / "gain.h5") as file:
        return float(file["gain"][()])


def read_from_the_environment(place):
    return float(os.environ["_".join(["BSJAX", "TEST", "GAIN"])])


def read_by_listing(place):
    return float(len([*place.glob("*.mark")]))


def write(place, gain):
    place.mkdir(exist_ok=True)
    os.environ["BSJAX_TEST_GAIN"] = str(gain)
    (place / "gain.txt").write_text(str(gain))
    torch.save(torch.tensor(gain), place / "gain.pt")
    with h5py.File(place / "gain.h5", "w") as file:
        file["gain"] = gain
    for number in range(int(gain)):
        (place / f"{number}.mark").touch()


READ = [read_by_path, read_by_torch, read_by_hdf5, read_by_listing, read_from_the_environment]


@pytest.mark.parametrize("read", READ)
def test_what_preprocessing_reads(read, tmp_path, stimuli, monkeypatch):
    monkeypatch.setenv("BSJAX_TEST_GAIN", "")
    place, cache = tmp_path / "data", ActivationCache(tmp_path / "cache")
    write(place, 2)

    def preprocess(images):
        return SIX(images) * np.float32(read(place))

    def model(**options):
        return from_jax(lambda images: images, "net", preprocess, cache=cache, **options)

    before = model()(stimuli([0, 1]), "output").values
    np.testing.assert_array_equal(model(progress=lambda _: pytest.fail("it ran"))(stimuli([0, 1]), "output"), before)
    write(place, 4)
    np.testing.assert_allclose(model()(stimuli([0, 1]), "output").values, 2 * before, rtol=1e-6)
    # The same name in another folder.
    place = tmp_path / "more" / "data"
    place.parent.mkdir()
    write(place, 6)
    np.testing.assert_allclose(model()(stimuli([0, 1]), "output").values, 3 * before, rtol=1e-6)


def test_what_nobody_can_tell_is_not_kept_unless_somebody_vouches_for_it(stimuli, tmp_path):
    cache = ActivationCache(tmp_path / "cache")
    gains = (gain for gain in (1, 2))

    def model(**options):
        return from_jax(lambda images, gains=gains: images, "net", SIX, cache=cache, **options)

    with pytest.warns(UserWarning, match="not kept, .*version="):
        model()(stimuli([0]), "output")
    assert cache.entries() == []
    for version, n in (("1", 1), ("1", 1), ("2", 2)):
        model(version=version)(stimuli([0]), "output")
        assert len(cache.entries()) == n
