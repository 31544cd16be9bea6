r"""Bootstrap and jackknife of regressions, refitted to every draw of the stimuli, and cheaper alternatives.

A bootstrap draws stimuli with replacement; a jackknife leaves some out. All copies of a stimulus stay on the same side
of a split: a fold is fitted to the drawn copies of its training stimuli and tested on the drawn copies of its test
stimuli, so no stimulus is on both sides.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.padding import bucket
from bsjax.engine.precision import at_full_precision
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.metrics.arrays import Counts, Features, HeldOut, HeldOutMask, Targets
from bsjax.metrics.correlation import pearson, weighted_pearson
from bsjax.metrics.determined import determined
from bsjax.metrics.linalg.stimulus_axes import takes_axes
from bsjax.metrics.numerics import deviations, rotated_to_few_columns
from bsjax.metrics.regression.centring import training_mask
from bsjax.metrics.regression.crossvalidation import predictions
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import Mapping
from bsjax.metrics.resampling.draws import places_of

# Largest padding of the different stimuli of a draw; the cost grows with the third power of their number.
_STEP = 16


class Places(NamedTuple):
    """The stimuli of every draw as a list of places, with the held-out and test places of each fold.

    All arrays are padded, so that all draws run in one program.

    Attributes:
        rows: index of the stimulus in each place.
        weights: weight of each place; 0 beyond the end of a shorter draw. Such places are held out of every fold.
        held_out, held_out_mask: places that a fold is not fitted on, as in ``Folds``.
        test: places that a fold is tested on; None if they are among ``held_out``.
        test_mask: True for the entries of ``test``, or of ``held_out``, that a fold is tested on. All False for a fold
            with fewer than two different training stimuli, or fewer than three different test stimuli: the correlation
            over two stimuli is always 1 or -1.
    """

    rows: Int[Array, "draws m"] | np.ndarray
    weights: Int[Array, "draws m"] | np.ndarray
    held_out: Int[Array, "draws folds h"] | np.ndarray
    held_out_mask: Bool[Array, "draws folds h"] | np.ndarray
    test: Int[Array, "draws folds t"] | np.ndarray | None
    test_mask: Bool[Array, "draws folds _"] | np.ndarray

    def held(self) -> tuple[HeldOut, HeldOutMask]:
        """Held-out places of each fold of a single draw, and their mask."""
        return jnp.asarray(self.held_out), jnp.asarray(self.held_out_mask)

    def members(self, n: int) -> tuple[Bool[Array, "folds n"], Bool[Array, "folds n"]]:
        """Masks over ``n`` stimuli of the training and of the test stimuli of each fold of a single draw."""
        rows, counted = jnp.asarray(self.rows), jnp.asarray(self.weights) > 0
        places = [training_mask(len(rows), *pair, jnp.dtype("float32")) for pair in (self.held(), self.tested())]
        trains, tests = ((chosen & counted[None]).astype(jnp.int32) for chosen in (places[0] > 0, places[1] < 1))
        none = jnp.zeros((len(trains), n), jnp.int32)
        return none.at[:, rows].max(trains) > 0, none.at[:, rows].max(tests) > 0

    def tested(self) -> tuple[Int[Array, "folds t"], Bool[Array, "folds t"]]:
        """Test places of each fold of a single draw, and their mask."""
        return jnp.asarray(self.held_out if self.test is None else self.test), jnp.asarray(self.test_mask)


class DrawnFolds(NamedTuple):
    """The folds of every draw, from ``drawn_folds``.

    Attributes:
        copies: a place per copy of a stimulus, each with weight 1.
        different: a place per different stimulus, with its number of copies as the weight.
        fitted: True for a fold with at least two different training stimuli and, if it is tested, three different test
            stimuli. Other folds are fitted to the whole draw, and a draw without any valid fold is replaced by all
            stimuli. Their results are not used, but have finite derivatives.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import bootstrap_counts, drawn_folds, make_folds
        >>> splits = [(np.arange(4, 12), np.arange(4)), (np.arange(8), np.arange(8, 12))]
        >>> drawn = drawn_folds(bootstrap_counts(12, 5, seed=0), make_folds(12, splits))
        >>> type(drawn).__name__, drawn.fitted.shape
        ('DrawnFolds', (5, 2))
    """

    copies: Places
    different: Places
    fitted: Bool[Array, "draws folds"] | np.ndarray


def drawn_folds(counts: Int[np.ndarray, "draws n"], folds: Folds) -> DrawnFolds:
    """Held-out and test stimuli of each fold in each draw.

    Args:
        counts: how often each draw contains each stimulus. Draws may have different sizes.
        folds: the held-out and test stimuli of each fold (``make_folds``).

    Returns:
        Indices and counts ``(draws, folds, stimuli)``.

    Raises:
        ValueError: a count is negative, a draw is empty, or folds have more stimuli than ``counts``.

    Example:
        >>> from bsjax.metrics import make_folds
        >>> folds = make_folds(5, [(np.array([0, 1]), np.array([2, 3, 4]))])
        >>> drawn = drawn_folds(np.array([[1, 1, 1, 2, 1]]), folds).copies
        >>> drawn.rows, drawn.held_out
        (array([[0, 1, 2, 3, 3, 4]], dtype=int32), array([[[2, 3, 4, 5]]], dtype=int32))
    """
    counts = np.asarray(counts)
    if (counts < 0).any() or not counts.any(axis=1).all():
        raise ValueError("counts must not be negative, and each draw must contain a stimulus")
    trains = ~_members(folds.held_out, folds.held_out_mask, counts.shape[1])
    tests = None if folds.test is None else _members(folds.test, folds.test_mask, counts.shape[1])
    asked = ~trains if tests is None else tests
    held = (counts > 0).astype(np.int64)
    fitted = (held @ trains.T > 1) & ((held @ asked.T > 2) | ~asked.any(axis=1))
    counts = np.where(fitted.any(axis=1, keepdims=True), counts, 1)
    # The number of different stimuli in a bootstrap draw is random: it is padded to few widths, to share programs.
    rows, once = _laid_out(np.minimum(counts, 1), None if (counts <= 1).all() else _STEP)
    weights = np.take_along_axis(counts, rows, axis=1) * once
    copies = _places(*_laid_out(counts, None), trains, tests, fitted)
    return DrawnFolds(copies, _places(rows, weights, trains, tests, fitted), fitted)


@at_full_precision
def cross_validation_bootstraps(
    x: Features, y: Targets, draws: DrawnFolds, *, mapping: Mapping
) -> Float[Array, "draws folds q"]:
    """``cross_validate`` of every draw of the stimuli, with new fits. On a CPU, one draw is in memory at a time.

    If the mapping depends only on inner products between stimuli, wide features are first rotated into as many columns
    as there are stimuli. If it also supports weights (``takes_weights``), copies of a stimulus become a single weighted
    one.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.
        draws: the folds of every draw (``drawn_folds``).
        mapping: the regression, e.g. ``Ridge(alpha=1.0)``. A mapping that chooses settings on the training stimuli,
            such as ``RidgeCV``, treats copies as different stimuli; use draws without copies for it, as in a jackknife.

    Returns:
        Pearson r ``(draws, folds, targets)`` in the dtype of the inputs. NaN where ``cross_validate`` is NaN, and for a
        fold with fewer than two different training stimuli or fewer than three different test stimuli.

    Source: Efron & Tibshirani 1993.

    Example:
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> counts = np.stack([np.bincount(np.arange(40) // 2, minlength=40), np.ones(40, int)])
        >>> draws = drawn_folds(counts, make_folds(40, [(np.arange(10), np.arange(10, 40))]))
        >>> print(cross_validation_bootstraps(x, x @ jnp.ones((3, 2)), draws, mapping=Ridge(alpha=1e-3)).round(3))
        [[[1. 1.]]
        <BLANKLINE>
         [[1. 1.]]]
    """
    few, told = in_few_columns(x, mapping), determined(x, y, x)

    def of_copies(places: Places) -> Float[Array, "folds q"]:
        drawn = y[places.rows]
        folds = Folds(*places.held(), *(() if places.test is None else places.tested()))
        predicted, _ = predictions(few[places.rows], drawn, folds, mapping)
        test, mask = places.tested()
        r = pearson(predicted, drawn[test], axis=1, where=mask[:, :, None])
        return jnp.where(told(*places.members(len(x))), r, jnp.nan)

    wide = x.shape[1] >= x.shape[0] and not takes_axes(x)
    if not (mapping.takes_weights and wide and draws.different.test is None):
        # Checkpointing recomputes each draw for a derivative instead of storing intermediate results of all draws.
        return batched_map(jax.checkpoint(of_copies), draws.copies)
    centred = deviations(x, None, axis=0).values
    gram = centred @ centred.T

    @jax.checkpoint
    def of_different(draw: DrawnFolds) -> Float[Array, "folds q"]:
        places = draw.different
        drawn, weights = y[places.rows], jnp.asarray(places.weights).astype(y.dtype)
        among = gram[places.rows][:, places.rows]
        predicted, known = mapping.predict_weighted(among, drawn, weights, *places.held())
        test, mask = places.tested()

        def usual() -> Float[Array, "folds q"]:
            counts = jnp.where(mask, jnp.asarray(places.weights)[test], 0)
            r = jax.vmap(_of_one_draw)(predicted, drawn[test], counts)
            return jnp.where(told(*places.members(len(x))), r, jnp.nan)

        return with_fallback(~known, usual, lambda: of_copies(draw.copies))

    return batched_map(of_different, draws)


@at_full_precision
def train_test_bootstraps(
    x_train: Features,
    x_test: Float[Array, "m p"],
    y_train: Targets,
    y_test: Float[Array, "m q"],
    draws: DrawnFolds,
    test_counts: Int[Array, "draws m"],
    *,
    mapping: Mapping,
) -> Float[Array, "draws q"]:
    """``train_test`` of every draw of the training and the test stimuli, with new fits.

    Args:
        x_train, x_test: features of the training and test stimuli.
        y_train, y_test: targets of the training and test stimuli.
        draws: draws of the training stimuli, ``drawn_folds(counts, no_folds())``.
        test_counts: how often each draw contains each test stimulus.
        mapping: the regression; see ``cross_validation_bootstraps`` for mappings that choose settings.

    Returns:
        Pearson r ``(draws, targets)``. NaN where ``train_test`` is NaN, and for draws with fewer than two different
        training stimuli or fewer than three different test stimuli.

    Source: Efron & Tibshirani 1993.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import Ridge, bootstrap_counts
        >>> from bsjax.metrics.regression.folds import no_folds
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 5)))
        >>> y = x @ jnp.asarray(rng.normal(size=(5, 2)))
        >>> draws = drawn_folds(bootstrap_counts(40, 3, seed=0), no_folds())
        >>> test = jnp.asarray(bootstrap_counts(20, 3, seed=1))
        >>> train_test_bootstraps(x[:40], x[40:], y[:40], y[40:], draws, test, mapping=Ridge(0.01)).shape
        (3, 2)
    """
    told = determined(x_train, y_train, x_test)
    both = in_few_columns(jnp.concatenate([x_train, x_test]), mapping)
    x_train, x_test = both[: len(x_train)], both[len(x_train) :]

    @jax.checkpoint
    def of_draw(draw: tuple[DrawnFolds, Int[Array, " m"]]) -> Float[Array, " q"]:
        drawn, counts = draw
        places = drawn.copies
        prepared = mapping.prepare(x_train[places.rows], y_train[places.rows])
        params = mapping.fit(prepared, *places.held())
        predicted = mapping.predict(params, mapping.embed(prepared, x_test)[None])[0]
        r = _of_one_draw(predicted, y_test, jnp.where(jnp.asarray(drawn.fitted), counts, 0))
        return jnp.where(told(places.members(len(y_train))[0], (counts > 0)[None])[0], r, jnp.nan)

    return batched_map(of_draw, (draws, test_counts))


@at_full_precision
def prediction_bootstraps(predicted: Targets, y: Targets, counts: Counts) -> Float[Array, "draws q"]:
    r"""Correlation of predicted and measured targets in every draw of the test stimuli, without refitting.

    The counts are weights; matrix products compute the sums of all draws, of values centred over all stimuli.

    Args:
        predicted: predictions for the test stimuli, by a fit to other stimuli.
        y: measured targets.
        counts: how often each draw contains each test stimulus. Values of stimuli in no draw are ignored.

    Returns:
        Pearson r ``(draws, targets)``. NaN where a side is constant over a draw, and for draws of fewer than three
        different stimuli.

    Source: Efron & Tibshirani 1993.

    Example:
        >>> y = jnp.array([[1.0], [2.0], [4.0], [3.0]])
        >>> print(prediction_bootstraps(2.0 * y, y, jnp.array([[1, 1, 1, 1], [2, 1, 1, 0], [2, 0, 2, 0]])).round(3))
        [[ 1.]
         [ 1.]
         [nan]]
    """
    few = jnp.sum(counts > 0, axis=1) < 3
    return jnp.where(few[:, None], jnp.nan, weighted_pearson(predicted, y, counts.astype(y.dtype)))


def _of_one_draw(predicted: Targets, y: Targets, counts: Int[Array, " n"]) -> Float[Array, " q"]:
    return prediction_bootstraps(predicted, y, counts[None])[0]


def in_few_columns(x: Features, mapping: Mapping) -> Float[Array, "n d"]:
    """Features rotated into as many columns as stimuli, if the mapping depends only on inner products."""
    if mapping.traits.depends_on != "inner products" or x.shape[1] <= x.shape[0]:
        return x
    return rotated_to_few_columns(deviations(x, None, axis=0).values)


def _members(index: Any, mask: Any, n: int) -> Bool[np.ndarray, "folds n"]:
    """Mask of the stimuli that each fold lists."""
    index, mask = np.asarray(index), np.asarray(mask)
    if index[mask].max(initial=-1) >= n:
        raise ValueError(f"the folds have {index[mask].max() + 1} stimuli or more, but the counts only {n}")
    members = np.zeros((len(index), n), bool)
    fold, place = np.nonzero(mask)
    members[fold, index[fold, place]] = True
    return members


def _laid_out(counts: Int[np.ndarray, "draws n"], step: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The stimulus in each place of a draw, and 1 for filled or 0 for padded places; at most ``step`` are padded."""
    longest = int(counts.sum(axis=1).max())
    places = places_of(counts, longest if step is None else min(bucket(longest, step), counts.shape[1]))
    return np.maximum(places, 0), (places >= 0).astype(np.int32)


def _places(
    rows: Int[np.ndarray, "draws m"],
    weights: Int[np.ndarray, "draws m"],
    trains: Bool[np.ndarray, "folds n"],
    tests: Bool[np.ndarray, "folds n"] | None,
    fitted: Bool[np.ndarray, "draws folds"],
) -> Places:
    """``Places`` for given stimuli and weights per place, and masks of training and test stimuli per fold."""
    counted = (weights > 0)[:, None]
    train = trains.T[rows].swapaxes(1, 2)
    test = (~train if tests is None else tests.T[rows].swapaxes(1, 2)) & counted & fitted[:, :, None]
    held_out, mask = _numbers((~train | ~counted) & fitted[:, :, None])
    if tests is None:
        return Places(rows, weights, held_out, mask, None, mask & np.take_along_axis(test, held_out, axis=2))
    return Places(rows, weights, held_out, mask, *_numbers(test))


def _numbers(chosen: Bool[np.ndarray, "draws folds m"]) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the chosen places and a mask, padded to one of few lengths, to share programs."""
    sizes = chosen.sum(axis=2)
    width = min(bucket(int(sizes.max())), chosen.shape[2])
    mask = np.arange(width) < sizes[:, :, None]
    places = np.zeros(mask.shape, np.int32)
    places[mask] = np.nonzero(chosen)[2]
    return places, mask
