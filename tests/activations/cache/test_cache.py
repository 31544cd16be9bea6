"""The cache of activations in one process: what is kept, found, bounded, removed and noticed."""

import json
import os
import re
import threading
from datetime import timedelta

import numpy as np
import pytest

from bsjax.activations.cache import ActivationCache, EntryTooLarge, Recipe, default_cache

ROWS = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
SIZE = 128 + ROWS.nbytes


def recipe(layer="conv", **changes):
    parts = {"model": "m", "preprocessing": "p", "reducer": "", "items": ("a", "b"), "versions": (("bsjax", "1"),)}
    return Recipe(layer, **{**parts, **changes})


def keep(cache, recipe, values=ROWS, identifier="net"):
    with cache.write(recipe, identifier, values.shape, values.dtype) as writer:
        writer.write(0, values)
        return writer.finish()


def used(cache, recipe, ago):
    """Sets the time at which an entry was last used to some seconds ago."""
    [entry] = [entry for entry in cache.entries() if entry.key == recipe.key()]
    then = entry.last_used.timestamp() - ago
    os.utime(entry.folder / "entry.json", (then, then))


@pytest.fixture
def cache(tmp_path):
    return ActivationCache(tmp_path / "cache", "1MB")


def test_what_was_written_is_read_mapped_and_read_only(cache):
    assert cache.read(recipe()) is None and cache.entries() == [] and cache.size() == 0
    written = keep(cache, recipe())
    found = cache.read(recipe())
    np.testing.assert_array_equal(found, ROWS)
    np.testing.assert_array_equal(written, ROWS)
    assert isinstance(found, np.memmap) and found.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1
    [entry] = cache.entries()
    assert (entry.identifier, entry.layer, entry.shape, entry.complete) == ("net", "conv", (10, 2, 3), True)
    assert entry.n_bytes == SIZE == cache.size()
    np.testing.assert_array_equal(np.load(entry.folder / "values.npy"), ROWS)
    note = json.loads((entry.folder / "entry.json").read_text())
    assert note["versions"] == {"bsjax": "1"} and note["model"] == "m" and len(note["sha256"]) == 64
    assert sorted(os.listdir(entry.folder)) == [".values.npy.verified", "entry.json", "values.npy"]
    assert os.listdir(cache.root / ".unfinished") == []


def test_any_part_of_the_recipe_makes_another_entry(cache):
    keep(cache, recipe())
    others = {"model": "n", "preprocessing": "q", "reducer": "pca 2", "items": ("b", "a"), "versions": ()}
    assert cache.read(recipe("fc")) is None
    for name, value in others.items():
        assert cache.read(recipe(**{name: value})) is None
    # parts do not run into each other
    assert recipe(items=("a b",)).key() != recipe(items=("a", "b")).key()


def test_work_that_stopped_is_continued(cache):
    with pytest.raises(KeyboardInterrupt), cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as writer:
        writer.write(0, ROWS[:3])
        writer.write(3, ROWS[3:4])
        raise KeyboardInterrupt
    assert cache.read(recipe()) is None
    [entry] = cache.entries()
    assert not entry.complete and entry.rows_done == 4 and entry.n_bytes == SIZE
    with cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as writer:
        assert writer.rows_done == 4
        writer.write(4, ROWS[4:].transpose(0, 2, 1).copy().transpose(0, 2, 1))  # not contiguous
        writer.commit()
    np.testing.assert_array_equal(cache.read(recipe()), ROWS)
    assert cache.verify() == []


@pytest.mark.parametrize("kind", ["unnoted row", "wrong row", "other shape", "no note", "short file"])
def test_only_rows_that_agree_with_the_note_count_as_done(cache, kind):
    with cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as writer:
        for n in range(5):
            writer.write(n, ROWS[n : n + 1])
    folder = cache.entries()[0].folder
    note, values = folder / "entry.json", folder / "values.npy"
    shape, expected = ROWS.shape, 0
    if kind == "unnoted row":  # the writer was killed between the two
        with open(values, "r+b") as file:
            file.seek(128 + 5 * 24)
            file.write(b"\xff")
        expected = 5
    if kind == "wrong row":  # a power cut may leave the note and lose a block
        with open(values, "r+b") as file:
            file.seek(128 + 3 * 24)
            file.write(b"\xff")
    if kind == "other shape":
        shape = (11, 2, 3)
    if kind == "no note":
        note.unlink()
    if kind == "short file":
        os.truncate(values, 128 + 2 * 24 + 5)
    with cache.write(recipe(), "net", shape, ROWS.dtype) as writer:
        assert writer.rows_done == expected
        whole = np.resize(ROWS, shape)
        writer.write(expected, whole[expected:])
        writer.commit()
    np.testing.assert_array_equal(cache.read(recipe()), whole)
    assert cache.verify() == []


def test_wrong_rows_are_refused(cache):
    with cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as writer:
        for start, values, message in (
            (1, ROWS[:1], "expected rows from 0 of 10, got 1 to 2"),
            (0, ROWS[:1, :1].astype(np.float64), "expected rows of shape (2, 3) and float32, got (1, 3) and float64"),
        ):
            with pytest.raises(ValueError, match=re.escape(message)):
                writer.write(start, values)
        with pytest.raises(ValueError, match=re.escape("layer 'conv' of model 'net': 0 of 10 rows are there")):
            writer.commit()
    assert cache.entries() == []


def test_one_writer_at_a_time_and_none_when_it_is_there(cache):
    with cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as writer:
        others, began = [], threading.Event()

        def other():
            with cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as second:
                others.append(second)
            began.set()
            cache.wait(recipe())
            others.append(cache.read(recipe()).sum())

        thread = threading.Thread(target=other)
        thread.start()
        began.wait()
        assert others == [None]
        with cache.write(recipe("fc"), "net", ROWS.shape, ROWS.dtype) as unrelated:
            assert unrelated is not None
        writer.write(0, ROWS)
        writer.commit()
    thread.join()
    assert others == [None, ROWS.sum()]
    with cache.write(recipe(), "net", ROWS.shape, ROWS.dtype) as late:
        assert late is None
    cache.wait(recipe("never written"))


def test_the_least_recently_used_goes_and_never_what_is_being_written(tmp_path):
    cache = ActivationCache(tmp_path, 3 * SIZE + 10)
    for age, layer in ((400, "a"), (300, "b"), (200, "c")):
        keep(cache, recipe(layer))
        used(cache, recipe(layer), age)
    mapped = cache.read(recipe("a"))  # now it is the last used
    with cache.write(recipe("d"), "net", ROWS.shape, ROWS.dtype) as writer:
        assert {entry.layer for entry in cache.entries()} == {"a", "c", "d"}
        writer.write(0, ROWS)
        keep(cache, recipe("e"))
        keep(cache, recipe("f"))
        assert "d" in {entry.layer for entry in cache.entries()} and cache.size() <= cache.max_bytes
        assert cache.prune(max_bytes=0) and [entry.layer for entry in cache.entries()] == ["d"]
        writer.commit()
    np.testing.assert_array_equal(mapped, ROWS)  # removed, but whoever has it keeps it
    np.testing.assert_array_equal(cache.read(recipe("d")), ROWS)


def test_an_entry_that_is_too_large_is_refused_and_evicts_nothing(tmp_path):
    cache = ActivationCache(tmp_path, 2 * SIZE)
    keep(cache, recipe())
    with pytest.raises(EntryTooLarge, match=r"of layer 'fc' of model 'net' take 40.1 kB, more than the 736 B .*SIZE"):
        with cache.write(recipe("fc"), "net", (100, 100), np.float32):
            pass
    assert len(cache.entries()) == 1


def damage(folder, kind):
    values, note = folder / "values.npy", folder / "entry.json"
    if kind == "truncated":
        os.truncate(values, SIZE - 1)
    if kind == "altered":
        content = values.read_bytes()
        values.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    if kind == "other header":
        values.write_bytes(values.read_bytes().replace(b"(10, 2, 3)", b"(10, 3, 2)"))
    if kind == "no values":
        values.unlink()
    if kind == "no note":
        note.unlink()
    if kind == "no JSON":
        note.write_bytes(note.read_bytes()[:-30])
    if kind == "another's":
        note.write_text(note.read_text().replace(folder.name, "0" * 32))


KINDS = ["truncated", "altered", "other header", "no values", "no note", "no JSON", "another's"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_entry_is_found_reported_and_made_anew(cache, kind):
    keep(cache, recipe())
    keep(cache, recipe("fc"))
    [folder] = [entry.folder for entry in cache.entries() if entry.layer == "conv"]
    damage(folder, kind)
    [problem] = cache.verify()
    assert problem.folder == folder and problem.key == recipe().key()
    with pytest.warns(RuntimeWarning, match=r"layer 'conv' are damaged and computed anew: its|it is|it has"):
        assert cache.read(recipe()) is None
    assert [entry.layer for entry in cache.entries()] == ["fc"]
    keep(cache, recipe())
    np.testing.assert_array_equal(cache.read(recipe()), ROWS)
    assert cache.verify() == []


def test_values_changed_behind_its_back_without_a_trace_are_found_by_verify(cache):
    keep(cache, recipe())
    values = cache.entries()[0].folder / "values.npy"
    times = values.stat()
    damage(values.parent, "altered")
    os.utime(values, ns=(times.st_atime_ns, times.st_mtime_ns))
    [problem] = cache.verify()
    assert "its values.npy was changed: expected sha256" in problem.what
    assert cache.remove(problem.key) and not cache.remove(problem.key) and cache.verify() == []


def test_prune_by_model_age_and_size(cache):
    for age, layer, model in ((4000, "a", "resnet18"), (3000, "b", "vit"), (2000, "c", "resnet50"), (0, "d", "vit")):
        keep(cache, recipe(layer), identifier=model)
        used(cache, recipe(layer), age)

    def layers():
        return [entry.layer for entry in cache.entries()]

    assert layers() == ["d", "c", "b", "a"]
    assert cache.prune() == []
    assert [entry.layer for entry in cache.prune(unused_for=timedelta(hours=1), model="resnet*")] == ["a"]
    assert [entry.layer for entry in cache.prune(max_bytes=2 * SIZE + 1)] == ["b"]
    assert [entry.layer for entry in cache.prune(model="vit")] == ["d"]
    assert layers() == ["c"]
    damage(cache.entries()[0].folder, "no note")
    assert [entry.layer for entry in cache.prune(max_bytes=0)] == ["?"] and cache.size() == 0
    assert os.listdir(cache.root / ".trash") == []


def test_the_default_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    assert repr(default_cache()) == f"ActivationCache({str(tmp_path / 'activations')!r}, '50 GB')"
    monkeypatch.setenv("BSJAX_CACHE_SIZE", "much")
    assert ActivationCache(tmp_path, 1000).max_bytes == 1000
    with pytest.raises(ValueError, match="BSJAX_CACHE_SIZE: expected a size in bytes such as '2GB'.*got 'much'"):
        default_cache()


def test_result_caching_can_be_switched_off_as_in_brain_score(monkeypatch):
    names = {"off": "1", "0": "0", "prefix": "brainscore_vision.model_helpers", "one of two": "x,bsjax.activations"}
    names |= {"another": "bsjax.activations.other"}
    found = set()
    for name, setting in names.items():
        monkeypatch.setenv("RESULTCACHING_DISABLE", setting)
        found |= set() if default_cache() else {name}
    assert found == {"off", "prefix", "one of two"}
