"""What is kept of the compiled programs: one JSON for each device, in which every program has its own date."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import floors, report
from ..rows.table import TABLE
from .devices import DEVICES, Device
from .programs import programs

COMPILED_WITHIN_S = {"tpu": 15.0, "cuda": 5.0}
"""How long a program is to take at most."""

WITHIN_FLOOR = 3.0
"""How often its floor a program is to take at most."""

CODE_BYTES = 10_000_000
"""How large its code is to be at most."""


def path(plugin: str, folder: Path = report.RESULTS) -> Path:
    """Where the results of a device are."""
    return folder / f"ahead-{plugin}.json"


def read(plugin: str, folder: Path = report.RESULTS) -> dict[str, Any]:
    """All results of a device: program -> layers -> what was found."""
    file = path(plugin, folder)
    return json.loads(file.read_text())["programs"] if file.exists() else {}


def kept(plugin: str, name: str, layers: int, folder: Path = report.RESULTS) -> dict[str, Any] | None:
    """What was found in a program before."""
    return read(plugin, folder).get(name, {}).get(str(layers))


def keep(plugin: str, name: str, layers: int, found: Mapping[str, Any], folder: Path = report.RESULTS) -> None:
    """Adds a program to the results of its device, in the place of what was there of it."""
    known = read(plugin, folder)
    when = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "commit": report.commit()}
    known.setdefault(name, {})[str(layers)] = {**found, **when}
    ordered = {name: known[name] for name in [*programs(), *known] if name in known}
    device = DEVICES[plugin]
    whole = {"device": device.name, "rates": vars(device), "programs": ordered}
    folder.mkdir(parents=True, exist_ok=True)
    path(plugin, folder).write_text(json.dumps(whole, indent=1) + "\n")


def floor_s(name: str, layers: int, device: Device) -> float | None:
    """The floor of a program's row on a device; None for one without a row.

    Args:
        name: of the program.
        layers: how many sources at once: the steps so many times, each launched once.
        device: that it runs on.
    """
    row = programs()[name].row
    if row is None:
        return None
    steps = floors.COUNTS[row](**TABLE[row].sizes, **TABLE[row].options)
    return layers * floors.seconds(steps, device.rates, "float32") + len(steps) * device.launch_s


def in_words(found: Mapping[str, Any]) -> str:
    """One line for whoever waits."""
    if "failed" in found:
        return found["failed"]
    return (
        f"compiled in {found['compile_s']:.1f} s, {found['launches']:.0f} kernels, "
        f"at least {found['seconds'] * 1e3:.3g} ms"
    )
