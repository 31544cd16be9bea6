"""Limits of a contained process and all that it starts: memory, time, processes and disk.

A control group holds them where one can be made. A watchdog holds them everywhere: it adds up what the processes hold,
and ends all of them at once. There is no limit of addresses, as XLA reserves more than it uses.
"""

from __future__ import annotations

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

from bsjax.core.messages import in_words

_GROUPS = Path("/sys/fs/cgroup")
# How fast a process can fill memory, by which the next look comes before the limit is passed; and between which looks.
_FILLS = 8 << 30
_SOONEST, _LATEST = 0.02, 0.2
_LOOKS_AT_DISK = 0.5
# What is left to the machine, whoever has taken the rest: of memory that no process shows, and of the disk.
_LEFT = 256 << 20
_MOST_FILES = 100_000
THREADS = 4
"""How many threads a process may have, in the mean; groups and containers count threads."""


OPEN_FILES = 4096
"""How many files a process may have open, which the watchdog looks through."""


@dataclass(frozen=True)
class Limits:
    """What a contained process and its children may take together.

    Attributes:
        memory: resident bytes.
        seconds: of wall time.
        processes: at one time, threads not counted.
        disk: bytes in the folders that it may write.
        log: bytes of what it prints that are kept; the rest is read and dropped.

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
    """What the watchdog has seen.

    Attributes:
        peak: the most bytes of memory that were resident at one time.
        reason: why the processes were ended; "" if they were not.
        kind: which limit that was: "memory", "time", "processes", "disk", or "".
    """

    peak: int = 0
    reason: str = ""
    kind: str = ""

    def follow(
        self, pid: Callable[[], int], limits: Limits, folders: Sequence[Path], kill: Callable[[], None], over: Event
    ) -> None:
        """Look at a process, 0 where there is none yet, and its children until it is over, and end them where they
        pass a limit."""
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
    """Bytes that are resident, and the number of processes, of one and all below it.

    What several share counts for each, which is quick to tell; where that passes the limit, it counts once.
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
    """Bytes of files that lie in memory and in no folder (``memfd_create``), which no process need show as its own."""
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
        with suppress(psutil.Error):  # of one that has ended meanwhile
            total += held(process)
    return total


def _passed_on_disk(folders: Sequence[Path], limit: int) -> tuple[str, str] | None:
    size = files = 0
    for folder in folders:
        if shutil.disk_usage(folder).free < _LEFT:
            return "disk", "the disk of this machine is full"
        for one in _sizes(folder):
            size, files = size + one, files + 1
            if size > limit:
                return "disk", f"it wrote {in_words(size)} or more, where {in_words(limit)} are allowed"
            if files > _MOST_FILES:
                return "disk", f"it wrote more than {_MOST_FILES:,} files"
    return None


def _sizes(folder: str | Path) -> Iterator[int]:
    """What each file takes on the disk; a sparse one takes what was written."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield 4096
                    yield from _sizes(entry.path)
                else:
                    yield max(entry.stat(follow_symlinks=False).st_blocks * 512, 512)


class ControlGroup:
    """A control group of one contained process, where one can be made; use it in a ``with`` block, which removes it.

    Of either version: the second where this process' own group is handed to it, as systemd does with
    ``Delegate=yes``; the first where its folders can be written.
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
        """A command that runs in the group, and all that it starts, with few enough files that they can be counted."""
        into = [f"ulimit -n {OPEN_FILES}", *(f"echo $$ > '{group}/cgroup.procs'" for group in self._folders)]
        return ["/bin/sh", "-c", f'{"; ".join(into)}; exec "$@"', "sh", *command]

    def ran_out(self) -> bool:
        """Whether the kernel has ended a process of it, as it asked for more memory."""
        for group in self._folders:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    told = dict(line.split() for line in (group / name).read_text().splitlines())
                    if int(told.get("oom_kill", 0)):
                        return True
        return False


def _parents() -> list[Path]:
    """Where groups of this process are made."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, place = line.split(":", 2)
            if number == "0" and not controllers and (_GROUPS / "cgroup.controllers").exists():
                own = _GROUPS / place.lstrip("/")
                held = (own / "cgroup.subtree_control").read_text().split()
                return [own] if {"memory", "pids"} <= set(held) else []
    return [folder for folder in (_GROUPS / "memory", _GROUPS / "pids") if (folder / "cgroup.procs").exists()]


def _remove(group: Path) -> None:
    for _ in range(50):  # until the kernel has seen the last process end
        with suppress(FileNotFoundError):
            try:
                group.rmdir()
            except OSError:
                time.sleep(0.02)
                continue
        return
