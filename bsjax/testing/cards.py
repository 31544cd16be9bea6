"""Cards of metrics: what a metric distinguishes among small networks trained on handwritten digits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bsjax.labelled import load_metric
from bsjax.labelled.metric import name_of
from bsjax.testing.contract import Size
from bsjax.testing.data import assembly, noise

NAMES = (
    *("pls", "ridge", "ridgecv", "linear_predictivity", "neuron_to_neuron", "reverse_pls"),
    *("pcr", "reduced_rank", "rotation", "elastic_net", "lasso", "nnls", "kernel_ridge"),
    *("cka", "cka_biased", "cka_cv", "kernel_cka", "cka_of_sampled_units", "rdm", "rdm_cv"),
    *("procrustes", "shape", "permutation_shape", "cca", "svcca", "pwcca", "mutual_nearest_neighbours", "cknna"),
    *("one_to_one", "soft_matching", "semi_matching", "feature_reweighted_rdm", "encoding_rdm"),
)
# Penalties that suit responses of this size.
SETTINGS = {"elastic_net": {"alpha": 0.01}, "lasso": {"alpha": 0.01}}
_LAYERS = 4
_WIDTH = 48
_STEPS, _BATCH, _RATE = 400, 128, 3e-3
_STIMULI = 200
_SEEDS = 4
_NOISE = Size(_STIMULI, _WIDTH, _WIDTH)
_DEGREES = (0.25, 0.5, 0.75, 1.0)
_SMALL = 1e-12

Layers = list[np.ndarray]


@dataclass(frozen=True)
class Card:
    """What a metric distinguishes: shares of cases in which each statement holds.

    Chance is 0.5, and 0.25 for ``layers``.

    Attributes:
        metric: identifier of the metric.
        seeds: two networks of one architecture are more similar than two networks of different architectures.
        layers: a layer is most similar to the corresponding layer of a network with other initial weights.
        order: layers that are further apart in a network are less similar.
        labels: networks trained with more random labels are less similar to a network trained as usual.
        shortcuts: networks trained with more images that show the label are less similar to one trained as usual.
        augmentation: networks trained with more shifted images are less similar to one trained as usual.
        separation: d' between pairs of networks of one architecture and pairs of two architectures, in the last layer.
        null: mean score of noise.
        seconds: time of the fastest of five calls, with 200 stimuli and 48 units on each side.

    Example:
        >>> made = Card("cka", 0.8, 0.5, 1.0, 0.97, 0.85, 0.95, separation=1.4, null=0.0, seconds=0.003)
        >>> made.metric, made.separation
        ('cka', 1.4)
    """

    metric: str
    seeds: float
    layers: float
    order: float
    labels: float
    shortcuts: float
    augmentation: float
    separation: float
    null: float
    seconds: float


def card(metric: Any) -> Card:
    """Measures what a metric distinguishes, by grounding tests as in ReSi.

    Trains small networks on scikit-learn's digits: plain and convolutional networks, and plain networks with increasing
    shares of random labels, of images that show the label, and of shifted images. There are four networks of each kind,
    with different initial weights. The card has the share of cases in which the metric orders similarities as expected.

    Args:
        metric: a metric of two assemblies, or its identifier.

    Returns:
        The card.

    Raises:
        ValueError: the metric does not accept responses to 200 images.

    Source: Klabunde et al. 2025, "ReSi: A comprehensive benchmark for representational similarity measures".

    Example:
        >>> [field.name for field in fields(Card)][1:4]
        ['seeds', 'layers', 'order']
    """
    made = load_metric(metric) if isinstance(metric, str) else metric
    score = partial(_score, made)
    plain, convolutional = ([_network(kind, seed) for seed in range(_SEEDS)] for kind in ("plain", "convolutional"))
    deep, other = [each[-1] for each in plain], [each[-1] for each in convolutional]
    pairs = [(a, b) for a in range(_SEEDS) for b in range(_SEEDS) if a != b]
    within = np.array([score(side[a], side[b]) for side in (deep, other) for a, b in pairs])
    between = np.array([score(*pair) for a, b in pairs for pair in ((deep[a], other[b]), (other[a], deep[b]))])
    spread = np.sqrt((within.var() + between.var()) / 2)
    x, y = (assembly(side, name) for side, name in zip(noise(np.random.default_rng(0), _NOISE), "xy", strict=True))
    null = float(np.mean([score(x.values, rolled) for rolled in (np.roll(y.values, k, axis=0) for k in range(5))]))
    return Card(
        metric=metric if isinstance(metric, str) else name_of(made),
        seeds=_share(within[:, None] > between[None]),
        layers=_same_layer(score, plain),
        order=_layer_order(score, plain),
        **{kind: _by_degrees(score, kind, deep) for kind in ("labels", "shortcuts", "augmentation")},
        separation=float((within.mean() - between.mean()) / max(spread, _SMALL)),
        null=null,
        seconds=min(_seconds(score, x.values, y.values) for _ in range(5)),
    )


def table(cards: Sequence[Card]) -> str:
    """A Markdown table of cards.

    Example:
        >>> print(table([Card("mine", 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 2.0, 0.0, 0.01)]))
        | metric | seeds | layers | order | labels | shortcuts | augmentation | d' | null mean | ms |
        |---|---|---|---|---|---|---|---|---|---|
        | `mine` | 1.00 | 1.00 | 0.50 | 0.50 | 0.50 | 0.50 | 2.0 | 0.00 | 10 |
    """
    names = [each.name for each in fields(Card)]
    head = [{"separation": "d'", "null": "null mean", "seconds": "ms"}.get(name, name) for name in names]
    lines = [head, ["---"] * len(head)]
    for each in cards:
        shares = [f"{getattr(each, name):.2f}" for name in names[1:7]]
        ending = [f"{each.separation:.1f}", f"{each.null:.2f}", f"{1000 * each.seconds:.0f}"]
        lines.append([f"`{each.metric}`", *shares, *ending])
    first, rule, *rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([first, rule.replace(" ", ""), *rows])


def _score(metric: Callable[..., Any], one: np.ndarray, other: np.ndarray) -> float:
    with warnings.catch_warnings(action="ignore"):
        return float(metric(assembly(one, "x"), assembly(other, "y")))


def _seconds(score: Callable[..., float], *sides: np.ndarray) -> float:
    start = time.perf_counter()
    score(*sides)
    return time.perf_counter() - start


def _share(right: Any) -> float:
    return float(np.mean(right))


def _same_layer(score: Callable[..., float], networks: Sequence[Layers]) -> float:
    right = []
    for one, other in permutations(networks, 2):
        found = np.array([[score(a, b) for b in other] for a in one])
        right += [found[layer].argmax() == layer for layer in range(_LAYERS)]
    return _share(right)


def _layer_order(score: Callable[..., float], networks: Sequence[Layers]) -> float:
    """The share of comparisons, over layers a < b < c, in which b is more similar to a or c than they to each other."""
    right = []
    for layers in networks:
        found = np.array([[score(a, b) for b in layers] for a in layers])
        for a in range(_LAYERS):
            for b in range(a + 1, _LAYERS):
                for c in range(b + 1, _LAYERS):
                    right += [found[a, b] > found[a, c], found[c, b] > found[c, a]]
    return _share(right)


def _by_degrees(score: Callable[..., float], kind: str, plain: Sequence[np.ndarray]) -> float:
    """The share of pairs of degrees in which the smaller change leaves a network more similar to an unchanged one."""
    right = []
    for seed, own in enumerate(plain):
        reference = plain[seed - 1]
        found = [score(own, reference)]
        found += [score(_network("plain", seed, kind, degree)[-1], reference) for degree in _DEGREES]
        right += [found[a] > found[b] for b in range(len(found)) for a in range(b)]
    return _share(right)


@cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    images, labels = map(np.asarray, load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(images))
    return (images[order] / 16).reshape(-1, 8, 8), labels[order]


@cache
def _network(kind: str, seed: int, changed: str = "", degree: float = 0.0) -> Layers:
    """Responses of each layer of a trained network to the test images, ``(stimuli, units)``."""
    images, labels = _digits()
    rng = np.random.default_rng(seed + 100)
    test, images, labels = images[:_STIMULI], images[_STIMULI:], labels[_STIMULI:].copy()
    touched = rng.random(len(images)) < degree
    if changed == "labels":
        labels[touched] = rng.integers(0, 10, touched.sum())
    elif changed == "shortcuts":
        images = images.copy()
        written = np.flatnonzero(touched)
        images[written, 0] = 0.0
        images[written, 0, labels[written] % 8] = 1.0 + labels[written] // 8
    elif changed == "augmentation":
        moves = rng.integers(-2, 3, (len(images), 2))
        moved = np.stack([np.roll(each, move, (0, 1)) for each, move in zip(images, moves, strict=True)])
        images = np.where(touched[:, None, None], moved, images)
    orders = np.stack([rng.integers(0, len(images), _BATCH) for _ in range(_STEPS)])
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        weights = _start(kind, rng)
        batches = [jnp.asarray(each, "float32") for each in (images, np.eye(10)[labels])]
        trained = _trained(weights, *batches, jnp.asarray(orders, "int32"), kind=kind)
        found = _forward(trained, jnp.asarray(test, "float32"), kind)[1]
    return [np.asarray(each, np.float64).reshape(_STIMULI, -1) for each in found]


def _start(kind: str, rng: np.random.Generator) -> list[tuple[jax.Array, jax.Array]]:
    if kind == "plain":
        widths = [64, *[_WIDTH] * _LAYERS, 10]
        shapes = list(zip(widths[:-1], widths[1:], strict=True))
    else:
        channels = _WIDTH // 16
        shapes = [(3, 3, 1, channels), *[(3, 3, channels, channels)] * (_LAYERS - 1), (16 * channels, 10)]
    made = [rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[:-1])) for shape in shapes]
    return [(jnp.asarray(w, "float32"), jnp.zeros((1,) * (w.ndim - 1) + w.shape[-1:], "float32")) for w in made]


def _forward(weights: Any, images: jax.Array, kind: str) -> tuple[jax.Array, list[jax.Array]]:
    """The logits and the responses of each layer."""
    x, layers = (images.reshape(len(images), -1) if kind == "plain" else images[..., None]), []
    for depth, (w, b) in enumerate(weights[:-1]):
        if kind == "plain":
            x = jax.nn.relu(x @ w + b)
        else:
            stride = (2, 2) if depth == 0 else (1, 1)
            x = jax.lax.conv_general_dilated(x, w, stride, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + b)
        layers.append(x)
    w, b = weights[-1]
    return x.reshape(len(images), -1) @ w + b, layers


@partial(jax.jit, static_argnames="kind")
def _trained(weights: Any, images: jax.Array, targets: jax.Array, orders: jax.Array, *, kind: str) -> Any:
    optimiser = optax.adam(_RATE)

    def loss(weights: Any, rows: jax.Array) -> jax.Array:
        return optax.softmax_cross_entropy(_forward(weights, images[rows], kind)[0], targets[rows]).mean()

    def step(state: Any, rows: jax.Array) -> tuple[Any, None]:
        weights, moments = state
        updates, moments = optimiser.update(jax.grad(loss)(weights, rows), moments)
        return (optax.apply_updates(weights, updates), moments), None

    return jax.lax.scan(step, (weights, optimiser.init(weights)), orders)[0][0]


def main() -> None:
    """Measures the metrics of bsjax and updates the table of ``docs/cards.md``."""
    page = Path("docs/cards.md")
    head, _, tail = page.read_text(encoding="utf-8").partition("| metric |")
    rest = tail.partition("\n\n")[2]
    cards = [replace(card(load_metric(name, **SETTINGS.get(name, {}))), metric=name) for name in NAMES]
    page.write_text(f"{head}{table(cards)}\n\n{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
