"""What is kept of a run (JSON with machine and versions) and what is shown of it (a table)."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bsjax.core.messages import in_words

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
    """Installed versions; a package that is not installed is left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine(jax_devices: Sequence[str] | None = None) -> dict[str, Any]:
    """The hardware and how busy it is; nothing that identifies it.

    Args:
        jax_devices: the kinds of devices that were measured; by default those that are here.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores,
        "jax_devices": list(jax_devices or devices()[1]),
        "load_average_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if named:
            return named.group(1)
    return platform.processor() or "unknown"


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
    """Everything beside the times that a reader needs to judge them; ``jax_devices`` as in `machine`."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(jax_devices),
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


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:.1f}"


# What a line may hold -> the heading of its column, and how it is written.
_COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "first_s": ("first", _seconds),
    "warm_first_s": ("warm", _seconds),
    "median_s": ("median", _seconds),
    "min_s": ("min", _seconds),
    "iqr_s": ("IQR", _seconds),
    "calls": ("n", str),
    "score": ("score", lambda value: f"{value:.4f}"),
    "score_error": ("error", lambda value: f"{value:.0e}"),
    "raw_error": ("raw", lambda value: f"{value:.0e}"),
    "peak_bytes": ("peak", in_words),
}


def table(result: dict[str, Any]) -> Table:
    """One line per contestant, with the columns that any of them has, and how much faster bsjax is than each."""
    lines, faster = result["contestants"], result.get("times_faster", {})
    columns = [key for key in _COLUMNS if any(line.get(key) is not None for line in lines.values())]
    ours = [name for name in lines if any(name in ratios for ratios in faster.values())]
    shown = Table(
        title=result["title"],
        caption="Times in seconds; first: with compilation, warm: in another process, compiled before. "
        "error, raw: |score - exact|, and the largest of its raw values. Last columns: median by that of bsjax.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading in ("", *(_COLUMNS[key][0] for key in columns), *(f"/{name.split()[-1]}" for name in ours)):
        shown.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, line in lines.items():
        cells = [None if line.get(key) is None else _COLUMNS[key][1](line[key]) for key in columns]
        cells += [f"{faster[name][mine]:.3g}x" if name in faster else None for mine in ours]
        shown.add_row(name, *(cell or "" for cell in cells))
    return shown
