"""A contained process: what it sees, by bubblewrap or podman, and what it may take."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

import bsjax
from bsjax.submission.sandbox.container import VARIABLE, Container
from bsjax.submission.sandbox.limits import ControlGroup, Limits, Watch

# The system, where it is; a link where it is a link. Of /etc what programs need to start.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_OF_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "alternatives", "fonts", "ssl/certs")
# By the sizes of caches, libraries choose how they add up.
_PROCESSORS = "/sys/devices/system"
# Variables of this process that change numbers, or how many threads there are, and hold no secret.
_PASSED_ON = ("XLA_FLAGS", "JAX_PLATFORMS", "JAX_ENABLE_X64", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TZ")
_IN_MEMORY = 256 << 20
_LAST = 5.0
_KILLED = 128 + signal.SIGKILL
_OUT_OF_MEMORY = "it was killed as it asked for more memory than is allowed"


@dataclass(frozen=True)
class Sandbox:
    """What a process sees and may take. It sees the system, Python, its packages and bsjax, to be read; its folders,
    where they are; no other process, no variable and no network.

    Attributes:
        readable: folders and files that it cannot change.
        writable: folders that it can. A home of its own, which goes with the process, is added.
        variables: of the environment, beside those that every process gets.
        limits: what it may take.
        contained: False of what an operator trusts: it runs as any process does, with the same variables and limits.

    Example:
        >>> with Sandbox().start(["/bin/sh", "-c", "ls /proc | grep -c '^[0-9]'"]) as process:  # doctest: +SKIP
        ...     process.stdout.read()
        b'3\\n'
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    contained: bool = True

    def start(self, command: Sequence[str], folder: Path | None = None) -> Contained:
        """Run a command; to be called from a thread that lives as long as the process.

        Args:
            command: the program and its arguments.
            folder: where it runs; in its home if not given.

        Raises:
            RuntimeError: it is to be contained, and there is neither bubblewrap nor what ``$BSJAX_CONTAINER`` names.
        """
        return Contained(self, command, folder)

    def arguments(self, home: Path, folder: Path) -> list[str]:
        """Those of bubblewrap, before the command."""
        bound: list[str] = []
        for place in _SYSTEM:
            if os.path.islink(place):
                bound += ["--symlink", os.readlink(place), place]
            elif os.path.exists(place):
                bound += ["--ro-bind", place, place]
        for name in _OF_ETC:
            bound += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        bound += ["--ro-bind-try", _PROCESSORS, _PROCESSORS, "--proc", "/proc", "--dev", "/dev"]
        for place in ("/dev/shm", "/tmp"):  # which are in memory
            bound += ["--size", str(_IN_MEMORY), "--tmpfs", place]
        for path in (*python_folders(), *self.readable):
            bound += ["--ro-bind", str(path), str(path)]
        for path in (*self.writable, home):
            bound += ["--bind", str(path), str(path)]
        bound += ["--remount-ro", "/dev", "--remount-ro", "/"]
        alone = ["--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session"]
        alone += ["--hostname", "model", "--cap-drop", "ALL"]
        return [bubblewrap(), *alone, *bound, "--chdir", str(folder), "--"]

    def in_container(
        self, container: Container, command: Sequence[str], variables: Mapping[str, str], home: Path, folder: Path
    ) -> list[str]:
        """A command that runs another one in a container, where it sees the same."""
        system = [Path(place) for place in (*_SYSTEM, *(f"/etc/{name}" for name in _OF_ETC)) if os.path.exists(place)]
        readable = [*system, *python_folders(), *self.readable]
        return container.around(
            command, variables, readable, [*self.writable, home], folder, self.limits, in_memory=_IN_MEMORY
        )


class Contained:
    """A process in a sandbox, from its start until it is over. Use it in a ``with`` block, which ends it.

    Attributes:
        stdin, stdout: pipes to it.
        watch: what the watchdog has seen.
    """

    def __init__(self, sandbox: Sandbox, command: Sequence[str], folder: Path | None = None) -> None:
        self._within = ExitStack()
        self._log, self._most = bytearray(), sandbox.limits.log
        self.watch = Watch()
        self._ended_here = self._ran_out = False
        with ExitStack() as opening:
            opening.enter_context(self._within)
            home = Path(tempfile.mkdtemp(prefix="bsjax-home-")).resolve()
            self._within.callback(shutil.rmtree, home, ignore_errors=True)
            self._group = self._within.enter_context(ControlGroup(sandbox.limits))
            where = folder or home
            variables = {**_variables(home), **sandbox.variables}
            self._container = None
            if sandbox.contained and (setting := os.environ.get(VARIABLE)):
                self._container = Container(setting)
                self._within.callback(self._container.end)
                whole = sandbox.in_container(self._container, command, variables, home, where)
                variables = dict(os.environ)  # of the program that asks for the container
            else:
                whole = self._group.entered([*(sandbox.arguments(home, where) if sandbox.contained else ()), *command])
            self._process = subprocess.Popen(
                whole,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=variables,
                cwd=where,
                start_new_session=True,
            )
            opening.pop_all()
        writable = [*sandbox.writable, home]
        self.stdin: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        self.stdout: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        self._over = threading.Event()
        pid = self._container.pid if self._container else lambda: self._process.pid
        asked = (pid, sandbox.limits, writable, self._kill, self._over)
        self._threads = [
            threading.Thread(target=self._read_log, daemon=True),
            threading.Thread(target=self.watch.follow, args=asked, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        self.end()

    def wait(self, seconds: float | None = None) -> int:
        """Wait until it ends by itself, passes a limit, or so long; gives its exit status."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.end()
        return self._process.returncode

    def end(self) -> None:
        """End it and all that it has started, and remove its home."""
        self._ended_here |= self._process.poll() is None
        self._ran_out |= self._group.ran_out()
        # A container does not say who has killed its process: it may be its own doing, which then is tried once more.
        self._ran_out |= self._container is not None and self._process.poll() == _KILLED
        self._kill()
        self._process.wait()
        self._over.set()
        for thread in self._threads:
            thread.join(_LAST)
        for pipe in (self.stdin, self.stdout, self._process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._within.close()

    @property
    def log(self) -> str:
        """What it has printed, the first half of what may be kept and the last."""
        kept, half = bytes(self._log), self._most // 2
        if len(kept) > self._most:
            kept = kept[:half] + b"\n[...]\n" + kept[-half:]
        return kept.decode("utf-8", "replace")

    @property
    def reason(self) -> str:
        """Why it was ended, or how it ended by itself; "" while it runs, or if it ended well."""
        status = self._process.poll()
        if self.watch.reason or not status:
            return self.watch.reason
        if self._ran_out:
            return _OUT_OF_MEMORY
        return "" if self._ended_here else f"it ended with status {status}"

    @property
    def passed(self) -> str:
        """The limit that it has passed: "memory", "time", "processes", "disk"; "" if none."""
        return "memory" if self.reason == _OUT_OF_MEMORY else self.watch.kind

    def _kill(self) -> None:
        """End the group; what a contained process has started outside of it ends with its namespace."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._container:
            self._container.end()

    def _read_log(self) -> None:
        stream = self._process.stderr
        half = self._most // 2
        with suppress(OSError, ValueError):
            while stream is not None and (part := os.read(stream.fileno(), 1 << 16)):
                self._log += part
                if len(self._log) > 4 * self._most:  # the middle goes
                    del self._log[half : len(self._log) - half]


def bubblewrap() -> str:
    """The program.

    Raises:
        RuntimeError: it is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise RuntimeError(
            "submissions run under bubblewrap, and there is no bwrap: install it (apt install bubblewrap), set "
            f"${VARIABLE} to podman and an image, or say --trust to run what was handed in as your own code"
        )
    return found


def python_folders() -> list[Path]:
    """What this Python is made of: the interpreter, its packages, and bsjax; nothing that lies within the system."""
    package = Path(bsjax.__file__).parent
    asked = [Path(sys.base_prefix), Path(sys.prefix), package]
    asked += [Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    found: list[Path] = []
    for path in dict.fromkeys(path.resolve() for path in asked if path.exists()):
        if not any(path.is_relative_to(other) for other in (*map(Path, _SYSTEM), *found)):
            found.append(path)
    return found


def _variables(home: Path) -> dict[str, str]:
    """All that a process gets; none of this one's, save some that change numbers."""
    own = str(home)
    fixed = {"HOME": own, "USER": "model", "LOGNAME": "model", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    fixed |= {"TMPDIR": own, "BSJAX_HOME": f"{own}/.bsjax", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    fixed |= {"PYTHONPATH": str(Path(bsjax.__file__).parents[1]), "TERM": "dumb"}
    return fixed | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
