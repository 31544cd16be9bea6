"""What metrics say of simulated pairs whose relation is known, at several numbers of stimuli.

``python -m benchmarks_perf.calibration.known_pairs`` measures the metrics below and writes the table of
``docs/explanations/which-metric.md``. It takes some minutes on two cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bsjax import load_metric
from bsjax.testing.data import assembly

PAGE = Path(__file__).parents[2] / "docs" / "explanations" / "which-metric.md"
NAMES = ("cka", "rdm", "ridge", "pls", "procrustes", "cca", "neuron_to_neuron", "one_to_one", "semi_matching",
         "mutual_nearest_neighbours", "cknna")  # fmt: skip
STIMULI = (50, 200, 1000)
DRAWS = 12
_UNITS, _FEW = 40, 10

Pair = tuple[np.ndarray, np.ndarray]
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def responses(rng: np.random.Generator, stimuli: int) -> np.ndarray:
    """Units that mix independent dimensions whose variances fall with their number, as in recordings."""
    dimensions = rng.normal(size=(stimuli, _UNITS)) / np.sqrt(np.arange(1, _UNITS + 1))
    return dimensions @ np.linalg.qr(rng.normal(size=(_UNITS, _UNITS)))[0] * np.sqrt(_UNITS)


PAIRS: dict[str, Change] = {
    "rotated": lambda x, rng: x @ np.linalg.qr(rng.normal(size=(_UNITS, _UNITS)))[0],
    "units scaled": lambda x, rng: x * np.exp(rng.normal(size=_UNITS)),
    "a quarter of the units": lambda x, rng: x[:, rng.choice(_UNITS, _FEW, replace=False)],
    "rectified mixtures": lambda x, rng: np.maximum(x @ rng.normal(size=(_UNITS, _UNITS)), 0.0),
    "noise, SNR 0.1": lambda x, rng: x + np.sqrt(10.0) * x.std() * rng.normal(size=x.shape),
    "unrelated": lambda x, rng: responses(rng, len(x)),
}


def measured(name: str, stimuli: int, draws: int = DRAWS) -> dict[str, np.ndarray]:
    """The scores of one metric for each kind of pair, one for each draw."""
    metric, found = load_metric(name), {kind: np.empty(draws) for kind in PAIRS}
    warnings.simplefilter("ignore")
    for draw in range(draws):
        rng = np.random.default_rng([draw, stimuli])
        x = responses(rng, stimuli)
        for kind, change in PAIRS.items():
            found[kind][draw] = float(metric(assembly(x, "x"), assembly(change(x, rng), "y")))
    return found


def row(name: str, stimuli: int, draws: int = DRAWS) -> str:
    """A line of the table: means and standard deviations, and d' of noisy copies against unrelated responses."""
    found = measured(name, stimuli, draws)
    noisy, unrelated = found["noise, SNR 0.1"], found["unrelated"]
    distance = (noisy.mean() - unrelated.mean()) / np.sqrt((noisy.var(ddof=1) + unrelated.var(ddof=1)) / 2)
    cells = [f"{each.mean():.2f} ± {each.std(ddof=1):.2f}" for each in found.values()]
    return f"| {' | '.join([f'`{name}`', f'{stimuli:,}', *cells, f'{distance:.1f}'])} |"


def head() -> str:
    """The first two lines of the table."""
    names = ["metric", "stimuli", *PAIRS, "d'"]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def written(page: str, lines: Sequence[str]) -> str:
    """The page with these lines in the place of the table's."""
    before, _, after = page.partition(head())
    return f"{before}{head()}\n" + "\n".join(lines) + "\n\n" + after.partition("\n\n")[2]


def main() -> None:
    """Measure, and write the table."""
    lines = [row(name, stimuli) for name in NAMES for stimuli in STIMULI]
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
