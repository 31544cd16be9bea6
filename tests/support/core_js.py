"""The script that all pages share, run by Node.js: a call is a line there and a line back."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.paths import REPOSITORY

NODE = shutil.which("node")
_CORE = REPOSITORY / "bsjax" / "leaderboard" / "static" / "core.js"
# JSON has no NaN: it is null on both ways. Arrays of numbers come back as plain lists.
_PROGRAM = """
require(process.argv[1]);
const number = (value) => (value === null ? NaN : value);
const calls = {
  aggregate({ nodes, cells, n, half, how, weights, included }) {
    for (const name of ["score", "error", "low", "high"]) cells[name] = Float64Array.from(cells[name], number);
    for (const leaf in cells.raw) cells.raw[leaf] = Float64Array.from(cells.raw[leaf], number);
    return bsjax.aggregate(nodes, cells, n, half, how, new Map(weights), included && new Set(included));
  },
  rankBounds({ scores, errors, states, factor }) {
    return bsjax.rankBounds(Float64Array.from(scores, number), Float64Array.from(errors, number), states, factor);
  },
  ranksOverBenchmarks({ weights, scores, n, models, averages, draws }) {
    const given = { weights: Float64Array.from(weights), scores: Float64Array.from(scores), n };
    const steps = bsjax.ranksOverBenchmarks(given, models, Float64Array.from(averages, number), 0.95, draws);
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  },
  leafWeights: ({ nodes, found, models, number, how }) => bsjax.leafWeights(nodes, found, models, number, how),
  shown: ({ values, decimals }) => values.map((value) => bsjax.shown(value, decimals)),
};
const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, given] = JSON.parse(line);
  console.log(JSON.stringify(calls[name](given), plain));
});
"""


class CoreJs:
    """A process that has read the script."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, name: str, **given: Any) -> Any:
        """What one of the script's functions gives."""
        lines, answers = self._process.stdin, self._process.stdout
        assert lines is not None and answers is not None
        lines.write(json.dumps([name, given], allow_nan=False) + "\n")
        lines.flush()
        line = answers.readline()
        assert line, "the script has ended with an error, see stderr"
        return json.loads(line)


@contextmanager
def core_js() -> Iterator[CoreJs]:
    """Run the script until the end of the block."""
    command = [str(NODE), "-e", _PROGRAM, str(_CORE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield CoreJs(process)
        assert process.stdin is not None
        process.stdin.close()
