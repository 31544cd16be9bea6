"""The least time that each row can take: what its algorithm must compute and move, by the rates of the machine.

A row is a list of steps. The floor of a step is the greater of two times: its floating-point operations by the rate of
matrix products, or its bytes by the rate of memory, each operand read and each result written once; the floor of the
row is their sum. What a step needs not do is not counted: half of a symmetric product, a second pass where one would
do, labels, splits and medians. Arrays that stay in a cache move faster than memory does, so that a ratio below 1 is
possible. Cross-validated rows have more stimuli than features, those of fixed splits fewer that train.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

# Products of one restarted Lanczos cycle: what the leading eigenvector costs where it converges at once.
_LANCZOS_STEPS = 16
# Tridiagonal form (4/3) and eigenvectors brought back from it (2); what lies between depends on the data.
_EIGENVECTORS = 10 / 3


class Step(NamedTuple):
    """A part of an algorithm: its floating-point operations, and how many numbers it moves."""

    flops: float
    moved: float

    def times(self, count: int) -> "Step":
        """So many times."""
        return Step(count * self.flops, count * self.moved)


Steps = list[Step]


def product(a: int, inner: int, b: int, times: int = 1) -> Step:
    """``(a, inner) @ (inner, b)``, so many times: a multiplication and an addition for each triple of indices."""
    return Step(2.0 * a * inner * b, a * inner + inner * b + a * b).times(times)


def gram(a: int, inner: int, times: int = 1) -> Step:
    """``(a, inner) @ (inner, a)`` of an array with itself: half of it follows by symmetry."""
    return Step(float(a * a * inner), a * inner + a * a).times(times)


def cholesky(a: int, times: int = 1) -> Step:
    """The factor of a matrix."""
    return Step(a**3 / 3, a * a).times(times)


def ranks(pairs: float) -> Step:
    """The ranks of pairs: two counting passes over them, read and written."""
    return Step(0, 6 * pairs)


def pls(*, stimuli: int, features: int, neuroids: int, splits: int, n_components: int, **_: Any) -> Steps:
    """All folds in step, one component at a time."""
    n, p, q, f, k, out = stimuli, features, min(stimuli, neuroids), splits, n_components, _held_out(stimuli)
    m = min(p, q)
    return [
        product(q, n, p),  # cross-product of features and targets
        product(q, out, p, times=f),  # the held-out stimuli of each fold taken off it
        gram(m, max(p, q), times=f),  # square of each fold's cross-product, whose leading vector is a component
        Step(k * f * _LANCZOS_STEPS * 2.0 * m * m, 0),  # products with the square, one cycle of Lanczos a component
        Step(4.0 * k * f * q * p, 2.0 * k * f * q * p),  # weights, and their deflation
        Step(4.0 * k * f * n * p, float(k * n * p)),  # scores and loadings: one pass over the features for all folds
        Step(2.0 * k * f * n * q, float(k * n * q)),  # loadings of the targets: one pass over them for all folds
        product(out, p, k, times=f),  # scores of the test stimuli
        product(out, k, neuroids, times=f),  # predictions from the scores
    ]


def ridge(*, stimuli: int, features: int, neuroids: int, splits: int, **_: Any) -> Steps:
    """One factorisation for all folds, whose held-out residuals solve small systems; least squares is the same."""
    n, p, q, f, out = stimuli, features, neuroids, splits, _held_out(stimuli)
    return [
        gram(p, n),
        cholesky(p),
        product(p, n, q),  # cross-product of features and targets
        Step(float(p * p * q), 2 * p * q),  # triangular solve for the targets
        Step(float(f * out * p * p), 2 * f * out * p),  # triangular solve for the held-out features
        gram(out, p, times=f),  # smoother of each fold's held-out stimuli
        product(out, p, q, times=f),  # fit of the held-out stimuli
        cholesky(out, times=f),  # of each fold's held-out system
        Step(2.0 * f * out * out * q, f * out * q),  # its two triangular solves: the residuals
    ]


def neuron_to_neuron(*, stimuli: int, features: int, neuroids: int, splits: int, **_: Any) -> Steps:
    """Correlations of all pairs, and the held-out stimuli of each fold taken off them."""
    return [
        product(features, stimuli, neuroids),
        product(features, _held_out(stimuli), neuroids, times=splits),
    ]


def cka(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """Products between units, which are fewer than stimuli: of both sides, and between them."""
    return [gram(features, stimuli), gram(neuroids, stimuli), product(features, stimuli, neuroids)]


def rdm(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """Correlations between stimuli, and the ranks of all pairs on both sides."""
    return [gram(stimuli, features), gram(stimuli, neuroids), ranks(stimuli * (stimuli - 1))]


def procrustes(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """The cross-product, and its singular values by a bidiagonal form: half of products of matrices with vectors."""
    low, high = sorted((features, neuroids))
    return [product(features, stimuli, neuroids), Step(4.0 * low * low * (high - low / 3), 2 * low * high)]


def cca(*, stimuli: int, features: int, neuroids: int, **_: Any) -> Steps:
    """The same of the cross-product, whitened on both sides by triangular solves."""
    cross, values = procrustes(stimuli=stimuli, features=features, neuroids=neuroids)
    return [
        *(gram(width, stimuli) for width in (features, neuroids)),
        *(cholesky(width) for width in (features, neuroids)),
        cross,
        Step(float(features * neuroids * (features + neuroids)), cross.moved),
        values,
    ]


def similarity_matrix(*, models: int, stimuli: int, features: int, **_: Any) -> Steps:
    """The Gram matrix of every model once, and the products of all pairs of them."""
    return [gram(stimuli, features, times=models), gram(models, stimuli**2)]


def rdm_of_trials(*, stimuli: int, repetitions: int, neuroids: int, **_: Any) -> Steps:
    """The covariance of the noise, its factor, and products of whitened trials within and over runs."""
    n, r, u = stimuli, repetitions, neuroids
    solved = Step(float(r * n * u * u), u * u + 2 * r * n * u)
    return [gram(u, r * n), cholesky(u), solved, gram(n, u, times=r), gram(n, u)]


def searchlight(*, stimuli: int, features: int, centres: int, radius: float, **_: Any) -> Steps:
    """Correlations between stimuli over features and over the voxels near each centre, and the ranks of all pairs."""
    pairs, voxels = stimuli * (stimuli - 1) / 2, 4 / 3 * np.pi * radius**3
    return [gram(stimuli, features), Step(2 * centres * pairs * voxels, 0), ranks(2 * pairs * centres)]


def ridgecv_split(*, train: int, test: int, features: int, neuroids: int, alphas: list[float], **_: Any) -> Steps:
    """One eigendecomposition; the errors of all penalties from partial fractions of their products."""
    return [
        *_decomposed(train, features, neuroids),
        gram(train, neuroids),  # products of the projected targets
        product(train, train, train),  # their partial fractions on the eigenvectors
        product(train, train, 2 * len(alphas)),  # errors and leverages of every penalty
        *_applied(train, test, features, neuroids),
    ]


def alpha_per_target(*, train: int, features: int, neuroids: int, cv: int, **given: Any) -> Steps:
    """One eigendecomposition after the errors of all penalties in folds."""
    return [
        *_validated(train, neuroids, cv, len(given["alphas"])),
        *_decomposed(train, features, neuroids),
        *_applied(train, given["test"], features, neuroids),
    ]


def banded_ridge(*, train: int, features: int, neuroids: int, cv: int, spaces: int, **given: Any) -> Steps:
    """For every candidate, the errors of `alpha_per_target`; then one fit, from Gram matrices of all spaces."""
    validated = _validated(train, neuroids, cv, len(given["alphas"]))
    return [
        gram(train, features // spaces, times=spaces),
        *(step.times(len(given["shares"])) for step in validated),
        *_decomposed(train, features, neuroids)[1:],
        *_applied(train, given["test"], features, neuroids),
    ]


def internal_consistency(*, stimuli: int, repetitions: int, neuroids: int, **_: Any) -> Steps:
    """Covariances between repetitions of each neuroid, of which those of any halves are sums."""
    return [gram(repetitions, stimuli, times=neuroids)]


def i2n(*, images: int, objects: int, trials: int, splits: int = 10, **_: Any) -> Steps:
    """Each trial counted in the halves that hold it, by image and choice, and d' of each image and distractor."""
    return [Step(float(splits * trials), 4.0 * trials), Step(0, 3.0 * splits * images * objects)]


def spantime_ridge(*, stimuli: int, features: int, neuroids: int, bins: int, splits: int, **_: Any) -> Steps:
    """All time bins are samples of one Gram matrix, from which each fold takes its own."""
    samples, out, p, q, f = stimuli * bins, _held_out(stimuli) * bins, features, neuroids, splits
    return [
        gram(p, samples),
        product(p, samples, q),  # cross-product of features and targets
        gram(p, out, times=f),  # the held-out samples of each fold taken off the first
        product(p, out, q, times=f),  # and off the second
        cholesky(p, times=f),
        Step(2.0 * f * p * p * q, f * p * q),  # two triangular solves of each fold
        product(out, p, q, times=f),  # predictions of the held-out samples
    ]


def layers(*, layers: int, **sizes: Any) -> Steps:
    """So many times the row ``pls``."""
    return [step.times(layers) for step in pls(**sizes)]


def bootstraps(*, stimuli: int, features: int, neuroids: int, bootstraps: int, **_: Any) -> Steps:
    """Both Gram matrices and three products of them, on which the counts of all draws act, and on both."""
    n = stimuli
    return [gram(n, features), gram(n, neuroids), Step(0, 6.0 * n * n), product(bootstraps, n, 5 * n)]


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
    rates, ours = result["rates"], {k: line for k, line in result["contestants"].items() if line["kind"] == "bsjax"}
    known = {name: line["dtype"] for name, line in ours.items() if line["dtype"] in rates["gemm_flops_s"]}
    floor = {name: seconds(steps, rates, dtype) for name, dtype in known.items()}
    ratio = {name: ours[name]["median_s"] / floor[name] for name in floor}
    return {"flops": sum(step.flops for step in steps), "floor_s": floor, "ratio": ratio}


def seconds(steps: Steps, rates: Mapping[str, Any], dtype: str) -> float:
    """The floor of ``steps`` in a dtype at the best of the machine's rates.

    Examples:
        >>> rates = {"gemm_flops_s": {"float64": {"jax": 1e9}}, "memory_bytes_s": {"jax": 8e6}}
        >>> steps = [Step(flops=2e9, moved=1e6), Step(flops=0, moved=3e6)]  # by arithmetic, by memory
        >>> seconds(steps, rates, "float64")
        5.0
    """
    arithmetic = max(rates["gemm_flops_s"][dtype].values())
    memory = max(rates["memory_bytes_s"].values()) / np.dtype(dtype).itemsize
    return sum(max(step.flops / arithmetic, step.moved / memory) for step in steps)


def _held_out(stimuli: int) -> int:
    """Test stimuli of a split: a tenth, rounded up."""
    return -(-stimuli // 10)


def _validated(train: int, neuroids: int, cv: int, penalties: int) -> Steps:
    """An eigendecomposition for each fold; errors of all penalties from partial fractions of their products."""
    out = -(-train // cv)
    d = train - out
    return [
        Step(cv * _EIGENVECTORS * d**3, cv * 2 * d * d),
        product(d, d, neuroids, times=cv),  # targets projected on the eigenvectors
        product(out, d, d, times=cv),  # left-out stimuli on them
        gram(d, out, times=cv),  # products of the left-out stimuli
        product(d, d, neuroids, times=cv),  # partial fractions for the squared predictions
        product(d, out, neuroids, times=cv),  # left-out stimuli by left-out targets
        product(2 * penalties, d, neuroids, times=cv),  # errors of every penalty
    ]


def _decomposed(train: int, features: int, neuroids: int) -> Steps:
    """Gram matrix of the stimuli, its eigenvectors, and the targets on them."""
    n = train
    return [gram(n, features), Step(_EIGENVECTORS * n**3, 2 * n * n), product(n, n, neuroids)]


def _applied(train: int, test: int, features: int, neuroids: int) -> Steps:
    """Test stimuli by training stimuli, these on the eigenvectors, and predictions at the chosen penalty."""
    return [product(test, features, train), product(test, train, train), product(test, train, neuroids)]
