"""Train a small network on handwritten digits, and watch what training does to its scores.

Run it with ``python examples/digits.py``; it takes about a minute on two cores and needs the extras ``flax`` and
``plots``. Three numbers are followed over training:

- accuracy on digits that were not trained on;
- how far the last layer separates the ten classes: unbiased CKA between its responses to those digits and the
  labels themselves. It is a score of two arrays, and training should raise it;
- how well each layer predicts simulated V1 neuroids (the built-in benchmark ``Simulated.V1-ridge``), which nobody
  trained it for. Nothing says that it should rise, and it falls: random filters of all orientations are a better
  basis for V1 cells than filters that ten blurred digits have shaped. Getting better at a task is not getting more
  like a brain.

The weights are drawn from a seed, so the table comes out the same every time on one machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import optax
from flax import nnx
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import bsjax
from bsjax.adapters import from_flax

SIDE = 48  # pixels; digits are blown up to it, the benchmark's images are shrunk to it
LAYERS = ["block1", "block2", "block3"]
BATCH = 64
CHECKPOINTS = (0, 30, 100, 300)


class Block(nnx.Module):
    """Convolution, ReLU, and the maximum of each 2 x 2 positions."""

    def __init__(self, n_in: int, n_out: int, side: int, rngs: nnx.Rngs) -> None:
        self.conv = nnx.Conv(n_in, n_out, (side, side), kernel_init=nnx.initializers.he_normal(), rngs=rngs)

    def __call__(self, images):
        return nnx.max_pool(nnx.relu(self.conv(images)), (2, 2), strides=(2, 2))


class Network(nnx.Module):
    """Three blocks, the mean over positions, and a linear readout of ten classes."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.block1 = Block(1, 16, 7, rngs)
        self.block2 = Block(16, 32, 3, rngs)
        self.block3 = Block(32, 64, 3, rngs)
        self.readout = nnx.Linear(64, 10, rngs=rngs)

    def features(self, images):
        return self.block3(self.block2(self.block1(images))).mean((1, 2))

    def __call__(self, images):
        return self.readout(self.features(images))


class Digits(NamedTuple):
    """Images ``(images, side, side, 1)`` and labels, to train on and to test on."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


class Checkpoint(NamedTuple):
    """The scores after a number of training steps."""

    step: int
    accuracy: float
    classes: bsjax.Score
    v1: dict[str, bsjax.Score]


def preprocess(images) -> np.ndarray:
    """Grey images of the network's size, each with mean 0 and deviation 1; digits and the benchmark's images alike."""
    small = [Image.fromarray(image).convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR) for image in images]
    values = np.stack(small).astype(np.float32)[..., None]
    return (values - values.mean((1, 2), keepdims=True)) / (values.std((1, 2), keepdims=True) + 1)


def digits() -> Digits:
    """The 1797 digits of scikit-learn, two thirds of them to train on."""
    loaded = load_digits()
    images = preprocess(np.round(loaded.images * 255 / 16).astype(np.uint8))
    train, test, train_labels, test_labels = train_test_split(
        images, loaded.target, test_size=1 / 3, random_state=0, stratify=loaded.target
    )
    return Digits(train, train_labels, test, test_labels)


def train(network: Network, data: Digits, n_steps: int, look: Callable[[int], None], seed: int = 0) -> None:
    """Adam on batches of digits; ``look`` is called with the number of steps done at every checkpoint."""
    optimizer = nnx.Optimizer(network, optax.adam(2e-3), wrt=nnx.Param)

    @nnx.jit
    def update(network, optimizer, images, labels):
        def loss(network):
            return optax.softmax_cross_entropy_with_integer_labels(network(images), labels).mean()

        optimizer.update(network, nnx.grad(loss)(network))

    rng = np.random.default_rng(seed)
    for step in range(n_steps + 1):
        if step in CHECKPOINTS or step == n_steps:
            look(step)
        batch = rng.choice(len(data.train), BATCH, replace=False)
        update(network, optimizer, data.train[batch], data.train_labels[batch])


def make_scorer(network: Network, data: Digits) -> Callable[[int], Checkpoint]:
    """What measures the network as it is at that time: an adapter reads the weights whenever it runs."""
    activations = from_flax(network, "digits-network", preprocess=preprocess, cache=None)
    benchmark = bsjax.load_benchmark("Simulated.V1-ridge")
    classes = np.eye(10)[data.test_labels]
    run = nnx.jit(lambda network, images: (network.features(images), network(images)))

    def score(step: int) -> Checkpoint:
        features, logits = map(np.asarray, run(network, data.test))
        accuracy = float((logits.argmax(axis=1) == data.test_labels).mean())
        separated = bsjax.score_arrays(features, classes, metric="cka", error="jackknife")
        choice = bsjax.choose_layers(activations, LAYERS, {"V1": benchmark}, nested=False, n_bootstrap=0)
        return Checkpoint(step, accuracy, separated, dict(choice.regions["V1"].scores))

    return score


def table(checkpoints: list[Checkpoint]) -> str:
    """A line for each checkpoint."""
    header = f"{'steps':>5}  {'accuracy':>8}  {'classes (CKA)':>15}" + "".join(f"  {'V1 ' + n:>15}" for n in LAYERS)
    rows = [
        f"{c.step:>5}  {c.accuracy:>8.3f}  {_shown(c.classes):>15}"
        + "".join(f"  {_shown(c.v1[n]):>15}" for n in LAYERS)
        for c in checkpoints
    ]
    return "\n".join([header, *rows])


def summary(first: Checkpoint, last: Checkpoint) -> str:
    """What moved, in words: only what moved by more than twice its error counts."""
    lines = [_moved("separation of the classes", first.classes, last.classes)]
    lines += [_moved(f"prediction of simulated V1 by {name}", first.v1[name], last.v1[name]) for name in LAYERS]
    return "\n".join(lines)


def draw(checkpoints: list[Checkpoint], path: Path) -> None:
    """Scores over training steps, to a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    places = range(len(checkpoints))
    left.plot(places, [c.accuracy for c in checkpoints], "o-", color="#8a99a8", markersize=4, label="accuracy")
    _with_errors(left, [c.classes for c in checkpoints], "#c2410c", "classes in the last layer, CKA")
    left.set_title("What it is trained for", fontsize=10)
    left.set_ylim(0, 1.02)
    for name, color in zip(LAYERS, ("#9ecae1", "#4292c6", "#084594"), strict=True):
        _with_errors(right, [c.v1[name] for c in checkpoints], color, name)
    right.set_title("Simulated.V1-ridge, r²/c", fontsize=10)
    right.set_ylim(bottom=0)
    for panel in (left, right):
        panel.set_xticks(places, [str(c.step) for c in checkpoints])
        panel.set_xlabel("training steps")
        panel.legend(frameon=False, fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)


def main(arguments: list[str] | None = None) -> list[Checkpoint]:
    """Train, print the table, save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="training steps")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and batches")
    parser.add_argument("--figure", type=Path, default=Path("digits.png"), help="where to save the figure")
    options = parser.parse_args(arguments)
    network, data = Network(nnx.Rngs(options.seed)), digits()
    score, checkpoints = make_scorer(network, data), []

    def look(step: int) -> None:
        checkpoints.append(score(step))
        lines = table(checkpoints).splitlines()
        print("\n".join(lines if len(checkpoints) == 1 else lines[-1:]), flush=True)

    train(network, data, options.steps, look, options.seed)
    print("\n" + summary(checkpoints[0], checkpoints[-1]))
    draw(checkpoints, options.figure)
    print(f"\nfigure: {options.figure}")
    return checkpoints


def _shown(score: bsjax.Score) -> str:
    return f"{float(score):.3f} ± {float(score.error):.3f}"


def _moved(what: str, before: bsjax.Score, after: bsjax.Score) -> str:
    change = float(after) - float(before)
    sure = abs(change) > 2 * np.hypot(before.error, after.error)
    word = ("rose" if change > 0 else "fell") if sure else "did not move beyond its error"
    return f"{what} {word}: {float(before):.3f} to {float(after):.3f}"


def _with_errors(panel, scores: list[bsjax.Score], color: str, label: str) -> None:
    values, errors = [float(score) for score in scores], [float(score.error) for score in scores]
    panel.errorbar(range(len(scores)), values, yerr=errors, color=color, marker="o", markersize=4, label=label)


if __name__ == "__main__":
    main()
