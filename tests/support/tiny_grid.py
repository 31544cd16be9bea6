"""A plugin of models and one of benchmarks that take no time, for grids; each cell can be told what to do by a file.

    python -m tests.support.tiny_grid STORE [WORKERS | ADDRESS]

scores all of them, those of ``$BSJAX_PLUGINS``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.support.paths import REPOSITORY

MODELS = """
from functools import partial

from bsjax import ModelCommitment, model_registry
from bsjax.adapters import from_jax, unit_preprocessing


def response(images, number):
    return {{"out": images.mean((1, 2)) * (number + 1)}}


def net(number):
    activations = from_jax(partial(response, number=number), f"net{{number}}", unit_preprocessing(8))
    return ModelCommitment(f"net{{number}}", activations, region_layer_map={{"V1": "out"}})


{registrations}
"""
BENCHMARKS = """
import ctypes
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from bsjax import Score, benchmark_registry
from bsjax.benchmarks import BenchmarkBase
from bsjax.benchmarks.experiment import record
from bsjax.benchmarks.families.simulated.benchmark import population
from bsjax.data.remote.web_files import fetch_address

TOLD, DATA = Path({told!r}), os.environ.get("TINY_DATA")


class Tiny(BenchmarkBase):
    def __init__(self, number):
        super().__init__(f"Tiny.b{{number}}", lambda: Score(0.9), parent="V1", normalisation="ceil_score")
        self.number, self.stimuli, self.factor = number, population().stimuli[:12], 1.0
        if DATA is not None and number % 2:
            with tempfile.TemporaryDirectory() as folder:
                fetch_address(f"{{DATA}}/factor.txt", file := Path(folder, "factor.txt"))
                self.factor = float(file.read_text())

    def observe(self, candidate, stimuli):
        told = TOLD / f"{{candidate.identifier}} {{self.identifier}}"
        if told.exists():
            what = told.read_text()
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if what.startswith("sleep"):
                time.sleep(float(what.split()[1]))
            if what == "exit":
                os._exit(3)
            if what == "crash":
                ctypes.string_at(0)
            if what == "3 GB":
                np.ones(3 * 10**9 // 8).sum()
            if what == "fail":
                raise ValueError("told to fail")
        return record(candidate, "V1", [(0, 100)], stimuli)

    def compare(self, seen):
        return Score(self.factor * float(seen.values[self.number % 12].mean()))


{registrations}
"""


def write_plugins(root: Path, n_models: int, n_benchmarks: int) -> Path:
    """Plugins below ``root``, models ``net0`` and so on, benchmarks ``Tiny.b0`` and so on.

    Returns:
        The folder of what cells are told: a file ``"net0 Tiny.b0"`` that holds ``kill``, ``exit``,
        ``crash``, ``3 GB``, ``fail`` or ``sleep 0.1``.
    """
    told = root / "told"
    told.mkdir(parents=True)
    models = "\n".join(f"model_registry['net{number}'] = lambda: net({number})" for number in range(n_models))
    benchmarks = "\n".join(f"benchmark_registry['Tiny.b{n}'] = lambda: Tiny({n})" for n in range(n_benchmarks))
    for kind, text in (
        ("models", MODELS.format(registrations=models)),
        ("benchmarks", BENCHMARKS.format(told=str(told), registrations=benchmarks)),
    ):
        folder = root / kind / "tiny"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    return told


class Started:
    """Processes of one group, which goes whole.

    Args:
        root: folder of the plugins.
        *command: after ``python``.
        **variables: of the environment.
    """

    def __init__(self, root: Path, *command: str, **variables: str) -> None:
        paths = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        env = os.environ | {"BSJAX_PLUGINS": str(root), "PYTHONPATH": paths, **variables}
        self._process = subprocess.Popen(
            [sys.executable, *command],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        self._said = b""

    @property
    def is_running(self) -> bool:
        """Whether the first of them is."""
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal to all of them."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def ended(self, timeout: float = 300) -> tuple[int, str]:
        """Its exit code and all that it said, when it has ended."""
        rest, _ = self._process.communicate(timeout=timeout)
        return self._process.returncode, (self._said + rest).decode()

    def wait_until_it_says(self, words: str) -> None:
        """Returns when it has said some words, or has ended."""
        while words.encode() not in self._said and (more := os.read(self._process.stdout.fileno(), 1 << 16)):
            self._said += more

    def kill(self) -> None:
        """Kill all of them, at once."""
        self.signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.ended(30)


def main(place: str, how: str = "", models: str = "net*", benchmarks: str = "Tiny.*") -> None:
    from bsjax.scoring import Watcher, score_grid, watched

    class Told(Watcher):
        def begun(self, job):
            print(f"begun: {job.model_identifier} on {job.benchmark_identifier}")

        def came(self, outcome):
            print(outcome, flush=True)

    workers = (how if "://" in how else int(how)) if how else None
    with watched(Told()):
        grid = score_grid(models.split(), benchmarks.split(), store=place, workers=workers)
    print(grid)


if __name__ == "__main__":
    main(*sys.argv[1:])
