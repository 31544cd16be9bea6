"""Memory of the machine, and sizes in bytes."""

import ctypes
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from bsjax.core.messages import in_words

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_CGROUP = Path("/sys/fs/cgroup")
SHARE = "BSJAX_MEMORY"
"""Environment variable with the memory limit of a process, such as ``"8GB"``, if several share a machine."""


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimated memory and disk space of an extraction, in bytes, in addition to the current memory of the process.

    Attributes:
        batch_size: number of images in a batch.
        batches: the running batch with its intermediate activations, and prefetched batches.
        results: activations held in memory.
        reducer: memory of the reducer.
        disk: activations written to disk.

    Example:
        >>> estimate = MemoryEstimate(batch_size=64, batches=300_000_000, results=0, reducer=0, disk=1_027_604_480)
        >>> print(estimate)
        300 MB in memory (batches of 64: 300 MB, results: 0 B, reducer: 0 B), 1.03 GB on disk
    """

    batch_size: int
    batches: int
    results: int
    reducer: int
    disk: int

    @property
    def total(self) -> int:
        """Peak of the memory."""
        return self.batches + self.results + self.reducer

    def __str__(self) -> str:
        parts = f"batches of {self.batch_size}: {in_words(self.batches)}, results: {in_words(self.results)}"
        total = f"{in_words(self.total)} in memory ({parts}, reducer: {in_words(self.reducer)})"
        return f"{total}, {in_words(self.disk)} on disk"


def parse_bytes(size: int | float | str) -> int:
    """Parse a number of bytes, optionally with a unit: ``"2GB"`` (powers of 1000) or ``"2GiB"`` (of 1024).

    Raises:
        ValueError: the size is invalid, or less than 1 byte.

    Example:
        >>> parse_bytes("1.5 GB"), parse_bytes("2GiB"), parse_bytes(4096)
        (1500000000, 2147483648, 4096)
    """
    found = _SIZE.fullmatch(str(size)) if isinstance(size, str) else None
    n_bytes = float(found[1]) * _UNITS[found[2].lower()] if found else (0 if isinstance(size, str) else size)
    if not n_bytes >= 1:
        raise ValueError(f"expected a size in bytes such as '2GB', '500 MB' or '1GiB', got {size!r}")
    return int(n_bytes)


def available_memory() -> int:
    """Get the bytes that this process can still allocate.

    The limits are those of the machine, of its control group, and of ``$BSJAX_MEMORY``. Memory that only caches files
    counts as free.

    Example:
        >>> available_memory() > 0
        True
    """
    free, left = free_memory(), left_of_share()
    return free if left is None else min(free, left)


def free_memory() -> int:
    """Get the bytes that are free on this machine and in its control group."""
    free, left = psutil.virtual_memory().available, _of_cgroup(_CGROUP)
    return free if left is None else min(free, left)


def left_of_share() -> int | None:
    """Get the bytes of ``$BSJAX_MEMORY`` that this process has not used yet; None if it is not set."""
    share = os.environ.get(SHARE)
    return max(parse_bytes(share) - held(), 0) if share else None


def _of_cgroup(root: Path) -> int | None:
    """The free bytes below the limit of the control group, version 2 or 1; None without a limit."""
    for limit, used, stat, inactive in (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
    ):
        try:
            most = (root / limit).read_text().strip()
            if most == "max":
                return None
            taken = int((root / used).read_text())
            stats = dict(line.split() for line in (root / stat).read_text().splitlines())
        except (OSError, ValueError):
            continue
        return max(int(most) - taken + int(stats.get(inactive, 0)), 0)
    return None


def peak_during(run: Callable[[], object]) -> int | None:
    """Call ``run``, and measure the largest rise of this process's memory in bytes meanwhile; None if unknown.

    The peak is that which Linux records for the process, and includes allocations of other threads.
    """
    is_told, before = forget_peak(), held()
    run()
    peak = peak_held()
    return None if not is_told or peak is None else max(peak - before, 0)


def forget_peak() -> bool:
    """Reset the recorded peak of this process's memory to its current value; False if the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_held() -> int | None:
    """Get the peak memory of this process in bytes since its start or the last :func:`forget_peak`; None if unknown."""
    try:
        found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return None if found is None else int(found[1]) * 1024


def held() -> int:
    """Get the memory of this process in bytes."""
    return psutil.Process().memory_info().rss


def give_back_free_memory() -> None:
    """Return freed memory to the system, if the C library supports it (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
