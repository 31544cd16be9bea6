"""What the processes do that the tests of the cache start."""

import os
import resource
import time
from pathlib import Path

import numpy as np

from bsjax.activations.cache import ActivationCache, Recipe

N_ROWS, N_UNITS = 64, 256


def recipe(n):
    return Recipe(f"layer{n}", "m", "p", "", ("a",), ())


def rows(n):
    """The rows of entry ``n``, which anybody can compute."""
    return np.random.default_rng(n).standard_normal((N_ROWS, N_UNITS)).astype(np.float32)


def say(log: Path, line: str) -> None:
    with open(log, "ab", buffering=0) as file:  # whole lines, also when several processes write
        file.write(f"{line}\n".encode())


def write_rows(root, n, log):
    """Row by row, and says which is done."""
    with ActivationCache(root).write(recipe(n), "net", (N_ROWS, N_UNITS), np.float32) as writer:
        say(log, f"starts at {writer.rows_done}")
        values = rows(n)
        for row in range(writer.rows_done, N_ROWS):
            writer.write(row, values[row : row + 1])
            say(log, f"wrote {row}")
        writer.commit()
        say(log, "done")


def use_all(root, numbers, log):
    """Reads entries, and computes those that nobody has computed."""
    cache = ActivationCache(root)
    for n in numbers:
        while (found := cache.read(recipe(n))) is None:
            with cache.write(recipe(n), "net", (N_ROWS, N_UNITS), np.float32) as writer:
                if writer is not None:
                    values = rows(n)
                    for start in range(writer.rows_done, N_ROWS, 16):
                        writer.write(start, values[start : start + 16])
                        time.sleep(0.002)
                    writer.commit()
                    say(log, f"wrote {n}")
            cache.wait(recipe(n))
        say(log, f"read {n}" if np.array_equal(found, rows(n)) else f"WRONG {n}")


def use_and_prune(root, times, max_bytes, log):
    """As many others do the same: entries come and go all the time."""
    cache, rng = ActivationCache(root, max_bytes), np.random.default_rng(os.getpid())
    for _ in range(times):
        n = int(rng.integers(6))
        with cache.write(recipe(n), "net", (N_ROWS, N_UNITS), np.float32) as writer:
            if writer is not None:
                writer.write(writer.rows_done, rows(n)[writer.rows_done :])
                writer.commit()
        found = cache.read(recipe(n))
        if rng.random() < 0.5:
            cache.prune(max_bytes=int(rng.integers(3)) * max_bytes // 3)
        if found is not None:
            say(log, "right" if np.array_equal(found, rows(n)) else "WRONG")
    say(log, "done")


def meet_a_full_disk(root, log):
    """A file may have no more than 20 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        with ActivationCache(root).write(recipe(0), "net", (N_ROWS, N_UNITS), np.float32):
            say(log, "began")
    except OSError as error:
        say(log, str(error))
