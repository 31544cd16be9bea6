"""What it costs to contain a process: ``python -m benchmarks_perf.containment``.

The same Python process is started in a sandbox and without one; they take turns. The medians are shown, and that of
what each pair differs by.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from bsjax.submission.sandbox import Sandbox

_COMMAND = [sys.executable, "-S", "-c", "print(1)"]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.containment", description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(parser.parse_args().pairs):
        for contained in (True, False):
            begun = time.perf_counter()
            with Sandbox(contained=contained).start(_COMMAND) as process:
                if process.stdout.read() != b"1\n" or process.wait():
                    raise SystemExit(f"the process did not run: {process.log}")
            seconds[contained].append(time.perf_counter() - begun)
    differences = [inside - outside for inside, outside in zip(seconds[True], seconds[False], strict=True)]
    for what, taken in (("contained", seconds[True]), ("uncontained", seconds[False]), ("difference", differences)):
        print(f"{what:12} {1000 * statistics.median(taken):6.1f} ms")


if __name__ == "__main__":
    main()
