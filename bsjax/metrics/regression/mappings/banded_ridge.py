"""Banded ridge regression: a penalty of its own for each feature space, chosen for each target by random search."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.metrics.regression.centring import Centred, centre, training_mask, without_constants
from bsjax.metrics.regression.mapping import Mapping, Traits
from bsjax.metrics.regression.ridge_system import PreparedRidge, centred_rows, spectrum
from bsjax.metrics.regression.validation_folds import validation_errors

# Concentrations of the Dirichlet distributions that shares are drawn from in turn: few spaces, and all alike.
_CONCENTRATIONS = (0.1, 1.0)
PENALTIES = tuple(10.0**power for power in range(-2, 8))


class PreparedBands(NamedTuple):
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

    def scaled(self, share: Float[Array, " bands"], sizes: tuple[int, ...]) -> tuple[PreparedRidge, Float[Array, " e"]]:
        """The ridge regression of spaces scaled by the roots of their shares, and the factors of its weights."""
        if self.cross is None:
            gram = jnp.einsum("b,bij->ij", share, self.grams)
            nothing = self.centred._replace(x=self.centred.x[:, :0])
            return PreparedRidge(nothing, gram, None, None), jnp.repeat(share, len(gram))
        each = jnp.repeat(jnp.sqrt(share), np.asarray(sizes), total_repeat_length=sum(sizes))
        centred = self.centred._replace(x=self.centred.x * each[None])
        gram = self.grams[0] * each[:, None] * each[None]
        return PreparedRidge(centred, gram, self.cross * each[:, None], None), each


class BandedParams(NamedTuple):
    """Weights of the embedding, and for each target the chosen penalty and share of every space, of every fold."""

    weights: Float[Array, "folds d q"]
    alpha: Float[Array, "folds q"]
    shares: Float[Array, "folds bands q"]


@dataclass(frozen=True)
class BandedRidge(Mapping):
    r"""Ridge regression on several feature spaces, each with its own penalty for each target.

    Minimises :math:`\|y - \sum_b x_b w_b\|^2 + \sum_b \frac{\alpha}{\gamma_b} \|w_b\|^2` with shares
    :math:`\gamma_b \ge 0` that sum to 1. Shares are candidates of a random search, drawn from Dirichlet distributions;
    the first ones are equal. The candidate and the penalty of a target are those with the smallest validation error
    within the training stimuli. Equal shares are ridge regression, with a penalty of :math:`\alpha` times the number of
    spaces.

    Args:
        bands: number of features of each space, in the order of the features.
        alphas: the penalties to choose from, all positive.
        candidates: number of candidate shares.
        cv: number of validation folds, each a run of consecutive training stimuli.
        seed: of the random search.

    Raises:
        ValueError: the sizes of the spaces do not sum to the number of features.

    Source: Nunez-Elizalde, Huth & Gallant 2019; Dupré la Tour et al. 2022 (random search).

    Example:
        >>> from bsjax.metrics import train_test
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 30)))  # 2 features that matter, and 28 that do not
        >>> y = x[:, :1] + x[:, 1:2]
        >>> banded = BandedRidge((2, 28), alphas=(0.1, 1.0, 10.0), candidates=20)
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=banded).round(2).tolist()
        [1.0]
    """

    bands: tuple[int, ...]
    alphas: tuple[float, ...] | Float[Array, " penalties"] = PENALTIES
    candidates: int = 60
    cv: int = 5
    seed: int = 0

    @property
    def traits(self) -> Traits:
        """Targets are independent; features must stay in the order of their spaces."""
        return Traits(fits_targets_alone=True, ignores_zero_targets=True, reported=("alpha", "shares"))

    @property
    def shares(self) -> np.ndarray:
        """The candidates, ``(candidates, spaces)``."""
        rng, spaces = np.random.default_rng(self.seed), len(self.bands)
        drawn = [
            rng.dirichlet(np.full(spaces, _CONCENTRATIONS[place % len(_CONCENTRATIONS)]))
            for place in range(self.candidates - 1)
        ]
        return np.stack([np.full(spaces, 1.0 / spaces), *drawn])

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedBands:
        """Centres the data and computes the Gram matrix of every space."""
        if sum(self.bands) != x.shape[1]:
            raise ValueError(f"bands {self.bands} are {sum(self.bands):,} features, and there are {x.shape[1]:,}")
        centred = without_constants(centre(x, y))
        if x.shape[1] < x.shape[0] - 1:
            return PreparedBands(centred, (centred.x.T @ centred.x)[None], centred.x.T @ centred.y)
        return PreparedBands(centred, jnp.stack([space @ space.T for space in self._spaces(centred.x)]), None)

    def embed(self, prepared: PreparedBands, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of the prepared ones."""
        centred = x - prepared.centred.x_mean
        if prepared.cross is not None:
            return centred
        new, old = self._spaces(centred), self._spaces(prepared.centred.x)
        return jnp.concatenate([a @ b.T for a, b in zip(new, old, strict=True)], axis=1)

    def fit(
        self, prepared: PreparedBands, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> BandedParams:
        """Shares, penalty and weights of each target in every fold."""
        y = prepared.centred.y
        alphas, shares = jnp.asarray(self.alphas, y.dtype), jnp.asarray(self.shares, y.dtype)
        weights = jnp.zeros((prepared.embedding.shape[1], y.shape[1]), y.dtype)

        def fit_one(train: Float[Array, " n"]) -> tuple[Array, ...]:
            own, _ = centred_rows(y, train)

            def better(best: tuple[Array, ...], share: Float[Array, " bands"]) -> tuple[tuple[Array, ...], None]:
                candidate, factors = prepared.scaled(share, self.bands)
                errors = validation_errors(candidate, train, self.cv, alphas)
                alpha, error = alphas[jnp.argmin(errors, axis=0)], jnp.min(errors, axis=0)
                of = spectrum(candidate, train)
                solved = of.solve(of.right_side(own), alpha)
                spread = factors[:, None] * jnp.tile(solved, (len(factors) // len(solved), 1))
                found = error, spread, alpha, share[:, None]
                return jax.tree.map(lambda new, old: jnp.where(error < best[0], new, old), found, best), None

            nothing = jnp.zeros((len(shares[0]), y.shape[1]), y.dtype)
            first = (jnp.full_like(y[0], jnp.inf), weights, nothing[0], nothing)
            return jax.lax.scan(better, first, shares)[0][1:]

        return BandedParams(*batched_map(fit_one, training_mask(len(y), held_out, held_out_mask, y.dtype)))

    def predict(self, params: BandedParams, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """Predicted targets of embedded stimuli, without the intercept."""
        return embedded @ params.weights

    def _spaces(self, x: Float[Array, "n p"]) -> list[Float[Array, "n b"]]:
        return jnp.split(x, np.cumsum(self.bands)[:-1], axis=1)


def _flattened(mapping: BandedRidge) -> tuple[tuple[Any], tuple[Any, ...]]:
    penalties = mapping.alphas
    array = np.asarray(penalties, float) if isinstance(penalties, tuple) else penalties
    return (array,), (mapping.bands, mapping.candidates, mapping.cv, mapping.seed)


# All penalties are one array leaf, instead of a leaf each.
jax.tree_util.register_pytree_node(
    BandedRidge, _flattened, lambda fixed, leaves: BandedRidge(fixed[0], leaves[0], *fixed[1:])
)
