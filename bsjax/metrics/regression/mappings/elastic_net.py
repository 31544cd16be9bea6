"""Elastic net, lasso and non-negative least squares, by accelerated proximal gradient steps on all targets together."""

from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.decompositions import eigh
from bsjax.engine.tolerances import CONVERGED_POWER, rounding
from bsjax.metrics.arrays import Features, Flag, HeldOut, HeldOutMask, Scalar, Targets
from bsjax.metrics.linalg.positive_definite import least_curvature
from bsjax.metrics.numerics import nonzero, unit_length
from bsjax.metrics.regression.centring import Centred, centre, without_constants
from bsjax.metrics.regression.mapping import LinearMapping, Traits, with_leaves
from bsjax.metrics.regression.mappings.fold_weights import of_folds

_MOST_STEPS = 50_000


class PreparedNet(NamedTuple):
    """Centred data, and the diagonal of a matrix that bounds the features' Gram matrix in every fold."""

    centred: Centred
    curvature: Float[Array, "p 1"]

    @property
    def embedding(self) -> Features:
        """All stimuli in the coordinates of the weights."""
        return self.centred.x


class NetParams(NamedTuple):
    """Weights of the features, and steps until they converged, of every fold."""

    weights: Float[Array, "folds p q"]
    steps: Int[Array, " folds"]


@with_leaves("alpha", "l1_ratio")
class ElasticNet(LinearMapping):
    r"""Linear regression with penalties on the absolute and on the squared weights, which makes weights sparse.

    Minimises, for each target, over the :math:`n` training stimuli, with an intercept,

    .. math:: \frac{1}{2 n} \|y - x w - b\|^2 + \alpha \rho \|w\|_1 + \tfrac12 \alpha (1 - \rho) \|w\|^2

    (scikit-learn's convention), with :math:`w \ge 0` if ``positive``. ``l1_ratio=1`` is the lasso; ``alpha=0`` with
    ``positive=True`` is non-negative least squares. Gradients are those at a fixed set of weights that are not zero.

    Args:
        alpha: the penalty, a number or a traced scalar.
        l1_ratio: :math:`\rho`, from 0 (ridge) to 1 (lasso).
        positive: whether weights must not be negative.
        most_steps: largest number of steps of a fold.

    Source: Zou & Hastie 2005; Beck & Teboulle 2009 (accelerated steps); O'Donoghue & Candès 2015 (restarts).

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import train_test
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 20)))
        >>> y = x[:, :1] + 2.0 * x[:, 1:2]
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=ElasticNet(0.1, l1_ratio=1.0)).round(2).tolist()
        [1.0]
    """

    alpha: float | Scalar = 1.0
    l1_ratio: float | Scalar = 0.5
    positive: bool = False
    most_steps: int = _MOST_STEPS

    @property
    def traits(self) -> Traits:
        """Targets are independent; features and targets of zeros have no effect."""
        return Traits(
            fits_targets_alone=True,
            ignores_zero_features=True,
            ignores_zero_targets=True,
            ignores_means=True,
            reported=("steps",),
            warnings=lambda report: (
                [f"weights have not converged in {self.most_steps:,} steps: take a larger alpha, or more steps"]
                if (report["steps"] >= self.most_steps).any()
                else []
            ),
        )

    def prepare(self, x: Features, y: Targets) -> PreparedNet:
        """Centres the data; held-out stimuli only lower the eigenvalues of the Gram matrix."""
        centred = without_constants(centre(x, y))
        return PreparedNet(centred, _most_curvature(jax.lax.stop_gradient(centred.x)))

    def fit(self, prepared: PreparedNet, held_out: HeldOut, held_out_mask: HeldOutMask) -> NetParams:
        """The weights of every fold; on a CPU, only one fold is in memory at a time."""

        def fit_one(x: Features, y: Targets, n: Scalar) -> tuple[Array, Array]:
            return weights_of(self._problem(x, y, n), prepared.curvature, self.positive, self.most_steps)

        return NetParams(*of_folds(fit_one, prepared.centred, held_out, held_out_mask))

    def _problem(self, x: Features, y: Targets, n: Scalar) -> "Problem":
        """The problem of ``n`` training stimuli; other rows are zero."""
        alpha, ratio = (jnp.asarray(each, x.dtype) for each in (self.alpha, self.l1_ratio))
        penalties = n * alpha * ratio, n * alpha * (1.0 - ratio)
        return Problem(x, x.T @ x if x.shape[1] < len(x) else None, x.T @ y, *penalties)

    def weights_within(
        self, x: Features, y: Targets, stimuli: Scalar, working: str
    ) -> tuple[Float[Array, "p q"], Float[Array, " q"]]:
        r"""Weights of an iteration in the dtype ``working`` and then in float64, and a bound of their distance.

        The subgradients of the minimised function are strongly monotone, so that weights with a subgradient of length
        :math:`s` are at a distance of at most :math:`s / (n \alpha (1 - \rho) + \lambda_{\min}(X^T X))` from those of
        the minimum. The bound includes the rounding errors of the subgradient, the smallest of which is taken. It is
        infinite for the lasso and non-negative least squares if features outnumber the training stimuli.

        Source: Nesterov 2018, "Lectures on Convex Optimization", section 2.1.3.
        """
        rough = self._problem(x.astype(working), y.astype(working), stimuli.astype(working))
        most = _most_curvature(x)
        start = jnp.zeros_like(rough.right)
        found, _ = _iterated(rough, most.astype(working), self.positive, self.most_steps, start)
        problem = self._problem(x, y, stimuli)
        weights, _ = _iterated(problem, most, self.positive, self.most_steps, found.astype(x.dtype))
        slopes = problem.times_gram(weights) + problem.l2 * weights - problem.right
        at_zero = jnp.minimum(slopes + problem.l1, 0.0)
        if not self.positive:
            at_zero = jnp.maximum(jnp.abs(slopes) - problem.l1, 0.0)
        left = jnp.where(weights == 0, at_zero, slopes + problem.l1 * jnp.sign(weights))
        size, lengths, of_y = jnp.sqrt(jnp.sum(x**2)), *(jnp.sqrt(jnp.sum(side**2, axis=0)) for side in (weights, y))
        unsure = rounding(x, 4 * sum(x.shape)) * (size * (size * lengths + of_y) + problem.l2 * lengths)
        curvature = problem.l2 + (least_curvature(x) if x.shape[1] < len(x) else 0.0)
        off = (jnp.sqrt(jnp.sum(left**2, axis=0)) + unsure) / curvature
        pulls = -slopes if self.positive else jnp.abs(slopes)
        nothing = jnp.all((weights == 0) & (pulls + unsure[None] < problem.l1), axis=0)
        return weights, jnp.where(nothing, 0.0, off)


def _most_curvature(x: Features) -> Float[Array, "p 1"]:
    """The squared length of each feature, times a factor with which no ``w`` has a longer ``x w`` than by them alone.

    The step of a weight is as long as its own feature allows, so that features of any scale converge alike.
    """
    units = unit_length(x.T).T
    most = eigh(units @ units.T if x.shape[0] <= x.shape[1] else units.T @ units)[0][-1] * (1.0 + 1e-3)
    return most * jnp.sum(x**2, axis=0)[:, None]


class Problem(NamedTuple):
    """Minimises ``|x w|**2 / 2 - right * w + l1 |w| + l2 w**2 / 2``, with ``gram = x.T @ x`` if features are few."""

    x: Features
    gram: Float[Array, "p p"] | None
    right: Float[Array, "p q"]
    l1: Scalar
    l2: Scalar

    def times_gram(self, weights: Float[Array, "p q"]) -> Float[Array, "p q"]:
        return self.x.T @ (self.x @ weights) if self.gram is None else self.gram @ weights


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def weights_of(
    problem: Problem, curvature: Float[Array, "p 1"], positive: bool, most_steps: int
) -> tuple[Float[Array, "p q"], Int[Array, ""]]:
    """The weights that solve a problem, and the number of steps.

    Args:
        problem: the problem.
        curvature: diagonal of a matrix of which ``x.T @ x`` is at most as large, see ``_most_curvature``.
        positive: whether weights must not be negative.
        most_steps: largest number of steps.
    """
    return _iterated(problem, curvature, positive, most_steps, jnp.zeros_like(problem.right))


def _iterated(
    problem: Problem, curvature: Float[Array, "p 1"], positive: bool, most_steps: int, start: Float[Array, "p q"]
) -> tuple[Float[Array, "p q"], Int[Array, ""]]:
    """``weights_of`` from weights to start with."""
    metric = curvature + problem.l2
    # Changes of a weight are measured by what they change in predictions.
    step, scale = 1.0 / nonzero(metric), jnp.sqrt(metric)

    def nearer(weights: Array) -> Array:
        moved = weights - step * (problem.times_gram(weights) + problem.l2 * weights - problem.right)
        shrunk = jnp.maximum(jnp.abs(moved) - step * problem.l1, 0.0)
        return jnp.where(moved > 0, shrunk, 0.0 if positive else -shrunk)

    def unfinished(state: tuple[Array, ...]) -> Flag:
        return (state[3] < most_steps) & ~state[4]

    def advance(state: tuple[Array, ...]) -> tuple[Array, ...]:
        weights, ahead, inertia, steps, _ = state
        new = nearer(ahead)
        change = new - weights
        # Where the momentum of a target points uphill, it starts again.
        uphill = jnp.sum(metric * (ahead - new) * change, axis=0, keepdims=True) > 0
        inertia = jnp.where(uphill, 1.0, inertia)
        longer = 0.5 * (1.0 + jnp.sqrt(1.0 + 4.0 * inertia**2))
        length = jnp.max(scale * jnp.abs(new), axis=0)
        done = jnp.all(jnp.max(scale * jnp.abs(new - ahead), axis=0) <= rounding(new, power=CONVERGED_POWER) * length)
        return new, new + jnp.where(uphill, 0.0, (inertia - 1.0) / longer) * change, longer, steps + 1, done

    first = (start, start, jnp.ones_like(start[:1]), jnp.asarray(0, jnp.int32), jnp.asarray(False))
    weights, _, _, steps, _ = jax.lax.while_loop(unfinished, advance, first)
    return weights, steps


def _forward(problem: Problem, curvature: Array, positive: bool, most_steps: int) -> tuple[Any, Any]:
    found = cast(tuple[Array, Array], weights_of(problem, curvature, positive, most_steps))
    return found, (problem, found[0])


def _backward(positive: bool, most_steps: int, kept: tuple, changes: tuple) -> tuple[Problem, Array]:
    """Implicit derivatives: the weights that are not zero solve a linear system."""
    problem, weights = kept
    gram = problem.x.T @ problem.x if problem.gram is None else problem.gram
    itself = jnp.eye(len(gram), dtype=gram.dtype)

    def solved(one: tuple[Array, Array]) -> Array:
        change, of_target = one
        there = (of_target != 0).astype(gram.dtype)
        system = there[:, None] * gram * there[None] + jnp.diag(there * problem.l2 + (1.0 - there))
        least = len(gram) * rounding(gram) * nonzero(jnp.max(jnp.diagonal(gram)))
        return jnp.linalg.solve(system + least * itself, there * change)

    slopes = batched_map(solved, (changes[0].T, weights.T)).T
    of_gram = -slopes @ weights.T
    return Problem(
        problem.x @ (of_gram + of_gram.T) if problem.gram is None else jnp.zeros_like(problem.x),
        None if problem.gram is None else of_gram,
        slopes,
        -jnp.sum(slopes * jnp.sign(weights)),
        -jnp.sum(slopes * weights),
    ), jnp.zeros_like(weights[:, :1])


weights_of.defvjp(_forward, _backward)
