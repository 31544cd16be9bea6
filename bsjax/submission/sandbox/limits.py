"""Limits on the memory, time, processes and disk of a contained process and its descendants.

A control group enforces the limits of memory and processes if one can be created. In addition, a watchdog always
measures the total use of the processes and kills all of them if it exceeds a limit. The address space is not limited,
since XLA reserves more of it than it uses.
"""

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Self

import psutil

from bsjax.core.identity.opened import not_following
from bsjax.core.messages import in_words

_GROUPS = Path("/sys/fs/cgroup")
# Rate at which a process can fill memory, in bytes/s, and bounds of the resulting time between measurements, in s.
_FILLS = 8 << 30
_SOONEST, _LATEST = 0.02, 0.2
_LOOKS_AT_DISK = 0.5
# Bytes of memory and of disk that always stay free on the machine, whichever process uses the rest.
_LEFT = 256 << 20
_MOST_FILES = 100_000
THREADS = 4
"""Mean number of threads allowed per process, as control groups and containers count threads."""


OPEN_FILES = 4096
"""Number of files that a process may have open, so that the watchdog can inspect them."""


@dataclass(frozen=True)
class Limits:
    """Resource limits of a contained process and its descendants together.

    Attributes:
        memory: resident memory in bytes.
        seconds: wall time.
        processes: number of simultaneous processes, not counting threads.
        disk: bytes in its writable folders.
        log: bytes of its log that are kept; the rest is discarded.

    Raises:
        ValueError: a limit is not positive.
    """

    memory: int = 4 << 30
    seconds: float = 3600.0
    processes: int = 256
    disk: int = 4 << 30
    log: int = 1 << 20

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"the limit of {name} must be positive, got {value!r}")


@dataclass
class Watch:
    """Measurements of the watchdog.

    Attributes:
        peak: largest resident memory, in bytes.
        reason: why the processes were killed; "" if they were not.
        kind: the exceeded limit: "memory", "time", "processes", "disk", or "".
    """

    peak: int = 0
    reason: str = ""
    kind: str = ""

    @not_following()
    def follow(
        self, pid: Callable[[], int], limits: Limits, folders: Sequence[Path], kill: Callable[[], None], over: Event
    ) -> None:
        """Measure a process and its descendants until it ends, and kill them if they exceed a limit.

        Args:
            pid: gives the id of the process; 0 before it has started.
            limits: the limits.
            folders: its writable folders, which count for the limit of disk space.
            kill: kills the process and its descendants.
            over: set when the process has ended.
        """
        begun = looked_at_disk = time.monotonic()
        wait = _SOONEST
        while not over.wait(wait):
            now = time.monotonic()
            held, processes = _taken(pid(), limits)
            self.peak = max(self.peak, held)
            at_disk = now - looked_at_disk >= _LOOKS_AT_DISK
            told = self._passed(held, processes, now - begun, limits)
            if not told and at_disk:
                looked_at_disk = now
                told = _passed_on_disk(folders, limits.disk)
            if told:
                self.kind, self.reason = told
                kill()
                return
            left = min(limits.memory - held, psutil.virtual_memory().available - _LEFT)
            wait = min(max(left / _FILLS, _SOONEST), _LATEST)

    @staticmethod
    def _passed(held: int, processes: int, seconds: float, limits: Limits) -> tuple[str, str] | None:
        if processes > limits.processes:
            return "processes", f"it started {processes} processes, where {limits.processes} are allowed"
        if held > limits.memory:
            return "memory", f"it held {in_words(held)} of memory, where {in_words(limits.memory)} are allowed"
        if psutil.virtual_memory().available < _LEFT:
            return "memory", f"the machine has run out of memory while it held {in_words(held)}"
        if seconds > limits.seconds:
            return "time", f"it took longer than the {limits.seconds:g} s that are allowed"
        return None


def _taken(pid: int, limits: Limits) -> tuple[int, int]:
    """Resident bytes and number of processes, of a process and its descendants.

    Shared memory is first counted once per process, which is fast, and only if that exceeds the limit, proportionally.
    """
    try:
        first = psutil.Process(pid)
        processes = [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0, 0
    held = _sum(processes, lambda process: process.memory_info().rss)
    if held > limits.memory and 2 < len(processes) <= limits.processes:
        held = _sum(processes, lambda process: process.memory_full_info().pss)
    return held + _in_nameless_files(processes), len(processes)


def _in_nameless_files(processes: Sequence[psutil.Process]) -> int:
    """Bytes of anonymous files in memory (``memfd_create``), which do not count as resident in any process."""
    found: dict[int, int] = {}
    for process in processes:
        with suppress(OSError), os.scandir(f"/proc/{process.pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    if os.readlink(entry.path).startswith("/memfd:"):
                        there = entry.stat()
                        found[there.st_ino] = there.st_blocks * 512
    return sum(found.values())


def _sum(processes: Sequence[psutil.Process], held: Callable[[psutil.Process], int]) -> int:
    total = 0
    for process in processes:
        with suppress(psutil.Error):  # the process has ended meanwhile
            total += held(process)
    return total


def _passed_on_disk(folders: Sequence[Path], limit: int) -> tuple[str, str] | None:
    size = files = 0
    for folder in folders:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:  # unwatched, it could write without a limit
            return "disk", f"a folder that it may write was taken away ({error.strerror})"
        if free < _LEFT:
            return "disk", "the disk of this machine is full"
        for one in _sizes(folder):
            size, files = size + one, files + 1
            if size > limit:
                return "disk", f"it wrote {in_words(size)} or more, where {in_words(limit)} are allowed"
            if files > _MOST_FILES:
                return "disk", f"it wrote more than {_MOST_FILES:,} files"
    return None


def _sizes(folder: str | Path) -> Iterator[int]:
    """The disk space of each file and folder; only the written blocks of sparse files count."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield 4096
                    yield from _sizes(entry.path)
                else:
                    yield max(entry.stat(follow_symlinks=False).st_blocks * 512, 512)


class ControlGroup:
    """A control group for one contained process, if one can be created. Use it in a ``with`` block, which removes it.

    Version 2 is used if this process may manage its own group, as with systemd's ``Delegate=yes``; version 1 if its
    folders are writable.
    """

    def __init__(self, limits: Limits) -> None:
        name = f"bsjax-{uuid.uuid4().hex[:12]}"
        values = {"memory.max": limits.memory, "memory.limit_in_bytes": limits.memory, "memory.swap.max": 0}
        values["pids.max"] = THREADS * limits.processes
        self._folders: list[Path] = []
        for parent in _parents():
            group = parent / name
            with suppress(OSError):
                group.mkdir()
                self._folders.append(group)
                for file, value in values.items():
                    if (group / file).exists():
                        (group / file).write_text(str(value))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        for group in self._folders:
            _remove(group)

    def entered(self, command: Sequence[str]) -> list[str]:
        """Wrap a command so that it runs in the group, with a limited number of open files."""
        into = [f"ulimit -n {OPEN_FILES}", *(f"echo $$ > '{group}/cgroup.procs'" for group in self._folders)]
        return ["/bin/sh", "-c", f'{"; ".join(into)}; exec "$@"', "sh", *command]

    def ran_out(self) -> bool:
        """Whether the kernel has killed a process of the group for lack of memory."""
        for group in self._folders:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    told = dict(line.split() for line in (group / name).read_text().splitlines())
                    if int(told.get("oom_kill", 0)):
                        return True
        return False


def _parents() -> list[Path]:
    """The folders in which this process can create control groups."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, place = line.split(":", 2)
            if number == "0" and not controllers and (_GROUPS / "cgroup.controllers").exists():
                own = _GROUPS / place.lstrip("/")
                held = (own / "cgroup.subtree_control").read_text().split()
                return [own] if {"memory", "pids"} <= set(held) else []
    return [folder for folder in (_GROUPS / "memory", _GROUPS / "pids") if (folder / "cgroup.procs").exists()]


def _remove(group: Path) -> None:
    for _ in range(50):  # until the kernel has noticed the end of the last process
        with suppress(FileNotFoundError):
            try:
                group.rmdir()
            except OSError:
                time.sleep(0.02)
                continue
        return
