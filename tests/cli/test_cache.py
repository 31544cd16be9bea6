"""``bsjax cache``: what it prints, removes and finds."""

import os
from functools import partial

import numpy as np
import pytest

from bsjax.activations.cache import ActivationCache, Recipe
from bsjax.cli.cache import app
from tests.cli.conftest import invoke
from tests.support.forked import run_command

run = partial(invoke, app)

ROWS = np.ones((10, 2, 3), np.float32)


def keep(cache, model, layer, n_rows=10, ago=0):
    recipe = Recipe(layer, model, "p", "", ("a",), ())
    with cache.write(recipe, model, ROWS.shape, ROWS.dtype) as writer:
        writer.write(0, ROWS[:n_rows])
        if n_rows == len(ROWS):
            writer.commit()
    [entry] = [entry for entry in cache.entries() if entry.key == recipe.key()]
    used = entry.folder / "entry.json"
    os.utime(used, (entry.last_used.timestamp() - ago,) * 2)
    return entry


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    return ActivationCache()


def test_ls_shows_the_last_used_first_and_what_is_unfinished(cache):
    assert run("ls").stdout == "no cached activations\n"
    keep(cache, "resnet50", "layer4.2", ago=90_000)
    keep(cache, "vit", "blocks.0", n_rows=4, ago=60)
    header, first, second = run("ls").stdout.splitlines()
    assert header.split("  ") == [*"model     layer     stimuli  units  size   last used".split("  ")]
    assert first.split()[:6] == ["vit", "blocks.0", "4", "of", "10", "2"] and "368 B" in first
    assert second.split()[:4] == ["resnet50", "layer4.2", "10", "2"]


def test_size(cache, monkeypatch):
    keep(cache, "vit", "blocks.0")
    monkeypatch.setenv("BSJAX_CACHE_SIZE", "10GB")
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")  # what is kept can be seen all the same
    assert run("size").stdout == f"368 B of 10 GB in {cache.root}\n"


def test_prune_says_what_it_frees(cache):
    for model, layer, ago in (("vit", "a", 90_000), ("vit", "b", 10), ("resnet50", "c", 90_000), ("pixels", "d", 0)):
        keep(cache, model, layer, ago=ago)
    left = f"remain in {cache.root}\n"
    assert run("prune", "--unused-for", "1d", "--model", "vit").stdout == f"removed 1 entry, 368 B; 1.1 kB {left}"
    assert run("prune", "--max-size", "1kB").stdout == f"removed 1 entry, 368 B; 736 B {left}"
    assert [entry.layer for entry in cache.entries()] == ["d", "b"]
    assert run("prune", "--all").stdout == f"removed 2 entries, 736 B; 0 B {left}"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "say what to remove: --max-size 10GB, --unused-for 30d, --model NAME or --all"),
        (["--all", "--model", "vit"], "--all removes everything: leave out the other options"),
        (["--unused-for", "999999999999d"], "--unused-for needs a time of at most 100 years, got '999999999999d'"),
    ],
)
def test_prune_removes_nothing_that_it_was_not_asked_to(cache, arguments, message):
    keep(cache, "vit", "a")
    with pytest.raises(ValueError, match=message):
        run("prune", *arguments)
    assert len(cache.entries()) == 1


def test_verify_names_what_is_damaged_and_removes_it_if_asked(cache):
    keep(cache, "vit", "a")
    damaged = keep(cache, "vit", "b").folder
    assert run("verify").stdout == "2 entries, all intact\n"
    os.truncate(damaged / "values.npy", 100)
    expected = f"{damaged}: its values.npy has 100 bytes, expected 368"
    for _ in range(2):
        done = run("verify")
        assert (done.exit_code, done.stdout) == (1, expected + "\n")
        assert done.stderr == "bsjax: 1 of the cached entries are damaged\n"
    done = run("verify", "--delete")
    assert (done.exit_code, done.stdout) == (1, expected + " (removed)\n")
    assert run("verify").stdout == "1 entry, all intact\n"


@pytest.mark.slow
def test_warm_up_compiles_programs_of_sizes():
    done = run_command("warm-up", "ridge", "--size", "33x40x7")
    assert (done.returncode, done.stdout.strip()) == (0, "1 program ready")
    wrong = run_command("warm-up", "ridge", "--size", "33x40")
    assert wrong.returncode == 2 and "50x1000x168" in wrong.stderr
