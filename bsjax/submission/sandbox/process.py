"""Contained processes under bubblewrap or podman, with resource limits."""

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

# System folders, of which links are kept as links, and the part of /etc that programs need to start.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_OF_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "alternatives", "fonts", "ssl/certs")
# Libraries choose the order of summation by the cache sizes of the processor.
_PROCESSORS = "/sys/devices/system"
# Variables of this process that affect numerical results or the number of threads, and contain no secret.
_PASSED_ON = ("XLA_FLAGS", "JAX_PLATFORMS", "JAX_ENABLE_X64", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TZ")
_IN_MEMORY = 256 << 20
_LAST = 5.0
_KILLED = 128 + signal.SIGKILL
_OUT_OF_MEMORY = "it was killed as it asked for more memory than is allowed"


@dataclass(frozen=True)
class Sandbox:
    """The file access and resource limits of a process.

    The process can read the system, Python, its packages and bsjax. It has access to the given folders at their own
    paths. It sees no other process, no other environment variable and no network.

    Attributes:
        readable: folders and files that it can read.
        writable: folders that it can also write. A temporary home is added, which is removed with the process.
        variables: environment variables in addition to those that every contained process gets.
        limits: resource limits.
        contained: False for trusted code, which runs as an ordinary process with the same variables and limits.

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
        """Start a command. The calling thread must live as long as the process.

        Args:
            command: the program and its arguments.
            folder: the working folder; by default its home.

        Raises:
            RuntimeError: the sandbox is contained, and neither bubblewrap nor the program of ``$BSJAX_CONTAINER`` is
                installed.
        """
        return Contained(self, command, folder)

    def arguments(self, home: Path, folder: Path) -> list[str]:
        """The command line of bubblewrap, to be followed by the command."""
        bound: list[str] = []
        for place in _SYSTEM:
            if os.path.islink(place):
                bound += ["--symlink", os.readlink(place), place]
            elif os.path.exists(place):
                bound += ["--ro-bind", place, place]
        for name in _OF_ETC:
            bound += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        bound += ["--ro-bind-try", _PROCESSORS, _PROCESSORS, "--proc", "/proc", "--dev", "/dev"]
        for place in ("/dev/shm", "/tmp"):  # file systems in memory
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
        """Wrap a command so that it runs in a container with the same file access."""
        system = [Path(place) for place in (*_SYSTEM, *(f"/etc/{name}" for name in _OF_ETC)) if os.path.exists(place)]
        readable = [*system, *python_folders(), *self.readable]
        return container.around(
            command, variables, readable, [*self.writable, home], folder, self.limits, in_memory=_IN_MEMORY
        )


class Contained:
    """A running process in a sandbox. Use it in a ``with`` block, which ends it.

    Attributes:
        stdin, stdout: pipes to the process.
        watch: measurements of the watchdog.
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
                variables = dict(os.environ)  # for the program that starts the container
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
        """Wait until the process ends, exceeds a limit or the time is over, then end it; gives its exit status."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.end()
        return self._process.returncode

    def end(self) -> None:
        """Kill the process and its descendants, and remove its home."""
        self._ended_here |= self._process.poll() is None
        self._ran_out |= self._group.ran_out()
        # A container does not report who killed its process. If the process did so itself, it is only tried once more.
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
        """The standard error of the process; if it exceeds the limit, its beginning and its end."""
        kept, half = bytes(self._log), self._most // 2
        if len(kept) > self._most:
            kept = kept[:half] + b"\n[...]\n" + kept[-half:]
        return kept.decode("utf-8", "replace")

    @property
    def reason(self) -> str:
        """Why the process was killed, or how it failed; "" while it runs, or if it succeeded."""
        status = self._process.poll()
        if self.watch.reason or not status:
            return self.watch.reason
        if self._ran_out:
            return _OUT_OF_MEMORY
        return "" if self._ended_here else f"it ended with status {status}"

    @property
    def passed(self) -> str:
        """The exceeded limit: "memory", "time", "processes", "disk"; "" if none."""
        return "memory" if self.reason == _OUT_OF_MEMORY else self.watch.kind

    def _kill(self) -> None:
        """Kill the process group; contained processes outside of the group end with their namespace."""
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
                if len(self._log) > 4 * self._most:  # drop the middle
                    del self._log[half : len(self._log) - half]


def bubblewrap() -> str:
    """Find the path of bubblewrap.

    Raises:
        RuntimeError: bubblewrap is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise RuntimeError(
            "submissions run under bubblewrap, and there is no bwrap: install it (apt install bubblewrap), set "
            f"${VARIABLE} to podman and an image, or say --trust to run what was handed in as your own code"
        )
    return found


def python_folders() -> list[Path]:
    """List the folders of this Python interpreter, its packages and bsjax, except those in system folders."""
    package = Path(bsjax.__file__).parent
    asked = [Path(sys.base_prefix), Path(sys.prefix), package]
    asked += [Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    found: list[Path] = []
    for path in dict.fromkeys(path.resolve() for path in asked if path.exists()):
        if not any(path.is_relative_to(other) for other in (*map(Path, _SYSTEM), *found)):
            found.append(path)
    return found


def _variables(home: Path) -> dict[str, str]:
    """The environment of every contained process: fixed variables, and few of this process that affect numbers."""
    own = str(home)
    fixed = {"HOME": own, "USER": "model", "LOGNAME": "model", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    fixed |= {"TMPDIR": own, "BSJAX_HOME": f"{own}/.bsjax", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    fixed |= {"JAX_ENABLE_COMPILATION_CACHE": "false"}  # the cache would be deleted with the home
    fixed |= {"PYTHONPATH": str(Path(bsjax.__file__).parents[1]), "TERM": "dumb"}
    return fixed | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
