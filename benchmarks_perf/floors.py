"""The least time that each row can take: what its algorithm must compute and move, by the rates of the machine.

A row is a list of steps. The floor of a step is the greater of two times: its floating-point operations by the rate of
matrix products, or its bytes by the rate of memory, each operand read and each result written once; the floor of the
row is their sum. What a step needs not do is not counted: half of a symmetric product, a second pass where one would
do, labels, splits and medians. Arrays that stay in a cache move faster than memory does, so that a ratio below 1 is
possible.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# Products of one restarted Lanczos cycle: what the leading eigenvector costs where it converges at once.
_LANCZOS_STEPS = 16
# Tridiagonal form (4/3) and eigenvectors brought back from it (2); what lies between depends on the data.
_EIGENVECTORS = 10 / 3


@dataclass(frozen=True)
class Step:
    """A part of an algorithm: why it must be, its floating-point operations, and how many numbers it moves."""

    why: str
    flops: float
    moved: float


Steps = list[Step]


def product(why: str, a: int, inner: int, b: int, times: int = 1) -> Step:
    """``(a, inner) @ (inner, b)``, so many times: a multiplication and an addition for each triple of indices."""
    return Step(why, times * 2.0 * a * inner * b, times * (a * inner + inner * b + a * b))


def gram(why: str, a: int, inner: int, times: int = 1) -> Step:
    """``(a, inner) @ (inner, a)`` of an array with itself: half of it follows by symmetry."""
    return Step(why, times * float(a * a * inner), times * (a * inner + a * a))


def pls(*, stimuli: int, features: int, neuroids: int, splits: int, n_components: int, **_: Any) -> Steps:
    """All folds in step, one component at a time."""
    n, f, k, out = stimuli, splits, n_components, _held_out(stimuli)
    # Only inner products between stimuli matter: more columns than stimuli can be rotated to as many.
    p, s = min(n, features), min(n, neuroids)
    m = min(p, s)
    rotated = [gram("inner products between stimuli, of which there are fewer than features", n, features)]
    return [
        *(rotated if features > n else []),
        product("cross-product of features and targets", s, n, p),
        product("the held-out stimuli of each fold taken off it", s, out, p, times=f),
        gram("square of each fold's cross-product, whose leading vector is a component", m, max(p, s), times=f),
        Step("Lanczos: products with the square, one cycle a component", k * f * _LANCZOS_STEPS * 2.0 * m * m, 0),
        Step(
            "weights, and their deflation: two products with the cross-product",
            4.0 * k * f * s * p,
            2.0 * k * f * s * p,
        ),
        Step("scores and loadings: one pass over the features for all folds", 4.0 * k * f * n * p, float(k * n * p)),
        Step("loadings of the targets: one pass over them for all folds", 2.0 * k * f * n * s, float(k * n * s)),
        product("scores of the test stimuli", out, features if features <= n else n, k, times=f),
        product("predictions from the scores", out, k, neuroids, times=f),
    ]


def ridge(*, stimuli: int, features: int, neuroids: int, splits: int, **_: Any) -> Steps:
    """One factorisation for all folds, whose held-out residuals solve small systems; least squares is the same."""
    n, p, q, f, out = stimuli, features, neuroids, splits, _held_out(stimuli)
    small = [
        Step("factorisation of each fold's held-out system", f * out**3 / 3, f * out * out),
        Step(
            "its two triangular solves: the residuals, which give the predictions", 2.0 * f * out * out * q, f * out * q
        ),
    ]
    if p < n:
        return [
            gram("Gram matrix of the features", p, n),
            Step("its Cholesky factor", p**3 / 3, p * p),
            product("cross-product of features and targets", p, n, q),
            Step("triangular solve for the targets", float(p * p * q), 2 * p * q),
            Step("triangular solve for the held-out features", float(f * out * p * p), 2 * f * out * p),
            gram("smoother of each fold's held-out stimuli", out, p, times=f),
            product("fit of the held-out stimuli", out, p, q, times=f),
            *small,
        ]
    return [
        gram("Gram matrix of the stimuli", n, p),
        Step("its Cholesky factor", n**3 / 3, n * n),
        Step("its inverse, whose blocks are the held-out systems", 2 * n**3 / 3, n * n),
        product("the inverse times the targets", n, n, q),
        *small,
    ]


def neuron_to_neuron(*, stimuli: int, features: int, neuroids: int, splits: int, **_: Any) -> Steps:
    """Correlations of all pairs in all folds; their largest is found while they are at hand."""
    return [
        product("cross-product of features and targets", features, stimuli, neuroids),
        product("the held-out stimuli of each fold taken off it", features, _held_out(stimuli), neuroids, times=splits),
    ]


def cka(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """Products between features or between stimuli, whichever are fewer."""
    n, p, q = stimuli, features, neuroids
    between_features = [
        gram("features with themselves", p, n),
        gram("neuroids with themselves", q, n),
        product("features with neuroids", p, n, q),
    ]
    between_stimuli = [gram("stimuli by features", n, p), gram("stimuli by neuroids", n, q)]
    return min(between_features, between_stimuli, key=lambda steps: sum(step.flops for step in steps))


def rdm(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """Correlations between stimuli, and the ranks of all pairs on both sides."""
    pairs = stimuli * (stimuli - 1) / 2
    return [
        gram("correlations between stimuli over the features", stimuli, features),
        gram("correlations between stimuli over the neuroids", stimuli, neuroids),
        Step("ranks of the pairs on both sides: two counting passes over them, read and written", 0, 12 * pairs),
    ]


def procrustes(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """The singular values of the cross-product."""
    n, p, q = stimuli, features, neuroids
    return [product("cross-product of features and neuroids", p, n, q), _singular_values(p, q)]


def cca(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """The same of the cross-product, whitened on both sides."""
    widths = {"features": features, "neuroids": neuroids}
    cross, values = procrustes(stimuli=stimuli, **widths)
    return [
        *(gram(f"Gram matrix of the {side}", width, stimuli) for side, width in widths.items()),
        *(Step(f"Cholesky factor of that of the {side}", d**3 / 3, d * d) for side, d in widths.items()),
        cross,
        Step("triangular solves on both sides", float(features * neuroids * (features + neuroids)), cross.moved),
        values,
    ]


def _singular_values(p: int, q: int) -> Step:
    """By the bidiagonal form, of whose flops half are of products of matrices with vectors."""
    low, high = sorted((p, q))
    return Step("its singular values", 4.0 * low * low * (high - low / 3), 2 * p * q)


def similarity_matrix(*, models: int, stimuli: int, features: int, **_: Any) -> Steps:
    """The Gram matrix of every model once, and their products."""
    return [
        gram("stimuli by features", stimuli, features, times=models),
        gram("products of all pairs of Gram matrices", models, stimuli**2),
    ]


def rdm_of_trials(*, stimuli: int, repetitions: int, neuroids: int, **_: Any) -> Steps:
    """The covariance of the noise, its factor, and products of whitened trials within and over runs."""
    n, r, u = stimuli, repetitions, neuroids
    return [
        gram("covariance of the residuals", u, r * n),
        Step("its Cholesky factor", u**3 / 3, u * u),
        Step("triangular solve for all trials", float(r * n * u * u), u * u + 2 * r * n * u),
        gram("products of trials within each run", n, u, times=r),
        gram("products of the sums over runs", n, u),
    ]


def searchlight(*, stimuli: int, features: int, centres: int, radius: float, **_: Any) -> Steps:
    """Correlations between stimuli and the ranks of all pairs, for every neighbourhood."""
    pairs, voxels = stimuli * (stimuli - 1) / 2, 4 / 3 * np.pi * radius**3
    return [
        gram("correlations between stimuli over the features", stimuli, features),
        Step("correlations between stimuli over the voxels near each centre", 2 * centres * pairs * voxels, 0),
        Step("ranks of the pairs: two counting passes over them, read and written", 0, 12 * pairs * centres),
    ]


def ridgecv_split(*, train: int, test: int, features: int, neuroids: int, alphas: list[float], **_: Any) -> Steps:
    """One eigendecomposition; the errors of all penalties from partial fractions of their products."""
    return [
        *_decomposed(train, features, neuroids),
        gram("products of the projected targets", min(train, features), neuroids),
        product("their partial fractions on the eigenvectors", train, min(train, features), min(train, features)),
        product("errors and leverages of every penalty", train, min(train, features), 2 * len(alphas)),
        *_applied(train, test, features, neuroids),
    ]


def alpha_per_target(
    *, train: int, test: int, features: int, neuroids: int, alphas: list[float], cv: int, **_: Any
) -> Steps:
    """An eigendecomposition for each fold; the errors of all penalties from partial fractions of their products."""
    out = -(-train // cv)
    d = min(train - out, features)
    return [
        Step("eigenvectors of each fold", cv * _EIGENVECTORS * d**3, cv * 2 * d * d),
        product("targets projected on them", d, train - out, neuroids, times=cv),
        product("left-out stimuli on them", out, d, d, times=cv),
        gram("products of the left-out stimuli", d, out, times=cv),
        product("partial fractions for the squared predictions", d, d, neuroids, times=cv),
        product("left-out stimuli by left-out targets", d, out, neuroids, times=cv),
        product("errors of every penalty", 2 * len(alphas), d, neuroids, times=cv),
        *_decomposed(train, features, neuroids),
        *_applied(train, test, features, neuroids),
    ]


def banded_ridge(*, spaces: int, shares: list[list[float]], **given: Any) -> Steps:
    """For every candidate, the errors of `alpha_per_target`; then one fit, from Gram matrices of all spaces."""
    n, width = given["train"], given["features"] // spaces
    *validated, _, eigenvectors, projected = alpha_per_target(**given)[:10]
    return [
        gram("Gram matrix of each space", n, width, times=spaces),
        *(Step(step.why, len(shares) * step.flops, len(shares) * step.moved) for step in validated),
        eigenvectors,
        projected,
        *_applied(n, given["test"], given["features"], given["neuroids"]),
    ]


def internal_consistency(*, stimuli: int, repetitions: int, neuroids: int, **_: Any) -> Steps:
    """Covariances between repetitions, of which those of any halves are sums."""
    return [gram("covariances of the repetitions of each neuroid", repetitions, stimuli, times=neuroids)]


def i2n(*, images: int, objects: int, trials: int, splits: int = 10, **_: Any) -> Steps:
    """Counts of choices in each half, and the quantiles of their rates."""
    return [
        Step(
            "each trial counted in the halves that hold it, by image and choice", float(splits * trials), 4.0 * trials
        ),
        Step("d' of each image and distractor", 0, 3.0 * splits * images * objects),
    ]


def spantime_ridge(*, stimuli: int, features: int, neuroids: int, bins: int, splits: int, **_: Any) -> Steps:
    """All time bins are samples of one Gram matrix, from which each fold takes its own."""
    samples, out, p, q, f = stimuli * bins, _held_out(stimuli) * bins, features, neuroids, splits
    return [
        gram("Gram matrix of the features", p, samples),
        product("cross-product of features and targets", p, samples, q),
        gram("the held-out samples of each fold taken off the first", p, out, times=f),
        product("and off the second", p, out, q, times=f),
        Step("Cholesky factor of each fold", f * p**3 / 3, f * p * p),
        Step("two triangular solves of each fold", 2.0 * f * p * p * q, f * p * q),
        product("predictions of the held-out samples", out, p, q, times=f),
    ]


def layers(*, layers: int, **sizes: Any) -> Steps:
    """So many times the row ``pls``."""
    return [Step(step.why, layers * step.flops, layers * step.moved) for step in pls(**sizes)]


def bootstraps(*, stimuli: int, features: int, neuroids: int, bootstraps: int, **_: Any) -> Steps:
    """Both Gram matrices once; a draw of stimuli is a row of counts."""
    n = stimuli
    return [
        gram("stimuli by features", n, features),
        gram("stimuli by neuroids", n, neuroids),
        Step("three products of the Gram matrices, place by place", 0, 6.0 * n * n),
        product("the counts of all draws on these three and on both Gram matrices", bootstraps, n, 5 * n),
    ]


_COUNTED = (
    *(pls, ridge, neuron_to_neuron, cka, rdm, rdm_of_trials, searchlight, ridgecv_split, alpha_per_target),
    *(banded_ridge, procrustes, cca, similarity_matrix, internal_consistency, i2n, spantime_ridge, layers, bootstraps),
)
COUNTS: Mapping[str, Callable[..., Steps]] = {
    **{steps.__name__: steps for steps in _COUNTED},
    "linear_predictivity": ridge,
    "linear_deficient": ridge,
}
"""Row -> the steps of its sizes and options."""


def of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The floor of a row that was measured, and how far above it bsjax is.

    Args:
        result: of `rows.measure.measured_in_full`, with the machine's ``rates``.

    Returns:
        ``{"flops", "floor_s", "ratio"}``, the last two by contestant of bsjax.
    """
    steps = COUNTS[result["row"]](**result["sizes"], **result["options"])
    ours = {name: line for name, line in result["contestants"].items() if line["kind"] == "bsjax"}
    floor = {
        name: seconds(steps, result["rates"], line["dtype"])
        for name, line in ours.items()
        if line["dtype"] in result["rates"]["gemm_flops_s"]
    }
    return {
        "flops": sum(step.flops for step in steps),
        "floor_s": floor,
        "ratio": {name: ours[name]["median_s"] / floor[name] for name in floor},
    }


def seconds(steps: Steps, rates: Mapping[str, Any], dtype: str) -> float:
    """The floor of ``steps`` in a dtype at the best of the machine's rates.

    Examples:
        >>> rates = {"gemm_flops_s": {"float64": {"jax": 1e9}}, "memory_bytes_s": {"jax": 8e6}}
        >>> steps = [Step("by arithmetic", flops=2e9, moved=1e6), Step("by memory", flops=0, moved=3e6)]
        >>> seconds(steps, rates, "float64")
        5.0
    """
    arithmetic = max(rates["gemm_flops_s"][dtype].values())
    memory = max(rates["memory_bytes_s"].values()) / np.dtype(dtype).itemsize
    return sum(max(step.flops / arithmetic, step.moved / memory) for step in steps)


def _held_out(stimuli: int) -> int:
    """Test stimuli of a split: a tenth, rounded up."""
    return -(-stimuli // 10)


def _decomposed(train: int, features: int, neuroids: int) -> Steps:
    d = min(train, features)
    of = "stimuli" if features >= train else "features"
    return [
        gram(f"Gram matrix of the {of}", d, max(train, features)),
        Step("its eigenvectors", _EIGENVECTORS * d**3, 2 * d * d),
        product("targets projected on them", d, train, neuroids),
    ]


def _applied(train: int, test: int, features: int, neuroids: int) -> Steps:
    d = min(train, features)
    embedded = [product("test stimuli by training stimuli", test, features, train)] if features >= train else []
    return [
        *embedded,
        product("test stimuli on the eigenvectors", test, d, d),
        product("predictions at the chosen penalty", test, d, neuroids),
    ]
