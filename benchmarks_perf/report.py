"""What is kept of a run: JSON with machine and versions."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

_DEVICES = "import jax, json; print(json.dumps([jax.default_backend(), [d.device_kind for d in jax.devices()]]))"


@cache
def devices() -> tuple[str, tuple[str, ...]]:
    """The platform that JAX runs on here, and the kinds of its devices, asked in a process of its own.

    A process that asks for itself keeps three quarters of a card's memory, or all of a TPU, from others.
    """
    asked = subprocess.run([sys.executable, "-c", _DEVICES], capture_output=True, text=True, check=True)
    platform, kinds = json.loads(asked.stdout.splitlines()[-1])
    return platform, tuple(kinds)


def versions(*packages: str) -> dict[str, str]:
    """Installed versions."""
    return {package: version(package) for package in packages}


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return named.group(1) if named else platform.processor() or "unknown"


def commit() -> str:
    """The commit that was measured, marked if the tree had changes; "unknown" outside a repository."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + (" with changes" if changed.strip() else "")


def environment(jax_devices: Sequence[str] | None = None) -> dict[str, Any]:
    """Everything beside the times that a reader needs to judge them; nothing that identifies the machine.

    Args:
        jax_devices: the kinds of devices that were measured; by default those that are here.
    """
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "jax_devices": list(jax_devices or devices()[1]),
        "load_average_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine,
        "python": platform.python_version(),
        "versions": versions("bsjax", "jax", "jaxlib", "numpy", "scipy", "scikit-learn", "xarray", "pandas"),
    }


def write(row: str, result: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Writes one row's result as ``<row>-<device>-<cores>cores-<date>.json`` and returns the path."""
    where = result["environment"]["machine"]
    device = re.sub(r"[^a-z0-9]+", "", where["jax_devices"][0].lower())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{row}-{device}-{where['cores']}cores-{result['environment']['when'][:10]}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    return path
