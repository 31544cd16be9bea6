"""Comparison of the dissimilarity matrices (RDMs) of two assemblies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data.types.assemblies import RDMAssembly
from bsjax.engine.precision import in_dtype, precision
from bsjax.labelled.aggregate import jackknife_error
from bsjax.labelled.align import STIMULUS, matched, reordered, unique_ids
from bsjax.labelled.metric import Metric, OfPairs
from bsjax.labelled.resampling.draws import Drawn, Resampling
from bsjax.labelled.resampling.permutations import Permuted
from bsjax.labelled.score import Score
from bsjax.labelled.settings import refuse_others
from bsjax.labelled.similarity.rdms.rdm_data import rdm_of
from bsjax.labelled.similarity.rdms.stimulus_noise import SIGMA_K, stimulus_noise, values_in_order
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectSimilarity
from bsjax.labelled.similarity.rdms.subject_responses import LEFT, RIGHT, SUBJECT
from bsjax.labelled.similarity.representational import (
    CrossValidatedSimilarity,
    RepresentationalSimilarity,
    SimilarityError,
    error_of_influence,
)
from bsjax.metrics import rdm_bootstraps, rdm_similarity
from bsjax.metrics.bounds.similarity import BOUNDED_COMPARISONS, BOUNDED_DISSIMILARITIES, rdm_similarity_within
from bsjax.metrics.resampling.bootstraps import given_rdm_bootstraps, given_rdm_statistic, rdm_statistic
from bsjax.metrics.resampling.influence import similarity_in_draws
from bsjax.metrics.resampling.permutation import rdm_permutations
from bsjax.metrics.resampling.weighted_rdms import METHODS
from bsjax.metrics.similarity.rdms.dissimilarities import DISSIMILARITIES, Dissimilarity, dissimilarity_named
from bsjax.metrics.similarity.rdms.rdm import rdm_similarity_and_influence
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS, Comparison, comparison_named, whitened_by
from bsjax.metrics.similarity.rdms.sharded_rdm import rdm_similarity_in_shares
from bsjax.metrics.similarity.similarity import Similarity
from bsjax.metrics.similarity.vectors import rdm_vector

_FIXED = {"neuroid_dim": "neuroid", "comparison_coord": STIMULUS}


@dataclass(frozen=True, repr=False)
class RDMSimilarity(RepresentationalSimilarity):
    """Comparison of two RDMs, each made of responses, or given as an ``RDMAssembly``.

    Arguments as for ``RepresentationalSimilarity``, whose ``settings`` name the ``dissimilarity`` and ``comparison``.
    A target may hold the RDMs of several subjects: the score is then the mean over subjects, in ``raw``, with its
    standard error over subjects unless ``error`` asks for one over stimuli.
    """

    def __call__(self, assembly1: xr.DataArray, assembly2: xr.DataArray) -> Score:
        """Scores how similar the two RDMs are, as in ``RepresentationalSimilarity``.

        Args:
            assembly1: responses (presentation, neuroid) with ``stimulus_id``, of which the RDM is made, or an
                ``RDMAssembly`` (stimulus_left, stimulus_right); stimuli in any order.
            assembly2: likewise; an ``RDMAssembly`` may also have the dimension ``subject``.

        Raises:
            ValueError: as in ``RepresentationalSimilarity``; RDMs are not symmetric; or their comparison allows
                no such ``error``.
        """
        if not _given(assembly1, assembly2):
            return super().__call__(assembly1, self._in_order(assembly2))
        if self.error == "bootstrap":
            return super().__call__(assembly1, assembly2)
        source, target = self._matrices(assembly1, assembly2)
        score = self._of_matrices(target)(source, target)
        if SUBJECT not in assembly2.dims:  # a single RDM has no values of subjects
            score = replace(score, raw=None, error=None, error_kind="", uncertainty=None)
        spread = {} if self.error is None else self._spread(source, target)
        return replace(score, **spread, provenance=self.provenance(reason=score.provenance.reason))

    def _spread(self, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """The error over stimuli of given RDMs, by the influence of each or by a jackknife."""
        n = source.sizes[LEFT]
        if self.error == "influence":
            return error_of_influence(self._given_in_draws(source, target, np.ones((1, n), int))[1], None)
        if not (kept := self._without_groups(n, None)):
            raise ValueError(f"too few stimuli for a jackknife: {n}; leave error out")
        counts = np.stack([np.isin(np.arange(n), rows) for rows in kept]).astype(int)
        return jackknife_error(self._given_in_draws(source, target, counts)[0])

    def _given_in_draws(
        self, source: xr.DataArray, target: xr.DataArray, counts: np.ndarray, alike: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The similarity of given RDMs in every draw, and the influence of each stimulus of the target."""
        if self.similarity.bootstraps is None:
            raise ValueError(
                f"{self!r} of given RDMs has neither errors nor draws of stimuli; comparisons that have: "
                f"{', '.join(METHODS)}. A p value comes with null="
            )
        given = replace(self, similarity=_similarity_of_given(dict(self.settings or {})["comparison"]))
        n = target.sizes[LEFT]
        takes = f"{len(counts)} draws of the RDMs of {target.sizes[SUBJECT]:,} subjects and {n:,} stimuli"
        how = {"takes": takes, "advice": "fewer stimuli or subjects", "statistic": given.similarity.statistic}
        with precision(self.dtype) as dtype:
            x = in_dtype(source.transpose(LEFT, RIGHT).values, dtype)
            y = in_dtype(target.transpose(LEFT, SUBJECT, RIGHT).values.reshape(n, -1), dtype)
            _, values, influence = given.run_kernel(similarity_in_draws, x, y, counts.astype(np.int32), **how)
            return values.astype(float), given._where_few(influence, x, y, alike)

    def of_many(self, sources: Sequence[xr.DataArray], target: xr.DataArray) -> list[Score]:
        """The score of every source."""
        if _given(*sources, target):
            return Metric.of_many(self, sources, target)
        return super().of_many(sources, self._in_order(target))

    def of_pairs(self, stimuli: int, features: int) -> OfPairs | None:
        """How many pairs are compared at once; None for a covariance of stimuli, which are matched by identifier."""
        return None if self._noise else super().of_pairs(stimuli, features)

    def all_pairs(self, sides: Sequence[xr.DataArray]) -> np.ndarray:
        """The similarities of all pairs of sides."""
        return (Metric if _given(*sides) else RepresentationalSimilarity).all_pairs(self, sides)

    def drawn_score(self, plan: Resampling, *assemblies: xr.DataArray) -> Score:
        """Its score with its values in draws."""
        if not _given(*assemblies) or self.error == "bootstrap":
            return super().drawn_score(plan, *assemblies)
        return Metric.drawn_score(self, plan, *self._matrices(*assemblies))

    def drawn_values(self, drawn: Drawn, assembly1: xr.DataArray, assembly2: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, see :func:`bsjax.labelled.metric.scored`."""
        if not _given(assembly1, assembly2):
            return super().drawn_values(drawn, assembly1, assembly2)
        source, target = self._matrices(assembly1, assembly2)
        if drawn.plan.factors != ("stimuli",):
            return self._of_matrices(target).drawn_values(drawn, source, target)
        ids = target[f"{STIMULUS}_left"].values
        values, influence = self._given_in_draws(source, target, drawn.in_order("stimuli", ids), drawn.alike)
        order = pd.Index(ids).get_indexer(pd.Index(drawn.ids["stimuli"]))
        return {"values": drawn.in_passes(lambda _: values), "influence": influence[order]}

    def permuted_values(self, permuted: Permuted, assembly1: xr.DataArray, assembly2: xr.DataArray) -> dict[str, Any]:
        """Its values after permutations."""
        if _given(assembly1, assembly2):
            return Metric.permuted_values(self, permuted, assembly1, assembly2)
        return super().permuted_values(permuted, assembly1, self._in_order(assembly2))

    def exact_within(self, assembly1: xr.DataArray, assembly2: xr.DataArray) -> tuple[float, float]:
        """An interval that holds the exact comparison, see ``Metric.exact_within``."""
        if _given(assembly1, assembly2):
            return Metric.exact_within(self, assembly1, assembly2)
        return super().exact_within(assembly1, self._in_order(assembly2))

    @property
    def _noise(self) -> Mapping[str, Any] | None:
        """The covariance of noise between stimuli."""
        return dict(self.settings or {}).get(SIGMA_K)

    def _in_order(self, target: xr.DataArray) -> xr.DataArray:
        """The target with its stimuli in the order of the covariance of their noise, if there is one."""
        if self._noise is None:
            return target
        ids = unique_ids(target, "target").astype(str)
        return reordered(target, matched(ids, self._noise["ids"], ("target", SIGMA_K), STIMULUS, "stimuli"))

    def _of_matrices(self, target: xr.DataArray) -> SubjectSimilarity:
        method: Any = dict(self.settings or {})["comparison"]
        if self._noise:
            method = whitened_by(method, values_in_order(self._noise, target[f"{STIMULUS}_left"].values))
        return SubjectSimilarity(method, dtype=self.dtype)

    def _matrices(self, source: xr.DataArray, target: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
        """Both RDMs with their stimuli in the same order, the target's with a dimension of subjects."""
        dissimilarity = dict(self.settings or {})["dissimilarity"]
        sides = []
        for side, what in ((source, "source"), (target, "target")):
            made = side if isinstance(side, RDMAssembly) else rdm_of(side, dissimilarity, dtype=self.dtype)
            made.validate()
            more = set(made.dims) - {*made.standard.dims, *([SUBJECT] if what == "target" else [])}
            if more:
                raise ValueError(
                    f"{what} has RDMs over {', '.join(sorted(map(str, more)))}: select one, or average them"
                )
            sides.append(made)
        source, target = sides
        ids, theirs = (side[f"{STIMULUS}_left"].values for side in sides)
        order = matched(ids, theirs, ("source", "target"), STIMULUS, "stimuli")
        source = source.isel({LEFT: order, RIGHT: order})
        return source, target if SUBJECT in target.dims else target.expand_dims({SUBJECT: ["all"]})


def _given(*sides: xr.DataArray) -> bool:
    return any(isinstance(side, RDMAssembly) for side in sides)


def rdm(
    neuroid_dim: str = "neuroid",
    comparison_coord: str = STIMULUS,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
    dissimilarity: str = "correlation",
    comparison: str = "spearman",
    sigma_k: Any = None,
) -> RDMSimilarity:
    """Comparison of dissimilarity matrices; stimuli are always matched by ``stimulus_id``.

    Either side may be an RDM itself (:class:`bsjax.RDMAssembly`), see :class:`RDMSimilarity`.

    Args:
        neuroid_dim, comparison_coord: Brain-Score's names; only its defaults are accepted.
        error, dtype, n_bootstraps: as in ``RepresentationalSimilarity``; ``"tau-a"`` has no ``"bootstrap"``.
        dissimilarity: a name in ``DISSIMILARITIES`` of ``bsjax.metrics.similarity.rdms.dissimilarities``, e.g.
            ``"euclidean"``.
        comparison: a name in ``COMPARISONS`` of ``bsjax.metrics.similarity.rdms.rdm_comparison``, e.g. ``"tau-a"``.
        sigma_k: covariance of the noise of the target between stimuli, for the comparisons ``"whitened_cosine"`` and
            ``"whitened_corr"``, see ``bsjax.metrics.similarity.rdms.rdm_comparison.whitened_by``. A pandas table with
            ``stimulus_id`` as index: variances, or covariances with the same columns. The stimuli of an array are
            0, 1, ..., as in :func:`bsjax.score_arrays`. None if noise is independent and of one variance.

    Raises:
        ValueError: an unknown dissimilarity or comparison; the message lists the known ones. Or ``sigma_k`` is no
            covariance, or for another comparison.

    Example:
        >>> from bsjax import load_metric, score_arrays
        >>> load_metric("rdm", dissimilarity="euclidean", comparison="tau-a").settings
        {'dissimilarity': 'euclidean', 'comparison': 'tau-a'}
        >>> x = np.random.default_rng(0).normal(size=(6, 9))
        >>> how = {"dissimilarity": "sqeuclidean", "comparison": "whitened_corr"}
        >>> round(float(score_arrays(x, 2 * x, "rdm", error=None, sigma_k=[1, 1, 1, 1, 2, 2], **how)), 6)
        1.0
    """
    refuse_others({"neuroid_dim": neuroid_dim, "comparison_coord": comparison_coord}, _FIXED, "rdm")
    by: dict[str, Any] = {"dissimilarity": dissimilarity, "comparison": comparison}
    method: Any = comparison
    if (noise := stimulus_noise(sigma_k)) is not None:
        method, by[SIGMA_K] = whitened_by(comparison, np.asarray(noise["values"])), noise
    return RDMSimilarity(rdm_similarity_by(dissimilarity, method), "rdm", error, dtype, n_bootstraps, by)


def rdm_cv(
    neuroid_dim: str = "neuroid",
    comparison_coord: str = STIMULUS,
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    dissimilarity: str = "correlation",
    comparison: str = "spearman",
) -> CrossValidatedSimilarity:
    """Comparison of dissimilarity matrices on random subsets of the stimuli; settings as in ``rdm``."""
    refuse_others({"neuroid_dim": neuroid_dim, "comparison_coord": comparison_coord}, _FIXED, "rdm_cv")
    by = {"dissimilarity": dissimilarity, "comparison": comparison}
    return CrossValidatedSimilarity(rdm_similarity_by(**by), "rdm_cv", crossvalidation_kwargs, dtype, by)


def rdm_similarity_by(
    dissimilarity: str | Dissimilarity = "correlation", comparison: str | Comparison = "spearman"
) -> Similarity:
    """The similarity of two representations by their RDMs.

    Args:
        dissimilarity: an entry of ``DISSIMILARITIES``, or its name.
        comparison: an entry of ``COMPARISONS``, or its name. Those in ``METHODS`` of
            ``bsjax.metrics.resampling.weighted_rdms`` support the bootstrap.

    Raises:
        ValueError: an unknown name; the message lists the known ones.

    Example:
        >>> rdm_similarity_by("euclidean", "corr").depends_on
        'inner products'
        >>> rdm_similarity_by(comparison="pearson")
        Traceback (most recent call last):
        ...
        ValueError: unknown comparison of RDMs 'pearson'; there are: corr, cosine, spearman, rho-a, tau-a, \
whitened_corr, whitened_cosine, bures, neg_riemannian
    """
    return _similarity(dissimilarity_named(dissimilarity), comparison_named(comparison))


def _within(dissimilarity: Dissimilarity, comparison: Comparison) -> Callable[..., Any] | None:
    """The kernel of an interval that holds the exact comparison; None if there is none."""
    measures = [name for name in BOUNDED_DISSIMILARITIES if DISSIMILARITIES[name] is dissimilarity]
    methods = [name for name in BOUNDED_COMPARISONS if COMPARISONS[name] is comparison]
    if not measures or not methods or (measures[0] == "euclidean" and methods[0] != "spearman"):
        return None
    return partial(rdm_similarity_within, dissimilarity=measures[0], method=methods[0])


@cache
def _similarity_of_given(method: str) -> Similarity:
    """The similarity of given RDMs, in draws of their stimuli."""
    return Similarity(
        rdm_similarity,
        min_stimuli=3,
        bootstraps=partial(given_rdm_bootstraps, method=method),
        statistic=partial(given_rdm_statistic, method=method),
        compares_pairs=True,
    )


@cache
def _similarity(dissimilarity: Dissimilarity, comparison: Comparison) -> Similarity:
    def by_pair(x: Any, y: Any, *, where: Any = None) -> Any:
        return rdm_similarity(x, y, where=where, method=comparison, dissimilarity=dissimilarity)

    default = comparison is COMPARISONS["spearman"] and dissimilarity is DISSIMILARITIES["correlation"]
    named = [name for name in METHODS if COMPARISONS[name] is comparison]
    by: dict[str, Any] = {} if default or not named else {"dissimilarity": dissimilarity, "method": named[0]}
    return Similarity(
        rdm_similarity if default else by_pair,
        min_stimuli=3,
        depends_on=dissimilarity.depends_on,
        ignores_zero_units=dissimilarity.ignores_zero_units,
        ignores_scale=dissimilarity.ignores_scale,
        bootstraps=partial(rdm_bootstraps, **by) if named else None,
        influence=partial(rdm_similarity_and_influence, **by) if named else None,
        statistic=partial(rdm_statistic, **by) if named else None,
        permutations=partial(rdm_permutations, method=comparison, dissimilarity=dissimilarity),
        vector=None
        if comparison.factor is None
        else partial(rdm_vector, method=comparison, dissimilarity=dissimilarity),
        within=_within(dissimilarity, comparison),
        compares_pairs=True,
        in_shares=rdm_similarity_in_shares if default else None,
        varied_patterns=dissimilarity.varied_patterns,
        symmetric=comparison.symmetric,
        zero_by_chance=comparison.zero_by_chance,
    )
