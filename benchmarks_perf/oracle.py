"""The reference cases on this device: how far its answers are from those of the released Brain-Score.

    python -m benchmarks_perf.oracle

Runs every case of ``tests/oracle`` in the precision that bsjax chooses for the device (float64 on CPU, float32 on GPU
and TPU), prints the furthest, and keeps all in ``results/oracle-<device>-<cores>cores-<date>.json``. Fails where a
score is further off than the precision allows: 1e-6, or 1e-3 in float32.
"""

import sys
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bsjax.engine.precision import default_dtype
from tests.oracle.cases import CASES, PLS_IDS, ROUNDING_IN_REFERENCE, Case, numbers, score

from . import report

_ALLOWED = {"float64": 1e-6, "float32": 1e-3}
# Iterative fits, which the reference stops early.
_LOOSE = {"threshold-0.75": 1e-3, "threshold-inflection": 1e-3}
_SHOWN = 10


def answered(name: str, case: Case, dtype: str) -> dict[str, Any]:
    """One case: the largest distance of its values to the reference's, and what is allowed."""
    expected = case["expected"]
    settings = {"solver": "nipals"} if name in PLS_IDS and "converged_score" not in expected else {}
    mine = np.ravel(score(case, **settings).value).astype(float)
    theirs = numbers(expected.get("converged_score", expected["score"]))
    same_nan = bool(np.array_equal(np.isnan(mine), np.isnan(theirs)))
    distance = float(np.max(np.abs(mine - theirs), where=~np.isnan(theirs), initial=0.0))
    # There the reference's own answer holds a random direction.
    allowed = max(_ALLOWED[dtype], 1e-4 if name in ROUNDING_IN_REFERENCE else _LOOSE.get(name, 0.0))
    told = {"score": mine.tolist(), "reference": theirs.tolist(), "distance": distance, "allowed": allowed}
    return {**told, "holds": same_nan and distance <= allowed}


def main() -> int:
    """Scores all cases; the number of those that do not hold is the exit status."""
    dtype = default_dtype().name
    console, messages = Console(), Console(stderr=True)
    of_all = track(CASES.items(), "cases", len(CASES), console=messages, transient=True)
    cases = {name: answered(name, case, dtype) for name, case in of_all}
    failed = [name for name, case in cases.items() if not case["holds"]]
    environment = report.environment([device.device_kind for device in jax.devices()])
    result = {"dtype": dtype, "cases": cases, "failed": failed, "environment": environment}
    path = report.write("oracle", result)
    shown = Table("case", "distance", "allowed", title=f"{len(cases)} cases in {dtype}, {len(failed)} do not hold")
    for name, case in sorted(cases.items(), key=lambda item: -item[1]["distance"])[:_SHOWN]:
        shown.add_row(name, f"{case['distance']:.1e}", f"{case['allowed']:.0e}", style="red" if name in failed else "")
    console.print(shown)
    messages.print(f"kept in {path.parent.name}/{path.name}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
