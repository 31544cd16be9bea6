"""Comparison of a model's stimulus-by-stimulus matrix with one matrix per subject."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from bsjax.benchmarks.kinds.recording import RecordingBenchmark
from bsjax.benchmarks.lazy_loading import loader
from bsjax.core.left_behind import files_in
from bsjax.data import StimulusSet
from bsjax.labelled import Score
from bsjax.labelled.metric import scored
from bsjax.labelled.similarity.subject_rdms import SubjectSimilarity, correlation_distances

if TYPE_CHECKING:
    from bsjax.data import NeuroidAssembly

_IMAGES = {".bmp", ".jpeg", ".jpg", ".png"}


class SubjectMatricesBenchmark(RecordingBenchmark):
    """Mean similarity of a model's dissimilarities (or similarities) of stimuli to those of each subject.

    Args:
        identifier: unique name of the benchmark.
        subjects: (subject, stimulus_left, stimulus_right) with ``stimulus_id_left`` and ``_right``, or a function that
            loads them; called once, when a score or ceiling first needs it.
        stimuli_of: function that returns the stimuli, with the ids of ``subjects``.
        metric: ``metric(model matrix, subjects) -> Score``.
        matrix: function from a recording to the matrix; by default 1 - Pearson correlation.
        normalisation: name of a function of :mod:`bsjax.labelled.normalise`.
        words: the other arguments of :class:`RecordingBenchmark`.

    Example:
        >>> from bsjax import load_benchmark
        >>> print(load_benchmark("Algonauts2019.IT-rdm").describe().splitlines()[0])
        Algonauts2019.IT-rdm, version 1, averaged under IT
    """

    def __init__(
        self,
        identifier: str,
        *,
        subjects: xr.DataArray | Callable[[], xr.DataArray],
        stimuli_of: Callable[[], StimulusSet],
        metric: SubjectSimilarity,
        normalisation: str,
        matrix: Callable[[NeuroidAssembly], xr.DataArray] = correlation_distances,
        **words: Any,
    ) -> None:
        super().__init__(identifier, metric=metric, normalisation=normalisation, **words)
        self._load_subjects = loader(subjects)
        self._load_stimuli = stimuli_of
        self._matrix = matrix

    @cached_property
    def target(self) -> xr.DataArray:
        """The matrices of the subjects."""
        return self._load_subjects()

    @cached_property
    def stimuli(self) -> StimulusSet:
        """The stimuli, with the ids of the matrices."""
        return self._load_stimuli()

    def compare(self, observed: NeuroidAssembly) -> Score:
        """The mean similarity to the subjects; ``raw`` has one similarity per subject."""
        return scored(self.metric, self._matrix(observed), self.target)


def images_in(folder: str | Path | None, n: int, identifier: str, where: str) -> StimulusSet:
    """The images of a folder, with the ids "01", "02", ... in the order of their names (2 before 10).

    Args:
        folder: folder with exactly ``n`` images; other files are ignored.
        n: the expected number of images.
        identifier: the benchmark's identifier, for messages.
        where: where to get the images.

    Raises:
        FileNotFoundError: no folder is given, or it does not exist.
        ValueError: the number of images differs.

    Example:
        >>> images_in(None, 92, "Algonauts2019.IT-rdm", "the challenge's training set")
        Traceback (most recent call last):
        ...
        FileNotFoundError: Algonauts2019.IT-rdm needs the 92 images that were shown, which do not come with its data: \
give their folder as images=DIR. They are in the challenge's training set
    """
    if folder is None:
        raise FileNotFoundError(
            f"{identifier} needs the {n} images that were shown, which do not come with its data: give their folder as "
            f"images=DIR. They are in {where}"
        )
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{identifier}: no folder {folder}; give that of the {n} images, which are in {where}")
    images = (path for path in files_in(folder) if path.suffix.lower() in _IMAGES)
    paths = sorted(images, key=_by_number)
    if len(paths) != n:
        raise ValueError(f"{identifier} needs {n} images, {folder} holds {len(paths)}; they are in {where}")
    ids = [f"{number + 1:02d}" for number in range(n)]
    return StimulusSet(
        {"stimulus_id": ids, "filename": [path.name for path in paths]},
        identifier=identifier.partition("-")[0],
        stimulus_paths=dict(zip(ids, paths, strict=True)),
    )


def _by_number(path: Path) -> list[tuple[str, int]]:
    """Sort key for file names that orders the numbers in them by value."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", path.stem)]
