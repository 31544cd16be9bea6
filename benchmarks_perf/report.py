"""What is kept of a run (JSON with machine and versions) and what is shown of it (a table)."""

import json
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jax
from rich.box import SIMPLE_HEAD
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def versions(*packages: str) -> dict[str, str]:
    """Installed versions; a package that is not installed is left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """The hardware and how busy it is; nothing that identifies it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores,
        "jax_devices": [device.device_kind for device in jax.devices()],
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


def environment() -> dict[str, Any]:
    """Everything beside the times that a reader needs to judge them."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
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


def table(result: dict[str, Any]) -> Table:
    """One line per contestant: times, how many times faster than the peer, the score and its errors."""
    shown = Table(
        title=result["title"],
        caption="Times in seconds. error: |score - exact|. diff: |score - peer's score|.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading in ("", "first", "median", "min", "IQR", "n", "faster", "score", "error", "diff"):
        shown.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, line in result["contestants"].items():
        beside_peer = line["times_faster"] is not None
        shown.add_row(
            name,
            *(
                f"{line[key]:.2g}" if line[key] < 1 else f"{line[key]:.1f}"
                for key in ("first_s", "median_s", "min_s", "iqr_s")
            ),
            str(line["calls"]),
            f"{line['times_faster']:.3g}x" if beside_peer else "",
            f"{line['score']:.4f}",
            f"{line['score_error']:.0e}",
            f"{line['score_difference_to_peer']:.0e}" if beside_peer else "",
        )
    return shown
