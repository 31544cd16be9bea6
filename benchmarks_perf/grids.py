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
from pathlib import Path

_PLUGIN = """
from bsjax import Score, {kind}_registry


class Model:
    def __init__(self, number):
        self.identifier = f"null{{number}}"
        self.digest = str(number)

    def visual_degrees(self):
        return 8


class Benchmark:
    version, parent, bibtex, ceiling = 1, "", "", Score(1.0)

    def __init__(self, number):
        self.identifier = f"Null.b{{number}}"

    def __call__(self, model):
        return Score(0.5)


"""
_RUN = """
import sys, time
import bsjax

if __name__ == "__main__":
    how, store = sys.argv[1:]
    start = time.perf_counter()
    if how == "loop":
        n = len(bsjax.score("null*", "Null.*"))
    else:
        n = len(bsjax.score_grid("null*", "Null.*", store=store, workers={"2 workers": 2}.get(how)).done)
    print(n, time.perf_counter() - start)
"""


def _write(root: Path, n: int) -> None:
    for kind, made, prefix in (("model", "Model", "null"), ("benchmark", "Benchmark", "Null.b")):
        folder = root / f"{kind}s" / "null"
        folder.mkdir(parents=True)
        registrations = [f"{kind}_registry['{prefix}{one}'] = lambda: {made}({one})" for one in range(n)]
        (folder / "__init__.py").write_text(_PLUGIN.format(kind=kind) + "\n".join(registrations))


def main() -> None:
    """Milliseconds a cell, the best of some runs, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20, help="models, and benchmarks")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root / "plugins", asked.n)
        script = root / "run.py"
        script.write_text(_RUN)
        env = os.environ | {"BSJAX_PLUGINS": str(root / "plugins"), "BSJAX_HOME": str(root / "home")}
        for turn in range(asked.rounds):
            for how in ("loop", "one process", "2 workers"):
                command = [sys.executable, str(script), how, str(root / f"{turn} {how}.db")]
                said = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
                done, seconds = said.split()
                if int(done) != asked.n**2:
                    raise RuntimeError(f"{how}: {done} of {asked.n**2} cells have a score")
                best[how] = min(best.get(how, float("inf")), float(seconds) / asked.n**2 * 1e3)
    for how, spent in best.items():
        print(f"{how:12} {spent:6.2f} ms a cell")


if __name__ == "__main__":
    main()
