"""Transfer of read-outs from one domain of images to others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import mean_and_deviation, nan_mean
from bsjax.labelled.align import STIMULUS, drawn_from, float_values, two_dimensional
from bsjax.labelled.behaviour.responses import read
from bsjax.labelled.metric import Metric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, whole_number
from bsjax.metrics.behaviour.two_afc import ReadoutSplits, ridge_two_afc

ALPHAS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)


class _Images(NamedTuple):
    """Category and, for matched domains, background of each row, and the rows of each domain."""

    labels: np.ndarray
    backgrounds: np.ndarray
    rows: dict[str, np.ndarray]


@dataclass(frozen=True)
class DomainTransferAccuracy(Metric):
    """Two-alternative accuracy, in several domains of images, of a linear read-out that is fitted in one of them.

    In each split, a ridge classifier of standardised recordings (``bsjax.metrics.behaviour.two_afc``) is fitted to the
    images of the training domain, except for ``test_images`` held-out images with equal shares of the categories. It is
    tested on these, and on as many images of each other domain, drawn in the same way. In ``matched`` domains, it is
    tested on the images with the backgrounds of the held-out images, so that no background is in training and test.

    The score is the mean over domains of the mean over splits; chance is 0.5. ``raw`` is (split, domain). The error is
    the standard deviation over domains, as in Brain-Score.

    Args:
        train_domain: the training domain.
        matched: domains whose test images are chosen by their background.
        splits: number of splits.
        test_images: number of test images per domain and split.
        alphas: penalties, chosen by leave-one-out errors on the training images.
        seed: seed of the splits.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Igusti Bagus, Marques, Sanghavi, DiCarlo & Schrimpf 2022.

    Example:
        >>> DomainTransferAccuracy("hvm", splits=10).splits
        10
    """

    identifier = "domain_transfer_accuracy"

    train_domain: str
    matched: Sequence[str] = ()
    splits: int = 1000
    test_images: int = 30
    alphas: Sequence[float] = ALPHAS
    seed: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.splits, "splits", 1)
        keep(self, matched=tuple(self.matched), alphas=tuple(map(float, self.alphas)))

    def __call__(self, recordings: xr.DataArray) -> Score:
        """Scores how well a read-out of recordings transfers between domains.

        Args:
            recordings: (presentation, neuroid) with ``domain``, ``object_label`` and, for ``matched`` domains,
                ``background_id`` (0 for none).

        Raises:
            ValueError: a coordinate is missing, a domain has too few images, or categories are tested without training.
        """
        recordings = two_dimensional(recordings, "recordings")
        if drawn_from(STIMULUS) in recordings.coords:
            raise ValueError(f"{self.identifier} cannot resample stimuli: copies of one would be in training and test")
        images = self._images(recordings)
        arrays = float_values(recordings, "recordings"), images.labels.astype(np.int32), self._rows(images)
        categories = int(images.labels.max()) + 1
        raw = self.run_kernel(ridge_two_afc, *arrays, categories=categories, alphas=self.alphas).astype(float)
        coords = {"split": np.arange(self.splits), "domain": list(images.rows)}
        by_split, means = xr.DataArray(raw, coords, list(coords)), xr.DataArray(nan_mean(raw.T), dims=["domain"])
        return mean_and_deviation(means, "domains", "accuracy", self.provenance(), raw=by_split)

    def _images(self, recordings: xr.DataArray) -> _Images:
        needs = ["domain", "object_label", *(["background_id"] if self.matched else [])]
        domain, label, *background = read(recordings, needs, "recordings")
        rows = {str(name): np.flatnonzero(domain == name) for name in dict.fromkeys(domain.tolist())}
        missing = [name for name in (self.train_domain, *self.matched) if name not in rows]
        if missing:
            raise ValueError(f"recordings have no images of {', '.join(missing)}; their domains: {', '.join(rows)}")
        trained = np.unique(label[rows[self.train_domain]])
        new = np.setdiff1d(label, trained)
        if len(new) or len(trained) < 2:
            raise ValueError(
                f"{self.train_domain} must hold at least two categories, and all that are tested; it holds "
                f"{', '.join(map(str, trained))}" + (f", and others {', '.join(map(str, new))}" if len(new) else "")
            )
        return _Images(np.searchsorted(trained, label), np.asarray(background).ravel(), rows)

    def splits_of(self, recordings: xr.DataArray) -> ReadoutSplits:
        """The training and test rows of ``recordings`` in each split, as drawn by :meth:`__call__`."""
        return self._rows(self._images(recordings))

    def _rows(self, images: _Images) -> ReadoutSplits:
        random = np.random.RandomState(self.seed)
        drawn = {
            name: self._draw(name, rows, images.labels[rows], random)
            for name, rows in images.rows.items()
            if name not in self.matched
        }
        held_out = drawn[self.train_domain]
        train = np.stack([np.setdiff1d(images.rows[self.train_domain], rows) for rows in held_out])
        if not train.shape[1]:
            raise ValueError(
                f"all {self.test_images} images of {self.train_domain} are tested: none is left to train on"
            )
        for name in self.matched:
            rows = images.rows[name]
            shown = [np.setdiff1d(images.backgrounds[tested], [0]) for tested in held_out]
            drawn[name] = [rows[np.isin(images.backgrounds[rows], backgrounds)] for backgrounds in shown]
        longest = max(len(rows) for each in drawn.values() for rows in each)
        test = np.zeros((self.splits, len(images.rows), longest), np.int32)
        mask = np.zeros(test.shape, bool)
        for group, name in enumerate(images.rows):
            for split, rows in enumerate(drawn[name]):
                test[split, group, : len(rows)], mask[split, group, : len(rows)] = rows, True
        return ReadoutSplits(train.astype(np.int32), test, mask)

    def _draw(self, name: str, rows: np.ndarray, labels: np.ndarray, random: np.random.RandomState) -> list[np.ndarray]:
        """``test_images`` rows for each split, with equal shares of the categories."""
        if len(rows) == self.test_images:
            return [rows] * self.splits
        if len(rows) < self.test_images:
            raise ValueError(f"{name} has {len(rows)} images, {self.test_images} of each domain are tested")
        from sklearn.model_selection import StratifiedShuffleSplit

        splitter = StratifiedShuffleSplit(self.splits, test_size=self.test_images, random_state=random)
        try:
            return [rows[np.sort(test)] for _, test in splitter.split(labels, labels)]
        except ValueError as error:
            raise ValueError(f"cannot draw {self.test_images} images of {name} with all categories: {error}") from None
