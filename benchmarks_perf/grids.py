"""What a grid costs beside the scores in it: ``python -m benchmarks_perf.grids``.

400 cells that take no time of their own, 20 models on 20 benchmarks, are scored in a loop that keeps nothing, as a
grid in one process, and as a grid on two workers of Dask, whose start is counted. They take turns; the best is shown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_MODELS = """
from bsjax import model_registry


class Model:
    def __init__(self, number):
        self.identifier = f"null{{number}}"
        self.digest = str(number)

    def visual_degrees(self):
        return 8


{registrations}
"""
_BENCHMARKS = """
from bsjax import Score, benchmark_registry


class Benchmark:
    version, parent, bibtex, ceiling = 1, "", "", Score(1.0)

    def __init__(self, number):
        self.identifier = f"Null.b{{number}}"

    def __call__(self, model):
        return Score(0.5)


{registrations}
"""
_RUN = """
import sys, time
import bsjax
from bsjax.scoring import score_grid

if __name__ == "__main__":
    how, store = sys.argv[1:]
    start = time.perf_counter()
    if how == "loop":
        n = len(bsjax.score("null*", "Null.*"))
    else:
        n = len(score_grid("null*", "Null.*", store=store, workers=int(how) if how != "one process" else None).done)
    print(n, time.perf_counter() - start)
"""


def _write(root: Path, n: int) -> None:
    models = "\n".join(f"model_registry['null{number}'] = lambda: Model({number})" for number in range(n))
    benchmarks = "\n".join(f"benchmark_registry['Null.b{number}'] = lambda: Benchmark({number})" for number in range(n))
    for kind, text in (
        ("models", _MODELS.format(registrations=models)),
        ("benchmarks", _BENCHMARKS.format(registrations=benchmarks)),
    ):
        folder = root / kind / "null"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)


def measure(n: int = 20, rounds: int = 3) -> dict[str, float]:
    """Milliseconds a cell, the best of some runs, each in a process of its own."""
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root / "plugins", n)
        script = root / "run.py"
        script.write_text(_RUN)
        env = os.environ | {"BSJAX_PLUGINS": str(root / "plugins"), "BSJAX_HOME": str(root / "home")}
        for turn in range(rounds):
            for how in ("loop", "one process", "2"):
                command = [sys.executable, str(script), how, str(root / f"{turn} {how}.db")]
                said = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
                done, seconds = said.split()
                if int(done) != n * n:
                    raise RuntimeError(f"{how}: {done} of {n * n} cells have a score")
                best[how] = min(best.get(how, float("inf")), float(seconds) / (n * n) * 1e3)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20, help="models, and benchmarks")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    start = time.perf_counter()
    for how, spent in measure(asked.n, asked.rounds).items():
        print(f"{how if not how.isdigit() else f'{how} workers':12} {spent:6.2f} ms a cell")
    print(f"measured in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
