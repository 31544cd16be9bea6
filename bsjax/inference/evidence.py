"""Evidence for differences between scores: scores in common draws, and values of common units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from bsjax.engine.running import run
from bsjax.inference.bootstrap import bootstrap_p, expanded_interval
from bsjax.inference.student import quantile, t_test
from bsjax.metrics.inference.paired_tests import Alternative, difference_variances, sign_flip_test, sign_flips
from bsjax.metrics.resampling.two_factor import crossed_dof, two_factor_variance

Test = Literal["t", "bootstrap", "wilcoxon", "sign-flip"]
_NUMBERS_AT_A_TIME = 2**22


@dataclass(frozen=True)
class PairedDraws:
    """Scores in draws that share the same stimuli, neuroids or subjects.

    Attributes:
        values: the scores, ``(columns,)``.
        draws: scores in each draw, ``(passes, draws, columns)``; None if there are none. One factor has one pass; two
            factors have three: both together, the first alone and the second alone.
        influence: the contribution of each unit, ``(units, columns)``, whose sum of squares is the variance. None if
            unknown.
        dof: degrees of freedom of the variances: number of units minus one; for two factors, of the smaller one.
        sizes: number of units of each factor, if known; see ``Uncertainty``.
        centred: whether draws are centred on the scores; those of refitted regressions are lower.
    """

    values: np.ndarray
    draws: np.ndarray | None
    influence: np.ndarray | None
    dof: float | None
    sizes: tuple[int | None, int | None] = (None, None)
    centred: bool = True

    @property
    def tests(self) -> tuple[Test, ...]:
        """The available tests, the default first."""
        # Draws of two factors are too widely spread; a correction is known only for their variance.
        if self.draws is None or len(self.draws) > 1:
            return ("t",)
        return ("bootstrap", "t") if self.centred and self.influence is None else ("t", "bootstrap")

    def estimates(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Differences between columns; a column of -1 is zero."""
        padded = np.append(self.values, 0.0)
        return padded[first] - padded[second]

    def p(
        self, test: Test, first: np.ndarray, second: np.ndarray, above: float | np.ndarray, alternative: Alternative
    ) -> np.ndarray:
        """p values of differences minus ``above``."""
        above = np.broadcast_to(np.asarray(above, float), first.shape)
        if test == "t":
            variances, dof = self._variances(first, second)
            return t_test(self.estimates(first, second) - above, variances, dof, alternative)

        def of(rows: slice) -> np.ndarray:
            return bootstrap_p(self._drawn(first[rows], second[rows]) - above[rows], self.dof, alternative)

        return _in_blocks(of, len(first), self._padded.shape[1])

    def least_p(self, test: Test) -> float:
        """The smallest possible two-sided p value."""
        return 0.0

    def interval(self, test: Test, first: np.ndarray, second: np.ndarray, level: float) -> np.ndarray:
        """Lower and upper ends ``(2, differences)``, which exclude zero where the two-sided test rejects."""
        if test == "t":
            variances, dof = self._variances(first, second)
            reach = quantile((1 + level) / 2, dof) * np.sqrt(variances)
            return self.estimates(first, second) + np.array([[-1.0], [1.0]]) * reach

        def of(rows: slice) -> np.ndarray:
            return expanded_interval(self._drawn(first[rows], second[rows]), self.dof, level)

        return _in_blocks(of, len(first), self._padded.shape[1])

    @property
    def _padded(self) -> np.ndarray:
        if self.draws is None:
            raise ValueError(
                "these scores were not resampled, which this test needs: use test='t', or score again with resampling="
            )
        return np.pad(self.draws, [(0, 0), (0, 0), (0, 1)])

    def _drawn(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return self._padded[0][:, first] - self._padded[0][:, second]

    def _variances(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float | np.ndarray | None]:
        """Variances of the differences, and their degrees of freedom."""
        if self.influence is not None:
            influence = np.pad(self.influence, [(0, 0), (0, 1)])
            covariances = (influence.T @ influence)[None]
        else:
            covariances = np.stack([np.cov(one, rowvar=False) for one in self._padded])
        found = run(difference_variances, covariances).astype(float)[:, first, second]
        n_first, n_second = self.sizes
        if len(found) == 1:
            # Resampling n units with replacement underestimates the variance by (n - 1) / n.
            units = n_first or (0.0 if self.dof is None else self.dof + 1)
            few = 1.0 if self.dof is None or self.influence is not None else units / self.dof
            return few * found[0], self.dof
        corrected = run(two_factor_variance, *found, n_first=n_first, n_second=n_second).astype(float)
        if n_first is None or n_second is None:
            return corrected, self.dof
        return corrected, crossed_dof(found[1], found[2], found[0], (n_first, n_second))


@dataclass(frozen=True)
class PairedUnits:
    """Values of the same neuroids or subjects, whose means are compared.

    Attributes:
        values: ``(units, columns)``.
    """

    values: np.ndarray
    tests: ClassVar[tuple[Test, ...]] = ("sign-flip", "t", "wilcoxon")

    def estimates(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Mean differences between columns; a column of -1 is zero."""
        means = np.append(self.values.mean(axis=0), 0.0)
        return means[first] - means[second]

    def p(
        self, test: Test, first: np.ndarray, second: np.ndarray, above: float | np.ndarray, alternative: Alternative
    ) -> np.ndarray:
        """p values of mean differences minus ``above``."""
        above = np.broadcast_to(np.asarray(above, float), first.shape)
        signs, exact = sign_flips(len(self.values)) if test == "sign-flip" else (np.ones((1, 1)), True)

        def of(rows: slice) -> np.ndarray:
            differences = self._differences(first[rows], second[rows]) - above[rows]
            if test == "t":
                n = len(differences)
                return t_test(differences.mean(axis=0), differences.var(axis=0, ddof=1) / n, n - 1, alternative)
            if test == "wilcoxon":
                return _wilcoxon(differences, alternative)
            p = run(sign_flip_test, differences, signs.astype(float), exact=exact, alternative=alternative)
            return p.astype(float)

        return _in_blocks(of, len(first), max(len(self.values), len(signs)))

    def least_p(self, test: Test) -> float:
        """The smallest possible two-sided p value, when all units agree on the sign of the difference."""
        if test == "t":
            return 0.0
        signs, exact = sign_flips(len(self.values)) if test == "sign-flip" else (np.empty(0), True)
        return 2.0 ** (1 - len(self.values)) if exact else 1 / (len(signs) + 1)

    def interval(self, test: Test, first: np.ndarray, second: np.ndarray, level: float) -> np.ndarray:
        """Lower and upper ends of the mean difference, from a t distribution for every test."""

        def of(rows: slice) -> np.ndarray:
            differences = self._differences(first[rows], second[rows])
            n = len(differences)
            reach = quantile((1 + level) / 2, n - 1) * differences.std(axis=0, ddof=1) / np.sqrt(n)
            return differences.mean(axis=0) + np.array([[-1.0], [1.0]]) * reach

        return _in_blocks(of, len(first), len(self.values))

    def _differences(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        padded = np.pad(self.values, [(0, 0), (0, 1)])
        return padded[:, first] - padded[:, second]


Evidence = PairedDraws | PairedUnits


def _wilcoxon(differences: np.ndarray, alternative: Alternative) -> np.ndarray:
    p = np.ones(differences.shape[1])  # p = 1 if all differences are zero, which have no ranks
    moved = (differences != 0).any(axis=0)
    if moved.any():
        found: Any = scipy.stats.wilcoxon(differences[:, moved], axis=0, alternative=alternative)
        p[moved] = found.pvalue
    return p


def _in_blocks(function: Callable[[slice], np.ndarray], count: int, each: int) -> np.ndarray:
    """Evaluate a function on blocks of differences; ``each`` is the size of one difference in numbers."""
    step = max(1, _NUMBERS_AT_A_TIME // max(1, each))
    return np.concatenate([function(slice(at, at + step)) for at in range(0, max(count, 1), step)], axis=-1)
