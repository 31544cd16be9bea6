"""The released brainscore-vision: a process that holds the arrays and answers timed calls over a pipe."""

import functools
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Recordings
from ..harness import Timed
from .environment import build, find_python

NAME = "brainscore-vision"
PACKAGES = ("brainscore-core==2.5.0", "brainscore-vision==2.4.2")
REQUIREMENTS = Path(__file__).with_name("brainscore-requirements.txt")
ENVIRONMENT = Path(__file__).parents[2] / ".venv-peers" / "brainscore"
READY_MADE = "BSJAX_PEER_BRAINSCORE"


def interpreter(progress: Callable[[str], None]) -> Path:
    """The peer's Python: of the environment ``$BSJAX_PEER_BRAINSCORE``, else of one that is built here."""
    ready_made = os.environ.get(READY_MADE)
    if not ready_made:
        return build(ENVIRONMENT, functools.partial(find_python, 3, 11), REQUIREMENTS, PACKAGES, progress)
    python = Path(ready_made) / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"${READY_MADE} must be a virtual environment, but {python} does not exist")
    return python


class BrainScore:
    """A context manager around the peer's process.

    Examples:
        with BrainScore(progress=print) as peer:
            peer.load(recordings)
            metric = peer.metric("pls")   # not timed
            metric()                      # Timed: the peer's own clock, and {"score", "error", "raw"}
    """

    def __init__(self, progress: Callable[[str], None] = lambda line: None) -> None:
        self._python = interpreter(progress)
        self._folder = tempfile.TemporaryDirectory(prefix="bsjax-peer-")
        self._log = open(Path(self._folder.name) / "log", "w+")  # noqa: SIM115 - closed in __exit__
        # The peer would otherwise pip-install a metric's own requirements, and keep results from run to run.
        settings = {"BS_INSTALL_DEPENDENCIES": "no", "RESULTCACHING_DISABLE": "1"}
        self._process = subprocess.Popen(
            [self._python, Path(__file__).with_name("brainscore_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **settings},
            cwd=self._folder.name,
        )

    def __enter__(self) -> "BrainScore":
        return self

    def __exit__(self, *exception: object) -> None:
        # The worker ends when its input does; in the middle of a call (an interrupted run) it is killed.
        if exception[0] is not None:
            self._process.kill()
        self._process.communicate()
        self._log.close()
        self._folder.cleanup()

    def versions(self) -> dict[str, str]:
        """The versions of everything that the peer computes with."""
        return self._ask({"do": "versions"})

    def load(self, data: Recordings) -> None:
        """Hands the arrays over, and has the peer build its assemblies from them."""
        path = Path(self._folder.name) / "recordings.npz"
        np.savez(path, **asdict(data))
        self._ask({"do": "load", "path": str(path)})

    def metric(self, identifier: str) -> Callable[[], Timed]:
        """A function that scores the loaded arrays once a call, timed by the peer itself."""
        self._ask({"do": "metric", "identifier": identifier})

        def call() -> Timed:
            answer = self._ask({"do": "call"})
            with np.load(answer["path"]) as arrays:
                value = {name: arrays[name] for name in ("score", "error", "raw")}
            return Timed(answer["seconds"], value)

        return call

    def _ask(self, request: dict[str, Any]) -> Any:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._log.seek(0)
            said = self._log.read()[-3000:]
            raise RuntimeError(f"the {NAME} process stopped while asked for {request}; it said last:\n{said}")
        return json.loads(answer)
