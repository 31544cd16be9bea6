"""A layer of 100,352 features for 2,560 stimuli with a memory budget: what it takes at its peak."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import report

BUDGET = 2_000_000_000
_LAYER = "layer4"


def measure(
    name: str,
    *,
    fast: bool = False,
    rounds: int = 12,
    peer_rounds: int = 6,
    with_peer: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures one extraction in a process of its own, from after the model is loaded.

    Args:
        name: ``"wide_layer"``.
        fast: 64 stimuli.
        rounds, peer_rounds, with_peer: not used: memory is the same each time, and there is no peer.
        progress: is told what happens, a line at a time.
    """
    n = 64 if fast else 2560
    environment = report.environment()
    environment["versions"] |= report.versions("torch", "pillow")
    lines = {}
    for side, store in (("into the store", "yes"), ("without a store", "no")):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", __name__, folder, str(n), store]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines[side] = {"kind": "bsjax", **json.loads(done.stdout)}
        progress(f"{side}: peak {lines[side]['peak_bytes'] / 1e9:.2f} GB in {lines[side]['median_s']:.0f} s")
    return {
        "row": name,
        "title": f"100,352 features x {n} stimuli with a budget of {BUDGET / 1e9:.0f} GB",
        "sizes": {"stimuli": n, "features": 100_352},
        "fast": fast,
        "contestants": lines,
        "environment": environment,
    }


def _extract(folder: Path, n: int, stored: bool) -> dict[str, Any]:
    import time

    from bsjax.activations import ActivationCache
    from bsjax.adapters import from_torch
    from bsjax.core.memory import peak_during

    from ..resnet import resnet
    from .extraction import image_files

    (folder / "images").mkdir()
    shown = image_files(folder / "images", n)
    cache = ActivationCache(folder / "cache") if stored else None
    model = from_torch(resnet()[:5], "resnet", cache=cache, memory=BUDGET)
    found = {}

    def call() -> None:
        values = model(shown, _LAYER)
        found["shape"], found["sum"] = list(values.shape), float(values[:, 0].sum())

    begun = time.perf_counter()
    peak = peak_during(call)
    return {**found, "peak_bytes": peak, "budget_bytes": BUDGET, "median_s": time.perf_counter() - begun}


if __name__ == "__main__":
    print(json.dumps(_extract(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "yes")))
