"""Our side of the pipe: starts a contestant's process, and asks it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..harness import Called
from ..peers import interpreter
from ..rates import ON_A_SHARED_DEVICE

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Contestant:
    """One implementation: what it is, and how its process starts.

    Attributes:
        kind: ``"bsjax"``, ``"peer"``, or ``"single calls"``: bsjax too, called once for each of what is measured in
            one call.
        script: what runs, beside this file.
        argument: what it is given.
        environment: the peer's environment that runs it; None for the one that runs this.
        dtype: in which it computes.
    """

    kind: Literal["bsjax", "peer", "single calls"]
    script: str
    argument: str = ""
    environment: str | None = None
    dtype: str = "float64"


CONTESTANTS: Mapping[str, Contestant] = {
    "bsjax float64": Contestant("bsjax", "bsjax_calls.py", "float64"),
    "bsjax float32": Contestant("bsjax", "bsjax_calls.py", "float32", dtype="float32"),
    "single calls": Contestant("single calls", "bsjax_calls.py", "float64"),
    "brainscore-vision": Contestant("peer", "brainscore_calls.py", "", "brainscore"),
    **{
        library: Contestant("peer", "scientific_calls.py", library, "scientific")
        for library in ("scikit-learn", "ikpls", "himalaya", "rsatoolbox", "scipy")
    },
}


def turns(names: Sequence[str], platform: str) -> list[list[str]]:
    """Which contestants have their processes at the same time, on a platform.

    On a CPU all do. An accelerator belongs to one process of bsjax after the other; peers, which leave it alone, come
    last. TPUs have no float64.

    Examples:
        >>> names = ["bsjax float64", "bsjax float32", "ikpls", "himalaya"]
        >>> turns(names, "cpu") == [names], turns(names, "tpu")
        (True, [['bsjax float32'], ['ikpls', 'himalaya']])
    """
    if platform == "cpu":
        return [list(names)]
    own = [name for name in names if CONTESTANTS[name].kind != "peer"]
    able = [[name] for name in own if platform != "tpu" or CONTESTANTS[name].dtype != "float64"]
    return [each for each in (*able, [name for name in names if name not in own]) if each]


# brainscore-vision would otherwise pip-install a metric's own requirements, and keep results from run to run.
_SETTINGS = {"BS_INSTALL_DEPENDENCIES": "no", "RESULTCACHING_DISABLE": "1"}


class Worker:
    """A context manager around a contestant's process.

    Args:
        name: a key of `CONTESTANTS`.
        cache: folder that bsjax keeps its compiled programs in; None for none.
        progress: is told when an environment must be built first.

    Examples:
        with Worker("ikpls") as worker:
            worker.build(path, "pls", {"splits": 10, "n_components": 25})   # not timed
            worker.call()                                                   # Called: its own clock, its memory
            worker.answer()                                                 # {"score": ..., "raw": ...}
    """

    def __init__(
        self, name: str, cache: Path | None = None, progress: Callable[[str], None] = lambda line: None
    ) -> None:
        contestant = CONTESTANTS[name]
        self.name = name
        python = interpreter(contestant.environment, progress) if contestant.environment else sys.executable
        arguments = [contestant.argument, *([str(cache)] if cache else [])]
        self._folder = tempfile.TemporaryDirectory(prefix="bsjax-perf-")
        self._log = open(Path(self._folder.name) / "log", "w+")  # noqa: SIM115 - closed in __exit__
        command, env = [python, _HERE / contestant.script, *arguments], os.environ | _SETTINGS | ON_A_SHARED_DEVICE
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log, "text": True}
        self._process = subprocess.Popen(command, env=env, cwd=self._folder.name, **pipes)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exception: object) -> None:
        # The process ends when its input does; in the middle of a call (an interrupted run) it is killed.
        if exception[0] is not None:
            self._process.kill()
        self._process.communicate()
        self._log.close()
        self._folder.cleanup()

    def versions(self) -> dict[str, str]:
        """The versions of everything that it computes with."""
        return self._ask(do="versions")

    def devices(self) -> list[str]:
        """The kinds of devices that bsjax runs on there."""
        return self._ask(do="devices")

    def build(self, path: Path, task: str, options: Mapping[str, Any]) -> None:
        """Has it read the arrays of ``path``, label them and load what computes ``task``; none of it is timed."""
        self._ask(do="build", path=str(path), task=task, options=dict(options))

    def call(self, trim: bool = False) -> Called:
        """Calls once; ``trim`` measures memory exactly and time too long, see `protocol.measured`."""
        return Called(**self._ask(do="call", trim=trim))

    def answer(self) -> dict[str, np.ndarray]:
        """What the last call found: ``score``, and ``raw`` where there is such a thing."""
        path = Path(self._folder.name) / "answer.npz"
        self._ask(do="answer", path=str(path))
        with np.load(path) as arrays:
            return dict(arrays)

    def _ask(self, **request: Any) -> Any:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline()
        except BrokenPipeError:
            said = ""
        if not said:
            self._process.wait()
            self._log.seek(0)
            log = self._log.read()[-3000:]
            raise RuntimeError(f"the process of {self.name} stopped while asked for {request}; it said last:\n{log}")
        return json.loads(said)
