"""Ridge regression with a penalty chosen on the training stimuli, for all targets together or for each."""

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.decompositions import qr_coordinates
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.programs.platforms import platform
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, PerStimulus, Targets
from bsjax.metrics.regression.centring import centre, training_mask, without_constants
from bsjax.metrics.regression.mapping import Report, Traits, of_features, with_penalties
from bsjax.metrics.regression.penalties.leave_one_out import best_for_all, best_for_each, leave_one_out
from bsjax.metrics.regression.penalties.nested_folds import (
    inner_folds,
    nested_predictions,
    takes_nested_folds,
    validated_residuals,
)
from bsjax.metrics.regression.penalties.validation_folds import validation_errors
from bsjax.metrics.regression.ridge_system import (
    Fold,
    PreparedRidge,
    RidgeMapping,
    Spectrum,
    centred_rows,
    spectrum,
)

ALPHAS = (
    *(0.01, 0.1, 0.5, 1.0, 10.0, 32.5, 55.0, 77.5),
    *(step * 50.0 for step in range(2, 20)),
    *(step * 500.0 for step in range(2, 20)),
    *(step * 5_000.0 for step in range(2, 20)),
    *(step * 50_000.0 for step in range(2, 20)),
    *(step * 500_000.0 for step in range(2, 21)),
)
"""Brain-Score's penalties: from 0.01 to 1e7, about evenly spread within each decade."""


class RidgeCVParams(NamedTuple):
    """Weights of the embedding's coordinates, intercept, and chosen penalty, of every fold."""

    weights: Float[Array, "folds d q"]
    intercept: Float[Array, "folds q"]
    alpha: Float[Array, "folds ..."]


@with_penalties
class RidgeCV(RidgeMapping):
    r"""Ridge regression with the penalty that has the smallest validation error within the training stimuli.

    The error is the mean square over stimuli, and over targets unless ``alpha_per_target``. If several penalties have
    the same error, the first is chosen. As in scikit-learn's ``RidgeCV``, penalties are not divided by the number of
    stimuli. Gradients are those of the fit at the chosen penalty, because the choice is piecewise constant in the data.

    Args:
        alphas: the penalties to choose from, all positive; numbers or an array.
        alpha_per_target: choose a penalty for each target separately.
        cv: number of validation folds, each a run of consecutive training stimuli, whose mean squared errors are
            averaged; None for leave-one-out. If consecutive stimuli are related (for example images of the same
            object), runs test the generalisation to others.

    Raises:
        ValueError: ``cv`` is below 2 or above the number of stimuli.

    Source: Golub, Heath & Wahba 1979; per target and by folds: Dupré la Tour et al. 2022 (himalaya).

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import train_test
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 5)))
        >>> y = x @ jnp.asarray(rng.normal(size=(5, 2)))
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=RidgeCV((0.01, 1.0, 100.0))).round(3).tolist()
        [1.0, 1.0]
    """

    alphas: tuple[float, ...] | Float[Array, " penalties"] = ALPHAS
    alpha_per_target: bool = False
    cv: int | None = None

    @property
    def traits(self) -> Traits:
        """With ``alpha_per_target``, targets of zeros matter: warnings about penalties would count theirs too."""
        return Traits(
            "inner products",
            fits_targets_alone=self.alpha_per_target,
            ignores_zero_features=True,
            ignores_zero_targets=not self.alpha_per_target,
            reported=("alpha",),
            warnings=self._choices_at_an_edge,
        )

    def prepare(self, x: Features, y: Targets) -> PreparedRidge:
        """Centres the data and computes the coordinates in which every fold is solved."""
        if self.cv is not None and not 2 <= self.cv <= x.shape[0]:
            raise ValueError(f"cv must be from 2 to the number of stimuli, {x.shape[0]}, or None; got {self.cv}")
        return super().prepare(x, y)

    def fit(self, prepared: PreparedRidge, held_out: HeldOut, held_out_mask: HeldOutMask) -> RidgeCVParams:
        """Penalty and weights of every fold."""
        train = training_mask(len(prepared.centred.y), held_out, held_out_mask, prepared.centred.y.dtype)
        return RidgeCVParams(*batched_map(self._fit_one(prepared), train))

    def _fit_one(self, prepared: PreparedRidge) -> Callable[[PerStimulus], tuple[Array, Array, Array]]:
        """The fit to the training stimuli of a fold: weights, intercept and penalty."""
        errors_of = y = prepared.centred.y
        if not self.alpha_per_target and y.shape[1] > 2 * len(y):
            # Errors summed over targets are those of any targets with the same inner products.
            errors_of = qr_coordinates(jax.lax.stop_gradient(y).T).T

        def fit_one(train: PerStimulus) -> tuple[Array, Array, Array]:
            of = spectrum(prepared, train)
            chosen = self._choose(prepared, of, train, errors_of)
            own, mean = centred_rows(y, train)
            weights = of.solve(of.right_side(own), jnp.broadcast_to(chosen, y.shape[1:]))
            return weights, (prepared.centred.y_mean + mean - of.x_mean @ weights)[0], chosen

        return fit_one

    def cross_predict(
        self, x: Features, y: Targets, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> tuple[Float[Array, "folds h q"], Report]:
        """Predictions and chosen penalties of every fold, without factorising folds where this takes less work."""
        (n, p), (folds, h), penalties = x.shape, held_out.shape, len(self.alphas)
        if self.cv is None or penalties < 2 or not takes_nested_folds(n, p, y.shape[1], penalties, (folds, h), self.cv):
            return self._by_each_fold(x, y, held_out, held_out_mask)
        return self._by_nested_folds(RidgeCV._by_each_fold, x, y, held_out, held_out_mask)

    def _by_each_fold(
        self, x: Features, y: Targets, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> tuple[Float[Array, "folds h q"], Report]:
        """Predictions and chosen penalties; on a CPU, only the weights of one fold are in memory at a time."""
        prepared = self.prepare(x, y)
        fit_one, train = self._fit_one(prepared), training_mask(len(y), held_out, held_out_mask, y.dtype)

        def predict_one(fold: tuple[Array, PerStimulus]) -> tuple[Array, Array]:
            held_out, train = fold
            weights, _, chosen = fit_one(train)
            return prepared.embedding[held_out] @ weights, chosen

        predicted, alpha = batched_map(predict_one, (held_out, train))
        return predicted, {"alpha": alpha} | of_features(prepared.gram, len(held_out))

    def predict_split(self, x: Features, y: Targets, new: Float[Array, "m p"]) -> tuple[Float[Array, "m q"], Report]:
        """Predictions and chosen penalties; on a TPU without eigenvectors of folds, where features outnumber stimuli.

        A TPU takes longer for eigenvectors than for an inverse of every penalty, and much longer to compile them.
        """
        if platform() != "tpu" or self.cv is None or len(self.alphas) < 2 or x.shape[1] < x.shape[0] - 1:
            return super().predict_split(x, y, new)
        return self._by_nested_folds(RidgeMapping.predict_split, x, y, new)

    def _by_nested_folds(self, exactly: Callable[..., Any], *arrays: Array) -> tuple[Array, Report]:
        alphas = jnp.asarray(self.alphas, arrays[1].dtype)
        return _by_nested_folds(exactly, self.alpha_per_target, self.cv, alphas, *arrays)

    def _choose(
        self, prepared: PreparedRidge, of: Spectrum, train: PerStimulus, errors_of: Targets
    ) -> Float[Array, "..."]:
        """The chosen penalty: one for all targets, or one per target."""
        alphas = jnp.asarray(self.alphas, train.dtype)
        if len(alphas) == 1:
            return jnp.broadcast_to(alphas[0], prepared.centred.y.shape[1:] if self.alpha_per_target else ())
        if self.cv is None:
            best = best_for_each if self.alpha_per_target else best_for_all
            y, _ = centred_rows(errors_of, train)
            return alphas[best(leave_one_out(of, y, train), alphas)]
        errors = validation_errors(prepared, train, self.cv, alphas)
        return alphas[jnp.argmin(errors if self.alpha_per_target else jnp.sum(errors, axis=1), axis=0)]

    def _choices_at_an_edge(self, report: MappingABC[str, np.ndarray]) -> list[str]:
        if len(self.alphas) < 2:
            return []
        edges = (min(self.alphas), "smallest"), (max(self.alphas), "largest")
        shares = [(edge, word, np.mean(np.isclose(report["alpha"], edge, atol=0.0))) for edge, word in edges]
        return [
            f"the {word} penalty, {edge:g}, was chosen in {share:.0%} of the fits: the best may lie beyond it, pass a "
            "wider range of alphas"
            for edge, word, share in shares
            if share >= 0.01  # of many targets, a few always choose an edge
        ]


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _by_nested_folds(
    fitted: Callable[..., tuple[Array, Report]],
    per_target: bool,
    cv: int,
    alphas: Float[Array, " penalties"],
    x: Features,
    y: Targets,
    *tested: Array,
) -> tuple[Float[Array, "*folds h q"], Report]:
    """``fitted`` by ``nested_predictions`` where they are accurate; the derivative is that of fitted folds.

    The tested stimuli are held out by outer folds, with a mask, or are new ones on a split.
    """
    centred = without_constants(centre(x, y))
    if fitted is RidgeMapping.predict_split:
        found, accurate = validated_residuals(centred, cv, alphas, per_target=per_target)
        alpha, products = found.alpha[0], (tested[0] - centred.x_mean) @ centred.x.T
        predicted, alpha = products @ (found.values[0] / alpha[None]), alpha if per_target else alpha[0]
    else:
        outer = Fold(*tested)
        inner, complete = inner_folds(len(y), outer, cv)
        found, accurate = nested_predictions(centred, outer, inner, alphas, per_target=per_target)
        predicted, alpha, accurate = found.values, found.alpha if per_target else found.alpha[:, 0], accurate & complete
    report = {"alpha": alpha} | of_features(found.gram, len(found.alpha))
    return with_fallback(
        ~accurate, lambda: (predicted, report), lambda: fitted(RidgeCV(alphas, per_target, cv), x, y, *tested)
    )


@_by_nested_folds.defjvp
def _by_nested_folds_jvp(
    fitted: Callable[..., tuple[Array, Report]], per_target: bool, cv: int, primals: tuple, tangents: tuple
) -> tuple:
    return jax.jvp(lambda alphas, *arrays: fitted(RidgeCV(alphas, per_target, cv), *arrays), primals, tangents)
