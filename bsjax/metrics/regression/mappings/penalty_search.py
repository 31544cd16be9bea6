"""Ridge regression with a penalty for each of several spaces, which are searched for each target.

Spaces are feature spaces or kernels. A candidate is a share of each space; the eigendecomposition of its Gram matrix
serves all penalties and targets. A gradient search continues from the best candidate of each target.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map, sum_of_each
from bsjax.engine.primitives.triangular import cholesky, solve_with_cholesky
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Flag, HeldOut, HeldOutMask, PerStimulus, Scalar
from bsjax.metrics.numerics import nonzero
from bsjax.metrics.regression.centring import Centred, training_mask
from bsjax.metrics.regression.mapping import LinearMapping, Traits
from bsjax.metrics.regression.penalties.validation_folds import validation_errors, validation_masks
from bsjax.metrics.regression.ridge_system import PreparedRidge, System, centred_rows, weighted

Search = Literal["random", "gradient"]
# Concentrations of the Dirichlet distributions that shares are drawn from in turn: few spaces, and all alike.
_CONCENTRATIONS = (0.1, 1.0)
PENALTIES = tuple(10.0**power for power in range(-2, 8))
# Where the gradient search begins, no share is smaller: the slope along a vanishing share vanishes too.
_LEAST_SHARE = 1e-3
# A step of the gradient search changes a log penalty by no more, and the search ends at this slope of the log error.
_LONGEST_STEP, _FLAT = 3.0, 1e-6


class PreparedSpaces(NamedTuple):
    """Centred data with products of features, or where these outnumber the stimuli, of stimuli in every space.

    ``grams`` is ``(1, features, features)`` or ``(spaces, stimuli, stimuli)``; ``cross`` are the products of features
    and targets, None in the second case.
    """

    centred: Centred
    grams: Float[Array, "b d d"]
    cross: Float[Array, "d q"] | None

    @property
    def embedding(self) -> Float[Array, "n d"]:
        """Centred features, or inner products with all stimuli, one space after the other."""
        return self.centred.x if self.cross is not None else jnp.concatenate(list(self.grams), axis=1)

    def scaled(self, share: Float[Array, " bands"], sizes: tuple[int, ...]) -> PreparedRidge:
        """The ridge regression of spaces scaled by the roots of their shares."""
        if self.cross is None:
            gram = jnp.einsum("b,bij->ij", share, self.grams)
            return PreparedRidge(self.centred._replace(x=self.centred.x[:, :0]), gram, None, None)
        each = _each_feature(jnp.sqrt(share), sizes)
        centred = self.centred._replace(x=self.centred.x * each[None])
        gram = self.grams[0] * each[:, None] * each[None]
        return PreparedRidge(centred, gram, self.cross * each[:, None], None)

    def weights(
        self, solved: Float[Array, "k q"], shares: Float[Array, "bands q"], sizes: tuple[int, ...]
    ) -> Float[Array, "d q"]:
        """Weights of the embedding from those of the scaled spaces."""
        if self.cross is None:
            return (shares[:, None] * solved[None]).reshape(-1, solved.shape[1])
        return solved * _each_feature(jnp.sqrt(shares), sizes)

    def of_target(self, target: Int[Array, ""]) -> "PreparedSpaces":
        """The same with one target."""
        y, cross = self.centred.y[:, target, None], self.cross
        return self._replace(
            centred=self.centred._replace(y=y), cross=None if cross is None else cross[:, target, None]
        )


class SpacesParams(NamedTuple):
    """Weights of the embedding, and for each target the chosen penalty and share of every space, of every fold."""

    weights: Float[Array, "folds d q"]
    alpha: Float[Array, "folds q"]
    shares: Float[Array, "folds bands q"]


class PenaltySearch(LinearMapping):
    """The base class of dataclasses with these among their fields, which define ``prepare`` and ``embed``."""

    alphas: tuple[float, ...] | Float[Array, " penalties"]
    candidates: int | tuple[tuple[float, ...], ...]
    cv: int
    seed: int
    search: Search
    steps: int

    @property
    @abstractmethod
    def spaces(self) -> int:
        """The number of spaces."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of features of each space, for spaces of features."""
        return ()

    @property
    def traits(self) -> Traits:
        """Targets are independent; features must stay in the order of their spaces."""
        return Traits(fits_targets_alone=True, ignores_zero_targets=True, reported=("alpha", "shares"))

    @property
    def shares(self) -> np.ndarray:
        """The candidates, ``(candidates, spaces)``."""
        if isinstance(self.candidates, tuple):
            return np.asarray(self.candidates, float).reshape(-1, self.spaces)
        rng = np.random.default_rng(self.seed)
        drawn = [
            rng.dirichlet(np.full(self.spaces, _CONCENTRATIONS[place % len(_CONCENTRATIONS)]))
            for place in range(self.candidates - 1)
        ]
        return np.stack([np.full(self.spaces, 1.0 / self.spaces), *drawn])

    def fit(self, prepared: PreparedSpaces, held_out: HeldOut, held_out_mask: HeldOutMask) -> SpacesParams:
        """Shares, penalty and weights of each target in every fold."""
        y = prepared.centred.y
        alphas, shares = jnp.asarray(self.alphas, y.dtype), jnp.asarray(self.shares, y.dtype)

        def fit_one(train: PerStimulus) -> tuple[Array, ...]:
            def errors(share: Float[Array, " bands"]) -> tuple[Array, Array]:
                found = validation_errors(prepared.scaled(share, self.sizes), train, self.cv, alphas)
                return jnp.min(found, axis=0), alphas[jnp.argmin(found, axis=0)]

            least, alpha = batched_map(errors, shares)
            best = jnp.argmin(least, axis=0)
            alpha = jnp.take_along_axis(alpha, best[None], axis=0)[0]
            scales = shares[best].T / alpha[None]
            if self.search == "gradient":
                kept = jax.lax.stop_gradient(prepared)
                scales = jax.lax.stop_gradient(_descended(kept, train, self.cv, self.steps, self.sizes, scales))
            shared = None if prepared.cross is None else _of_features(prepared.centred, train)

            def solved(target: tuple[Array, Array]) -> Array:
                place, scale = target
                _, system = _scaled_system(prepared, shared, train, place, scale, self.sizes)
                return _solution(system)[:, 0]

            weights = batched_map(solved, (jnp.arange(y.shape[1]), scales.T)).T
            total = jnp.sum(scales, axis=0)
            return prepared.weights(weights, scales, self.sizes), 1.0 / total, scales / total[None]

        return SpacesParams(*batched_map(fit_one, training_mask(len(y), held_out, held_out_mask, y.dtype)))


def _each_feature(values: Float[Array, "bands ..."], sizes: tuple[int, ...]) -> Float[Array, "d ..."]:
    return jnp.repeat(values, np.asarray(sizes), axis=0, total_repeat_length=sum(sizes))


def _of_features(centred: Centred, train: PerStimulus) -> System:
    """The system of the training stimuli in the space of features, which all scales and targets share."""
    (x, x_mean), (y, y_mean) = (centred_rows(side, train) for side in (centred.x, centred.y))
    gram = x.T @ x
    return System(gram, jnp.zeros_like(gram), x.T @ y, x_mean, y_mean)


def _scaled_system(
    prepared: PreparedSpaces,
    shared: System | None,
    train: PerStimulus,
    place: Int[Array, ""],
    scales: Float[Array, " bands"],
    sizes: tuple[int, ...],
) -> tuple[PreparedRidge, System]:
    """The system of one target in scaled spaces, whose penalty is 1."""
    ridge = prepared.of_target(place).scaled(scales, sizes)
    if shared is None:
        return ridge, weighted(ridge.gram, ridge.centred.y, train)
    each = _each_feature(jnp.sqrt(scales), sizes)
    matrix, right = shared.matrix * each[:, None] * each[None], shared.right[:, place, None] * each[:, None]
    return ridge, System(matrix, shared.null, right, shared.x_mean * each[None], shared.y_mean[:, place, None])


def _solution(system: System) -> Float[Array, "d q"]:
    """Weights at a penalty of 1; where rounding errors of the matrix are larger than that, at these."""
    matrix = system.matrix
    least = jnp.maximum(1.0, len(matrix) * rounding(matrix) * jax.lax.stop_gradient(jnp.max(jnp.diagonal(matrix))))
    return solved_implicitly(system.penalised(least), system.right)


def _descended(
    prepared: PreparedSpaces,
    train: PerStimulus,
    cv: int,
    steps: int,
    sizes: tuple[int, ...],
    scales: Float[Array, "bands q"],
) -> Float[Array, "bands q"]:
    """Scales of each target, inverse penalties, after gradient descent of the log validation error on their logs."""
    fitted, tested = validation_masks(train, cv)
    shared = None
    if prepared.cross is not None:
        shared = batched_map(lambda mask: _of_features(prepared.centred, mask), fitted)

    def one(target: tuple[Array, Array]) -> Float[Array, " bands"]:
        place, scale = target

        def error(log_scales: Float[Array, " bands"]) -> Scalar:
            def of_fold(fold: tuple[Array, Array, System | None]) -> Scalar:
                fitted, tested, shared = fold
                ridge, system = _scaled_system(prepared, shared, fitted, place, jnp.exp(log_scales), sizes)
                predicted = system.y_mean + (ridge.embedding - system.x_mean) @ _solution(system)
                return jnp.sum(((ridge.centred.y - predicted)[:, 0] * tested) ** 2) / jnp.maximum(jnp.sum(tested), 1.0)

            return jnp.log(sum_of_each(of_fold, (fitted, tested, shared)) / cv)

        before = jnp.log(scale)
        there, least = _descent(error, jnp.maximum(before, jnp.max(before) + jnp.log(_LEAST_SHARE)), steps)
        return jnp.where(least < error(before), there, before)

    return jnp.exp(batched_map(one, (jnp.arange(scales.shape[1]), scales.T)).T)


def solved_implicitly(matrix: Float[Array, "d d"], right: Float[Array, "d q"]) -> Float[Array, "d q"]:
    """The solution of a positive definite system, differentiated through the system: one more solve, no unrolling."""
    factor = cholesky(jax.lax.stop_gradient(matrix))
    return jax.lax.custom_linear_solve(
        lambda weights: matrix @ weights, right, lambda _, side: solve_with_cholesky(factor, side), symmetric=True
    )


def _descent(
    error: Callable[[Array], Array], begin: Float[Array, " bands"], steps: int
) -> tuple[Float[Array, " bands"], Scalar]:
    """The place and error after gradient descent that never goes uphill.

    Source: Barzilai & Borwein 1988 (length of a step from the last change of the slope).
    """
    with_slope = jax.value_and_grad(error)

    def unfinished(state: tuple[Array, ...]) -> Flag:
        return (state[4] < steps) & (jnp.max(jnp.abs(state[2])) > _FLAT)

    def advance(state: tuple[Array, ...]) -> tuple[Array, ...]:
        here, least, slope, step, count = state
        there = here - jnp.clip(step * slope, -_LONGEST_STEP, _LONGEST_STEP)
        value, turned = with_slope(there)
        moved, bent = there - here, jnp.sum((there - here) * (turned - slope))
        longer = jnp.where(bent > 0, jnp.sum(moved**2) / nonzero(bent), 2.0 * step)
        lower = value < least  # not where rounding errors made it NaN
        kept = jax.tree.map(lambda new, old: jnp.where(lower, new, old), (there, value, turned), (here, least, slope))
        return (*kept, jnp.where(lower, longer, 0.25 * step), count + 1)

    value, slope = with_slope(begin)
    first = (begin, value, slope, 1.0 / nonzero(jnp.max(jnp.abs(slope))), jnp.zeros((), jnp.int32))
    there, least, *_ = jax.lax.while_loop(unfinished, advance, first)
    return there, least
