"""Compiled programs on disk: another process finds them, and what is broken there breaks nothing."""

import json
import os
import subprocess
import sys

import pytest

from bsjax.engine.programs.program_cache import keep_programs_in

SCORE = """
import json, sys, warnings
from collections import Counter
import jax, numpy as np
import bsjax
from bsjax.engine.programs.program_cache import enable_compilation_cache
before = {name: value for name, value in jax.config.values.items()}
folder = enable_compilation_cache(*sys.argv[1:])
changed = sorted(name for name, value in jax.config.values.items() if value != before[name])
events = Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rsplit("/", 1)[-1]]))
x = np.random.default_rng(0).normal(size=(30, 8))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    score = float(bsjax.score_arrays(x, x[:, :3], "ridge"))
print(json.dumps({"score": score, "folder": str(folder), "changed": changed,
    "hits": events["cache_hits"], "misses": events["cache_misses"], "warnings": [str(w.message) for w in said]}))
"""
SETTINGS = ["jax_compilation_cache_dir", "jax_compilation_cache_max_size", "jax_persistent_cache_min_compile_time_secs"]


def printed_by(program, *arguments, **environment):
    """What a program prints in a process without settings of JAX but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def score(*arguments, **environment):
    return json.loads(printed_by(SCORE, *arguments, **environment))


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_broken_files_are_compiled_anew(tmp_path):
    first, second = (score(BSJAX_HOME=str(tmp_path)) for _ in range(2))
    assert first["misses"] > 0 and (second["misses"], second["hits"]) == (0, first["misses"] + first["hits"])
    assert first["score"] == second["score"]
    assert first["folder"] == str(tmp_path / "jax") and first["changed"] == SETTINGS
    for number, file in enumerate(sorted(tmp_path.glob("jax/*-cache"))):
        file.write_bytes(file.read_bytes()[:50])
        if number % 2:  # as after a process that was killed as it wrote
            file.with_name(file.name.removesuffix("cache") + "atime").unlink()
    broken = score(BSJAX_HOME=str(tmp_path))
    assert broken["score"] == first["score"] and broken["hits"] == 0
    assert all("persistent compilation cache" in warning for warning in broken["warnings"])


@pytest.mark.slow
def test_what_the_user_has_set_stays(tmp_path):
    own = score(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own"))
    assert own["folder"] == str(tmp_path / "own") and own["changed"] == []
    limited = score(tmp_path / "mine", JAX_COMPILATION_CACHE_MAX_SIZE="20000")
    assert limited["changed"] == [SETTINGS[0], SETTINGS[2]]
    assert sum(file.stat().st_size for file in (tmp_path / "mine").glob("*-cache")) <= 20000


def test_programs_without_a_note_of_their_use_are_removed(tmp_path):
    for name in ("whole-cache", "whole-atime", "cut-cache", "empty-cache"):
        (tmp_path / name).write_bytes(b"12345678")
    (tmp_path / "empty-atime").touch()
    assert keep_programs_in(tmp_path)["jax_compilation_cache_dir"] == str(tmp_path)
    assert sorted(file.name for file in tmp_path.glob("*-cache")) == ["whole-cache"]


WITHOUT_ROOM = """
import sys, warnings
if sys.argv[1:] == ["limited"]:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
import jax, bsjax
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    folder = bsjax.enable_compilation_cache()
    x = jax.numpy.arange(120.0).reshape(30, 4) ** 2
    score = float(bsjax.score_arrays(x, x[:, :3], "ridge"))
print(folder, jax.config.jax_compilation_cache_dir, score > 0, *[warning.message for warning in said], sep="\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("home", "limit", "reason"), [("file/home", [], "Not a directory"), ("home", ["limited"], "File")]
)
def test_where_nothing_can_be_kept_that_is_one_warning(tmp_path, home, limit, reason):
    """Below a file no folder can be made; a limit on the size of files stops the writing as a full disk does."""
    (tmp_path / "file").touch()
    folder, in_use, scored, *said = printed_by(WITHOUT_ROOM, *limit, BSJAX_HOME=str(tmp_path / home)).splitlines()
    assert (folder, in_use, scored) == ("None", "None", "True")
    [message] = said
    assert message.startswith(
        f"cannot keep compiled programs, which are now compiled anew each time, in {tmp_path / home}"
    )
    assert reason in message and "set BSJAX_HOME to" in message
    assert not list(tmp_path.rglob("*-cache")) and not list(tmp_path.rglob("*.part"))
