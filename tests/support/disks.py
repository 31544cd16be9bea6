"""Disks for tests: full ones, and ones that can only be read."""

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted_disk(folder: Path, size: str) -> Iterator[Path]:
    """A new, empty disk at a folder; the test is skipped where that may not be."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a disk can only be mounted by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # arrays may still be mapped from it


def fill(disk: Path) -> None:
    """Leave no room on a small disk, until the file "filled" is removed."""
    with open(disk / "filled", "ab", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def let_only_read(disk: Path) -> None:
    """Mount a disk again, so that not even root can write on it."""
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
